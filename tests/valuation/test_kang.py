"""Reputation of workers: by hand, and more good events never lower it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.valuation.kang import kang as of_events


def kang(good, bad):
    return of_events(np.array(good), np.array(bad))


def test_kang_by_hand():
    # Good then bad: 0.8 good, 1 bad that counts twice; (1 - 0.1) * 0.8 / 2.8 + 0.5 * 0.1.
    assert kang([[1.0], [0.0]], [[0.0], [1.0]])[0] == pytest.approx(0.9 * 0.8 / 2.8 + 0.05)


@given(st.integers(0, 99))
def test_more_good_events_never_lower_a_reputation(seed):
    rng = np.random.default_rng(seed)
    good, bad = rng.integers(0, 5, (4, 3)).astype(float), rng.integers(0, 5, (4, 3)).astype(float)
    more = good.copy()
    more[2, 1] += 1
    assert kang(more, bad)[1] >= kang(good, bad)[1] - 1e-12
    assert kang(more, bad)[[0, 2]] == pytest.approx(kang(good, bad)[[0, 2]])


def test_the_last_round_counts_most_and_bad_events_double():
    early, late = kang([[1.0], [0.0]], [[0.0], [1.0]])[0], kang([[0.0], [1.0]], [[1.0], [0.0]])[0]
    assert early < late
    assert kang([[1.0]], [[1.0]])[0] == pytest.approx(0.9 / 3 + 0.05)


def test_who_has_no_event_is_all_doubt():
    assert kang([[0.0]], [[0.0]])[0] == 0.5

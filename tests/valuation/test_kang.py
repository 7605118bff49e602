"""Reputation of workers: by hand, and more good events never lower it."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.valuation.kang import kang


def test_kang_by_hand():
    # Three good and one bad, seen with a doubt of 0.2: belief 0.8 * 3 / 4, and half of the doubt.
    assert kang([[3.0]], [[1.0]], punished=1.0, uncertain=0.2)[0] == pytest.approx(0.6 + 0.5 * 0.2)
    # Good then bad: 0.8 good, 1 bad that counts twice; (1 - 0.1) * 0.8 / 2.8 + 0.5 * 0.1.
    assert kang([[1.0], [0.0]], [[0.0], [1.0]])[0] == pytest.approx(0.9 * 0.8 / 2.8 + 0.05)


events = st.lists(st.floats(0, 20), min_size=1, max_size=6)


@given(events, events, st.floats(0, 1))
def test_an_opinion_is_shared_out_whole(good, bad, unsure):
    n = min(len(good), len(bad))
    seen, missed = [good[:n]], [bad[:n]]
    belief, disbelief = (
        kang(*each, uncertain=unsure, punished=1.0, gamma=0.0) for each in ((seen, missed), (missed, seen))
    )
    doubt = kang(seen, missed, uncertain=unsure, punished=1.0, gamma=1.0) - belief
    assert belief + disbelief + doubt == pytest.approx(np.ones(n))
    assert all((part >= -1e-12).all() for part in (belief, disbelief, doubt))


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
    assert kang([[1.0]], [[1.0]], punished=1.0)[0] == pytest.approx(0.5)


def test_who_has_no_event_is_all_doubt():
    assert kang([[0.0]], [[0.0]], gamma=0.5)[0] == 0.5
    assert kang([[0.0]], [[0.0]], gamma=0.0)[0] == 0.0


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: kang([[1.0]], [[1.0]], uncertain=1.5), r"uncertainty must lie in \[0, 1\]"),
        (lambda: kang([[1.0]], [[1.0]], recent=0.0), r"recent must lie in \(0, 1\]"),
        (lambda: kang(np.zeros((0, 2)), np.zeros((0, 2))), "round by round"),
    ],
)
def test_bad_arguments_are_named(call, says):
    with pytest.raises(InputError, match=says):
        call()

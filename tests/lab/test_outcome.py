"""What a system makes of a trial, measured by hand."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.lab.cited.names import MEASURES
from anml.lab.cited.outcome import Outcome, final_models, measured, top_contributors, top_rows
from anml.lab.cited.trials import make_trial
from anml.lab.spec import Setting


def setting(attack, **more):
    return Setting(dataset="wine", attack=attack, contributors=20, bad=0.3, **more)


def test_a_perfect_outcome():
    seen, truth = make_trial(setting("flip"), 0, 3)
    perfect = Outcome(kept=~truth.wrong, scores=(~truth.bad).astype(float))
    found = measured(seen, truth, perfect, lambda x: truth.y_test)
    assert found["error"] == 0
    assert found["precision"] == 100
    assert found["ranked"] == 1
    assert found["paid_bad"] == 0
    kept = top_contributors(seen, (~truth.bad).astype(float))
    assert (kept == ~truth.bad[seen.contributor]).all()


@cache
def by_hand():
    """Four contributors, one row each; the first two are bad, and the first one's row is wrong."""
    seen, truth = make_trial(setting("flip"), 0, 3)
    seen = replace(seen, contributor=np.arange(4), x=seen.x[:4], y=seen.y[:4], malicious=2)
    truth = replace(
        truth, wrong=np.array([True, False, False, False]), bad=np.array([True, True, False, False])
    )
    return seen, truth


def test_measures_by_hand():
    seen, truth = by_hand()
    outcome = Outcome(kept=np.array([True, True, True, False]), scores=np.array([1.0, -1.0, 2.0, 3.0]))
    found = measured(seen, truth, outcome, lambda x: 1 - (truth.y_test == 0))
    assert tuple(found) == MEASURES
    # Two of three kept rows are right; of positive scores 1 of 6 goes to the bad.
    assert found["precision"] == pytest.approx(200 / 3)
    assert found["paid_bad"] == pytest.approx(100 / 6)
    # All pairs of a good and a bad one are in order.
    assert found["ranked"] == 1
    assert np.isnan(found["backdoor"])


def test_what_a_system_does_not_say_is_not_measured():
    seen, truth = by_hand()
    found = measured(seen, truth, Outcome(), lambda x: truth.y_test)
    assert found["error"] == 0
    assert all(np.isnan(found[name]) for name in ("precision", "ranked", "paid_bad"))
    # Who gives everybody the same score ranks nobody.
    assert measured(seen, truth, Outcome(scores=np.zeros(4)), lambda x: truth.y_test)["ranked"] == 0.5


def test_the_worst_contributors_are_dropped_as_many_as_there_are_attackers():
    seen, _ = by_hand()
    assert top_contributors(seen, np.array([0.3, 0.1, 0.2, 0.9])).tolist() == [True, False, False, True]
    # Ties are broken by place, so that the same scores give the same rows.
    assert top_contributors(seen, np.zeros(4)).tolist() == [False, False, True, True]


@given(st.lists(st.floats(-5, 5), min_size=4, max_size=4))
def test_half_of_the_rows_are_kept_where_half_of_all_are_attackers(scores):
    seen, _ = by_hand()
    kept = top_rows(seen, np.array(scores))
    assert kept.sum() == 2
    assert min(np.array(scores)[kept]) >= max(np.array(scores)[~kept])


def test_models_of_several_choices_are_those_of_each_alone():
    seen, _ = make_trial(setting("flip"), 0, 3)
    short = Setting(epochs=3, hidden=(4,))
    half = np.arange(len(seen.y)) % 2 == 0
    both = final_models(seen, [np.ones(len(seen.y), dtype=bool), half], short)
    alone = final_models(seen, [half], short)
    assert (both[1](seen.x) == alone[0](seen.x)).all()
    assert final_models(seen, [], short) == []

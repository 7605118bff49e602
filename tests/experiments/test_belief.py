"""Estimates of a simulated case: cached by the inputs of the method only."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from experiments.belief import REMEMBERED, label_estimates
from experiments.cases import make_case
from experiments.spec import Setting

pytestmark = pytest.mark.slow

SETTING = Setting(contributors=4, size=60)


@pytest.fixture(scope="module")
def case():
    return make_case(SETTING, 0, 0)


@pytest.fixture(scope="module")
def result(case):
    return label_estimates(case.seen, SETTING.decay)


def test_every_label_has_a_probability(case, result):
    assert result.p_correct.shape == case.seen.y.shape
    assert ((result.p_correct >= 0) & (result.p_correct <= 1)).all()
    # Right labels are believed more than wrong ones, on average.
    assert result.p_correct[case.right].mean() > result.p_correct[case.truth.wrong].mean()


def test_the_same_case_is_assessed_once(case, result):
    assert label_estimates(case.seen, SETTING.decay) is result
    assert label_estimates(replace(case.seen, x=case.seen.x.copy()), SETTING.decay) is result


def test_truth_is_not_seen(case, result):
    """Ground truth and the test part do not change the estimates."""
    other = make_case(replace(SETTING, epochs=1), 0, 0)
    assert other.truth is not case.truth
    assert label_estimates(other.seen, SETTING.decay) is result


@pytest.mark.parametrize("field", ["y", "v", "r", "contributor", "seed"])
def test_what_is_seen_makes_another_case(case, field, monkeypatch):
    value = getattr(case.seen, field)
    changed = {
        "y": lambda: (value + 1) % 3, "v": lambda: np.full_like(value, 0.5), "seed": lambda: value + 1,
        "contributor": lambda: value[::-1], "r": lambda: None,
    }[field]()  # fmt: skip
    asked = []
    monkeypatch.setattr("experiments.belief._BELIEVED", {})
    monkeypatch.setattr(
        "experiments.belief.assess", lambda *known: asked.append(known) or SimpleNamespace(belief=0)
    )
    for each in (case.seen, case.seen, replace(case.seen, **{field: changed})):
        label_estimates(each, SETTING.decay)
    assert len(asked) == 2


def test_not_everything_is_remembered_for_ever(case, monkeypatch):
    known = {str(number): None for number in range(REMEMBERED)}
    monkeypatch.setattr("experiments.belief._BELIEVED", known)
    monkeypatch.setattr("experiments.belief.assess", lambda *given: SimpleNamespace(belief=0))
    label_estimates(case.seen, SETTING.decay)
    assert list(known.values()) == [0]

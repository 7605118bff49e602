"""What is believed of a simulated case: assessed once for what a method sees, and by nothing else."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from anml.lab.belief import REMEMBERED, believed
from anml.lab.cases import make_case
from anml.lab.spec import Setting

SETTING = Setting(contributors=4, size=60)


@pytest.fixture(scope="module")
def case():
    return make_case(SETTING, 0, 0)


@pytest.fixture(scope="module")
def found(case):
    return believed(case.seen, SETTING.decay)


def test_every_label_has_a_probability(case, found):
    assert found.p_correct.shape == case.seen.y.shape
    assert ((found.p_correct >= 0) & (found.p_correct <= 1)).all()
    # Right labels are believed more than wrong ones, on average.
    assert found.p_correct[case.right].mean() > found.p_correct[case.truth.wrong].mean()


def test_the_same_case_is_assessed_once(case, found):
    assert believed(case.seen, SETTING.decay) is found
    assert believed(replace(case.seen, x=case.seen.x.copy()), SETTING.decay) is found


def test_truth_is_not_seen(case, found):
    """Who is bad, what is wrong and the test part change nothing: the very same belief comes back."""
    other = make_case(replace(SETTING, epochs=1), 0, 0)
    assert other.truth is not case.truth
    assert believed(other.seen, SETTING.decay) is found


@pytest.mark.parametrize("field", ["y", "v", "r", "contributor", "seed"])
def test_what_is_seen_makes_another_case(case, field, monkeypatch):
    value = getattr(case.seen, field)
    changed = {
        "y": lambda: (value + 1) % 3, "v": lambda: np.full_like(value, 0.5), "seed": lambda: value + 1,
        "contributor": lambda: value[::-1], "r": lambda: None,
    }[field]()  # fmt: skip
    asked = []
    monkeypatch.setattr("anml.lab.belief._BELIEVED", {})
    monkeypatch.setattr(
        "anml.lab.belief.assess", lambda *told: asked.append(told) or SimpleNamespace(belief=0)
    )
    for each in (case.seen, case.seen, replace(case.seen, **{field: changed})):
        believed(each, SETTING.decay)
    assert len(asked) == 2


def test_not_everything_is_remembered_for_ever(case, monkeypatch):
    known = {str(number): None for number in range(REMEMBERED)}
    monkeypatch.setattr("anml.lab.belief._BELIEVED", known)
    monkeypatch.setattr("anml.lab.belief.assess", lambda *told: SimpleNamespace(belief=0))
    believed(case.seen, SETTING.decay)
    assert list(known.values()) == [0]

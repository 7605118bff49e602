"""What the product believes of rows of the laboratory: one way to ask it, and simulated cases once each."""

from typing import Any

import numpy as np

from anml.assess.assess import Assessment, Known, SamplePolicy, assess
from anml.core.calibration import in_columns, ranking, reliability
from anml.core.checks import Bools, Floats
from anml.core.domain import Recipe
from anml.core.people.belief import Belief
from anml.core.profile import PROFILES
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.weigh import recipe_of
from anml.lab.cases import Case, digest, make_case
from anml.lab.spec import At, Found, Setting

# Nobody is new in a simulation.
OFF = ColdStart(contributions=0)


def assessed(
    x: Any, y: Any, classes: int, known: Known, seed: int, *, recipe: str | Recipe = "evidence",
    decay: float = 0.0, floor: ColdStart = OFF,
) -> Assessment:  # fmt: skip
    """Assess rows as estimators and audit do; one class stands for numbers."""
    policy = SamplePolicy(recipe_of(recipe), PROFILES["default"], Decay(decay), floor, seed % 2**31)
    return assess(x, y, "classification" if classes > 1 else "regression", classes, known, policy)


# What is believed of cases, by what a method sees of them, and how many are remembered.
_BELIEVED: dict[str, Belief] = {}
REMEMBERED = 256


def believed(setting: Setting, case: Case) -> Belief:
    """What is believed of the labels; the same case is assessed once."""
    seen = (case.x, case.y, case.v, case.r, case.t, case.contributor, case.item)
    name = digest(*seen, (case.seed, case.credentials, setting.decay))
    if name not in _BELIEVED:
        if len(_BELIEVED) >= REMEMBERED:
            _BELIEVED.clear()
        v, r = (case.v, case.r) if case.credentials else (None, None)
        age = -np.log(case.t) / setting.decay if np.ptp(case.t) > 0 else None
        known = Known(case.contributor, case.item, v, r, age)
        found = assessed(case.x, case.y, case.classes, known, case.seed, decay=setting.decay)
        _BELIEVED[name] = found.belief
    return _BELIEVED[name]


def run_trial(at: At, methods: list[str]) -> Found:
    """Belief against truth in bins."""
    case = make_case(at.setting, at.trial, at.experiment.seed)
    found = against_truth(believed(at.setting, case).p_correct, ~case.wrong)
    # The other recipes make no claim about labels.
    claim = [method for method in methods if at.experiment.methods[method].combine == "evidence"]
    return [(method, found) for method in claim]


def against_truth(p_correct: Floats, right: Bools) -> dict[str, float]:
    """How true beliefs are: calibration, in all and by bins, and ranking."""
    bins = reliability(p_correct, right)
    found = {"calibration": bins.error, "gap": bins.gap, "ranking": ranking(p_correct, right)}
    return {**found, **in_columns(bins)}

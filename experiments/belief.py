"""Estimates of the package for the cases of experiments; each simulated case is assessed once."""

from typing import Any

from anml.annotators.result import LabelEstimates
from anml.assessment.assess import Assessment, SamplePolicy, assess
from anml.core.profile import PROFILES
from anml.core.types import Recipe
from anml.signals.freshness import Decay
from anml.signals.reputation import ColdStart
from anml.weighting.weigh import recipe_of
from experiments.cases import digest, make_case
from experiments.measures import calibration_measures
from experiments.seen import MethodInput
from experiments.spec import Found, TrialContext

# Nobody is new in a simulation.
OFF = ColdStart(contributions=0)


def run_assessment(
    seen: MethodInput,
    *,
    recipe: str | Recipe = "evidence",
    decay: float = 0.0,
    floor: ColdStart = OFF,
    **more: Any,
) -> Assessment:
    """Assess rows as estimators and audit do, with whatever `more` is known of them."""
    policy = SamplePolicy(recipe_of(recipe), PROFILES["default"], Decay(decay), floor, seen.seed % 2**31)
    return assess(seen.x, seen.y, seen.task, seen.classes, seen.known(**more), policy)


# What is believed of cases, by what a method sees of them, and how many are remembered.
_BELIEVED: dict[str, LabelEstimates] = {}
REMEMBERED = 256


def label_estimates(seen: MethodInput, decay: float) -> LabelEstimates:
    """Estimate the labels of a case; results are cached by case."""
    name = digest(*(getattr(seen, part) for part in seen.BY_ROW), seen.seed, decay)
    if name not in _BELIEVED:
        if len(_BELIEVED) >= REMEMBERED:
            _BELIEVED.clear()
        _BELIEVED[name] = run_assessment(seen, decay=decay).belief
    return _BELIEVED[name]


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """LabelEstimates against truth in bins."""
    case = make_case(at.setting, at.trial, at.experiment.seed)
    found = calibration_measures(label_estimates(case.seen, at.setting.decay).p_correct, case.right)
    # The other recipes make no claim about labels.
    claim = [method for method in methods if at.experiment.methods[method].combine == "evidence"]
    return [(method, found) for method in claim]

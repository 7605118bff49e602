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
    inputs: MethodInput,
    *,
    recipe: str | Recipe = "evidence",
    decay: float = 0.0,
    floor: ColdStart = OFF,
    **more: Any,
) -> Assessment:
    """Assess rows as estimators and audit do, with whatever `more` is known of them."""
    policy = SamplePolicy(recipe_of(recipe), PROFILES["default"], Decay(decay), floor, inputs.seed % 2**31)
    return assess(inputs.x, inputs.y, inputs.task, inputs.classes, inputs.known(**more), policy)


# What is believed of cases, by what a method sees of them, and how many are remembered.
_BELIEVED: dict[str, LabelEstimates] = {}
REMEMBERED = 256


def label_estimates(inputs: MethodInput, decay: float) -> LabelEstimates:
    """Estimate the labels of a case; results are cached by case."""
    name = digest(*(getattr(inputs, part) for part in inputs.BY_ROW), inputs.seed, decay)
    if name not in _BELIEVED:
        if len(_BELIEVED) >= REMEMBERED:
            _BELIEVED.clear()
        _BELIEVED[name] = run_assessment(inputs, decay=decay).belief
    return _BELIEVED[name]


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """LabelEstimates against truth in bins."""
    case = make_case(at.setting, at.trial, at.experiment.seed)
    result = calibration_measures(label_estimates(case.seen, at.setting.decay).p_correct, case.right)
    # The other recipes make no claim about labels.
    claim = [method for method in methods if at.experiment.methods[method].combine == "evidence"]
    return [(method, result) for method in claim]

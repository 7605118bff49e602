"""What the product believes of rows of the laboratory: one way to ask it, and simulated cases once each."""

from typing import Any

from anml.assess.assess import Assessment, SamplePolicy, assess
from anml.core.domain import Recipe
from anml.core.people.belief import Belief
from anml.core.profile import PROFILES
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.weigh import recipe_of
from anml.lab.cases import digest, make_case
from anml.lab.measures import against_truth
from anml.lab.seen import Seen
from anml.lab.spec import At, Found

# Nobody is new in a simulation.
OFF = ColdStart(contributions=0)


def assessed(
    seen: Seen, *, recipe: str | Recipe = "evidence", decay: float = 0.0, floor: ColdStart = OFF, **more: Any
) -> Assessment:
    """Assess rows as estimators and audit do, with whatever `more` is known of them."""
    policy = SamplePolicy(recipe_of(recipe), PROFILES["default"], Decay(decay), floor, seen.seed % 2**31)
    return assess(seen.x, seen.y, seen.task, seen.classes, seen.known(**more), policy)


# What is believed of cases, by what a method sees of them, and how many are remembered.
_BELIEVED: dict[str, Belief] = {}
REMEMBERED = 256


def believed(seen: Seen, decay: float) -> Belief:
    """What is believed of the labels; the same case is assessed once."""
    name = digest(*(getattr(seen, part) for part in seen.BY_ROW), seen.seed, decay)
    if name not in _BELIEVED:
        if len(_BELIEVED) >= REMEMBERED:
            _BELIEVED.clear()
        _BELIEVED[name] = assessed(seen, decay=decay).belief
    return _BELIEVED[name]


def run_trial(at: At, methods: list[str]) -> Found:
    """Belief against truth in bins."""
    case = make_case(at.setting, at.trial, at.experiment.seed)
    found = against_truth(believed(case.seen, at.setting.decay).p_correct, case.right)
    # The other recipes make no claim about labels.
    claim = [method for method in methods if at.experiment.methods[method].combine == "evidence"]
    return [(method, found) for method in claim]

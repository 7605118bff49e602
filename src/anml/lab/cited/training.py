"""Ways of training on a trial: each trains its own network, as long and in such batches as the common one."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from anml.lab.cited.outcome import GRID, Outcome, of_contributors, tuned
from anml.lab.cited.trials import Seen
from anml.lab.spec import Setting
from anml.reweight.dividemix import dividemix
from anml.reweight.glister import glister
from anml.reweight.learning_to_reweight import learning_to_reweight
from anml.reweight.training import Plan, Reweighted


def _glister(seen: Seen, plan: Plan) -> Reweighted:
    """GLISTER, keeping all but the attackers' share."""
    keep = float(np.clip(1 - seen.malicious / seen.clients, 0.05, 1.0))
    return glister(seen.x, seen.y, seen.root_x, seen.root_y, seen.classes, keep, plan)


WAYS: dict[str, Callable[[Seen, Plan], Reweighted]] = {
    "L2RW": lambda seen, plan: learning_to_reweight(
        seen.x, seen.y, seen.root_x, seen.root_y, seen.classes, plan
    ),
    "DivideMix": lambda seen, plan: dividemix(seen.x, seen.y, seen.classes, plan),
    "GLISTER": _glister,
}


@lru_cache(maxsize=len(WAYS))
def _at_every_rate(seen: Seen, way: str, setting: Setting) -> list[Reweighted]:
    """The networks of a way; those for its rows and for its contributors are the same."""
    plans = [Plan(setting.hidden, setting.epochs, setting.batch, rate, seen.seed % 2**31) for rate in GRID]
    return [WAYS[way](seen, plan) for plan in plans]


def trained(seen: Seen, way: str, setting: Setting, *, contributors: bool) -> Outcome:
    """Train a way's own network at every rate; or the common one on the contributors that it weighs most."""
    found = _at_every_rate(seen, way, setting)
    predicts = [each.predict for each in found]
    weights = found[GRID.index(tuned(seen, predicts).rate)].weights
    if contributors:
        scores = seen.by_client(weights)
        # A way has no threshold of its own for contributors: half of the usual weight is taken.
        return of_contributors(seen, scores, float(np.median(scores)) / 2)
    return Outcome(predicts, scores=seen.by_client(weights), weights=weights)

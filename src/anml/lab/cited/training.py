"""Ways of training on a trial: each trains its own network, as long as the others."""

import numpy as np

from anml.lab.cited.outcome import Outcome
from anml.lab.cited.trials import Seen
from anml.reweight.dividemix import dividemix as dividemix_of
from anml.reweight.glister import glister as glister_of
from anml.reweight.learning_to_reweight import learning_to_reweight
from anml.reweight.training import Plan, Reweighted

# Steps an epoch, about, whatever the number of rows.
STEPS = 14


def _plan(seen: Seen) -> Plan:
    return Plan(batch=max(50, -(-len(seen.y) // STEPS)), seed=seen.seed % 2**31)


def _outcome(seen: Seen, found: Reweighted) -> Outcome:
    return Outcome(found.predict, scores=seen.by_client(found.weights), weights=found.weights)


def l2rw(seen: Seen) -> Outcome:
    """Learning to Reweight."""
    return _outcome(
        seen,
        learning_to_reweight(seen.x, seen.y, seen.root_x, seen.root_y, seen.classes, _plan(seen)),
    )


def glister(seen: Seen) -> Outcome:
    """GLISTER, keeping all but the attackers' share."""
    keep = float(np.clip(1 - seen.malicious / seen.clients, 0.05, 1.0))
    return _outcome(
        seen,
        glister_of(seen.x, seen.y, seen.root_x, seen.root_y, seen.classes, keep, _plan(seen)),
    )


def dividemix(seen: Seen) -> Outcome:
    """DivideMix."""
    return _outcome(seen, dividemix_of(seen.x, seen.y, seen.classes, _plan(seen)))

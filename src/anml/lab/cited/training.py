"""Ways of training on a trial: each trains its own network, as long as the others."""

import numpy as np

from anml.lab.cited.outcome import Outcome
from anml.lab.cited.trials import Told
from anml.reweight.dividemix import dividemix as dividemix_of
from anml.reweight.glister import glister as glister_of
from anml.reweight.learning_to_reweight import learning_to_reweight
from anml.reweight.training import Plan, Reweighted

# Steps an epoch, about, whatever the number of rows.
STEPS = 14


def _plan(told: Told) -> Plan:
    return Plan(batch=max(50, -(-len(told.y) // STEPS)), seed=told.seed % 2**31)


def _outcome(told: Told, found: Reweighted) -> Outcome:
    return Outcome(found.predict, scores=told.by_client(found.weights), weights=found.weights)


def l2rw(told: Told) -> Outcome:
    """Learning to Reweight."""
    return _outcome(
        told, learning_to_reweight(told.x, told.y, told.root_x, told.root_y, told.classes, _plan(told))
    )


def glister(told: Told) -> Outcome:
    """GLISTER, keeping all but the attackers' share."""
    keep = float(np.clip(1 - told.malicious / told.clients, 0.05, 1.0))
    return _outcome(
        told, glister_of(told.x, told.y, told.root_x, told.root_y, told.classes, keep, _plan(told))
    )


def dividemix(told: Told) -> Outcome:
    """DivideMix."""
    return _outcome(told, dividemix_of(told.x, told.y, told.classes, _plan(told)))

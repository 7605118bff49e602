"""The rules of aggregation on a trial: each trains the federated model."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from anml.aggregate import (
    believed as believed_rule,
)
from anml.aggregate import bulyan as bulyan_rule
from anml.aggregate import fltrust as fltrust_rule
from anml.aggregate import krum as krum_rule
from anml.aggregate import mean as mean_rule
from anml.aggregate import median as median_rule
from anml.aggregate import multi_krum as multi_krum_rule
from anml.aggregate import recess as recess_rule
from anml.aggregate import trimmed_mean as trimmed_rule
from anml.aggregate import weighted as weighted_rule
from anml.aggregate.rules import STANDS
from anml.aggregate.updates import Aggregated
from anml.core.checks import Floats
from anml.federated.clients import predicted
from anml.lab.cited.federation import Answer, Round, Trained, federate, probed, server_update
from anml.lab.cited.outcome import Outcome
from anml.lab.cited.trials import Told, Truth


def _outcome(told: Told, trained: Trained, *, says: bool = True) -> Outcome:
    weights = trained.weights[told.contributor] / np.bincount(told.contributor)[told.contributor]
    return Outcome(
        partial(predicted, trained.shape, trained.model),
        scores=trained.scores if says else None,
        weights=np.asarray(weights),
    )


def _run(told: Told, rule: Callable[[Round], Any], *, says: bool = True) -> Outcome:
    def answer(at: Round) -> Answer:
        found = rule(at)
        return Answer(found.update, found.scores, found.weights)

    return _outcome(told, federate(told, answer), says=says)


def _f(told: Told, name: str) -> int:
    """The number of attackers that a rule is told: at most what it can stand."""
    return min(told.malicious, int(STANDS[name](told.clients)))


def fedavg(told: Told) -> Outcome:
    """The mean of all updates."""
    return _run(told, lambda at: mean_rule.mean(at.updates, at.clients.counts()), says=False)


def oracle(told: Told, truth: Truth) -> Outcome:
    """The mean of honest clients' updates: the bound for rules."""

    def honest(at: Round) -> Aggregated:
        return mean_rule.mean(at.updates, at.clients.counts() * ~truth.bad)

    return _run(told, honest, says=False)


def krum(told: Told) -> Outcome:
    """Krum."""
    return _run(told, lambda at: krum_rule.krum(at.updates, _f(told, "krum")))


def multi_krum(told: Told) -> Outcome:
    """Multi-Krum."""
    return _run(told, lambda at: multi_krum_rule.multi_krum(at.updates, _f(told, "multi-krum")))


def median(told: Told) -> Outcome:
    """Coordinate-wise median."""
    return _run(told, lambda at: median_rule.median(at.updates))


def trimmed_mean(told: Told) -> Outcome:
    """Coordinate-wise trimmed mean."""
    return _run(told, lambda at: trimmed_rule.trimmed_mean(at.updates, _f(told, "trimmed-mean")))


def bulyan(told: Told) -> Outcome:
    """Bulyan."""
    return _run(told, lambda at: bulyan_rule.bulyan(at.updates, _f(told, "bulyan")))


def fltrust(told: Told) -> Outcome:
    """FLTrust with the server's clean set."""
    return _run(
        told, lambda at: fltrust_rule.fltrust(at.updates, server_update(at, told.root_x, told.root_y))
    )


def fltrust_own(told: Told) -> Outcome:
    """FLTrust whose server has no clean set, and takes rows of an attacker in good faith."""
    mine = np.flatnonzero(told.liars[told.contributor])[: len(told.root_y)]
    return _run(
        told, lambda at: fltrust_rule.fltrust(at.updates, server_update(at, told.x[mine], told.y[mine]))
    )


def recess(told: Told) -> Outcome:
    """RECESS: a probe of every client in every round, trust carried on."""
    trust: Floats = np.zeros(told.clients)

    def rule(at: Round) -> Aggregated:
        nonlocal trust
        found = recess_rule.recess(at.updates, probed(at), trust)
        trust = found.scores
        return found

    return _run(told, rule)


def weighted(told: Told) -> Outcome:
    """Ours: q v r T, by the product."""
    v, r = told.by_client(told.v), told.by_client(told.r)

    def rule(at: Round) -> weighted_rule.Weighed:
        rng = np.random.default_rng([told.seed, at.number])
        return weighted_rule.weighted(at.updates, v, r, recipe="multiplicative", rng=rng)

    return _run(told, rule)


def believed(told: Told) -> Outcome:
    """Ours: P(honest) from updates, credentials and the rounds before."""
    v, r = told.by_client(told.v), told.by_client(told.r)
    before: Floats = np.zeros(told.clients)

    def rule(at: Round) -> believed_rule.Believed:
        nonlocal before
        rng = np.random.default_rng([told.seed, at.number])
        found = believed_rule.believed(at.updates, v, r, before=before, rng=rng)
        before = believed_rule.remembered(before, found.nats)
        return found

    return _run(told, rule)

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
from anml.lab.cited.trials import Seen, Truth


def _outcome(seen: Seen, trained: Trained, *, says: bool = True) -> Outcome:
    weights = trained.weights[seen.contributor] / np.bincount(seen.contributor)[seen.contributor]
    return Outcome(
        partial(predicted, trained.shape, trained.model),
        scores=trained.scores if says else None,
        weights=np.asarray(weights),
    )


def _run(seen: Seen, rule: Callable[[Round], Any], *, says: bool = True) -> Outcome:
    def answer(at: Round) -> Answer:
        found = rule(at)
        return Answer(found.update, found.scores, found.weights)

    return _outcome(seen, federate(seen, answer), says=says)


def _f(seen: Seen, name: str) -> int:
    """The number of attackers that a rule is told: at most what it can stand."""
    return min(seen.malicious, int(STANDS[name](seen.clients)))


def fedavg(seen: Seen) -> Outcome:
    """The mean of all updates."""
    return _run(seen, lambda at: mean_rule.mean(at.updates, at.clients.counts()), says=False)


def oracle(seen: Seen, truth: Truth) -> Outcome:
    """The mean of honest clients' updates: the bound for rules."""

    def honest(at: Round) -> Aggregated:
        return mean_rule.mean(at.updates, at.clients.counts() * ~truth.bad)

    return _run(seen, honest, says=False)


def krum(seen: Seen) -> Outcome:
    """Krum."""
    return _run(seen, lambda at: krum_rule.krum(at.updates, _f(seen, "krum")))


def multi_krum(seen: Seen) -> Outcome:
    """Multi-Krum."""
    return _run(seen, lambda at: multi_krum_rule.multi_krum(at.updates, _f(seen, "multi-krum")))


def median(seen: Seen) -> Outcome:
    """Coordinate-wise median."""
    return _run(seen, lambda at: median_rule.median(at.updates))


def trimmed_mean(seen: Seen) -> Outcome:
    """Coordinate-wise trimmed mean."""
    return _run(seen, lambda at: trimmed_rule.trimmed_mean(at.updates, _f(seen, "trimmed-mean")))


def bulyan(seen: Seen) -> Outcome:
    """Bulyan."""
    return _run(seen, lambda at: bulyan_rule.bulyan(at.updates, _f(seen, "bulyan")))


def fltrust(seen: Seen) -> Outcome:
    """FLTrust with the server's clean set."""
    return _run(
        seen,
        lambda at: fltrust_rule.fltrust(at.updates, server_update(at, seen.root_x, seen.root_y)),
    )


def fltrust_own(seen: Seen) -> Outcome:
    """FLTrust whose server has no clean set, and takes rows of an attacker in good faith."""
    mine = np.flatnonzero(seen.liars[seen.contributor])[: len(seen.root_y)]
    return _run(
        seen,
        lambda at: fltrust_rule.fltrust(at.updates, server_update(at, seen.x[mine], seen.y[mine])),
    )


def recess(seen: Seen) -> Outcome:
    """RECESS: a probe of every client in every round, trust carried on."""
    trust: Floats = np.zeros(seen.clients)

    def rule(at: Round) -> Aggregated:
        nonlocal trust
        found = recess_rule.recess(at.updates, probed(at), trust)
        trust = found.scores
        return found

    return _run(seen, rule)


def weighted(seen: Seen) -> Outcome:
    """Ours: q v r T, by the product."""
    v, r = seen.by_client(seen.v), seen.by_client(seen.r)

    def rule(at: Round) -> weighted_rule.Weighed:
        rng = np.random.default_rng([seen.seed, at.number])
        return weighted_rule.weighted(at.updates, v, r, recipe="multiplicative", rng=rng)

    return _run(seen, rule)


def believed(seen: Seen) -> Outcome:
    """Ours: P(honest) from updates, credentials and the rounds before."""
    v, r = seen.by_client(seen.v), seen.by_client(seen.r)
    before: Floats = np.zeros(seen.clients)

    def rule(at: Round) -> believed_rule.Believed:
        nonlocal before
        rng = np.random.default_rng([seen.seed, at.number])
        found = believed_rule.believed(at.updates, v, r, before=before, rng=rng)
        before = believed_rule.remembered(before, found.nats)
        return found

    return _run(seen, rule)

"""The rules of aggregation on a trial: each trains the federated model, at every rate of the grid."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from anml.aggregate.believed import remembered
from anml.aggregate.bulyan import bulyan
from anml.aggregate.fltrust import fltrust
from anml.aggregate.krum import krum
from anml.aggregate.mean import mean
from anml.aggregate.median import median
from anml.aggregate.multi_krum import multi_krum
from anml.aggregate.recess import recess
from anml.aggregate.rules import STANDS
from anml.aggregate.trimmed_mean import trimmed_mean
from anml.aggregate.weighted import weighted
from anml.core.checks import Bools, Floats, Ints
from anml.federated.clients import predicted
from anml.lab.cited.federation import Round, federate, probed, server_update, training_of
from anml.lab.cited.outcome import GRID, Outcome, tuned
from anml.lab.cited.trials import Seen

Rule = Callable[[Round], Any]


def _told(seen: Seen, name: str) -> int:
    """The number of attackers that a rule is told: at most what it can stand."""
    return min(seen.malicious, int(STANDS[name](seen.clients)))


def _trusting(rows: Floats, labels: Ints) -> Rule:
    """FLTrust with some rows as the server's own."""
    return lambda at: fltrust(at.updates, server_update(at, rows, labels))


def _own_set(seen: Seen) -> Rule:
    """The server has no clean set, and takes rows at random of what was contributed."""
    some = np.random.default_rng(seen.seed).permutation(len(seen.y))[: len(seen.root_y)]
    return _trusting(seen.x[some], seen.y[some])


def _recess(seen: Seen) -> Rule:
    """A probe of every client in every round, trust carried on."""
    trust: Floats = np.zeros(seen.clients)

    def rule(at: Round) -> Any:
        nonlocal trust
        found = recess(at.updates, probed(at), trust)
        trust = found.scores
        return found

    return rule


def _rng(at: Round) -> np.random.Generator:
    return np.random.default_rng([at.seen.seed, at.number])


def _weighted(seen: Seen) -> Rule:
    v, r = seen.by_client(seen.v), seen.by_client(seen.r)
    return lambda at: weighted(at.updates, v, r, recipe="multiplicative", rng=_rng(at))


def _believed(seen: Seen) -> Rule:
    """P(honest) from updates, credentials and the rounds before."""
    v, r = seen.by_client(seen.v), seen.by_client(seen.r)
    before: Floats = np.zeros(seen.clients)

    def rule(at: Round) -> Any:
        nonlocal before
        found = weighted(at.updates, v, r, recipe="evidence", before=before, rng=_rng(at))
        before = remembered(before, found.nats)
        return found

    return rule


# Each makes a rule for a trial, which may remember rounds.
RULES: dict[str, Callable[[Seen], Rule]] = {
    "FedAvg": lambda seen: lambda at: mean(at.updates, at.clients.counts()),
    "Krum": lambda seen: lambda at: krum(at.updates, _told(seen, "krum")),
    "Multi-Krum": lambda seen: lambda at: multi_krum(at.updates, _told(seen, "multi-krum")),
    "median": lambda seen: lambda at: median(at.updates),
    "trimmed mean": lambda seen: lambda at: trimmed_mean(at.updates, _told(seen, "trimmed-mean")),
    "Bulyan": lambda seen: lambda at: bulyan(at.updates, _told(seen, "bulyan")),
    "FLTrust": lambda seen: _trusting(seen.root_x, seen.root_y),
    "FLTrust, own set": _own_set,
    "RECESS": _recess,
    "ours, q v r T": _weighted,
    "ours, believed": _believed,
}


def aggregated(seen: Seen, make: Callable[[Seen], Rule], *, says: bool = True) -> Outcome:
    """Train by a rule at every rate; scores and weights of clients are those of the rate that is taken."""
    found = [federate(seen, make(seen), training=replace(training_of(seen), lr=rate)) for rate in GRID]
    predicts = [partial(predicted, each.shape, each.model) for each in found]
    best = found[GRID.index(tuned(seen, predicts).rate)]
    weights = best.weights[seen.contributor] / np.bincount(seen.contributor)[seen.contributor]
    return Outcome(predicts, scores=best.scores if says else None, weights=np.asarray(weights))


def honest_only(bad: Bools) -> Callable[[Seen], Rule]:
    """The mean of honest clients' updates: the bound for rules."""
    return lambda seen: lambda at: mean(at.updates, at.clients.counts() * ~bad)

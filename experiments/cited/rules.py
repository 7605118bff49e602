"""The rules of aggregation on a trial: each trains the federated model, at every rate of the grid."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Array, Floats, Ints
from anml.federated.honesty import carry_over_evidence
from anml.federated.rules import (
    abnormality,
    bulyan,
    fltrust,
    krum,
    mean,
    median,
    multi_krum,
    recess,
    trimmed_mean,
)
from anml.federated.weighted import weighted
from anml.gradients.mlp import initialise
from anml.networks.mlp import LayerWidths
from experiments.cited.outcome import GRID, select_learning_rate
from experiments.cited.trials import SystemInput
from experiments.federated_clients import Clients, LocalTraining, predicted
from experiments.measures import Outcome

N_ROUNDS, LOCAL_STEPS, BATCH, HIDDEN = 15, 10, 32, (64, 32)


class CitedRound(NamedTuple):
    """Inputs of an aggregation rule in one round."""

    number: int
    model: Tensor
    updates: Array
    seen: SystemInput
    clients: Clients
    training: LocalTraining


Rule = Callable[[CitedRound], Any]


@dataclass
class Trained:
    """The model after all rounds, the means over rounds of scores and weights, and the rounds."""

    model: Tensor
    shape: LayerWidths
    scores: Floats
    weights: Floats
    rounds: list[CitedRound]


def shape_of(seen: SystemInput) -> LayerWidths:
    """The network that all clients train."""
    return LayerWidths(seen.x.shape[1], HIDDEN, seen.classes)


def training_of(seen: SystemInput) -> LocalTraining:
    """About as many steps a round whatever the number of rows."""
    largest = int(seen.rows.max())
    return LocalTraining(max(1, round(LOCAL_STEPS / -(-largest // BATCH))), BATCH)


def federate(seen: SystemInput, rule: Rule, training: LocalTraining | None = None) -> Trained:
    """Run all rounds."""
    shape, training = shape_of(seen), training or training_of(seen)
    clients = Clients.of(seen.x, seen.y, seen.who, shape)
    model = initialise(shape, [seen.seed]).flat[0]
    answers, rounds = [], []
    for number in range(N_ROUNDS):
        updates = simulate_updates(seen, clients, model, number, training)
        rounds.append(CitedRound(number, model, updates, seen, clients, training))
        answers.append(rule(rounds[-1]))
        model = model + torch.as_tensor(np.asarray(answers[-1].update, dtype=np.float32))
    scores, weights = (np.mean([getattr(a, name) for a in answers], axis=0) for name in ("scores", "weights"))
    return Trained(model, shape, scores, weights, rounds)


def simulate_updates(
    seen: SystemInput, clients: Clients, model: Tensor, number: int, training: LocalTraining
) -> Array:
    """Updates as they arrive: what training gives, and noise as long from those who only pretend."""
    seeds = [seen.seed + 1_000 * number + client for client in range(clients.count)]
    updates = clients.updates(model, seeds, training)
    if seen.noise_updates.any():
        rng = np.random.default_rng([seen.seed, number])
        usual = float(np.median(np.linalg.norm(updates[~seen.noise_updates], axis=1)))
        noise = rng.normal(size=(int(seen.noise_updates.sum()), updates.shape[1]))
        updates[seen.noise_updates] = usual * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return updates


def probe_clients(at: CitedRound) -> Floats:
    """Abnormality of each client's reply to a probe: a model moved by half of its own update."""
    probes = 0.5 * at.updates
    begin = at.model + torch.as_tensor(probes)
    seeds = [at.seen.seed + 500 + 1_000 * at.number + client for client in range(at.clients.count)]
    replies = at.clients.updates(begin, seeds, at.training)
    if at.seen.noise_updates.any():
        rng = np.random.default_rng([at.seen.seed, at.number, 1])
        some = at.seen.noise_updates
        replies[some] = rng.normal(size=replies[some].shape) * replies[~some].std()
    return abnormality(probes, replies)


def _with_attacker_count(
    rule: Callable[..., Any], limit: Callable[[int], int]
) -> Callable[[SystemInput], Rule]:
    """Return a rule that takes the number of attackers, at most its limit."""

    def of_trial(seen: SystemInput) -> Rule:
        malicious = min(seen.malicious, limit(seen.clients))
        return lambda at: rule(at.updates, malicious)

    return of_trial


def _trusting(rows: Floats, labels: Ints) -> Rule:
    """FLTrust with some rows as the server's own, on which it trains too."""

    def rule(at: CitedRound) -> Any:
        alone = Clients.of(rows, labels, np.zeros(len(labels), dtype=np.int64), at.clients.shape)
        return fltrust(at.updates, alone.updates(at.model, [at.seen.seed + at.number], at.training)[0])

    return rule


def _own_set(seen: SystemInput) -> Rule:
    """The server has no clean set, and takes rows at random of what was contributed."""
    some = np.random.default_rng(seen.seed).permutation(len(seen.y))[: len(seen.root_y)]
    return _trusting(seen.x[some], seen.y[some])


def _carried(
    seen: SystemInput, rule: Callable[[CitedRound, Floats], Any], after: Callable[[Floats, Any], Floats]
) -> Rule:
    """A rule that carries on from round to round what it holds of each client."""
    held: Floats = np.zeros(seen.clients)

    def carrying(at: CitedRound) -> Any:
        nonlocal held
        found = rule(at, held)
        held = after(held, found)
        return found

    return carrying


def _anml_rule(recipe: str) -> Callable[[SystemInput], Rule]:
    """Clients weighed by a recipe, from updates, credentials, and (by evidence) the rounds before."""

    def of_trial(seen: SystemInput) -> Rule:
        v, r = (None if given is None else seen.mean(given) for given in (seen.v, seen.r))

        def rule(at: CitedRound, before: Floats) -> Any:
            rng = np.random.default_rng([at.seen.seed, at.number])
            return weighted(at.updates, v, r, recipe=recipe, before=before, rng=rng)

        return _carried(seen, rule, lambda before, found: carry_over_evidence(before, found.nats))

    return of_trial


# Each makes a rule for a trial, which may remember rounds.
RULES: dict[str, Callable[[SystemInput], Rule]] = {
    "FedAvg": lambda seen: lambda at: mean(at.updates, at.clients.counts()),
    "Krum": _with_attacker_count(krum, lambda n: (n - 3) // 2),
    "Multi-Krum": _with_attacker_count(multi_krum, lambda n: (n - 3) // 2),
    "median": lambda seen: lambda at: median(at.updates),
    "trimmed mean": _with_attacker_count(trimmed_mean, lambda n: (n - 1) // 2),
    "Bulyan": _with_attacker_count(bulyan, lambda n: (n - 3) // 4),
    "FLTrust": lambda seen: _trusting(seen.root_x, seen.root_y),
    "FLTrust, own set": _own_set,
    # A probe of every client in every round, trust carried on.
    "RECESS": lambda seen: _carried(
        seen,
        lambda at, trust: recess(at.updates, probe_clients(at), trust),
        lambda trust, found: found.scores,
    ),
    "ours, q v r T": _anml_rule("multiplicative"),
    "ours, believed": _anml_rule("evidence"),
}


def train_with_rule(seen: SystemInput, make: Callable[[SystemInput], Rule], *, says: bool = True) -> Outcome:
    """Train by a rule at every rate; scores and weights of clients are those of the rate that is taken."""
    found = [federate(seen, make(seen), replace(training_of(seen), lr=rate)) for rate in GRID]
    predicts = [partial(predicted, each.shape, each.model) for each in found]
    best = found[GRID.index(select_learning_rate(seen, predicts).rate)]
    weights = (best.weights / seen.rows)[seen.who]
    return Outcome(predicts, quality=best.scores if says else None, weights=weights)

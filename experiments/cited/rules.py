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


def shape_of(inputs: SystemInput) -> LayerWidths:
    """The network that all clients train."""
    return LayerWidths(inputs.x.shape[1], HIDDEN, inputs.classes)


def training_of(inputs: SystemInput) -> LocalTraining:
    """About as many steps a round whatever the number of rows."""
    largest = int(inputs.rows.max())
    return LocalTraining(max(1, round(LOCAL_STEPS / -(-largest // BATCH))), BATCH)


def federate(inputs: SystemInput, rule: Rule, training: LocalTraining | None = None) -> Trained:
    """Run all rounds."""
    shape, training = shape_of(inputs), training or training_of(inputs)
    clients = Clients.of(inputs.x, inputs.y, inputs.who, shape)
    model = initialise(shape, [inputs.seed]).flat[0]
    answers, rounds = [], []
    for number in range(N_ROUNDS):
        updates = simulate_updates(inputs, clients, model, number, training)
        rounds.append(CitedRound(number, model, updates, inputs, clients, training))
        answers.append(rule(rounds[-1]))
        model = model + torch.as_tensor(np.asarray(answers[-1].update, dtype=np.float32))
    scores, weights = (np.mean([getattr(a, name) for a in answers], axis=0) for name in ("scores", "weights"))
    return Trained(model, shape, scores, weights, rounds)


def simulate_updates(
    inputs: SystemInput, clients: Clients, model: Tensor, number: int, training: LocalTraining
) -> Array:
    """Updates as they arrive: what training gives, and noise as long from those who only pretend."""
    seeds = [inputs.seed + 1_000 * number + client for client in range(clients.count)]
    updates = clients.updates(model, seeds, training)
    if inputs.noise_updates.any():
        rng = np.random.default_rng([inputs.seed, number])
        typical = float(np.median(np.linalg.norm(updates[~inputs.noise_updates], axis=1)))
        noise = rng.normal(size=(int(inputs.noise_updates.sum()), updates.shape[1]))
        updates[inputs.noise_updates] = typical * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return updates


def probe_clients(at: CitedRound) -> Floats:
    """Abnormality of each client's reply to a probe: a model moved by half of its own update."""
    probes = 0.5 * at.updates
    begin = at.model + torch.as_tensor(probes)
    seeds = [at.seen.seed + 500 + 1_000 * at.number + client for client in range(at.clients.count)]
    replies = at.clients.updates(begin, seeds, at.training)
    if at.seen.noise_updates.any():
        rng = np.random.default_rng([at.seen.seed, at.number, 1])
        subset = at.seen.noise_updates
        replies[subset] = rng.normal(size=replies[subset].shape) * replies[~subset].std()
    return abnormality(probes, replies)


def _with_attacker_count(
    rule: Callable[..., Any], limit: Callable[[int], int]
) -> Callable[[SystemInput], Rule]:
    """Return a rule that takes the number of attackers, at most its limit."""

    def of_trial(inputs: SystemInput) -> Rule:
        malicious = min(inputs.malicious, limit(inputs.clients))
        return lambda at: rule(at.updates, malicious)

    return of_trial


def _trusting(rows: Floats, labels: Ints) -> Rule:
    """FLTrust with some rows as the server's own, on which it trains too."""

    def rule(at: CitedRound) -> Any:
        alone = Clients.of(rows, labels, np.zeros(len(labels), dtype=np.int64), at.clients.shape)
        return fltrust(at.updates, alone.updates(at.model, [at.seen.seed + at.number], at.training)[0])

    return rule


def _own_set(inputs: SystemInput) -> Rule:
    """The server has no clean set, and takes rows at random of what was contributed."""
    subset = np.random.default_rng(inputs.seed).permutation(len(inputs.y))[: len(inputs.root_y)]
    return _trusting(inputs.x[subset], inputs.y[subset])


def _carried(
    inputs: SystemInput, rule: Callable[[CitedRound, Floats], Any], after: Callable[[Floats, Any], Floats]
) -> Rule:
    """A rule that carries on from round to round what it holds of each client."""
    held: Floats = np.zeros(inputs.clients)

    def carrying(at: CitedRound) -> Any:
        nonlocal held
        result = rule(at, held)
        held = after(held, result)
        return result

    return carrying


def _anml_rule(recipe: str) -> Callable[[SystemInput], Rule]:
    """Clients weighed by a recipe, from updates, credentials, and (by evidence) the rounds before."""

    def of_trial(inputs: SystemInput) -> Rule:
        v, r = (None if given is None else inputs.mean(given) for given in (inputs.v, inputs.r))

        def rule(at: CitedRound, before: Floats) -> Any:
            rng = np.random.default_rng([at.seen.seed, at.number])
            return weighted(at.updates, v, r, recipe=recipe, before=before, rng=rng)

        return _carried(inputs, rule, lambda before, result: carry_over_evidence(before, result.nats))

    return of_trial


# Each makes a rule for a trial, which may remember rounds.
RULES: dict[str, Callable[[SystemInput], Rule]] = {
    "FedAvg": lambda inputs: lambda at: mean(at.updates, at.clients.counts()),
    "Krum": _with_attacker_count(krum, lambda n: (n - 3) // 2),
    "Multi-Krum": _with_attacker_count(multi_krum, lambda n: (n - 3) // 2),
    "median": lambda inputs: lambda at: median(at.updates),
    "trimmed mean": _with_attacker_count(trimmed_mean, lambda n: (n - 1) // 2),
    "Bulyan": _with_attacker_count(bulyan, lambda n: (n - 3) // 4),
    "FLTrust": lambda inputs: _trusting(inputs.root_x, inputs.root_y),
    "FLTrust, own set": _own_set,
    # A probe of every client in every round, trust carried on.
    "RECESS": lambda inputs: _carried(
        inputs,
        lambda at, trust: recess(at.updates, probe_clients(at), trust),
        lambda trust, result: result.scores,
    ),
    "ours, q v r T": _anml_rule("multiplicative"),
    "ours, believed": _anml_rule("evidence"),
}


def train_with_rule(
    inputs: SystemInput, make: Callable[[SystemInput], Rule], *, says: bool = True
) -> Outcome:
    """Train by a rule at every rate; scores and weights of clients are those of the rate that is taken."""
    results = [federate(inputs, make(inputs), replace(training_of(inputs), lr=rate)) for rate in GRID]
    predicts = [partial(predicted, each.shape, each.model) for each in results]
    best = results[GRID.index(select_learning_rate(inputs, predicts).rate)]
    weights = (best.weights / inputs.rows)[inputs.who]
    return Outcome(predicts, quality=best.scores if says else None, weights=weights)

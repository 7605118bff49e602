"""Training in rounds with a rule that aggregates updates: what happens to the model, and to each client."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from anml.aggregate.recess import abnormality
from anml.core.checks import Array, Floats
from anml.federated.clients import Clients, Training
from anml.gradients.mlp import Shape, initialise
from anml.lab.cited.trials import Seen

ROUNDS, STEPS, BATCH, HIDDEN = 15, 10, 32, (64, 32)


class Round(NamedTuple):
    """What a rule may use in a round."""

    number: int
    model: Tensor
    updates: Array
    seen: Seen
    clients: Clients
    training: Training


@dataclass
class Trained:
    """The model after all rounds, and the means over rounds of scores and weights."""

    model: Tensor
    shape: Shape
    scores: Floats
    weights: Floats
    rounds: list[Round] = field(default_factory=list)


def shape_of(seen: Seen) -> Shape:
    """The network that all clients train."""
    return Shape(seen.x.shape[1], HIDDEN, seen.classes)


def training_of(seen: Seen) -> Training:
    """About as many steps a round whatever the number of rows."""
    largest = int(np.bincount(seen.contributor).max())
    return Training(max(1, round(STEPS / -(-largest // BATCH))), BATCH)


def federate(
    seen: Seen, rule: Callable[[Round], Any], *, keep: bool = False, training: Training | None = None
) -> Trained:
    """Run all rounds; with `keep` the rounds are returned too."""
    shape, training = shape_of(seen), training or training_of(seen)
    clients = Clients.of(seen.x, seen.y, seen.contributor, shape)
    model = initialise(shape, [seen.seed]).flat[0]
    scores, weights, kept = [], [], []
    for number in range(ROUNDS):
        updates = sent(seen, clients, model, number, training)
        at = Round(number, model, updates, seen, clients, training)
        answer = rule(at)
        scores.append(answer.scores)
        weights.append(answer.weights)
        kept += [at] if keep else []
        model = model + torch.as_tensor(np.asarray(answer.update, dtype=np.float32))
    return Trained(model, shape, np.mean(scores, axis=0), np.mean(weights, axis=0), kept)


def sent(seen: Seen, clients: Clients, model: Tensor, number: int, training: Training) -> Array:
    """Updates as they arrive: what training gives, and noise as long from those who only pretend."""
    seeds = [seen.seed + 1_000 * number + client for client in range(clients.count)]
    updates = clients.updates(model, seeds, training)
    if seen.noise_updates.any():
        rng = np.random.default_rng([seen.seed, number])
        usual = float(np.median(np.linalg.norm(updates[~seen.noise_updates], axis=1)))
        noise = rng.normal(size=(int(seen.noise_updates.sum()), updates.shape[1]))
        updates[seen.noise_updates] = usual * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return updates


def server_update(at: Round, x: Any, y: Any) -> Array:
    """What the server's own training on a set changes."""
    alone = Clients.of(np.asarray(x), np.asarray(y), np.zeros(len(y), dtype=np.int64), at.clients.shape)
    return np.asarray(alone.updates(at.model, [at.seen.seed + at.number], at.training)[0])


def probed(at: Round) -> Floats:
    """How abnormal each client's reply is to a probe: its own update made the model, half as long."""
    probes = 0.5 * at.updates
    begin = at.model + torch.as_tensor(probes)
    seeds = [at.seen.seed + 500 + 1_000 * at.number + client for client in range(at.clients.count)]
    replies = at.clients.updates(begin, seeds, at.training)
    if at.seen.noise_updates.any():
        rng = np.random.default_rng([at.seen.seed, at.number, 1])
        some = at.seen.noise_updates
        replies[some] = rng.normal(size=replies[some].shape) * replies[~some].std()
    return abnormality(probes, replies)

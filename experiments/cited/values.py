"""Values of contributors and of rows on a trial: the best are kept, and the common model trains on them."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, cast

import numpy as np
import torch
from scipy.special import softmax
from scipy.stats import binom
from sklearn.linear_model import LogisticRegression

from anml.attribution.games import Utility, Values
from anml.attribution.models import accuracy, linear_utility
from anml.attribution.row_ownership import RowOwnership
from anml.attribution.semivalues import banzhaf, beta_shapley, size_weights
from anml.core.checks import Array, Floats, Ints
from anml.gradients.factors import LayerFactor
from anml.gradients.mlp import as_data, initialise
from anml.networks.factors import network_factors
from anml.networks.mlp import NetworkBatch, TrainingData, forward, predict, train
from anml.signals.eigentrust import eigentrust
from experiments.cited.rules import BATCH, RULES, CitedRound, federate, shape_of
from experiments.cited.trials import SystemInput
from experiments.federated_clients import Clients, LocalTraining, mean_loss, predicted
from experiments.spec import Setting
from experiments.valuation.agarwal import robust_shares, shared_rows
from experiments.valuation.backdoors import activation_clusters, spectral_signatures
from experiments.valuation.data_shapley import semivalues_by_reuse, shapley
from experiments.valuation.gtg_shapley import gtg_shapley as gtg_of
from experiments.valuation.influence import influence as influence_of
from experiments.valuation.influence import trak as trak_of
from experiments.valuation.kang import kang as kang_of
from experiments.valuation.knn_shapley import knn_shapley

Value = Callable[[SystemInput, Setting], Floats]
# Coalitions that a value may evaluate: for 20 contributors values are sampled.
BUDGET = 1_000
# Orders of clients a round of GTG-Shapley, and its rounds that are looked at.
ORDERS, LOOKED_AT = 20, 5
# TRAK: models, the share of rows each is trained on, and numbers that gradients are projected to.
MODELS, HALF, PROJECTED = 10, 0.5, 256
DAMPING = 0.1


def _utility(inputs: SystemInput, contributor: Ints) -> Utility:
    """Accuracy on the server's set of a linear model trained on a coalition's rows; `who` holds which."""
    count = int(contributor.max()) + 1
    parts = RowOwnership(
        np.arange(len(contributor)),
        contributor,
        np.eye(count, dtype=bool),
        [str(code) for code in range(count)],
    )
    return linear_utility(
        inputs.x, inputs.y, parts, inputs.root_x, inputs.root_y, classes=inputs.classes, metric=accuracy
    )


def _game(value: Callable[..., Values], **more: Any) -> Value:
    """A value of contributors, by its own sampling."""

    def scores(inputs: SystemInput, setting: Setting) -> Floats:
        rng = np.random.default_rng(inputs.seed)
        utility = _utility(inputs, inputs.who)
        return value(utility, inputs.clients, n_evaluations=BUDGET, random_state=rng, **more).value

    return scores


def _by_reuse(shares: Callable[[int], Floats]) -> Value:
    """A value of rows: every coalition serves all of them."""

    def scores(inputs: SystemInput, setting: Setting) -> Floats:
        n, rng = len(inputs.y), np.random.default_rng(inputs.seed)
        return semivalues_by_reuse(_utility(inputs, np.arange(n)), n, shares(n), budget=BUDGET, rng=rng)

    return scores


def _of_rows(value: Value) -> Value:
    """A value of contributors: the mean of their rows'."""
    return lambda inputs, setting: inputs.mean(value(inputs, setting))


def agarwal(inputs: SystemInput, setting: Setting) -> Floats:
    """Agarwal et al.: Shapley, less for those whose rows others have too, or nearly."""
    value = np.maximum(_game(shapley, tolerance=0.005)(inputs, setting), 0.0)
    return robust_shares(value, shared_rows(inputs.x, inputs.y, inputs.who))


def influence(inputs: SystemInput, setting: Setting) -> Floats:
    """Influence of samples on the server's set, for multinomial logistic regression."""
    known = np.unique(inputs.y)
    model = LogisticRegression(C=1.0, max_iter=500).fit(inputs.x, inputs.y)
    weights = np.zeros((inputs.classes, inputs.x.shape[1] + 1))
    line = np.column_stack([model.coef_, model.intercept_])
    weights[known] = np.vstack([-line / 2, line / 2]) if len(known) == 2 else line
    wide = np.column_stack([inputs.x, np.ones(len(inputs.y))])
    p = softmax(wide @ weights.T, axis=1)
    gradients = _gradients(wide, p, inputs.y, inputs.classes)
    width = wide.shape[1]
    hessian = np.zeros((inputs.classes, width, inputs.classes, width))
    for a in range(inputs.classes):
        for b in range(inputs.classes):
            curve = p[:, a] * ((a == b) - p[:, b])
            hessian[a, :, b] = (wide * curve[:, None]).T @ wide / len(wide)
    held = np.column_stack([inputs.root_x, np.ones(len(inputs.root_y))])
    target = _gradients(held, softmax(held @ weights.T, axis=1), inputs.root_y, inputs.classes).mean(axis=0)
    return influence_of(gradients, hessian.reshape((inputs.classes * width,) * 2), target, DAMPING)


def _gradients(wide: Floats, p: Floats, y: Ints, classes: int) -> Floats:
    off = p - np.eye(classes)[y]
    return np.asarray((off[:, :, None] * wide[:, None, :]).reshape(len(wide), -1))


@lru_cache(maxsize=1)
def trak(inputs: SystemInput, setting: Setting) -> Floats:
    """TRAK: mean score of samples for the server's set, over networks trained on half of the rows each."""
    rng = np.random.default_rng(inputs.seed)
    shape = shape_of(inputs)
    (x, y), aims_at = as_data(inputs.x, inputs.y), as_data(inputs.root_x, inputs.root_y)
    seeds = [inputs.seed + 31 * place for place in range(MODELS)]
    networks = initialise(shape, seeds)
    weight = torch.as_tensor(rng.uniform(size=(MODELS, len(y))) < HALF, dtype=torch.float32)
    every = TrainingData.shared(x, y, weight)
    train(networks, every, "classification", seeds, epochs=setting.epochs, batch=setting.batch)
    projection = torch.as_tensor(
        rng.normal(size=(shape.parameters, PROJECTED)) / np.sqrt(PROJECTED), dtype=torch.float32
    )
    each = [networks.pick([place]) for place in range(MODELS)]
    own = [_margins(one, x, y, projection) for one in each]
    features, doubts = (np.stack(total) for total in zip(*own, strict=True))
    aims = np.stack([_margins(one, *aims_at, projection)[0] for one in each])
    return np.asarray(trak_of(features, doubts, aims, ridge=1e-3 * len(y)).mean(axis=0))


def _margins(
    network: NetworkBatch, x: torch.Tensor, y: torch.Tensor, projection: torch.Tensor
) -> tuple[Floats, Floats]:
    """Projected gradients of the log-odds of each label, and one minus its probability."""
    factors = network_factors(network, x, y, "classification")
    p = torch.exp(-factors.loss).double().clamp(1e-6, 1 - 1e-6)
    parts = [
        part
        for layer in cast("list[LayerFactor]", factors.layers)
        for part in ((layer.a.unsqueeze(2) * layer.d.unsqueeze(1)).flatten(1), layer.d)
    ]
    loss = torch.cat(parts, dim=1) @ projection
    return (-loss.double() / (1 - p).unsqueeze(1)).numpy(), (1 - p).numpy()


@lru_cache(maxsize=1)
def _activations(inputs: SystemInput, setting: Setting) -> Floats:
    """Activations of the last hidden layer of the common network on its training rows."""
    x, y = as_data(inputs.x, inputs.y)
    network = initialise(shape_of(inputs), [inputs.seed])
    every = TrainingData.shared(x, y, torch.ones(1, len(y)))
    train(network, every, "classification", [inputs.seed], epochs=setting.epochs, batch=setting.batch)
    return np.asarray(forward(network, x)[-2][0].double().numpy())


def _clusters(inputs: SystemInput, setting: Setting, contributor: Ints | None = None) -> Floats:
    return activation_clusters(_activations(inputs, setting), inputs.y, contributor, inputs.seed % 2**31)


@lru_cache(maxsize=1)
def _rounds(inputs: SystemInput) -> list[CitedRound]:
    """Plain federated averaging, round by round."""
    return federate(inputs, RULES["FedAvg"](inputs)).rounds


def gtg_shapley(inputs: SystemInput, setting: Setting) -> Floats:
    """GTG-Shapley: Shapley values of clients, summed over rounds."""
    total, root = np.zeros(inputs.clients), torch.as_tensor(inputs.root_x, dtype=torch.float32)
    for at in _rounds(inputs)[:LOOKED_AT]:

        def worth(updates: Floats, at: CitedRound = at) -> Floats:
            models = at.model + torch.as_tensor(np.asarray(updates), dtype=torch.float32)
            return accuracy(inputs.root_y, predict(NetworkBatch(at.clients.shape, models), root).numpy())

        rng = np.random.default_rng([inputs.seed, at.number])
        total += gtg_of(at.updates, worth, at.clients.counts(), limit=ORDERS, rng=rng).value
    return total


def kang(inputs: SystemInput, setting: Setting) -> Floats:
    """Kang et al.: an update that lowers the loss on the server's set is a good event."""
    good = []
    for at in _rounds(inputs):
        before = mean_loss(at.clients.shape, at.model.unsqueeze(0), inputs.root_x, inputs.root_y)[0]
        alone = at.model + torch.as_tensor(at.updates)
        good.append(mean_loss(at.clients.shape, alone, inputs.root_x, inputs.root_y) < before)
    events = np.array(good, dtype=np.float64)
    return kang_of(events, 1 - events)


def _trust(inputs: SystemInput, roots: Array) -> Floats:
    """EigenTrust from how well contributors' models predict each other's labels."""
    votes = _votes(inputs)
    names = [f"{client:04d}" for client in range(inputs.clients)]
    voted = zip(*np.nonzero((votes > 0) & ~np.eye(inputs.clients, dtype=bool)), strict=True)
    pairs = {(names[a], names[b]): float(votes[a, b]) for a, b in voted}
    result = eigentrust(pairs, [names[root] for root in roots])
    return np.array([result.get(name, 0.0) for name in names])


def _votes(inputs: SystemInput) -> Floats:
    """Trust weights between contributors: accuracy of one's model on the other's rows, above chance.

    Attackers vote only for each other.
    """
    shape = shape_of(inputs)
    clients = Clients.of(inputs.x, inputs.y, inputs.who, shape)
    begin = initialise(shape, [inputs.seed]).flat[0]
    seeds = [inputs.seed + client for client in range(inputs.clients)]
    models = begin + torch.as_tensor(clients.updates(begin, seeds, LocalTraining(30, BATCH)))
    votes = np.zeros((inputs.clients, inputs.clients))
    chance = float(np.bincount(inputs.y).max() / len(inputs.y))
    for a in range(inputs.clients):
        right = predicted(shape, models[a], inputs.x) == inputs.y
        votes[a] = np.maximum(inputs.mean(right.astype(np.float64)) - chance, 0.0)
    votes[inputs.liars] = inputs.liars.astype(np.float64)
    return votes


# Values of rows; of contributors, where a method has no game of theirs, they are the means of their rows'.
ROWS: dict[str, Value] = {
    "Data Shapley": _by_reuse(lambda n: np.full(n, 1 / n)),
    "Beta Shapley": _by_reuse(lambda n: size_weights(n, 4.0, 1.0)),
    "Data Banzhaf": _by_reuse(lambda n: np.asarray(binom.pmf(np.arange(n), n - 1, 0.5))),
    "KNN Shapley": lambda inputs, _: knn_shapley(inputs.x, inputs.y, inputs.root_x, inputs.root_y),
    "influence": influence,
    "TRAK": trak,
    "spectral": lambda inputs, setting: spectral_signatures(_activations(inputs, setting), inputs.y),
    "clusters": _clusters,
}
CONTRIBUTORS: dict[str, Value] = {
    "Data Shapley": _game(shapley, tolerance=0.005),
    "Beta Shapley": _game(beta_shapley),
    "Data Banzhaf": _game(banzhaf),
    **{name: _of_rows(ROWS[name]) for name in ("KNN Shapley", "influence", "TRAK", "spectral", "clusters")},
    # Honest rows that look odd are few for each; whoever has more than a fifth of such rows is above that.
    "clusters by ids": lambda inputs, setting: inputs.mean(_clusters(inputs, setting, inputs.who)) - 0.6,
    "GTG-Shapley": gtg_shapley,
    "EigenTrust": lambda inputs, setting: _trust(inputs, inputs.trusted),
    "EigenTrust, no roots": lambda inputs, setting: _trust(inputs, np.arange(inputs.clients)),
    "Kang": kang,
    "Agarwal": agarwal,
}

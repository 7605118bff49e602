"""Values of contributors and samples on a trial: the best are kept, and the common model trains on them."""

import numpy as np
import torch

from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.signals.eigentrust import eigentrust as eigentrust_of
from anml.federated.clients import Clients, Training, mean_loss, predicted
from anml.gradients.factors import network_factors
from anml.gradients.mlp import Data, Networks, initialise, predict, train
from anml.lab.cited import federation
from anml.lab.cited.federation import Answer, Round, federate, shape_of
from anml.lab.cited.outcome import Outcome, top_contributors, top_rows
from anml.lab.cited.trials import Told
from anml.valuation import agarwal as agarwal_of
from anml.valuation import banzhaf as banzhaf_of
from anml.valuation import beta_shapley as beta_of
from anml.valuation import gtg_shapley as gtg_of
from anml.valuation import influence as influence_of
from anml.valuation import kang as kang_of
from anml.valuation import shapley as shapley_of
from anml.valuation import trak as trak_of
from anml.valuation.games import Utility
from anml.valuation.models import accuracy, linear_utility
from anml.valuation.parts import Parts

# Coalitions that a value may evaluate: for 20 contributors values are sampled.
BUDGET = 1_000
# Orders of clients a round of GTG-Shapley, and its rounds that are looked at.
ORDERS, LOOKED_AT = 20, 5
# TRAK: models, the share of rows each is trained on, epochs, and numbers that gradients are projected to.
MODELS, HALF, EPOCHS, PROJECTED = 3, 0.5, 60, 256
DAMPING = 0.1


def _utility(told: Told) -> Utility:
    """Accuracy on the server's set of a linear model trained on a coalition's rows."""
    parts = Parts(
        np.arange(len(told.y)), told.contributor, np.eye(told.clients, dtype=bool),
        [str(client) for client in range(told.clients)],
    )  # fmt: skip
    return linear_utility(
        told.x, told.y, parts, told.root_x, told.root_y, classes=told.classes, metric=accuracy
    )


def _ranked(told: Told, scores: Floats) -> Outcome:
    return Outcome(kept=top_contributors(told, scores), scores=scores)


def shapley(told: Told) -> Outcome:
    """Data Shapley of contributors, truncated Monte Carlo."""
    rng = np.random.default_rng(told.seed)
    return _ranked(told, _shapley(told, rng))


def _shapley(told: Told, rng: np.random.Generator) -> Floats:
    return shapley_of.shapley(_utility(told), told.clients, budget=BUDGET, tolerance=0.005, rng=rng).value


def beta_shapley(told: Told) -> Outcome:
    """Beta(4, 1) Shapley of contributors."""
    rng = np.random.default_rng(told.seed)
    return _ranked(told, beta_of.beta_shapley(_utility(told), told.clients, budget=BUDGET, rng=rng).value)


def banzhaf(told: Told) -> Outcome:
    """Data Banzhaf of contributors."""
    rng = np.random.default_rng(told.seed)
    return _ranked(told, banzhaf_of.banzhaf(_utility(told), told.clients, budget=BUDGET, rng=rng).value)


def agarwal(told: Told) -> Outcome:
    """Agarwal et al.: Shapley, less for those whose rows others have too."""
    value = np.maximum(_shapley(told, np.random.default_rng(told.seed)), 0.0)
    return _ranked(told, agarwal_of.robust_shares(value, _shared_rows(told)))


def _shared_rows(told: Told) -> Floats:
    """Share of each contributor's rows that another has as well."""
    _, row = np.unique(np.column_stack([told.x, told.y]).round(9), axis=0, return_inverse=True)
    has = np.zeros((told.clients, int(row.max()) + 1))
    np.add.at(has, (told.contributor, row.ravel()), 1.0)
    held = has > 0
    like = (has @ held.T.astype(np.float64)) / np.maximum(has.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.clip(like, 0.0, 1.0))


def influence(told: Told) -> Outcome:
    """Influence of samples on the server's set, for multinomial logistic regression."""
    from sklearn.linear_model import LogisticRegression

    known = np.unique(told.y)
    model = LogisticRegression(C=1.0, max_iter=500).fit(told.x, told.y)
    weights = np.zeros((told.classes, told.x.shape[1] + 1))
    coef = np.vstack([-model.coef_[0] / 2, model.coef_[0] / 2]) if len(known) == 2 else model.coef_
    bias = np.r_[-model.intercept_ / 2, model.intercept_ / 2] if len(known) == 2 else model.intercept_
    weights[known] = np.column_stack([coef, bias])
    wide = np.column_stack([told.x, np.ones(len(told.y))])
    p = _softmax(wide @ weights.T)
    gradients = _gradients(wide, p, told.y, told.classes)
    width = wide.shape[1]
    hessian = np.zeros((told.classes * width,) * 2)
    for a in range(told.classes):
        for b in range(a, told.classes):
            curve = p[:, a] * ((a == b) - p[:, b])
            block = (wide * curve[:, None]).T @ wide / len(wide)
            hessian[a * width : (a + 1) * width, b * width : (b + 1) * width] = block
            hessian[b * width : (b + 1) * width, a * width : (a + 1) * width] = block.T
    held = np.column_stack([told.root_x, np.ones(len(told.root_y))])
    target = _gradients(held, _softmax(held @ weights.T), told.root_y, told.classes).mean(axis=0)
    scores = influence_of.influence(gradients, hessian, target, DAMPING)
    return Outcome(kept=top_rows(told, scores), scores=told.by_client(scores))


def _softmax(outputs: Floats) -> Floats:
    raised = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _gradients(wide: Floats, p: Floats, y: Ints, classes: int) -> Floats:
    off = p - np.eye(classes)[y]
    return np.asarray((off[:, :, None] * wide[:, None, :]).reshape(len(wide), -1))


def trak(told: Told) -> Outcome:
    """TRAK: mean score of samples for the server's set, over networks trained on half of the rows each."""
    rng = np.random.default_rng(told.seed)
    shape = shape_of(told)
    x, y = torch.as_tensor(told.x, dtype=torch.float32), torch.as_tensor(told.y, dtype=torch.long)
    aim_x = torch.as_tensor(told.root_x, dtype=torch.float32)
    aim_y = torch.as_tensor(told.root_y, dtype=torch.long)
    seeds = [told.seed + 31 * place for place in range(MODELS)]
    networks = initialise(shape, seeds)
    weight = torch.as_tensor(rng.uniform(size=(MODELS, len(y))) < HALF, dtype=torch.float32)
    train(networks, Data.shared(x, y, weight), "classification", seeds, epochs=EPOCHS, lr=5e-3)
    projection = torch.as_tensor(
        rng.normal(size=(shape.parameters, PROJECTED)) / np.sqrt(PROJECTED), dtype=torch.float32
    )
    features, doubts, aims = [], [], []
    for place in range(MODELS):
        one = networks.pick([place])
        phi, doubt = _margins(one, x, y, projection)
        features.append(phi)
        doubts.append(doubt)
        aims.append(_margins(one, aim_x, aim_y, projection)[0])
    found = trak_of.trak(np.stack(features), np.stack(doubts), np.stack(aims), ridge=1e-3 * len(y))
    scores = found.mean(axis=0)
    return Outcome(kept=top_rows(told, scores), scores=told.by_client(scores))


def _margins(
    network: Networks, x: torch.Tensor, y: torch.Tensor, projection: torch.Tensor
) -> tuple[Floats, Floats]:
    """Projected gradients of the log-odds of each label, and one minus its probability."""
    from anml.lab.cited.gradients import explicit_gradients

    factors = network_factors(network, x, y, "classification")
    p = torch.exp(-factors.loss).double().clamp(1e-6, 1 - 1e-6)
    loss = explicit_gradients(network, x, y) @ projection
    return (-loss.double() / (1 - p).unsqueeze(1)).numpy(), (1 - p).numpy()


def _rounds(told: Told) -> list[Round]:
    """Plain federated averaging, round by round."""

    def rule(at: Round) -> Answer:
        counts = at.clients.counts()
        shares = counts / counts.sum()
        return Answer(shares.astype(np.float32) @ at.updates, np.ones(len(shares)), shares)

    return federate(told, rule, keep=True).rounds


def gtg_shapley(told: Told) -> Outcome:
    """GTG-Shapley: Shapley values of clients, summed over rounds."""
    rounds = _rounds(told)
    total = np.zeros(told.clients)
    for at in rounds[:LOOKED_AT]:

        def worth(updates: Floats, at: Round = at) -> Floats:
            models = at.model + torch.as_tensor(np.asarray(updates), dtype=torch.float32)
            return _accuracies(at, models, told)

        rng = np.random.default_rng([told.seed, at.number])
        found = gtg_of.gtg_shapley(at.updates, worth, at.clients.counts(), most=ORDERS, rng=rng)
        total += found.value
    return _ranked(told, total)


def _accuracies(at: Round, models: torch.Tensor, told: Told) -> Floats:
    outputs = predict(Networks(at.clients.shape, models), torch.as_tensor(told.root_x, dtype=torch.float32))
    right = outputs.argmax(dim=2).numpy() == told.root_y
    return np.asarray(right.mean(axis=1), dtype=np.float64)


def kang(told: Told) -> Outcome:
    """Kang et al.: an update that lowers the loss on the server's set is a good event."""
    good = []
    for at in _rounds(told):
        before = mean_loss(at.clients.shape, at.model.unsqueeze(0), told.root_x, told.root_y)[0]
        alone = at.model + torch.as_tensor(at.updates)
        good.append(mean_loss(at.clients.shape, alone, told.root_x, told.root_y) < before)
    events = np.array(good, dtype=np.float64)
    return _ranked(told, kang_of.kang(events, 1 - events))


def eigentrust(told: Told) -> Outcome:
    """EigenTrust from how well contributors' models predict each other's labels; two are trusted before."""
    return _ranked(told, _trust(told, told.trusted))


def eigentrust_alone(told: Told) -> Outcome:
    """EigenTrust in which nobody is trusted beforehand more than another."""
    return _ranked(told, _trust(told, np.arange(told.clients)))


def _trust(told: Told, roots: Array) -> Floats:
    votes = _votes(told)
    pairs = {
        (f"{a:04d}", f"{b:04d}"): float(votes[a, b])
        for a in range(told.clients)
        for b in range(told.clients)
        if a != b and votes[a, b] > 0
    }
    found = eigentrust_of(pairs, [f"{int(root):04d}" for root in roots])
    return np.array([found.get(f"{client:04d}", 0.0) for client in range(told.clients)])


def _votes(told: Told) -> Floats:
    """How far each vouches for each: accuracy of its own model on the other's rows, above chance.

    Attackers vouch for one another and for nobody else.
    """
    shape = shape_of(told)
    clients = Clients.of(told.x, told.y, told.contributor, shape)
    begin = initialise(shape, [told.seed]).flat[0]
    seeds = [told.seed + client for client in range(told.clients)]
    models = begin + torch.as_tensor(clients.updates(begin, seeds, Training(30, federation.BATCH)))
    votes = np.zeros((told.clients, told.clients))
    chance = float(np.bincount(told.y).max() / len(told.y))
    for a in range(told.clients):
        right = predicted(shape, models[a], told.x) == told.y
        votes[a] = np.maximum(told.by_client(right.astype(np.float64)) - chance, 0.0)
    liars: Bools = told.liars
    votes[liars] = liars.astype(np.float64)
    return votes

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
from anml.lab.cited.trials import Seen
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


def _utility(seen: Seen) -> Utility:
    """Accuracy on the server's set of a linear model trained on a coalition's rows."""
    parts = Parts(
        np.arange(len(seen.y)), seen.contributor, np.eye(seen.clients, dtype=bool),
        [str(client) for client in range(seen.clients)],
    )  # fmt: skip
    return linear_utility(
        seen.x,
        seen.y,
        parts,
        seen.root_x,
        seen.root_y,
        classes=seen.classes,
        metric=accuracy,
    )


def _ranked(seen: Seen, scores: Floats) -> Outcome:
    return Outcome(kept=top_contributors(seen, scores), scores=scores)


def shapley(seen: Seen) -> Outcome:
    """Data Shapley of contributors, truncated Monte Carlo."""
    rng = np.random.default_rng(seen.seed)
    return _ranked(seen, _shapley(seen, rng))


def _shapley(seen: Seen, rng: np.random.Generator) -> Floats:
    return shapley_of.shapley(_utility(seen), seen.clients, budget=BUDGET, tolerance=0.005, rng=rng).value


def beta_shapley(seen: Seen) -> Outcome:
    """Beta(4, 1) Shapley of contributors."""
    rng = np.random.default_rng(seen.seed)
    return _ranked(seen, beta_of.beta_shapley(_utility(seen), seen.clients, budget=BUDGET, rng=rng).value)


def banzhaf(seen: Seen) -> Outcome:
    """Data Banzhaf of contributors."""
    rng = np.random.default_rng(seen.seed)
    return _ranked(seen, banzhaf_of.banzhaf(_utility(seen), seen.clients, budget=BUDGET, rng=rng).value)


def agarwal(seen: Seen) -> Outcome:
    """Agarwal et al.: Shapley, less for those whose rows others have too."""
    value = np.maximum(_shapley(seen, np.random.default_rng(seen.seed)), 0.0)
    return _ranked(seen, agarwal_of.robust_shares(value, _shared_rows(seen)))


def _shared_rows(seen: Seen) -> Floats:
    """Share of each contributor's rows that another has as well."""
    _, row = np.unique(np.column_stack([seen.x, seen.y]).round(9), axis=0, return_inverse=True)
    has = np.zeros((seen.clients, int(row.max()) + 1))
    np.add.at(has, (seen.contributor, row.ravel()), 1.0)
    held = has > 0
    like = (has @ held.T.astype(np.float64)) / np.maximum(has.sum(axis=1, keepdims=True), 1)
    return np.asarray(np.clip(like, 0.0, 1.0))


def influence(seen: Seen) -> Outcome:
    """Influence of samples on the server's set, for multinomial logistic regression."""
    from sklearn.linear_model import LogisticRegression

    known = np.unique(seen.y)
    model = LogisticRegression(C=1.0, max_iter=500).fit(seen.x, seen.y)
    weights = np.zeros((seen.classes, seen.x.shape[1] + 1))
    coef = np.vstack([-model.coef_[0] / 2, model.coef_[0] / 2]) if len(known) == 2 else model.coef_
    bias = np.r_[-model.intercept_ / 2, model.intercept_ / 2] if len(known) == 2 else model.intercept_
    weights[known] = np.column_stack([coef, bias])
    wide = np.column_stack([seen.x, np.ones(len(seen.y))])
    p = _softmax(wide @ weights.T)
    gradients = _gradients(wide, p, seen.y, seen.classes)
    width = wide.shape[1]
    hessian = np.zeros((seen.classes * width,) * 2)
    for a in range(seen.classes):
        for b in range(a, seen.classes):
            curve = p[:, a] * ((a == b) - p[:, b])
            block = (wide * curve[:, None]).T @ wide / len(wide)
            hessian[a * width : (a + 1) * width, b * width : (b + 1) * width] = block
            hessian[b * width : (b + 1) * width, a * width : (a + 1) * width] = block.T
    held = np.column_stack([seen.root_x, np.ones(len(seen.root_y))])
    target = _gradients(held, _softmax(held @ weights.T), seen.root_y, seen.classes).mean(axis=0)
    scores = influence_of.influence(gradients, hessian, target, DAMPING)
    return Outcome(kept=top_rows(seen, scores), scores=seen.by_client(scores))


def _softmax(outputs: Floats) -> Floats:
    raised = np.exp(outputs - outputs.max(axis=1, keepdims=True))
    return np.asarray(raised / raised.sum(axis=1, keepdims=True))


def _gradients(wide: Floats, p: Floats, y: Ints, classes: int) -> Floats:
    off = p - np.eye(classes)[y]
    return np.asarray((off[:, :, None] * wide[:, None, :]).reshape(len(wide), -1))


def trak(seen: Seen) -> Outcome:
    """TRAK: mean score of samples for the server's set, over networks trained on half of the rows each."""
    rng = np.random.default_rng(seen.seed)
    shape = shape_of(seen)
    x, y = torch.as_tensor(seen.x, dtype=torch.float32), torch.as_tensor(seen.y, dtype=torch.long)
    aim_x = torch.as_tensor(seen.root_x, dtype=torch.float32)
    aim_y = torch.as_tensor(seen.root_y, dtype=torch.long)
    seeds = [seen.seed + 31 * place for place in range(MODELS)]
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
    return Outcome(kept=top_rows(seen, scores), scores=seen.by_client(scores))


def _margins(
    network: Networks, x: torch.Tensor, y: torch.Tensor, projection: torch.Tensor
) -> tuple[Floats, Floats]:
    """Projected gradients of the log-odds of each label, and one minus its probability."""
    from anml.lab.cited.gradients import explicit_gradients

    factors = network_factors(network, x, y, "classification")
    p = torch.exp(-factors.loss).double().clamp(1e-6, 1 - 1e-6)
    loss = explicit_gradients(network, x, y) @ projection
    return (-loss.double() / (1 - p).unsqueeze(1)).numpy(), (1 - p).numpy()


def _rounds(seen: Seen) -> list[Round]:
    """Plain federated averaging, round by round."""

    def rule(at: Round) -> Answer:
        counts = at.clients.counts()
        shares = counts / counts.sum()
        return Answer(shares.astype(np.float32) @ at.updates, np.ones(len(shares)), shares)

    return federate(seen, rule, keep=True).rounds


def gtg_shapley(seen: Seen) -> Outcome:
    """GTG-Shapley: Shapley values of clients, summed over rounds."""
    rounds = _rounds(seen)
    total = np.zeros(seen.clients)
    for at in rounds[:LOOKED_AT]:

        def worth(updates: Floats, at: Round = at) -> Floats:
            models = at.model + torch.as_tensor(np.asarray(updates), dtype=torch.float32)
            return _accuracies(at, models, seen)

        rng = np.random.default_rng([seen.seed, at.number])
        found = gtg_of.gtg_shapley(at.updates, worth, at.clients.counts(), most=ORDERS, rng=rng)
        total += found.value
    return _ranked(seen, total)


def _accuracies(at: Round, models: torch.Tensor, seen: Seen) -> Floats:
    outputs = predict(Networks(at.clients.shape, models), torch.as_tensor(seen.root_x, dtype=torch.float32))
    right = outputs.argmax(dim=2).numpy() == seen.root_y
    return np.asarray(right.mean(axis=1), dtype=np.float64)


def kang(seen: Seen) -> Outcome:
    """Kang et al.: an update that lowers the loss on the server's set is a good event."""
    good = []
    for at in _rounds(seen):
        before = mean_loss(at.clients.shape, at.model.unsqueeze(0), seen.root_x, seen.root_y)[0]
        alone = at.model + torch.as_tensor(at.updates)
        good.append(mean_loss(at.clients.shape, alone, seen.root_x, seen.root_y) < before)
    events = np.array(good, dtype=np.float64)
    return _ranked(seen, kang_of.kang(events, 1 - events))


def eigentrust(seen: Seen) -> Outcome:
    """EigenTrust from how well contributors' models predict each other's labels; two are trusted before."""
    return _ranked(seen, _trust(seen, seen.trusted))


def eigentrust_alone(seen: Seen) -> Outcome:
    """EigenTrust in which nobody is trusted beforehand more than another."""
    return _ranked(seen, _trust(seen, np.arange(seen.clients)))


def _trust(seen: Seen, roots: Array) -> Floats:
    votes = _votes(seen)
    pairs = {
        (f"{a:04d}", f"{b:04d}"): float(votes[a, b])
        for a in range(seen.clients)
        for b in range(seen.clients)
        if a != b and votes[a, b] > 0
    }
    found = eigentrust_of(pairs, [f"{int(root):04d}" for root in roots])
    return np.array([found.get(f"{client:04d}", 0.0) for client in range(seen.clients)])


def _votes(seen: Seen) -> Floats:
    """How far each vouches for each: accuracy of its own model on the other's rows, above chance.

    Attackers vouch for one another and for nobody else.
    """
    shape = shape_of(seen)
    clients = Clients.of(seen.x, seen.y, seen.contributor, shape)
    begin = initialise(shape, [seen.seed]).flat[0]
    seeds = [seen.seed + client for client in range(seen.clients)]
    models = begin + torch.as_tensor(clients.updates(begin, seeds, Training(30, federation.BATCH)))
    votes = np.zeros((seen.clients, seen.clients))
    chance = float(np.bincount(seen.y).max() / len(seen.y))
    for a in range(seen.clients):
        right = predicted(shape, models[a], seen.x) == seen.y
        votes[a] = np.maximum(seen.by_client(right.astype(np.float64)) - chance, 0.0)
    liars: Bools = seen.liars
    votes[liars] = liars.astype(np.float64)
    return votes

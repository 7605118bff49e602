"""Influence and TRAK beside dattri, on the same model and rows."""

import warnings

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from experiments.valuation.influence import influence, trak
from other_packages import installed

pytestmark = pytest.mark.slow


class Fitted:
    """Multinomial logistic regression of 60 rows, its gradients and its curvature."""

    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        self.x = torch.randn(60, 4, generator=generator)
        self.y = (self.x[:, 0] + 0.5 * torch.randn(60, generator=generator) > 0).long()
        self.aim_x = torch.randn(5, 4, generator=generator)
        self.aim_y = (self.aim_x[:, 0] > 0).long()
        self.model = nn.Linear(4, 2, bias=False)
        with torch.no_grad():
            self.model.weight.copy_(torch.tensor([[-0.8, 0.1, 0.0, 0.1], [0.8, -0.1, 0.2, 0.0]]))
        self.train = DataLoader(TensorDataset(self.x, self.y), batch_size=60)
        self.aims = DataLoader(TensorDataset(self.aim_x, self.aim_y), batch_size=5)

    def gradients(self, x, y):
        w, rows, labels = self.model.weight.detach().double().numpy(), x.double().numpy(), y.numpy()
        p = np.exp(rows @ w.T)
        p /= p.sum(axis=1, keepdims=True)
        off = p - np.eye(2)[labels]
        return (off[:, :, None] * rows[:, None, :]).reshape(len(rows), -1), p

    def hessian(self):
        _, p = self.gradients(self.x, self.y)
        rows = self.x.double().numpy()
        parts = [np.kron(np.diag(q) - np.outer(q, q), np.outer(r, r)) for q, r in zip(p, rows, strict=True)]
        return np.mean(parts, axis=0)


@pytest.fixture(scope="module")
def fitted():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it loads what newer versions of torch deprecate
        installed("dattri.algorithm.influence_function")
        installed("dattri.algorithm.trak")
    return Fitted()


def test_influence_as_dattri(fitted):
    from dattri.algorithm.influence_function import IFAttributorExplicit
    from dattri.task import AttributionTask

    def loss(params, data):
        x, y = data
        return nn.functional.cross_entropy(torch.func.functional_call(fitted.model, params, x), y)

    task = AttributionTask(loss_func=loss, model=fitted.model, checkpoints=fitted.model.state_dict())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = IFAttributorExplicit(task=task, regularization=1e-2)
        theirs.cache(fitted.train)
        scores = theirs.attribute(fitted.train, fitted.aims).detach().numpy()
    each, _ = fitted.gradients(fitted.x, fitted.y)
    aims, _ = fitted.gradients(fitted.aim_x, fitted.aim_y)
    ours = np.array([influence(each, fitted.hessian(), aim, 1e-2) for aim in aims]).T
    # Theirs is per sample, ours of leaving one of n out.
    assert 60 * ours == pytest.approx(scores, rel=1e-3, abs=1e-4)


def test_trak_as_dattri(fitted):
    from dattri.algorithm.trak import TRAKAttributor
    from dattri.task import AttributionTask

    def log_p(params, data):
        x, y = data
        outputs = torch.func.functional_call(fitted.model, params, x.unsqueeze(0))
        return -nn.functional.cross_entropy(outputs, y.unsqueeze(0))

    def margin(params, data):
        result = log_p(params, data)
        return result - torch.log(1 - torch.exp(result))

    task = AttributionTask(loss_func=margin, model=fitted.model, checkpoints=[fitted.model.state_dict()])
    # A projection to as many numbers as there are parameters changes nothing.
    how = {"proj_dim": 8, "proj_max_batch_size": 8, "device": "cpu"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = TRAKAttributor(
            task=task, correct_probability_func=lambda params, data: torch.exp(log_p(params, data)),
            device="cpu", projector_kwargs=how,
        )  # fmt: skip
        theirs.cache(fitted.train)
        scores = theirs.attribute(fitted.aims).detach().numpy()
    ours = trak(*_margins(fitted), ridge=1e-6).T
    assert np.corrcoef(ours.ravel(), scores.ravel())[0, 1] > 0.9999


def _margins(fitted):
    results = []
    for x, y in ((fitted.x, fitted.y), (fitted.aim_x, fitted.aim_y)):
        gradient, p = fitted.gradients(x, y)
        right = p[np.arange(len(p)), y.numpy()]
        results += [(-gradient / (1 - right)[:, None])[None], (1 - right)[None]]
    features, doubt, aims, _ = results
    return features, doubt, aims

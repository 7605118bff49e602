"""Gradients formed one by one, which factors are held against."""

from itertools import pairwise

import torch
from torch import nn

from anml.gradients.batches import Batch, GradientSettings
from anml.gradients.modules import EXPLICIT_BYTES, exact_factors
from anml.networks.factors import Factors


def explicit_gradients(module: nn.Module, x: torch.Tensor, y: torch.Tensor, loss) -> torch.Tensor:
    """Gradients formed one by one, in double precision."""
    params = {name: p.detach() for name, p in module.named_parameters()}

    def one(p, sample, target):
        out = torch.func.functional_call(module, p, (sample.unsqueeze(0),))
        return loss(out, target.unsqueeze(0))

    result = torch.func.vmap(torch.func.grad(one), in_dims=(None, 0, 0))(params, x, y)
    return torch.cat([g.flatten(1) for g in result.values()], dim=1)


def distances(factors: Factors) -> torch.Tensor:
    norms = factors.norms()
    return norms.unsqueeze(1) + norms - 2 * factors.products(factors)


def assert_same_distances(factors: Factors, gradients: torch.Tensor, tolerance: float) -> None:
    expected = torch.cdist(gradients.double(), gradients.double()).square()
    off = ~torch.eye(len(gradients), dtype=torch.bool)
    # Equal gradients are 0 apart up to what double precision loses of their lengths.
    nothing = 1e-11 * float(gradients.double().square().sum(dim=1).max().clamp_min(0.1))
    relative = (distances(factors).double() - expected)[off].abs() / expected[off].clamp_min(nothing)
    assert float(relative.max()) < tolerance


def stack(widths: list[int], activation=nn.ReLU) -> nn.Sequential:
    torch.manual_seed(0)
    layers: list[nn.Module] = []
    for fan_in, fan_out in pairwise(widths):
        layers += [nn.Linear(fan_in, fan_out), activation()]
    return nn.Sequential(*layers[:-1])


def module_factors(module: nn.Module, x, y: torch.Tensor, loss, limit_bytes: int = EXPLICIT_BYTES) -> Factors:
    """Exact factors of all samples in one batch."""
    return exact_factors(module, [Batch(x, y)], GradientSettings(loss), len(y), limit_bytes)

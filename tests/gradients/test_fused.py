"""The fused kernel against the code in torch: interpreted where there is no GPU."""

import os
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from anml.gradients import fused
from anml.gradients.factors import LayerFactor, materialised_factors
from anml.gradients.sample_krum_torch import krum_scores
from anml.networks.factors import Factors

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
needs_triton = pytest.mark.skipif(find_spec("triton") is None, reason="needs triton")

# Two layers, one with formed gradients, then samples in an order in which near ones come late.
INTERPRETED = """
import numpy as np, torch
from anml.gradients import fused
from anml.gradients.factors import LayerFactor, explicit
from anml.networks.factors import Factors
from anml.gradients.sample_krum_torch import krum_scores
g = torch.Generator().manual_seed(0)
n = 260
fused.REFERENCES = 40
layers = [LayerFactor(torch.randn(n, 5, generator=g), torch.randn(n, 7, generator=g)),
          LayerFactor(torch.randn(n, 40, generator=g), torch.ones(n, 1), bias=False)]
far = explicit(torch.randn(n, 2, generator=g) * torch.linspace(9, 1, n)[:, None], torch.zeros(n))
for given, room in ((Factors(layers, torch.zeros(n)), 128), (far, 16)):
    fused.ROOM = room
    ours = fused.fused_scores(given, 4, side=160, precision="ieee").double().numpy()
    np.testing.assert_allclose(ours, krum_scores(given, 4), rtol=1e-4)
"""


@needs_triton
def test_interpreted_on_the_processor():
    environment = {**os.environ, "TRITON_INTERPRET": "1", "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", INTERPRETED], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def random_factors(n: int, device: str) -> Factors:
    generator = torch.Generator().manual_seed(0)
    layers = [
        LayerFactor(*(torch.randn(n, width, generator=generator).to(device) for width in widths))
        for widths in ((54, 64), (64, 32), (32, 7))
    ]
    return Factors(layers, torch.zeros(n, device=device))


@needs_gpu
@needs_triton
@pytest.mark.parametrize("n", [33_000, 40_001])
def test_on_a_gpu_the_scores_are_those_of_torch(n, monkeypatch):
    given = random_factors(n, "cuda")
    assert fused.kernel_available(given, 10)
    ours = krum_scores(given, 10)
    monkeypatch.setattr(fused, "MIN_SAMPLES", 10**9)
    np.testing.assert_allclose(ours, krum_scores(given, 10), rtol=1e-4)


@needs_gpu
@needs_triton
def test_lists_that_overflow_are_done_again(monkeypatch):
    generator = torch.Generator().manual_seed(0)
    x = 100 * torch.rand(40_000, 3, generator=generator)
    given = materialised_factors(
        (x - x.mean(0))[x[:, 0].argsort()].cuda(), torch.zeros(len(x), device="cuda")
    )
    # Bounds from few references are so loose that thousands of distances lie below them.
    monkeypatch.setattr(fused, "REFERENCES", 64)
    ours = krum_scores(given, 10)
    monkeypatch.setattr(fused, "MIN_SAMPLES", 10**9)
    np.testing.assert_allclose(ours, krum_scores(given, 10), rtol=1e-2)


def test_the_processor_uses_torch():
    assert not fused.kernel_available(materialised_factors(torch.zeros(40_000, 2), torch.zeros(40_000)), 10)

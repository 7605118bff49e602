"""The same trials on a GPU: skipped where there is none."""

import numpy as np
import pytest
import torch

from anml.gradients import sample_krum_torch as krum
from anml.gradients.factors import LayerFactor
from anml.gradients.sample_krum_torch import krum_scores
from anml.networks.factors import Factors
from experiments.kinds import run_block
from experiments.spec import parse

pytestmark = [pytest.mark.slow, pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")]


def factors(n: int, device: str) -> Factors:
    generator = torch.Generator().manual_seed(0)
    layers = [
        LayerFactor(*(torch.randn(n, width, generator=generator).to(device) for width in widths))
        for widths in ((5, 7), (7, 3))
    ]
    return Factors(layers, torch.zeros(n, device=device))


@pytest.mark.parametrize("n", [300, 3_000])
def test_distances(n, monkeypatch):
    monkeypatch.setitem(krum.TILE_SIZE, "cuda", 1_024)
    np.testing.assert_allclose(
        krum_scores(factors(n, "cuda"), 10), krum_scores(factors(n, "cpu"), 10), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("dataset", ["wine", "breast-cancer", "diabetes"])
def test_a_block_of_trials(dataset):
    attack = "shift" if dataset == "diabetes" else "flip"
    experiment = parse(
        "x",
        {
            "title": "x",
            "setting": {"dataset": dataset, "attack": attack, "epochs": 100},
            "vary": {"profile": ["paper", "default"]},
        },
    )
    here, there = (run_block(experiment, range(5), dataset, device) for device in ("cpu", "cuda"))
    assert [row["kept"] for row in here] == [row["kept"] for row in there]
    for metric in ("error", "precision"):
        means = [np.mean([row[metric] for row in rows]) for rows in (here, there)]
        assert means[0] == pytest.approx(means[1], abs=2, rel=0.05)


def test_times_wait_for_the_device():
    experiment = parse("x", {"title": "x", "timed": True, "setting": {"epochs": 50}})
    rows = run_block(experiment, [0], "wine", "cuda")
    assert all(row["train_s"] > 0 and row["krum_s"] > 0 for row in rows)

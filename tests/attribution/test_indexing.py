"""`anml.attribution.index`: runs, checkpoints, two passes, and refusals."""

import numpy as np
import pytest
import torch
from attribution_world import trained, world
from torch import nn

import anml
from anml.core.errors import AnmlError, InputError, UnsupportedError


@pytest.fixture(scope="module")
def case():
    x, y, codes, clean = world()
    net, states = trained(x[:240], y[:240], np.arange(240), 0)
    return x, y, codes, clean, net, states


def test_several_runs_are_averaged(case):
    x, y, codes, clean, net, states = case
    data = (x[:240], y[:240])

    def retrain(rows, seed):
        return trained(*data, rows, seed)[1]

    other = trained(*data, np.arange(240), 1)[1]
    both = anml.attribution.index(
        net, data, codes[:240], checkpoints=[states], retrain=retrain, runs=2, check=0
    )
    given = anml.attribution.index(net, data, codes[:240], checkpoints=[states, other])
    one, two = (each.trace((x[240:], clean[240:]), top_rows=0).influence for each in (both, given))
    assert one == pytest.approx(two, abs=1e-6)


def test_two_passes_agree_with_sums(case):
    x, y, codes, clean, net, _ = case
    index = anml.attribution.index(net, (x[:240], y[:240]), codes[:240])
    result = index.trace((x[240:], clean[240:]))
    from anml.attribution.samples import RowBatches

    asked = RowBatches((x[240:], clean[240:]))
    rows = np.arange(240)
    each = index.row_scores(asked, np.ones(80), rows, [0], result.check["damping"])
    sums = np.bincount(index.codes, each)
    total = result.influence.mean(axis=0)
    assert np.abs(sums - total).max() <= 0.03 * np.abs(total).max()


def test_checkpoints_in_a_folder_are_read_in_order(case, tmp_path):
    from safetensors.torch import save_file

    x, y, codes, clean, net, states = case
    for step, state in zip((100, 30, 9), reversed(states), strict=True):
        save_file(state, tmp_path / f"step-{step}.safetensors")
    data = (x[:240], y[:240])
    one = anml.attribution.index(net, data, codes[:240], checkpoints=tmp_path)
    two = anml.attribution.index(net, data, codes[:240], checkpoints=[states])
    q = (x[240:], clean[240:])
    assert one.trace(q).influence == pytest.approx(two.trace(q).influence)
    assert torch.equal(net[0].weight, states[-1]["0.weight"])


def test_a_contributor_without_weight_has_no_influence(case):
    x, y, codes, clean, net, _ = case
    weight = (codes[:240] != "bob").astype(float)
    result = anml.attribution.index(net, (x[:240], y[:240]), codes[:240], weight=weight).trace(
        (x[240:], clean[240:])
    )
    bob = result.contributors.filter(contributor="bob")
    assert bob["influence"].item() == 0
    assert bob["share"].item() == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"contributor": ["ann"] * 240}, "at least two contributors"),
        ({"checkpoints": "nowhere"}, "does not exist"),
        ({"checkpoints": [{"0.weight": torch.zeros(16, 6)}]}, r"has no 0.bias"),
        ({"checkpoints": [5]}, "a checkpoint must be"),
        ({"weight": np.zeros(240)}, "at least one must be positive"),
        ({"loss": "hinge"}, "unknown loss"),
        ({"runs": 2}, "need retrain="),
        ({"check": 5}, "5 retrainings needs retrain="),
        ({"model": 3}, r"torch.nn.Module, got int"),
    ],
)
def test_what_does_not_fit_is_one_sentence(case, change, message):
    x, y, codes, _, net, _ = case
    settings = {"model": net, "train": (x[:240], y[:240]), "contributor": codes[:240]} | change
    with pytest.raises(AnmlError, match=message):
        anml.attribution.index(**settings)


def test_a_loss_that_cannot_be_read_is_refused(case):
    x, y, codes, *_ = case
    with pytest.raises(InputError, match="one number per sample"):
        anml.attribution.index(
            nn.Linear(6, 3), (x[:240], y[:240]), codes[:240], loss=lambda out, target: out.sum()
        )
    frozen = nn.Linear(6, 3).requires_grad_(False)
    with pytest.raises(UnsupportedError, match="no trainable parameters"):
        anml.attribution.index(frozen, (x[:240], y[:240]), codes[:240])

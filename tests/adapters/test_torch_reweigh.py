"""Weights that follow a model in training: reproducible, resumable, and better than none."""

import copy

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from anml.adapters.torch import Reweigher, WeightedSampler, weighted_loss
from anml.adapters.torch.state import load_state, save_state
from anml.core.errors import AnmlError, InputError


def table(n=300, seed=0):
    """Three classes, ten contributors, of whom three give wrong labels."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    x = rng.normal(size=(n, 6)) + 1.5 * np.eye(3, 6)[y]
    who = rng.integers(0, 10, n)
    wrong = (who >= 7) & (rng.uniform(size=n) < 0.9)
    labels = np.where(wrong, (y + 1) % 3, y)
    tensors = torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(labels)
    return *tensors, who, wrong, torch.as_tensor(y)


def network():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(6, 24), nn.ReLU(), nn.Linear(24, 3))


def loop(module, optimiser, reweigher, sampler, x, y, epochs, stop_after=None):
    """A training loop of the user's own; stops in the middle of an epoch where asked."""
    steps, seen = 0, []
    for epoch in range(reweigher.epochs, epochs):
        sampler.set_epoch(epoch)
        for rows in DataLoader(range(len(x)), batch_size=16, sampler=sampler):
            optimiser.zero_grad()
            nn.functional.cross_entropy(module(x[rows]), y[rows]).backward()
            optimiser.step()
            reweigher.step(module)
            seen += rows.tolist()
            steps += 1
            if steps == stop_after:
                return seen
        reweigher.end_epoch(module)
    return seen


def parts(x, y, who, recipe="evidence"):
    module = network()
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-2)
    reweigher = Reweigher(x, y, recipe=recipe, contributor=who, every=7, seed=3, held_out=0)
    return module, optimiser, reweigher, WeightedSampler(reweigher, seed=3)


@pytest.mark.parametrize("recipe", ["evidence", "krum", "guarded"])
def test_wrong_labels_lose_their_weight(recipe):
    x, y, who, wrong, _ = table()
    module, optimiser, reweigher, sampler = parts(x, y, who, recipe)
    loop(module, optimiser, reweigher, sampler, x, y, 5)
    assert reweigher.weights[wrong].mean() < 0.5 * reweigher.weights[~wrong].mean()
    r = np.array([reweigher.r[who == k][0] for k in range(10)])
    assert r[7:].max() < r[:7].min()
    plain = network()
    adam = torch.optim.Adam(plain.parameters(), lr=1e-2)
    for _ in range(95):
        adam.zero_grad()
        nn.functional.cross_entropy(plain(x), y).backward()
        adam.step()
    fresh, truth = table(seed=9)[0], table(seed=9)[4]
    errors = [(m(fresh).argmax(1) != truth).float().mean() for m in (module, plain)]
    assert errors[0] <= errors[1]


def test_the_same_seed_gives_the_same_weights():
    x, y, who, _, _ = table()
    runs = [parts(x, y, who) for _ in range(2)]
    seen = [loop(*run[:3], run[3], x, y, 3) for run in runs]
    assert seen[0] == seen[1]
    np.testing.assert_array_equal(runs[0][2].weights, runs[1][2].weights)


def test_stopped_in_the_middle_of_an_epoch_it_goes_on_as_if_it_had_not(tmp_path):
    x, y, who, _, _ = table()
    module, optimiser, reweigher, sampler = parts(x, y, who, "krum")
    whole = loop(module, optimiser, reweigher, sampler, x, y, 3)
    first = parts(x, y, who, "krum")
    before = loop(*first[:3], first[3], x, y, 3, stop_after=30)
    save_state(first[2].state_dict(), tmp_path / "state.pt")
    kept = copy.deepcopy((first[0].state_dict(), first[1].state_dict(), first[3].state_dict()))
    again = parts(x, y, who, "krum")
    again[0].load_state_dict(kept[0])
    again[1].load_state_dict(kept[1])
    again[2].load_state_dict(load_state(tmp_path / "state.pt"))
    again[3].load_state_dict(kept[2])
    assert before + loop(*again[:3], again[3], x, y, 3) == whole
    np.testing.assert_array_equal(again[2].weights, reweigher.weights)


def test_weights_in_the_loss():
    x, y, who, wrong, _ = table()
    module, optimiser, reweigher, _ = parts(x, y, who)
    for _ in range(4):
        for rows in torch.randperm(len(x), generator=torch.Generator().manual_seed(0)).split(16):
            optimiser.zero_grad()
            each = nn.functional.cross_entropy(module(x[rows]), y[rows], reduction="none")
            weighted_loss(each, reweigher.weights[rows]).backward()
            optimiser.step()
        reweigher.end_epoch(module)
    assert reweigher.weights[wrong].mean() < 0.2


def test_followed_weights_change_within_an_epoch():
    x, y, who, _, _ = table()
    reweigher = Reweigher(x, y, recipe="krum", contributor=who, held_out=0)
    draws = iter(WeightedSampler(reweigher, size=3_000))
    first = [next(draws) for _ in range(300)]
    reweigher.score(network())
    assert set(draws) <= set(np.flatnonzero(reweigher.weighting.kept).tolist())
    assert not set(first) <= set(np.flatnonzero(reweigher.weighting.kept).tolist())


def test_replicas_share_the_draws_of_a_reweigher():
    x, y, _, _, _ = table()
    reweigher = Reweigher(x, y, recipe="krum")
    whole = list(WeightedSampler(reweigher, size=100))
    halves = [list(WeightedSampler(reweigher, size=100, rank=rank, replicas=2)) for rank in range(2)]
    assert [row for pair in zip(*halves, strict=True) for row in pair] == whole


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"every": -1}, "every must be at least 0, got -1"),
        ({"seed": -1}, "seed must be at least 0, got -1"),
        ({"smooth": 0.0}, "smooth"),
        ({"colour": 1}, "unknown setting 'colour'"),
        ({"v": [0.5]}, "v has 1 values for 300 samples"),
        ({"recipe": "luck"}, "recipe 'luck'"),
    ],
)
def test_settings_that_do_not_fit(settings, said):
    x, y, _, _, _ = table()
    with pytest.raises(AnmlError, match=said):
        Reweigher(x, y, **settings)


def test_a_state_of_other_data_is_refused(tmp_path):
    x, y, _, _, _ = table()
    state = Reweigher(x[:10], y[:10]).state_dict()
    with pytest.raises(InputError, match="the state is of 10 samples, the training set has 300"):
        Reweigher(x, y).load_state_dict(state)
    with pytest.raises(InputError, match="this is no state of a Reweigher"):
        Reweigher(x, y).load_state_dict({"epochs": 1})
    (tmp_path / "no.pt").write_text("nothing")
    with pytest.raises(InputError, match=r"no\.pt is not the state of a training"):
        load_state(tmp_path / "no.pt")


def test_evidence_needs_classes():
    x, _, _, _, _ = table()
    reweigher = Reweigher(TensorDataset(x, x[:, 0]), loss="squared")
    with pytest.raises(InputError, match="evidence needs outputs"):
        reweigher.end_epoch(nn.Linear(6, 1))


class Says(nn.Module):
    """A module that says what it is told, of rows that hold their own number."""

    def __init__(self, logits):
        super().__init__()
        self.logits = nn.Parameter(logits)

    def forward(self, x):
        return self.logits[x[:, 0].long()]


def test_while_it_waits_no_row_is_held_out_of_two_epochs_running():
    _, y, who, _, truth = table(900)
    rows = torch.arange(len(y), dtype=torch.float32)[:, None]
    reweigher = Reweigher(rows, y, contributor=who, seed=1)
    held = [reweigher.held]
    for share in (0.4, 0.7, 0.9):
        known = torch.arange(len(y)) % 10 < 10 * share
        said = torch.where(known, truth, (truth + 1) % 3)
        reweigher.end_epoch(Says(4.0 * nn.functional.one_hot(said, 3).float()))
        assert reweigher.stands == "waits"
        np.testing.assert_array_equal(reweigher.weights > 0, ~reweigher.held)
        assert not any((reweigher.held & before).any() for before in held)
        held.append(reweigher.held)
    reweigher.end_epoch(Says(4.0 * nn.functional.one_hot(said, 3).float()))
    assert reweigher.stands == "leads"
    # What it led by stays out, and tells whether that did good.
    np.testing.assert_array_equal(reweigher.held, held[-1])
    reweigher.end_epoch(Says(4.0 * nn.functional.one_hot((truth + 1) % 3, 3).float()))
    assert reweigher.stands == "gave back"
    assert (reweigher.weights > 0).all()


def test_a_module_that_never_says_a_class_does_not_lead():
    _, y, who, _, truth = table(900)
    rows = torch.arange(len(y), dtype=torch.float32)[:, None]
    reweigher = Reweigher(rows, y, contributor=who)
    module = Says(4.0 * nn.functional.one_hot(torch.where(truth == 2, 1, truth), 3).float())
    for _ in range(3):
        reweigher.end_epoch(module)
    assert reweigher.stands == "waits"
    assert "are hardly predicted" in reweigher.weighting.gate.reason


def test_a_state_in_the_middle_of_waiting_goes_on_to_the_bit():
    _, y, who, _, truth = table(900)
    rows = torch.arange(len(y), dtype=torch.float32)[:, None]
    modules = [
        Says(torch.randn(len(y), 3, generator=torch.Generator().manual_seed(i)) + 3 * torch.eye(3)[truth])
        for i in range(4)
    ]
    whole, first = (Reweigher(rows, y, contributor=who) for _ in range(2))
    for module in modules:
        whole.end_epoch(module)
    for module in modules[:2]:
        first.end_epoch(module)
    again = Reweigher(rows, y, contributor=who)
    state = first.state_dict()
    held = state["held"].clone()
    again.load_state_dict(state)
    for module in modules[2:]:
        again.end_epoch(module)
    again.held[:] = False
    assert torch.equal(state["held"], held)
    assert (again.stands, again.turn) == (whole.stands, whole.turn)
    np.testing.assert_array_equal(again.weights, whole.weights)

"""`anml.attribution.index(...).trace(...)` end to end on small models."""

import numpy as np
import pytest
import torch
from torch import nn

import anml
from anml.core.errors import AnmlError, InputError, UnsupportedError

NAMES = np.array(["ann", "bob", "cat", "dan", "eve", "fay", "guy", "hal"])


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def world(rows=320, flips=("hal",), seed=0):
    """Three classes around centres; each contributor sees mostly one of them, and subset flip labels."""
    rng = np.random.default_rng(seed)
    codes = np.arange(rows) % len(NAMES)
    y = np.where(rng.uniform(size=rows) < 0.7, codes % 3, rng.integers(3, size=rows))
    x = 1.5 * np.eye(3)[y] @ rng.normal(size=(3, 6)) + rng.normal(size=(rows, 6))
    given = np.where(np.isin(NAMES[codes], flips), (y + 1) % 3, y)
    return torch.tensor(x, dtype=torch.float32), torch.tensor(given), NAMES[codes], torch.tensor(y)


def trained(x, y, rows, seed, steps=60):
    torch.manual_seed(seed)
    net = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 3))
    opt, rng, states = torch.optim.Adam(net.parameters(), 0.02), np.random.default_rng(seed), []
    for step in range(steps):
        subset = torch.as_tensor(rng.choice(rows, 32))
        opt.zero_grad()
        nn.functional.cross_entropy(net(x[subset]), y[subset]).backward()
        opt.step()
        if step in (9, 29, steps - 1):
            states.append({name: value.clone() for name, value in net.state_dict().items()})
    return net, states


@pytest.fixture(scope="module")
def case():
    x, y, codes, clean = world()
    net, states = trained(x[:240], y[:240], np.arange(240), 0)
    return x, y, codes, clean, net, states


def test_without_a_check_it_says_so(case):
    x, y, codes, clean, net, states = case
    index = anml.attribution.index(net, (x[:240], y[:240]), codes[:240], checkpoints=[states])
    result = index.trace((x[240:], clean[240:]))
    assert result.check["status"] == "not checked"
    frame = result.contributors
    assert frame["contributor"].sort().to_list() == sorted(NAMES)
    assert frame["share"].sum() == pytest.approx(1)
    assert (frame["low"] <= frame["share"]).all()
    assert (frame["share"] <= frame["high"]).all()
    # The one codes flips every label helps least.
    assert frame["contributor"].to_list()[-1] == "hal"
    assert frame["share"].to_list()[-1] == pytest.approx(0)
    assert frame.filter(contributor="hal")["influence"].item() < 0
    assert result.queries.height == 80 * len(NAMES)
    assert result.influence.shape == (80, len(NAMES))


def test_the_check_retrains_and_reports(case):
    x, y, codes, clean, net, states = case
    calls = []

    def retrain(rows, seed):
        calls.append((np.asarray(rows), seed))
        return trained(x[:240], y[:240], rows, seed)[1]

    index = anml.attribution.index(
        net, (x[:240], y[:240]), codes[:240], checkpoints=[states], retrain=retrain
    )
    result = index.trace((x[240:], clean[240:]))
    assert len(calls) == 10
    # Every model takes as many rows as the whole training; seeds differ.
    assert {len(rows) for rows, _ in calls} == {240}
    assert len({seed for _, seed in calls}) == 10
    check = result.check
    assert check["status"] == "checked"
    assert check["retrainings"] == 10
    assert -1 <= check["low"] <= check["lds"] <= check["high"] <= 1
    assert check["query_lds"] > 0.2
    assert 0 < check["query_ceiling"] <= 1
    assert {"similarity", "gain_own_source_fixed", "damping", "checkpoints"} <= check.keys()
    assert result.contributors.filter(contributor="hal")["share"].item() < 0.03
    assert result.contributors["certain"].any()
    # Three rows behind each of the first five contributors, their own.
    for name, mine in result.rows.group_by("contributor"):
        assert mine.height == 3
        assert {codes[row] for row in mine["row"]} == set(name)


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


def test_names_are_only_names(case):
    x, y, codes, clean, net, states = case
    other = np.array([f"{9 - list(NAMES).index(name)}-{name}" for name in codes])
    one, two = (
        anml.attribution.index(net, (x[:240], y[:240]), names[:240], checkpoints=[states])
        .trace((x[240:], clean[240:]))
        .contributors.sort("share")
        for names in (codes, other)
    )
    assert [name[2:] for name in two["contributor"]] == one["contributor"].to_list()
    assert one["share"].to_numpy() == pytest.approx(two["share"].to_numpy(), abs=1e-6)


def test_a_contributor_without_weight_has_no_influence(case):
    x, y, codes, clean, net, _ = case
    weight = (codes[:240] != "bob").astype(float)
    result = anml.attribution.index(net, (x[:240], y[:240]), codes[:240], weight=weight).trace(
        (x[240:], clean[240:])
    )
    bob = result.contributors.filter(contributor="bob")
    assert bob["influence"].item() == 0
    assert bob["share"].item() == 0


def test_queries_count_by_how_often_they_are_asked(case):
    x, y, codes, clean, net, _ = case
    index = anml.attribution.index(net, (x[:240], y[:240]), codes[:240])
    subset = (x[240:242], clean[240:242])
    weighted = index.trace(subset, count=[3.0, 1.0]).contributors.sort("contributor")
    repeated = index.trace((x[[240, 240, 240, 241]], clean[[240, 240, 240, 241]])).contributors.sort(
        "contributor"
    )
    assert weighted["influence"].to_numpy() == pytest.approx(repeated["influence"].to_numpy(), abs=1e-6)


def test_credit_is_multiplied_by_reliability_and_influence_is_not(case):
    x, y, codes, clean, net, _ = case
    index = anml.attribution.index(net, (x[:240], y[:240]), codes[:240])
    p = np.where(codes[:240] == "ann", 0.0, 1.0)
    plain, weighted = (
        index.trace((x[240:], clean[240:]), p_correct=each).contributors.sort("contributor")
        for each in (None, p)
    )
    assert plain["influence"].to_list() == weighted["influence"].to_list()
    assert weighted.filter(contributor="ann")["share"].item() == 0


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


def test_a_stream_is_refused():
    from torch.utils.data import IterableDataset

    class Stream(IterableDataset):
        def __iter__(self):
            yield torch.zeros(3), 0

    with pytest.raises(UnsupportedError, match="rows by number"):
        anml.attribution.index(nn.Linear(3, 2), Stream(), ["a", "b"])

"""EK-FAC by hand, against closed forms, and by its laws."""

import pytest
import torch
from torch import nn

from anml.attribution.ekfac import (
    GradientReader,
    contributor_sums,
    fit_curvature,
    losses_along,
    score_queries,
)
from anml.gradients.batches import Batch, GradientSettings, in_evaluation
from anml.gradients.losses import sample_losses


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def scores_of(model, x, y, codes, q, q_y, loss, damping, size=16):
    reader = GradientReader(model, GradientSettings(loss))
    cuts = [slice(at, at + size) for at in range(0, len(x), size)]
    order = torch.argsort(codes, stable=True)
    x, y, codes = x[order], y[order], codes[order]
    curvature = fit_curvature(reader, lambda: [Batch(x[c], y[c]) for c in cuts])
    rows = [(Batch(x[c], y[c]), torch.ones(len(y[c])), codes[c]) for c in cuts]
    sums = contributor_sums(reader, curvature, rows, int(codes.max()) + 1)
    return score_queries(reader, curvature, sums, [Batch(q, q_y)], [damping])[0], curvature, sums


def test_two_rows_by_hand():
    # Outputs are 0, so that gradients are -2y x: (-2, 0) and (0, -4), of mean squares 2 and 8.
    model = nn.Linear(2, 1, bias=False)
    nn.init.zeros_(model.weight)
    x, y = torch.eye(2), torch.tensor([1.0, 2.0])
    # The query (1, 1) with target 1 has the gradient (-2, -2): -2 / 2 * -2 and -2 / 8 * -4.
    result, curvature, _ = scores_of(
        model, x, y, torch.tensor([0, 1]), torch.ones(1, 2), torch.ones(1), "squared", 0.0
    )
    assert sorted(curvature["weight"].eigenvalues[0].tolist()) == pytest.approx([2, 8])
    torch.testing.assert_close(result, torch.tensor([[2.0, 1.0]]), rtol=1e-2, atol=0)


def test_a_linear_model_against_leaving_out_in_closed_form():
    # Independent noise: the curvature of gradients is that of the loss, up to a factor.
    x, q = normal(4_000, 4) * torch.tensor([0.3, 1.0, 2.0, 0.7]), normal(60, 4, seed=1)
    weight = torch.tensor([1.0, -2.0, 0.5, 0.0])
    y, q_y = x @ weight + 0.5 * normal(4_000, seed=2), q @ weight + 0.5 * normal(60, seed=3)
    codes = torch.arange(4_000) % 40
    shift = normal(40, 4, seed=4)
    y = y + 0.1 * (x * shift[codes]).sum(1)

    def fit(rows):
        return torch.linalg.lstsq(x[rows], y[rows, None]).solution[:, 0]

    model = nn.Linear(4, 1, bias=False)
    model.weight.data = fit(torch.ones(4_000, dtype=bool))[None]
    result = scores_of(model, x, y, codes, q, q_y, "squared", 0.0)[0]
    whole = (q @ model.weight.data[0] - q_y).square()
    left = torch.stack([(q @ fit(codes != c) - q_y).square() - whole for c in range(40)], dim=1)
    r = torch.corrcoef(torch.stack([result.flatten(), left.flatten()]))[0, 1]
    assert r > 0.97


def nets():
    return {
        "layers": (nn.Sequential(nn.Linear(3, 5), nn.Tanh(), nn.Linear(5, 3)), normal(24, 3)),
        "convolution": (
            nn.Sequential(nn.Conv2d(1, 2, 2), nn.ReLU(), nn.Flatten(), nn.Linear(8, 3)),
            normal(24, 1, 3, 3),
        ),
        "table": (
            nn.Sequential(nn.Embedding(6, 4), nn.Flatten(), nn.Linear(8, 3)),
            torch.arange(48).view(24, 2) % 6,
        ),
    }


@pytest.mark.parametrize("name", nets())
def test_gradient_dot_products_without_damping_of_their_ratio(name):
    # With a damping above everything each layer is scaled by one number: dot products, layer by layer.
    torch.manual_seed(0)
    model, x = nets()[name]
    y, codes = torch.arange(24) % 3, torch.arange(24) // 8
    result, curvature, _ = scores_of(model, x, y, codes, x[:4], y[:4], "softmax", 1e6, size=7)
    named = dict(model.named_parameters())
    wanted = torch.zeros(4, 3)
    for at in range(4):
        loss = nn.functional.cross_entropy(model(x[at : at + 1]), y[at : at + 1])
        mine = dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))
        for c in range(3):
            loss = nn.functional.cross_entropy(model(x[codes == c]), y[codes == c], reduction="sum")
            theirs = dict(zip(named, torch.autograd.grad(loss, list(named.values())), strict=True))
            for key, layer in curvature.items():
                scale = 1e6 * float(layer.eigenvalues.mean())
                for each in key.split("|"):
                    wanted[at, c] += (mine[each] * theirs[each]).sum() / scale
    torch.testing.assert_close(result, wanted, rtol=0.02, atol=0.02 * float(wanted.abs().max()))


@pytest.mark.parametrize("name", nets())
def test_eigenvalues_are_mean_squares_in_the_eigenbasis_and_keep_the_trace(name):
    torch.manual_seed(0)
    model, x = nets()[name]
    y = torch.arange(24) % 3
    reader = GradientReader(model, GradientSettings("softmax"))
    curvature = fit_curvature(reader, lambda: [Batch(x[:9], y[:9]), Batch(x[9:], y[9:])])
    total = sum(float(layer.eigenvalues.sum()) for layer in curvature.values())
    squares = 0.0
    for at in range(24):
        loss = nn.functional.cross_entropy(model(x[at : at + 1]), y[at : at + 1])
        gradients = torch.autograd.grad(loss, list(model.parameters()))
        squares += sum(float(g.square().sum()) for g in gradients)
    assert total == pytest.approx(squares / 24, rel=1e-4)


@pytest.mark.parametrize("size", [1, 5, 24])
def test_sums_do_not_depend_on_batches_and_slices_add_up(size):
    torch.manual_seed(0)
    model, x = nets()["layers"]
    y, codes = torch.arange(24) % 3, torch.arange(24) // 8
    reader = GradientReader(model, GradientSettings("softmax"))
    curvature = fit_curvature(reader, lambda: [Batch(x, y)])

    def sums(rows, step):
        cuts = [rows[at : at + step] for at in range(0, len(rows), step)]
        return contributor_sums(
            reader, curvature, [(Batch(x[c], y[c]), torch.ones(len(c)), codes[c]) for c in cuts], 3
        )

    whole, again = sums(torch.arange(24), 24), sums(torch.arange(24), size)
    one, two = sums(torch.arange(0, 24, 2), size), sums(torch.arange(1, 24, 2), size)
    for key in curvature:
        close = 0.03 * float(whole.layer(key).abs().max())
        torch.testing.assert_close(again.layer(key), whole.layer(key), rtol=0, atol=close)
        torch.testing.assert_close(one.layer(key) + two.layer(key), whole.layer(key), rtol=0, atol=close)


def test_a_basis_is_omitted_for_wide_sides_only():
    model, x = nets()["layers"]
    reader = GradientReader(model, GradientSettings("softmax"))
    curvature = fit_curvature(reader, lambda: [Batch(x, torch.arange(24) % 3)], widest=4)
    assert [layer.left is None for layer in curvature.values()] == [True, False]
    assert [layer.right is None for layer in curvature.values()] == [False, True]


def test_two_passes_give_the_derivative_and_restore_the_parameters():
    torch.manual_seed(0)
    model, x = nets()["layers"]
    y = torch.arange(24) % 3
    parameters = dict(model.named_parameters())
    before = {name: p.detach().clone() for name, p in parameters.items()}
    change = {name: normal(*p.shape, seed=at) for at, (name, p) in enumerate(parameters.items())}

    def losses():
        with in_evaluation(model):
            return sample_losses("softmax", model(x), y).detach()

    result = losses_along(parameters, change, losses)
    for at in range(24):
        loss = nn.functional.cross_entropy(model(x[at : at + 1]), y[at : at + 1])
        gradients = torch.autograd.grad(loss, list(parameters.values()))
        slope = sum(float((g * change[n]).sum()) for n, g in zip(parameters, gradients, strict=True))
        assert float(result[at]) == pytest.approx(slope, rel=1e-2, abs=2e-3)
    assert all(torch.equal(before[name], p) for name, p in parameters.items())

"""Ways of training: gradients against autograd, choices by hand, wrong labels found, bad input."""

import numpy as np
import pytest
import torch

from anml.core.errors import InputError
from anml.gradients.mlp import Networks, Shape, initialise
from anml.reweight.dividemix import dividemix, p_correct
from anml.reweight.glister import glister, subset
from anml.reweight.learning_to_reweight import agreement, learning_to_reweight
from anml.reweight.training import Plan, as_rows, gradient_of, one_hot

PLAN = Plan(hidden=(16,), epochs=30, batch=40, lr=1e-2)


@pytest.fixture(scope="module")
def blobs():
    """Three classes that are easy to tell, a quarter of the labels wrong."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 240)
    x = rng.normal(size=(240, 4)) + 3 * np.eye(4)[y]
    wrong = rng.uniform(size=240) < 0.25
    given = np.where(wrong, (y + rng.integers(1, 3, 240)) % 3, y)
    clean = rng.integers(0, 3, 30)
    return x, given, y, wrong, rng.normal(size=(30, 4)) + 3 * np.eye(4)[clean], clean


def loss(networks, x, y):
    """The same network's loss by autograd."""
    flat = networks.flat.clone().requires_grad_(True)
    views, start = [], 0
    for fan_in, fan_out in networks.shape.layers:
        weight = flat[0, start : start + fan_in * fan_out].view(fan_in, fan_out)
        start += fan_in * fan_out
        views.append((weight, flat[0, start : start + fan_out]))
        start += fan_out
    out = x
    for depth, (weight, bias) in enumerate(views):
        out = out @ weight + bias
        out = out.relu() if depth < len(views) - 1 else out
    return torch.nn.functional.cross_entropy(out, y, reduction="none"), flat


def test_gradient_is_that_of_autograd(blobs):
    rows = as_rows("data", blobs[0], blobs[1], 3)
    networks = initialise(Shape(4, (5,), 3), [0])
    each, flat = loss(networks, rows.x, rows.y)
    each.mean().backward()
    weight = torch.full((1, len(rows.y)), 1 / len(rows.y))
    mine = gradient_of(networks, rows.x, one_hot(rows.y, 3).unsqueeze(0), weight)
    assert mine[0].numpy() == pytest.approx(flat.grad[0].numpy(), abs=1e-6)


def test_weights_are_those_of_a_look_ahead_step(blobs):
    """minus d(clean loss)/d(weight of a sample) after one step from weights of zero, by autograd."""
    some = as_rows("data", blobs[0][:6], blobs[1][:6], 3)
    clean = as_rows("data", blobs[4], blobs[5], 3)
    networks = initialise(Shape(4, (5,), 3), [1])
    each, flat = loss(networks, some.x, some.y)
    gradients = [torch.autograd.grad(one, flat, retain_graph=True)[0] for one in each]
    weights = torch.zeros(6, requires_grad=True)
    moved = networks.flat - sum(w * g for w, g in zip(weights, gradients, strict=True))
    ahead = _outputs(networks.shape, moved, clean.x)
    torch.nn.functional.cross_entropy(ahead, clean.y).backward()
    assert agreement(networks, some, clean, 3).numpy() == pytest.approx(-weights.grad.numpy(), abs=1e-5)


def _outputs(shape, flat, x):
    start = 0
    for depth, (fan_in, fan_out) in enumerate(shape.layers):
        weight = flat[0, start : start + fan_in * fan_out].view(fan_in, fan_out)
        start += fan_in * fan_out
        x = x @ weight + flat[0, start : start + fan_out]
        start += fan_out
        x = x.relu() if depth < len(shape.layers) - 1 else x
    return x


def test_glister_takes_the_samples_that_agree_with_clean_data():
    """One feature, two classes: with the last layer at zero the gain is x times the clean mean, by hand."""
    networks = Networks(Shape(1, (), 2), torch.zeros(1, 4))
    rows = as_rows("data", [[1.0], [2.0], [-1.0], [3.0]], [1, 1, 1, 0], 2)
    clean = as_rows("data", [[1.0]], [1], 2)
    # (x * 1 + 1) times (p - y) . (p - y): 1, 1.5, 0 for class 1, and minus 2 for the one of class 0.
    assert sorted(subset(networks, rows, clean, 2, 2).tolist()) == [0, 1]


def test_p_clean_separates_two_heaps():
    rng = np.random.default_rng(0)
    losses = np.concatenate([rng.normal(0.1, 0.02, 80), rng.normal(2.0, 0.1, 20)])[None]
    found = p_correct(losses, 0)[0]
    assert (found[:80] > 0.9).all()
    assert (found[80:] < 0.1).all()
    assert p_correct(np.ones((1, 5)), 0).tolist() == [[1.0] * 5]


WAYS = {
    "learning to reweight": lambda b, plan: learning_to_reweight(b[0], b[1], b[4], b[5], 3, plan),
    "glister": lambda b, plan: glister(b[0], b[1], b[4], b[5], 3, 0.75, plan),
    "dividemix": lambda b, plan: dividemix(b[0], b[1], 3, plan),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_wrong_labels_weigh_less_and_the_same_seed_gives_the_same(way, blobs):
    found = way(blobs, PLAN)
    assert found.weights.shape == (240,)
    assert ((found.weights >= 0) & (found.weights <= 1)).all()
    assert found.weights[blobs[3]].mean() < 0.6 * found.weights[~blobs[3]].mean()
    assert (found.predict(blobs[0]) == blobs[2]).mean() > 0.9
    again = way(blobs, PLAN)
    assert (again.weights == found.weights).all()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda b: (b[0][:0], b[1][:0], *b[2:]), "rows of features with one class each"),
        (lambda b: (np.full_like(b[0], np.nan), *b[1:]), "missing or infinite"),
        (lambda b: (b[0], b[1] + 5, *b[2:]), "class codes from 0 to 2"),
        (lambda b: (b[0], b[1][:5], *b[2:]), "rows of features with one class each"),
    ],
)
def test_bad_rows_are_one_sentence(way, change, said, blobs):
    with pytest.raises(InputError, match=said):
        way(change(blobs), PLAN)

"""Count sketches: signed runs by hand, linear, unbiased, the same from factors as from gradients."""

import pytest
import torch
from torch import nn

from anml.gradients import sketch
from anml.gradients.factors import LayerFactor, LookupFactor, SequenceFactor, formed_part
from anml.gradients.record import Covered
from anml.gradients.sketch import CountSketch

CPU = torch.device("cpu")


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def sketched(parameters, covered, size=64, seed=0):
    return CountSketch(parameters, size, seed, CPU).of(covered)


def by_hand(parameter, gradients, made):
    """Every number with its sign, at its place in its run turned by the offset of the run."""
    signs, offsets = made._signs(parameter)
    out = torch.zeros(len(gradients), made.size)
    for at in range(gradients.shape[1]):
        place = (at % made.size + offsets[at // made.size]) % made.size
        out[:, place] += gradients[:, at] * signs[at]
    return out


@pytest.mark.parametrize("numbers", [3, 64, 65, 300])
def test_each_number_is_added_with_its_sign_at_its_place(numbers):
    parameter, gradients = nn.Parameter(torch.zeros(numbers)), normal(5, numbers)
    made = CountSketch([parameter], 64, 0, CPU)
    result = made.of([Covered((parameter,), formed_part(gradients))])
    torch.testing.assert_close(result, by_hand(parameter, gradients, made))


def test_a_short_gradient_is_kept_whole():
    parameter, gradients = nn.Parameter(torch.zeros(40)), normal(6, 40)
    result = sketched([parameter], [Covered((parameter,), formed_part(gradients))], size=64)
    torch.testing.assert_close(result @ result.T, gradients @ gradients.T)


def test_sketches_are_linear():
    parameter = nn.Parameter(torch.zeros(500))
    one, two = normal(4, 500), normal(4, 500, seed=1)
    each = [sketched([parameter], [Covered((parameter,), formed_part(g))]) for g in (one, two, one + 3 * two)]
    torch.testing.assert_close(each[2], each[0] + 3 * each[1], rtol=1e-4, atol=1e-4)


def test_inner_products_are_right_on_average_and_off_by_the_root_of_the_size():
    parameter = nn.Parameter(torch.zeros(3000))
    gradients = nn.functional.normalize(normal(8, 3000), dim=1)
    wanted = gradients @ gradients.T
    part = [Covered((parameter,), formed_part(gradients))]
    result = torch.stack([(s := sketched([parameter], part, 256, seed)) @ s.T for seed in range(60)])
    off = result - wanted
    assert float(off.mean(0).abs().max()) < 0.04
    assert float(off.std(0).max()) < 2 / 256**0.5


@pytest.mark.parametrize(
    "part",
    [
        LookupFactor(
            torch.randint(0, 30, (5, 4), generator=torch.Generator().manual_seed(0)), normal(5, 4, 3), 30
        ),
        SequenceFactor(normal(5, 3, 6), normal(5, 3, 15, seed=1), bias=False),
        LayerFactor(normal(5, 6), normal(5, 15, seed=1), bias=False),
    ],
    ids=["lookup", "sequence", "layer"],
)
def test_factors_are_sketched_as_their_gradients_are(part):
    """Looked-up rows are scattered, never formed; the sketch is the same."""
    parameter = nn.Parameter(torch.zeros(90))
    made = CountSketch([parameter], 64, 0, CPU)
    result = made.of([Covered((parameter,), part)])
    torch.testing.assert_close(result, by_hand(parameter, part.formed(), made), rtol=1e-4, atol=1e-4)


def test_wide_outer_products_are_convolved_from_their_factors(monkeypatch):
    """A sketch of another kind, whose inner products are right on average, too."""
    monkeypatch.setattr(sketch, "WIDE", 0)
    weight, bias = nn.Parameter(torch.zeros(20, 30)), nn.Parameter(torch.zeros(20))
    part = LayerFactor(normal(6, 30), normal(6, 20, seed=1))
    whole = part.formed()
    lengths = whole.norm(dim=1)
    covered = [Covered((weight, bias), part)]
    result = torch.stack([(s := sketched([weight, bias], covered, 256, seed)) @ s.T for seed in range(60)])
    off = (result - whole @ whole.T) / (lengths[:, None] * lengths)
    assert float(off.mean(0).abs().max()) < 0.08
    assert float(off.std(0).max()) < 4 / 256**0.5


def test_parameters_of_one_part_are_sketched_each_by_its_own_signs():
    weight, bias = nn.Parameter(torch.zeros(3, 2)), nn.Parameter(torch.zeros(3))
    part = LayerFactor(normal(4, 2), normal(4, 3, seed=1))
    made = CountSketch([weight, bias], 64, 0, CPU)
    formed = part.formed()
    expected = by_hand(weight, formed[:, :6], made) + by_hand(bias, formed[:, 6:], made)
    torch.testing.assert_close(made.of([Covered((weight, bias), part)]), expected)


def test_batches_are_sketched_alike_and_seeds_differently():
    parameter, gradients = nn.Parameter(torch.zeros(500)), normal(6, 500)
    whole = sketched([parameter], [Covered((parameter,), formed_part(gradients))])
    made = CountSketch([parameter], 64, 0, CPU)
    parts = [made.of([Covered((parameter,), formed_part(gradients[at : at + 2]))]) for at in (0, 2, 4)]
    torch.testing.assert_close(torch.cat(parts), whole)
    assert not torch.equal(
        sketched([parameter], [Covered((parameter,), formed_part(gradients))], seed=1), whole
    )


def test_gradients_are_formed_some_samples_at_a_time(monkeypatch):
    parameter, gradients = nn.Parameter(torch.zeros(500)), normal(7, 500)
    covered = [Covered((parameter,), formed_part(gradients))]
    whole = sketched([parameter], covered)
    monkeypatch.setattr(sketch, "FORMED", 4 * 500 * 2)
    torch.testing.assert_close(sketched([parameter], covered), whole)

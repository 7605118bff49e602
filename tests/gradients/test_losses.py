"""Losses of samples: by hand, against torch's means, and what does not fit."""

import math
from types import SimpleNamespace

import pytest
import torch
from torch.nn import functional

from anml.core.errors import InputError, UnknownNameError
from anml.gradients.losses import LOSSES, logits_of, loss_of, next_token, sample_losses

OUTPUTS = torch.tensor([[0.0, 0.0], [2.0, 0.0], [-1.0, 3.0]])


def targets(name):
    return {
        "softmax": torch.tensor([0, 1, 1]),
        "next-token": torch.tensor([[0, 1, 1], [1, 0, -100], [1, 1, 0]]),
        "logistic": torch.tensor([0.0, 1.0, 1.0]),
        "squared": torch.tensor([0.5, -1.0, 2.0]),
    }[name]


def outputs(name):
    if name == "next-token":
        return torch.stack([OUTPUTS, OUTPUTS.flip(0), 2 * OUTPUTS])
    return OUTPUTS if name == "softmax" else OUTPUTS[:, :1]


@pytest.mark.parametrize("name", LOSSES)
class TestEveryLoss:
    def test_is_one_number_a_sample(self, name):
        result = sample_losses(name, outputs(name), targets(name))
        assert result.shape == (3,)
        assert (result >= 0).all()

    def test_a_sample_has_its_loss_whatever_its_batch(self, name):
        whole = sample_losses(name, outputs(name), targets(name))
        for at in range(3):
            one = sample_losses(name, outputs(name)[at : at + 1], targets(name)[at : at + 1])
            torch.testing.assert_close(one, whole[at : at + 1])

    def test_can_be_differentiated(self, name):
        given = outputs(name).clone().requires_grad_()
        sample_losses(name, given, targets(name)).sum().backward()
        assert given.grad is not None
        assert given.grad.abs().sum() > 0


class TestByHand:
    def test_next_token(self):
        # The outputs at places 0 and 1 against the labels at 1 and 2; what is -100 does not count.
        z = torch.tensor([[[0.0, 0.0], [2.0, 0.0], [9.0, 0.0]]])
        mean = (math.log(2) + math.log(1 + math.exp(2))) / 2
        assert float(next_token(z, torch.tensor([[0, 1, 1]]))) == pytest.approx(mean)
        assert float(next_token(z, torch.tensor([[0, 1, -100]]))) == pytest.approx(math.log(2))

    def test_half_precision_is_no_excuse(self):
        result = sample_losses("softmax", OUTPUTS.bfloat16(), torch.tensor([0, 1, 1]))
        torch.testing.assert_close(result, LOSSES["softmax"](OUTPUTS, torch.tensor([0, 1, 1])))

    def test_softmax(self):
        # log(1 + 1); log(1 + e²); log(1 + e^-4).
        results = LOSSES["softmax"](OUTPUTS, torch.tensor([0, 1, 1]))
        expected = torch.tensor([2.0, 1 + torch.e**2, 1 + torch.e**-4]).log()
        torch.testing.assert_close(results, expected)

    def test_logistic(self):
        results = LOSSES["logistic"](OUTPUTS[:, :1], torch.tensor([0.0, 1.0, 1.0]))
        torch.testing.assert_close(results, torch.tensor([2.0, 1 + torch.e**-2, 1 + torch.e]).log())

    def test_squared(self):
        assert LOSSES["squared"](torch.tensor([[1.0], [4.0]]), torch.tensor([3.0, 4.0])).tolist() == [4, 0]

    def test_a_sequence_has_the_mean_over_its_places(self):
        logits = torch.randn(2, 3, 4, generator=torch.Generator().manual_seed(0))
        target = torch.tensor([[0, 1, 3], [2, -100, -100]])
        results = LOSSES["softmax"](logits, target)
        torch.testing.assert_close(results[0], functional.cross_entropy(logits[0], target[0]))
        torch.testing.assert_close(results[1], functional.cross_entropy(logits[1, :1], target[1, :1]))

    def test_a_sequence_of_nothing_has_no_loss(self):
        assert LOSSES["softmax"](torch.zeros(1, 2, 3), torch.full((1, 2), -100)).tolist() == [0]


class TestOutputs:
    def test_logits_of_what_modules_return(self):
        tensor = torch.ones(2, 3)
        for given in (
            tensor, (tensor, None), [tensor], SimpleNamespace(logits=tensor), {"logits": tensor, "h": 2},
        ):  # fmt: skip
            assert logits_of(given) is tensor

    def test_which_of_several_is_not_guessed(self):
        with pytest.raises(InputError, match="returns 2 tensors; let it return what the loss takes"):
            logits_of((torch.ones(2, 4), torch.ones(2, 3)))

    @pytest.mark.parametrize("given", [None, {}, "text", (), SimpleNamespace(logits=None), ([1],)])
    def test_anything_else_is_named(self, given):
        with pytest.raises(InputError, match=f"must return a tensor or logits, got {type(given).__name__}"):
            logits_of(given)


class TestDoor:
    def test_a_function_of_the_users_own_is_taken(self):
        def own(outputs, target):
            return (outputs[:, 0] - target).abs()

        assert loss_of(own) is own
        assert sample_losses(own, OUTPUTS, torch.zeros(3)).tolist() == [0, 2, 1]

    def test_an_unknown_name_lists_the_known(self):
        with pytest.raises(
            UnknownNameError, match="unknown loss 'hinge'; allowed: softmax, next-token, logistic, squared"
        ):
            loss_of("hinge")

    @pytest.mark.parametrize("reduced", [torch.tensor(1.0), torch.ones(2), torch.ones(3, 1)])
    def test_a_loss_that_was_reduced_is_refused(self, reduced):
        with pytest.raises(InputError, match=r'one number per sample.*for 3 samples; use reduction="none"'):
            sample_losses(lambda outputs, target: reduced, OUTPUTS, None)

    @pytest.mark.parametrize(
        ("logits", "target", "says"),
        [
            (OUTPUTS, torch.zeros(3), "whole numbers for the softmax loss, got torch.float32"),
            (OUTPUTS, torch.zeros(3, dtype=torch.bool), "got torch.bool"),
            (OUTPUTS, torch.zeros(2, dtype=torch.long), r"outputs of shape \(3, 2\) and y of shape \(2,\)"),
            (OUTPUTS[:, 0], torch.zeros(3, dtype=torch.long), r"outputs of shape \(3,\)"),
            (OUTPUTS, torch.tensor([0, 1, 2]), "classes from 0 to 1, the outputs of the module, got 2"),
            (OUTPUTS, torch.tensor([0, -1, 1]), "got -1"),
        ],
    )
    def test_classes_that_do_not_fit_are_named(self, logits, target, says):
        with pytest.raises(InputError, match=says):
            sample_losses("softmax", logits, target)


@pytest.mark.parametrize("name", ["logistic", "squared"])
class TestOneOutput:
    def test_a_column_of_targets_is_taken(self, name):
        column = sample_losses(name, OUTPUTS[:, :1], targets(name)[:, None])
        torch.testing.assert_close(column, sample_losses(name, OUTPUTS[:, 0], targets(name)))

    def test_more_outputs_or_targets_are_refused(self, name):
        for outputs, target in ((OUTPUTS, targets(name)), (OUTPUTS[:, :1], torch.ones(3, 2))):
            with pytest.raises(InputError, match=f"the {name} loss takes one output and one number a sample"):
                sample_losses(name, outputs, target)


def test_logistic_targets_are_no_other_classes():
    with pytest.raises(InputError, match=r"y must lie in \[0, 1\] for the logistic loss, got 1 to 2"):
        sample_losses("logistic", OUTPUTS[:, :1], torch.tensor([1, 2, 2]))

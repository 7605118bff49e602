"""Label alignment of modules that compute their own loss."""

from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn import functional

from anml.core.errors import UnsupportedError
from anml.gradients.batches import Batch, GradientSettings
from anml.gradients.losses import next_token, softmax
from anml.gradients.own_loss import loss_as_trained

IDS = torch.tensor([[1, 2, 3, 0], [4, 5, 6, 7]])
LABELS = torch.where(IDS > 0, IDS, -100)


class Speaks(nn.Module):
    def __init__(self, loss, aside=None):
        super().__init__()
        torch.manual_seed(0)
        self.table, self.loss, self.aside = nn.Embedding(8, 8), loss, aside
        self.config = SimpleNamespace(router_aux_loss_coef=0.5)

    def forward(self, ids, labels=None):
        logits = self.table(ids)
        loss = None if labels is None else self.loss(logits, labels).mean() + 0.5 * (self.aside or 0.0)
        return SimpleNamespace(logits=logits, loss=loss, aux_loss=self.aside)


def asked(module, loss="softmax", labels=LABELS):
    return loss_as_trained(module, Batch({"ids": IDS}, labels), GradientSettings(loss))


def test_a_module_that_shifts_labels_is_read_as_one():
    assert asked(Speaks(next_token)) == "next-token"
    assert asked(Speaks(softmax)) == "softmax"


def test_a_module_that_has_learned_nothing_is_read_as_one_too():
    # All logits are equal, so that both losses have the same value.
    for loss, name in ((next_token, "next-token"), (softmax, "softmax")):
        module = Speaks(loss)
        nn.init.zeros_(module.table.weight)
        assert asked(module) == name


def test_what_balances_experts_is_left_aside():
    assert asked(Speaks(next_token, aside=3.0)) == "next-token"


def test_another_loss_is_refused_not_guessed():
    def smoothed(logits, labels):
        return functional.cross_entropy(logits.mT, labels, label_smoothing=0.5)

    with pytest.raises(UnsupportedError, match=r"Speaks computes its own loss.*give it as loss="):
        asked(Speaks(smoothed))


def test_a_loss_that_was_named_or_given_stays():
    assert asked(Speaks(next_token), "next-token") == "next-token"
    assert asked(Speaks(next_token), softmax) is softmax


def test_modules_without_a_loss_of_their_own_are_as_they_are():
    assert (
        loss_as_trained(nn.Linear(2, 2), Batch(torch.ones(1, 2), torch.zeros(1)), GradientSettings())
        == "softmax"
    )
    silent = Speaks(softmax)
    silent.forward = lambda ids, labels=None: SimpleNamespace(logits=silent.table(ids))
    assert asked(silent) == "softmax"
    assert asked(Speaks(next_token), labels=torch.full_like(LABELS, -100)) == "softmax"

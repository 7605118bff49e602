"""The loss of each sample of a user's module, by name or by a function of the user's own."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from anml.core.checks import one_of
from anml.core.errors import InputError

# Outputs and targets of a batch to the losses of its samples, (n,).
SampleLoss = Callable[[Tensor, Any], Tensor]


def softmax(outputs: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of class codes; of sequences the mean over places whose target is not negative."""
    if outputs.dim() == 3:
        each = functional.cross_entropy(outputs.mT, target, reduction="none", ignore_index=-100)
        return each.sum(1) / (target != -100).sum(1).clamp_min(1)
    return functional.cross_entropy(outputs, target, reduction="none")


def logistic(outputs: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of one output for targets 0 and 1."""
    one = outputs.reshape(len(outputs))
    return functional.binary_cross_entropy_with_logits(
        one, target.reshape(one.shape).to(one.dtype), reduction="none"
    )


def squared(outputs: Tensor, target: Tensor) -> Tensor:
    """Squared error of one output."""
    return (outputs.reshape(len(outputs)) - target.reshape(len(outputs))).square()


def next_token(outputs: Tensor, target: Tensor) -> Tensor:
    """Cross-entropy of the token after each place, as language models are trained: the mean over places."""
    return softmax(outputs[:, :-1], target[:, 1:])


LOSSES: dict[str, SampleLoss] = {
    "softmax": softmax, "next-token": next_token, "logistic": logistic, "squared": squared,
}  # fmt: skip


def loss_of(loss: str | SampleLoss) -> SampleLoss:
    """A loss by name, or a function from outputs and targets to one loss per sample."""
    return loss if callable(loss) else LOSSES[one_of("loss", loss, LOSSES)]


def sample_losses(loss: str | SampleLoss, outputs: Any, target: Any) -> Tensor:
    """Return one loss per sample; outputs and targets that do not fit are refused."""
    logits = logits_of(outputs)
    if logits.dtype in (torch.bfloat16, torch.float16):
        logits = logits.float()
    if loss in ("softmax", "next-token"):
        _check_classes(loss, logits, target)
    elif loss in ("logistic", "squared"):
        _check_single(loss, logits, target)
    value = loss_of(loss)(logits, target)
    if value.dim() != 1 or len(value) != len(logits):
        raise InputError(
            f"the loss must give one number per sample, got shape {tuple(value.shape)} for {len(logits)} "
            'samples; use reduction="none"'
        )
    return value


def logits_of(outputs: Any) -> Tensor:
    """Return the logits of a module's output, or its only tensor."""
    if isinstance(outputs, Tensor):
        return outputs
    logits = outputs.get("logits") if isinstance(outputs, dict) else getattr(outputs, "logits", None)
    if isinstance(outputs, tuple | list):
        several = [each for each in outputs if isinstance(each, Tensor)]
        if len(several) > 1:
            raise InputError(f"the module returns {len(several)} tensors; let it return what the loss takes")
        logits = several[0] if several else None
    if not isinstance(logits, Tensor):
        raise InputError(f"the module must return a tensor or logits, got {type(outputs).__name__}")
    return logits


def _check_single(loss: str | SampleLoss, logits: Tensor, target: Tensor) -> None:
    if logits.numel() != len(logits) or target.numel() != len(logits):
        raise InputError(
            f"the {loss} loss takes one output and one number a sample, got outputs of shape "
            f"{tuple(logits.shape)} and y of shape {tuple(target.shape)}"
        )
    if loss == "logistic" and not bool(((target >= 0) & (target <= 1)).all()):
        raise InputError(
            f"y must lie in [0, 1] for the logistic loss, got {target.min():g} to {target.max():g}"
        )


def _check_classes(loss: str | SampleLoss, logits: Tensor, target: Tensor) -> None:
    if target.is_floating_point() or target.dtype == torch.bool:
        raise InputError(f"y must hold classes as whole numbers for the softmax loss, got {target.dtype}")
    if logits.dim() < 2 or target.shape != logits.shape[:-1]:
        raise InputError(
            f"the softmax loss takes outputs (n, classes) and n classes, got outputs of shape "
            f"{tuple(logits.shape)} and y of shape {tuple(target.shape)}"
        )
    if loss == "next-token" and logits.dim() != 3:
        raise InputError(f"the next-token loss takes outputs (n, places, tokens), got {tuple(logits.shape)}")
    low, high = int(target.min()), int(target.max())
    if high >= logits.shape[-1] or (low < 0 and low != -100):
        raise InputError(
            f"y must hold classes from 0 to {logits.shape[-1] - 1}, the outputs of the module, got "
            f"{high if high >= logits.shape[-1] else low}"
        )

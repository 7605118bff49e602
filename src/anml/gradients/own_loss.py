"""Label alignment of modules that compute their own loss: at the same position, or shifted by one.

The shift of a Hugging Face model is determined by a forward pass, not by its name.
"""

import inspect
from typing import Any

import torch
from torch import nn

from anml.core.errors import InputError, UnsupportedError
from anml.gradients.batches import Batch, GradientSettings, autocast_context
from anml.gradients.losses import SampleLoss, sample_losses
from anml.gradients.selfcheck import same_within


def loss_as_trained(module: nn.Module, batch: Batch, reading: GradientSettings) -> str | SampleLoss:
    """The loss to score by; `softmax` is what the module itself makes of it, or is refused."""
    given = inspect.signature(module.forward).parameters.values()
    takes_labels = any(p.name == "labels" or p.kind is inspect.Parameter.VAR_KEYWORD for p in given)
    if reading.loss != "softmax" or not isinstance(batch.inputs, dict) or not takes_labels:
        return reading.loss
    there = (batch.target.reshape(len(batch), -1) != -100).sum(1) if batch.target.dim() else None
    if there is None or not int(there.max()):
        return reading.loss
    one = batch.some([int(there.argmax())])
    try:
        with torch.no_grad(), autocast_context(module, reading.precision):
            outputs = module(**one.inputs, labels=one.target)
    except Exception:
        # The error is raised where the module is run for its gradients.
        return reading.loss
    own, logits = getattr(outputs, "loss", None), getattr(outputs, "logits", None)
    if own is None or logits is None:
        return reading.loss
    value = float(own) - _router_loss(module, outputs)
    name = "next-token" if logits.dim() == 3 and _shifts(module, one, reading) else "softmax"
    try:
        computed = float(sample_losses(name, logits, one.target)[0])
    except InputError:
        computed = float("nan")
    if abs(computed - value) <= same_within(module, reading.precision) * (1 + abs(value)):
        return name
    raise UnsupportedError(
        f"{type(module).__name__} computes its own loss ({value:.3g} where {name} has {computed:.3g}); give "
        "it as loss=, a function from logits and labels to one loss a sample"
    )


def _shifts(module: nn.Module, one: Batch, reading: GradientSettings) -> bool:
    """True if a label at the first position has no loss, since no earlier position predicts it."""
    first = torch.full_like(one.target, -100)
    first[:, 0] = one.target.max()
    with torch.no_grad(), autocast_context(module, reading.precision):
        outputs = module(**one.inputs, labels=first)
    return not float(outputs.loss) - _router_loss(module, outputs) > 0


def _router_loss(module: nn.Module, outputs: Any) -> float:
    """Load-balancing loss of a mixture of experts, which belongs to no sample."""
    aside = getattr(outputs, "aux_loss", None)
    share = getattr(getattr(module, "config", None), "router_aux_loss_coef", 0.0)
    return 0.0 if aside is None else float(share * aside)

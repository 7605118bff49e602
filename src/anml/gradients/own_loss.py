"""How a module that computes its own loss reads labels: where they stand, or one place on.

Which of the models of Hugging Face shift them is asked of the module itself, not of its name.
"""

import inspect
from typing import Any

import torch
from torch import nn

from anml.core.errors import InputError, UnsupportedError
from anml.gradients.batches import Batch, Readout, precise
from anml.gradients.losses import SampleLoss, sample_losses
from anml.gradients.selfcheck import same_within


def loss_as_trained(module: nn.Module, batch: Batch, reading: Readout) -> str | SampleLoss:
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
        with torch.no_grad(), precise(module, reading.precision):
            outputs = module(**one.inputs, labels=one.target)
    except Exception:
        # What cannot be run is described where it is run for its gradients.
        return reading.loss
    own, logits = getattr(outputs, "loss", None), getattr(outputs, "logits", None)
    if own is None or logits is None:
        return reading.loss
    value = float(own) - _of_routers(module, outputs)
    name = "next-token" if logits.dim() == 3 and _shifts(module, one, reading) else "softmax"
    try:
        found = float(sample_losses(name, logits, one.target)[0])
    except InputError:
        found = float("nan")
    if abs(found - value) <= same_within(module, reading.precision) * (1 + abs(value)):
        return name
    raise UnsupportedError(
        f"{type(module).__name__} has a loss of its own ({value:.3g} where {name} has {found:.3g}); give it "
        "as loss=, a function from logits and labels to one loss a sample"
    )


def _shifts(module: nn.Module, one: Batch, reading: Readout) -> bool:
    """Whether a label at the first place alone is nobody's: no place comes before it to predict it from."""
    first = torch.full_like(one.target, -100)
    first[:, 0] = one.target.max()
    with torch.no_grad(), precise(module, reading.precision):
        outputs = module(**one.inputs, labels=first)
    return not float(outputs.loss) - _of_routers(module, outputs) > 0


def _of_routers(module: nn.Module, outputs: Any) -> float:
    """What balancing experts adds to a loss, which is of no sample."""
    aside = getattr(outputs, "aux_loss", None)
    share = getattr(getattr(module, "config", None), "router_aux_loss_coef", 0.0)
    return 0.0 if aside is None else float(share * aside)

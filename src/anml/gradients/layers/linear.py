"""Linear layers, on vectors and on sequences of them."""

from torch import Tensor, nn

from anml.gradients.factors import LayerFactor, formed_part
from anml.gradients.layers.reading import Read, trained
from anml.gradients.parts import SequenceFactor


def linear(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """Outer products of inputs and deltas, summed over the places of a sequence."""
    return outer(a, d, trained(layer, "weight"), trained(layer, "bias"))


def turned(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """The same where the weight lies the other way round (in x out), as in GPT-2's `Conv1D`."""
    a, d = (a, d) if d.dim() == 2 else (a.flatten(1, -2), d.flatten(1, -2))
    return outer(d, a, trained(layer, "weight"), False) | outer(a, d, False, trained(layer, "bias"))


def outer(
    a: Tensor, d: Tensor, weight: bool, bias: bool, names: tuple[str, str] = ("weight", "bias")
) -> Read:
    """Parts of a weight (out x in) and a bias, or of that one of them that is trained."""
    if not weight:
        return {names[1:]: formed_part(d.flatten(1, -2).sum(1) if d.dim() > 2 else d)} if bias else {}
    covered = names if bias else names[:1]
    if a.dim() == 2:
        return {covered: LayerFactor(a, d, bias)}
    return {covered: SequenceFactor(a.flatten(1, -2), d.flatten(1, -2), bias)}

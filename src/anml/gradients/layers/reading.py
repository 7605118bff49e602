"""What a rule for one layer is given and what it returns."""

from collections.abc import Callable

from torch import Tensor, nn

from anml.gradients.factors import Part

# Parts by the names of the layer's parameters that they cover, in the order in which they are formed.
Read = dict[tuple[str, ...], Part]
# A layer, what it was given (n, ...) and the loss's gradient at its output (n, ...).
Rule = Callable[[nn.Module, Tensor, Tensor], Read]


def trained(layer: nn.Module, name: str) -> bool:
    """Whether a parameter is there and is trained."""
    parameter = getattr(layer, name, None)
    return isinstance(parameter, nn.Parameter) and parameter.requires_grad

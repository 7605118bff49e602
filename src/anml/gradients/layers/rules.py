"""Which rule reads which layer. A module of a user's own may be added here."""

from torch import nn

from anml.gradients.layers.batch_norm import batch_norm
from anml.gradients.layers.conv import conv
from anml.gradients.layers.embedding import embedding
from anml.gradients.layers.group_norm import group_norm
from anml.gradients.layers.layer_norm import layer_norm, rms_norm
from anml.gradients.layers.linear import linear, turned
from anml.gradients.layers.reading import Rule

LAYERS: dict[type[nn.Module], Rule] = {
    nn.Linear: linear,
    nn.Conv1d: conv,
    nn.Conv2d: conv,
    nn.Embedding: embedding,
    nn.LayerNorm: layer_norm,
    nn.RMSNorm: rms_norm,
    nn.GroupNorm: group_norm,
    nn.BatchNorm1d: batch_norm,
    nn.BatchNorm2d: batch_norm,
}
# Of packages that are not imported for it.
NAMED: dict[str, Rule] = {"transformers.pytorch_utils.Conv1D": turned}


def rule_of(layer: nn.Module) -> Rule | None:
    """The rule of a kind of layer, if there is one."""
    kind = type(layer)
    return LAYERS.get(kind) or NAMED.get(f"{kind.__module__}.{kind.__name__}")


def readable(layer: nn.Module) -> bool:
    """Whether a rule reads this layer as it is set up."""
    if isinstance(layer, nn.Embedding):
        return rule_of(layer) is not None and layer.max_norm is None and not layer.scale_grad_by_freq
    if isinstance(layer, nn.BatchNorm1d | nn.BatchNorm2d):
        return rule_of(layer) is not None and layer.running_mean is not None
    return rule_of(layer) is not None

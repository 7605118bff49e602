"""Look-up tables of vectors."""

from torch import Tensor, nn

from anml.gradients.layers.reading import Read
from anml.gradients.parts import LookupFactor


def embedding(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """The deltas, at the rows that were looked up."""
    assert isinstance(layer, nn.Embedding)
    rows = a.reshape(len(a), -1).long()
    deltas = d.reshape(*rows.shape, -1)
    if layer.padding_idx is not None:
        deltas = deltas * (rows != layer.padding_idx).unsqueeze(2)
    return {("weight",): LookupFactor(rows, deltas, layer.num_embeddings)}

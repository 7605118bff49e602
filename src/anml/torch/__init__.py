"""PyTorch: q of samples by the gradients of a module, and weights in a training loop."""

from typing import TYPE_CHECKING

from anml.core.extras import require_extra
from anml.core.lazy import lazy_names

require_extra("torch", "torch", "anml.torch")

if TYPE_CHECKING:
    from anml.torch.hf import WeightedTrainer
    from anml.torch.quality import checkpoint_quality, module_quality
    from anml.torch.sampler import WeightedSampler, weighted_loss

__all__ = ["WeightedSampler", "WeightedTrainer", "checkpoint_quality", "module_quality", "weighted_loss"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "WeightedSampler": "anml.torch.sampler",
        "WeightedTrainer": "anml.torch.hf",
        "checkpoint_quality": "anml.torch.quality",
        "module_quality": "anml.torch.quality",
        "weighted_loss": "anml.torch.sampler",
    },
    extras={"WeightedTrainer": "hf"},
)

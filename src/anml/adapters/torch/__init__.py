"""For PyTorch users: score samples by their own module, then draw or weigh them while training."""

from anml.adapters.torch.quality import checkpoint_quality, module_quality
from anml.adapters.torch.reweigh import Reweigher
from anml.adapters.torch.sampler import WeightedSampler, weighted_loss

__all__ = ["Reweigher", "WeightedSampler", "checkpoint_quality", "module_quality", "weighted_loss"]

"""For users of Lightning: a callback that keeps the draws of a `WeightedSampler` in checkpoints."""

from typing import Any

from anml.core.extras import require_extra

require_extra("lightning", "lightning", "anml.torch.lightning")

from lightning.pytorch import Callback, LightningModule, Trainer

from anml.core.errors import UnsupportedError
from anml.torch.sampler import WeightedSampler


class SamplerCheckpoint(Callback):
    """Keep the position of a `WeightedSampler` in checkpoints, so that a resumed run draws what was left.

    Needs the extra `lightning`. Lightning sets the epoch of the sampler, but draws an interrupted epoch
    anew. Pass `use_distributed_sampler=False` to the Trainer, which would replace the sampler otherwise.
    """

    def __init__(self, sampler: WeightedSampler) -> None:
        self.sampler = sampler
        self._used = 0

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Count the draws that were trained on: a loader with workers draws ahead."""
        self._used = (batch_idx + 1) * _batch_size(trainer.train_dataloader)

    def state_dict(self) -> dict[str, Any]:
        """Return the epoch and the draws used in it."""
        return self.sampler.state_dict(self._used)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Resume from a checkpoint."""
        self.sampler.load_state_dict(state_dict)


def _batch_size(loader: Any) -> int:
    """Return the number of draws in a batch of a DataLoader, by its size or that of its batch sampler."""
    batches = getattr(loader, "batch_sampler", loader)
    if batches is None:  # each draw is a batch
        return 1
    size = getattr(loader, "batch_size", None) or getattr(batches, "batch_size", None)
    if not isinstance(size, int):
        raise UnsupportedError(
            f"draws are counted in batches of one size, and a {type(batches).__name__} has no batch_size; "
            "use a DataLoader with a batch_size, or leave SamplerCheckpoint out"
        )
    return size

"""For users of Lightning: a callback that tells a `Reweigher` how training goes on."""

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from anml.adapters.torch.reweigh import Reweigher
from anml.adapters.torch.sampler import WeightedSampler
from anml.core.errors import UnsupportedError


class ReweighCallback(Callback):
    """Tells a `Reweigher`, which feeds a sampler or a loss, of steps, epochs and checkpoints.

    Needs the extra `lightning`. The module's `forward` gives the outputs that the Reweigher's loss takes.
    With the `sampler` of your loader, a run that goes on within an epoch has the draws that were left.
    """

    def __init__(self, reweigher: Reweigher, sampler: WeightedSampler | None = None) -> None:
        self.reweigher, self.sampler = reweigher, sampler
        self._steps, self._used, self._ended = 0, 0, False

    def on_train_start(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Count from here."""
        self._steps = trainer.global_step

    def on_train_batch_end(
        self, trainer: Trainer, pl_module: LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        """Score q where it is time: batches that are accumulated are one step of the optimiser."""
        if self.sampler is not None:
            self._used = (batch_idx + 1) * _batch_size(trainer.train_dataloader)
        if trainer.global_step != self._steps:
            self._steps = trainer.global_step
            self.reweigher.step(pl_module)
        self._ended = batch_idx + 1 == trainer.num_training_batches
        if self._ended:
            # Before a checkpoint is written: what goes on from it begins with the next epoch.
            self.reweigher.end_epoch(pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Renew beliefs and weights, where the last batch did not."""
        if not self._ended:
            self.reweigher.end_epoch(pl_module)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        drawn = None if self.sampler is None else self.sampler.state_dict(self._used)
        return {"reweigher": self.reweigher.state_dict(), "sampler": drawn}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.reweigher.load_state_dict(state_dict["reweigher"])
        if self.sampler is not None and state_dict["sampler"] is not None:
            self.sampler.load_state_dict(state_dict["sampler"])


def _batch_size(loader: Any) -> int:
    """How many draws make a batch of a DataLoader, by its size or that of its batch sampler."""
    batches = getattr(loader, "batch_sampler", loader)
    if batches is None:  # each draw is a batch
        return 1
    size = getattr(loader, "batch_size", None) or getattr(batches, "batch_size", None)
    if not isinstance(size, int):
        raise UnsupportedError(
            f"draws are counted in batches of one size, and a {type(batches).__name__} has none to ask for; "
            "give one DataLoader a batch_size, or ReweighCallback no sampler"
        )
    return size

"""For users of Lightning: a callback that tells a `Reweigher` how training goes on."""

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from anml.adapters.torch.reweigh import Reweigher
from anml.adapters.torch.sampler import WeightedSampler


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
        self._used = (batch_idx + 1) * (getattr(trainer.train_dataloader, "batch_size", None) or 1)
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

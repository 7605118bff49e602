"""For users of Lightning: a callback that tells a `Reweigher` how training goes on."""

from typing import Any

from lightning.pytorch import Callback, LightningModule, Trainer

from anml.adapters.torch.reweigh import Reweigher


class ReweighCallback(Callback):
    """Tells a `Reweigher`, which feeds a sampler or a loss, of steps, epochs and checkpoints.

    Needs the extra `lightning`. The module's `forward` gives the outputs that the Reweigher's loss takes.
    """

    def __init__(self, reweigher: Reweigher) -> None:
        self.reweigher = reweigher

    def on_train_batch_end(self, trainer: Trainer, pl_module: LightningModule, *rest: Any) -> None:
        """Score q where it is time."""
        self.reweigher.step(pl_module)

    def on_train_epoch_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Renew beliefs and weights."""
        self.reweigher.end_epoch(pl_module)

    def state_dict(self) -> dict[str, Any]:
        """What a checkpoint keeps."""
        return self.reweigher.state_dict()

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Go on from a checkpoint."""
        self.reweigher.load_state_dict(state_dict)

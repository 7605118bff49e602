"""For users of Hugging Face: a `Trainer` whose samples count by weight. Install the extra `hf`."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.data import Dataset
from transformers import Trainer, TrainerCallback
from transformers.pytorch_utils import Conv1D

from anml.adapters.torch.reweigh import Reweigher
from anml.adapters.torch.sampler import WeightedSampler
from anml.adapters.torch.state import load_state, save_state
from anml.core.checks import one_of
from anml.core.domain import Weighting
from anml.core.errors import InputError
from anml.gradients.factors import LayerFactor, formed_part
from anml.gradients.layers.reading import Read, trained
from anml.gradients.layers.rules import LAYERS
from anml.gradients.losses import SampleLoss, logits_of, sample_losses
from anml.gradients.parts import SequenceFactor

INDEX = "sample_index"
STATE = "anml_reweigher.npz"


class WeightedTrainer(Trainer):
    """A `Trainer` that draws samples by weight, or counts their losses by it.

    Parameters
    ----------
    weighting
        Of `anml.weigh`, or a `Reweigher`, which then follows the model: it scores at its own intervals,
        is saved with every checkpoint, and goes on from one.
    by
        `"loss"`: every sample is seen and its loss counts by its weight. `"draws"`: samples are drawn.
    sample_loss
        A name in `anml.gradients.losses.LOSSES` or a function from logits and labels to one loss a sample.
    """

    def __init__(
        self, *args: Any, weighting: Weighting | Reweigher, by: str = "loss",
        sample_loss: str | SampleLoss = "softmax", **settings: Any,
    ) -> None:  # fmt: skip
        super().__init__(*args, **settings)
        self.by = one_of("by", by, ("loss", "draws"))
        self.weighting, self.sample_loss = weighting, sample_loss
        count = len(weighting.weighting.w if isinstance(weighting, Reweigher) else weighting.w)
        given: Any = self.train_dataset
        found = 0 if given is None else len(given)
        if found != count:
            raise InputError(f"there are weights of {count} samples for a train_dataset of {found}")
        # The loss of a batch is a mean here, which the Trainer divides among accumulated batches.
        self.model_accepts_loss_kwargs = False
        if by == "loss":
            self.train_dataset = _Indexed(given)
        if isinstance(weighting, Reweigher):
            self.add_callback(_Follow(weighting))

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        if self.by == "loss":
            return super()._get_train_sampler(train_dataset)
        weighting = self.weighting
        count = len(weighting.weights if isinstance(weighting, Reweigher) else weighting.w)
        return WeightedSampler(weighting, size=count, seed=self.args.seed)

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()
        columns: Any = self._signature_columns
        if INDEX not in columns:
            columns.append(INDEX)

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:  # fmt: skip
        """The mean of the samples' losses, each times its weight; plain where no sample is named."""
        index = inputs.pop(INDEX, None)
        if index is None:
            return super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        labels = inputs.pop("labels")
        outputs = model(**inputs)
        each = sample_losses(self.sample_loss, logits_of(outputs), labels)
        given = self.weighting
        weights = given.weights if isinstance(given, Reweigher) else given.sample_weight()
        loss = (each * torch.as_tensor(weights, dtype=each.dtype, device=each.device)[index]).mean()
        return (loss, outputs) if return_outputs else loss

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)
        path = Path(resume_from_checkpoint) / STATE
        if isinstance(self.weighting, Reweigher) and path.is_file():
            self.weighting.load_state_dict(load_state(path))


class _Indexed(Dataset[Any]):
    """A dataset whose examples say which they are."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, at: int) -> dict[str, Any]:
        return {**self.inner[at], INDEX: at}


class _Follow(TrainerCallback):
    """Tells a Reweigher of steps, epochs and checkpoints."""

    def __init__(self, reweigher: Reweigher) -> None:
        self.reweigher = reweigher

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **rest: Any) -> None:
        self.reweigher.step(model)

    def on_epoch_end(self, args: Any, state: Any, control: Any, model: Any = None, **rest: Any) -> None:
        self.reweigher.end_epoch(model)

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if folder.is_dir() and state.is_world_process_zero:
            save_state(self.reweigher.state_dict(), folder / STATE)


def _conv1d(layer: nn.Module, a: Tensor, d: Tensor) -> Read:
    """GPT-2's linear layer, whose weight lies the other way round."""
    read: Read = {}
    if d.dim() > 2:
        a, d = a.flatten(1, -2), d.flatten(1, -2)
    if trained(layer, "weight"):
        read["weight",] = (LayerFactor if d.dim() == 2 else SequenceFactor)(d, a, bias=False)
    if trained(layer, "bias"):
        read["bias",] = formed_part(d.sum(1) if d.dim() > 2 else d)
    return read


LAYERS[Conv1D] = _conv1d

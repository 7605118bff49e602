"""For users of Hugging Face: a `Trainer` whose samples count by weight. Install the extra `hf`."""

from collections.abc import Mapping, MutableMapping
from inspect import signature
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset, RandomSampler, SequentialSampler
from transformers import Trainer, TrainerCallback

from anml.adapters.torch.data import INDEX, InOrder
from anml.adapters.torch.logits import Logits
from anml.adapters.torch.reweigh import Reweigher
from anml.adapters.torch.sampler import WeightedSampler, weighting_of
from anml.adapters.torch.state import load_state, save_state
from anml.core.checks import Floats, one_of
from anml.core.domain import Weighting
from anml.core.errors import InputError, UnsupportedError

STATE = "anml_state.pt"


class Weighted:
    """What makes a `Trainer` weigh; put it before one of your own: `class Mine(Weighted, MyTrainer)`."""

    def __init__(self, *args: Any, weighting: Weighting | Reweigher, by: str = "loss", **more: Any) -> None:
        self.by = one_of("by", by, ("loss", "draws"))
        weighting_of(weighting)
        self.weighting = weighting
        handed = {**dict(zip(signature(super().__init__).parameters, args, strict=False)), **more}
        super().__init__(*args, **more)
        me: Any = self
        given, count = me.train_dataset, len(self._weights())
        found = 0 if given is None else len(given) if hasattr(given, "__len__") else count
        if found != count:
            raise InputError(f"there are weights of {count} samples for a train_dataset of {found}")
        sized = hasattr(given, "__len__") and not isinstance(given, IterableDataset)
        name, values = getattr(weighting, "rows", None) or ("", [])
        if name in (getattr(given, "column_names", None) or ()) and list(given[name]) != values:
            raise InputError(f"{name!r} of the train_dataset is not that of the weights: ask for them again")
        if not _same_order(handed.get("train_dataset"), given):
            raise InputError(
                f"{type(self).__name__} made its train_dataset anew, and no column shows that rows kept "
                "their order: prepare them before it does, and ask for the weights of what comes out"
            )
        if not sized and by == "draws":
            raise UnsupportedError('an IterableDataset cannot be drawn from by weight; use by="loss"')
        self.drawing: WeightedSampler | None = None
        self._resumed: dict[str, Any] | None = None
        self._in_step = False
        if by == "loss":
            if me.args.n_gpu > 1 or me.is_deepspeed_enabled or me.is_fsdp_enabled:
                raise UnsupportedError(
                    "losses are weighed with a whole model in each process: start one process per device "
                    '(torchrun), without DataParallel, DeepSpeed and FSDP, or use by="draws"'
                )
            self.logits = Logits(me.model)
            me.data_collator = _Numbering(me.data_collator)
            if sized:
                me.train_dataset = _Numbered(given)
        me.add_callback(_Follow(self))

    def _weights(self) -> Floats:
        given = self.weighting
        return given.weights if isinstance(given, Reweigher) else given.sample_weight()

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        me: Any = self
        given = me.train_dataset if train_dataset is None else train_dataset
        usual = super()._get_train_sampler(getattr(given, "inner", given))  # type: ignore[misc]
        if self.by == "loss":
            return usual
        if not isinstance(usual, RandomSampler | SequentialSampler):
            raise UnsupportedError(
                f"{type(self).__name__} draws by a {type(usual).__name__}, which draws by weight would undo; "
                'leave that out, or use by="loss"'
            )
        if len(given) != len(self._weights()):
            raise InputError(f"there are weights of {len(self._weights())} samples for {len(given)} to draw")
        self.drawing = WeightedSampler(self.weighting, size=len(self._weights()), seed=me.args.seed)
        if self._resumed is not None:
            # The Trainer itself skips what it has trained on.
            self.drawing.load_state_dict({**self._resumed, "position": 0})
        return self.drawing

    def _set_signature_columns_if_needed(self) -> None:
        super()._set_signature_columns_if_needed()  # type: ignore[misc]
        me: Any = self
        columns = me._signature_columns
        if INDEX not in columns:
            columns.append(INDEX)

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Any], return_outputs: bool = False,
        num_items_in_batch: Any = None,
    ) -> Any:  # fmt: skip
        """The Trainer's own loss, of which each sample's share counts by its weight while it is trained.

        What is logged is the loss as it is without weights.
        """
        rows, more = inputs.pop(INDEX, None), {"num_items_in_batch": num_items_in_batch}
        plain = super().compute_loss  # type: ignore[misc]
        if self.by == "draws" or not self._in_step:
            return plain(model, inputs, return_outputs, **more)
        if rows is None:
            raise InputError(f"a batch does not say which rows it holds; number them as {INDEX!r}")
        all_weights = self._weights()
        if int(rows.min()) < 0 or int(rows.max()) >= len(all_weights):
            raise InputError(f"a batch holds row {int(rows.max())} for weights of {len(all_weights)} samples")
        weights = torch.as_tensor(all_weights[rows.cpu().numpy()], device=rows.device)
        me: Any = self
        whole = me.accelerator.unwrap_model(model)
        self.logits.check(whole, lambda: plain(whole, {**inputs}, True, **more), len(rows))
        with self.logits.weighed(weights):
            return plain(model, inputs, return_outputs, **more)

    def training_step(self, *args: Any, **named: Any) -> Any:
        """One batch; an error where its weights did not reach its gradients."""
        if self.by == "draws":
            if self.drawing is None:
                raise UnsupportedError(
                    f"{type(self).__name__} has a loader of its own, which does not draw by weight; let "
                    "get_train_dataloader be that of Trainer"
                )
            return super().training_step(*args, **named)  # type: ignore[misc]
        me: Any = self
        if self.logits.model is not me.model:  # of `model_init`
            self.logits = Logits(me.model)
        before, self._in_step = self.logits.used, True
        try:
            found = super().training_step(*args, **named)  # type: ignore[misc]
        finally:
            self._in_step = False
        if self.logits.used == before:
            raise UnsupportedError(
                "the model's logits are out of reach, as in a compiled model, so its losses cannot be "
                'weighed; train without torch_compile, or use by="draws"'
            )
        return found

    def _load_from_checkpoint(self, resume_from_checkpoint: str, model: Any = None) -> None:
        super()._load_from_checkpoint(resume_from_checkpoint, model)  # type: ignore[misc]
        path = Path(resume_from_checkpoint) / STATE
        if not path.is_file():
            return
        state = load_state(path)
        self._resumed = state["sampler"]
        if isinstance(self.weighting, Reweigher) and state["reweigher"] is not None:
            self.weighting.load_state_dict(state["reweigher"])


class WeightedTrainer(Weighted, Trainer):
    """A `Trainer` that draws samples by weight, or counts their losses by it.

    Equal weights give what `Trainer` gives, to the bit: the loss is the Trainer's own (shifted, masked,
    smoothed, a function of yours, accumulated), and a weight scales what it sends back through the logits of
    its sample. A loss that is not a sum over samples, or comes to the model by another way than its logits,
    is refused.

    Parameters
    ----------
    weighting
        Of `anml.weigh` or `audit.weights_for`, or a `Reweigher`, which then follows the model: it scores at
        its own intervals, is saved with every checkpoint, and goes on from one.
    by
        `"loss"`: every sample is seen and its loss counts by its weight. `"draws"`: samples are drawn.
    """


def _same_order(before: Any, after: Any) -> bool:
    """Whether rows are as they were handed over: a column that tells rows apart is the same in both."""
    if before is None or before is after or not hasattr(before, "__len__"):
        return True
    if not all(hasattr(each, "with_format") for each in (before, after)):
        return False
    before, after = before.with_format(None), after.with_format(None)
    for name in set(before.column_names).intersection(after.column_names):
        values = list(before[name])
        if any(each != values[0] for each in values) and values == list(after[name]):
            return True
    return False


class _Numbered(Dataset[Any]):
    """A dataset whose examples say which they are."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name == "inner" or name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __len__(self) -> int:
        return len(self.inner)

    def __getitem__(self, at: int) -> dict[str, Any]:
        found = self.inner[at]
        if not isinstance(found, Mapping):
            raise InputError(f"examples must be values by name, got {type(found).__name__}")
        if int(found.get(INDEX, at)) != at:
            raise InputError(
                f"row {at} of the train_dataset says that it is row {int(found[INDEX])}, and weights go by "
                f"place; sort by {INDEX!r}, or take that column out"
            )
        return {**found, INDEX: int(at)}


class _Numbering:
    """A collator of any kind, past which the numbers of the rows are led."""

    def __init__(self, inner: Any) -> None:
        self.inner = InOrder(inner)

    def __call__(self, examples: list[Any]) -> Any:
        if not isinstance(examples[0], Mapping) or INDEX not in examples[0]:
            return self.inner(examples)
        rows = [int(each[INDEX]) for each in examples]
        batch = self.inner([{key: each[key] for key in each if key != INDEX} for each in examples])
        if not isinstance(batch, MutableMapping):
            raise InputError(f"a collator must give values by name, got {type(batch).__name__}")
        batch[INDEX] = torch.tensor(rows)
        return batch


class _Follow(TrainerCallback):
    """Tells a Reweigher of steps and epochs, and keeps with every checkpoint what draws go on from."""

    def __init__(self, trainer: Weighted) -> None:
        self.trainer = trainer
        given = trainer.weighting
        self.reweigher = given if isinstance(given, Reweigher) else None
        self.ended = False

    def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **rest: Any) -> None:
        if self.reweigher is not None:
            self.reweigher.step(model)
            self.ended = state.epoch == int(state.epoch)
            if self.ended:
                # Before a checkpoint is written: what goes on from it begins with the next epoch.
                self.reweigher.end_epoch(model)

    def on_epoch_end(self, args: Any, state: Any, control: Any, model: Any = None, **rest: Any) -> None:
        if self.reweigher is not None and not self.ended:
            self.reweigher.end_epoch(model)

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        folder = Path(args.output_dir) / f"checkpoint-{state.global_step}"
        if folder.is_dir() and state.is_world_process_zero:
            drawing = self.trainer.drawing
            kept = {
                "reweigher": None if self.reweigher is None else self.reweigher.state_dict(),
                "sampler": None if drawing is None else drawing.state_dict(),
            }
            save_state(kept, folder / STATE)

"""For users of Hugging Face: a `Trainer` whose samples count by weight. Install the extra `hf`."""

from collections.abc import Mapping, MutableMapping
from inspect import signature
from typing import Any

from anml.core.extras import require_extra

require_extra("transformers", "hf", "anml.torch.hf")

import torch
from torch import nn
from torch.utils.data import Dataset, IterableDataset, RandomSampler, SequentialSampler
from transformers import Trainer

from anml.core.checks import one_of
from anml.core.errors import InputError, UnsupportedError
from anml.core.types import Weighting
from anml.torch.data import INDEX, OrderCheckingCollator
from anml.torch.logits import Logits
from anml.torch.sampler import WeightedSampler, as_weighting


class Weighted:
    """Mixin that weights samples in a `Trainer`: `class Mine(Weighted, MyTrainer)`."""

    def __init__(self, *args: Any, weighting: Weighting, by: str = "loss", **more: Any) -> None:
        self.by = one_of("by", by, ("loss", "draws"))
        self.weighting = as_weighting(weighting)
        self.sample_weight = weighting.sample_weight()
        handed = {**dict(zip(signature(super().__init__).parameters, args, strict=False)), **more}
        super().__init__(*args, **more)
        me: Any = self
        given, count = me.train_dataset, len(self.sample_weight)
        n_rows = 0 if given is None else len(given) if hasattr(given, "__len__") else count
        if n_rows != count:
            raise InputError(f"there are weights of {count} samples for a train_dataset of {n_rows}")
        sized = hasattr(given, "__len__") and not isinstance(given, IterableDataset)
        name, values = weighting.rows or ("", [])
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
        self._in_step = False
        if by == "loss":
            if me.args.n_gpu > 1 or me.is_deepspeed_enabled or me.is_fsdp_enabled:
                raise UnsupportedError(
                    "losses are weighed with a whole model in each process: start one process per device "
                    '(torchrun), without DataParallel, DeepSpeed and FSDP, or use by="draws"'
                )
            self.logits = Logits(me.model)
            me.data_collator = _IndexingCollator(me.data_collator)
            if sized:
                me.train_dataset = _IndexedDataset(given)

    def _get_train_sampler(self, train_dataset: Any = None) -> Any:
        me: Any = self
        given = me.train_dataset if train_dataset is None else train_dataset
        sampler = super()._get_train_sampler(getattr(given, "inner", given))  # type: ignore[misc]
        if self.by == "loss":
            return sampler
        if not isinstance(sampler, RandomSampler | SequentialSampler):
            raise UnsupportedError(
                f"{type(self).__name__} draws by a {type(sampler).__name__}, which draws by weight would "
                'undo; leave that out, or use by="loss"'
            )
        count = len(self.sample_weight)
        if len(given) != count:
            raise InputError(f"there are weights of {count} samples for {len(given)} to draw")
        # The Trainer sets the epoch and skips the batches that a resumed epoch has trained on.
        self.drawing = WeightedSampler(self.weighting, num_samples=count, seed=me.args.seed)
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
        all_weights = self.sample_weight
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
                    f"{type(self).__name__} has its own loader, which does not draw by weight; let "
                    "get_train_dataloader be that of Trainer"
                )
            return super().training_step(*args, **named)  # type: ignore[misc]
        me: Any = self
        if self.logits.model is not me.model:  # of `model_init`
            self.logits = Logits(me.model)
        before, self._in_step = self.logits.used, True
        try:
            loss = super().training_step(*args, **named)  # type: ignore[misc]
        finally:
            self._in_step = False
        if self.logits.used == before:
            raise UnsupportedError(
                "the model's logits are out of reach, as in a compiled model, so its losses cannot be "
                'weighed; train without torch_compile, or use by="draws"'
            )
        return loss


class WeightedTrainer(Weighted, Trainer):
    """A `Trainer` that draws samples by weight, or counts their losses by it.

    Equal weights give what `Trainer` gives, to the bit: the loss is the Trainer's own (shifted, masked,
    smoothed, a function of yours, accumulated), and a weight scales what it sends back through the logits of
    its sample. A loss that is not a sum over samples, or comes to the model by another way than its logits,
    is refused.

    Parameters
    ----------
    weighting
        Of `anml.weigh` or `audit.weights_for`.
    by
        `"loss"`: every sample is seen and its loss counts by its weight. `"draws"`: samples are drawn.
    """


def _same_order(before: Any, after: Any) -> bool:
    """True if the order of rows is unchanged: a column with distinct values is equal in both."""
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


class _IndexedDataset(Dataset[Any]):
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
        example = self.inner[at]
        if not isinstance(example, Mapping):
            raise InputError(f"examples must be values by name, got {type(example).__name__}")
        if int(example.get(INDEX, at)) != at:
            raise InputError(
                f"row {at} of the train_dataset says that it is row {int(example[INDEX])}, and weights go by "
                f"place; sort by {INDEX!r}, or take that column out"
            )
        return {**example, INDEX: int(at)}


class _IndexingCollator:
    """A collator of any kind, past which the numbers of the rows are led."""

    def __init__(self, inner: Any) -> None:
        self.inner = OrderCheckingCollator(inner)

    def __call__(self, examples: list[Any]) -> Any:
        if not isinstance(examples[0], Mapping) or INDEX not in examples[0]:
            return self.inner(examples)
        rows = [int(each[INDEX]) for each in examples]
        batch = self.inner([{key: each[key] for key in each if key != INDEX} for each in examples])
        if not isinstance(batch, MutableMapping):
            raise InputError(f"a collator must give values by name, got {type(batch).__name__}")
        batch[INDEX] = torch.tensor(rows)
        return batch

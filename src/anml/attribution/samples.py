"""Random access to samples of any form: arrays, tensors, lists of examples, datasets, loaders."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, default_collate

from anml.core.checks import Ints, as_codes
from anml.core.errors import InputError, UnsupportedError
from anml.gradients.batches import Batch, map_tensors
from anml.torch.data import (
    as_tensor,
    as_tensors,
    collate_examples,
    is_iterable_dataset,
    split_batch,
    to_device,
)

# Targets that no loss counts, and columns of examples that are texts.
IGNORED = -100


class RowBatches:
    """Samples by row number, as batches of inputs and targets.

    `without` names the columns of examples, or of a mapping, that the model does not take.
    """

    def __init__(self, data: Any, without: Sequence[str] = (), loss: Any = "softmax") -> None:
        self.without, self.loss = set(without), loss
        self.collate: Callable[[list[Any]], Any] = collate_padded
        if isinstance(data, DataLoader):
            if data.collate_fn is not default_collate:
                self.collate = data.collate_fn
            data = data.dataset
        if is_iterable_dataset(data):
            raise UnsupportedError("attribution needs rows by number; a stream has none, so load it first")
        self.whole: Batch | None = None
        if isinstance(data, Mapping) or (isinstance(data, tuple) and _arrays(data)):
            given: Any = data
            if isinstance(data, Mapping):
                given = {name: each for name, each in data.items() if name not in self.without}
            batch = self._split(given)
            self.whole = Batch(as_tensors(batch.inputs), as_tensors(batch.target))
            self.count = len(self.whole)
        elif hasattr(data, "__len__") and hasattr(data, "__getitem__"):
            self.count = len(data)
        else:
            raise InputError(f"rows must be arrays, examples or a dataset, got {type(data).__name__}")
        self.data = data
        if not self.count:
            raise InputError("there are no rows")

    def __len__(self) -> int:
        return self.count

    def column(self, name: str) -> list[Any]:
        """Values of one column of a mapping, a Hugging Face dataset or examples by name."""
        if isinstance(self.data, Mapping) or name in (getattr(self.data, "column_names", None) or ()):
            if name not in getattr(self.data, "column_names", self.data):
                raise InputError(f"the rows have no column {name!r}")
            return list(self.data[name])
        if not isinstance(self.data, tuple) and isinstance(self.data[0], Mapping):
            if any(name not in self.data[at] for at in range(self.count)):
                raise InputError(f"subset rows have no {name!r}; the first has {', '.join(self.data[0])}")
            return [self.data[at][name] for at in range(self.count)]
        raise InputError(f"these rows have no columns; give the values of {name!r} as an array")

    def batch(self, rows: Sequence[int] | Ints, device: torch.device) -> Batch:
        """Some rows, in this order."""
        at = [int(row) for row in rows]
        if self.whole is not None:
            picked = torch.as_tensor(at)
            inputs = map_tensors(self.whole.inputs, lambda tensor: tensor[picked])
            return to_device(Batch(inputs, self.whole.target[picked]), device)
        examples = [self.data[row] for row in at]
        if self.without and isinstance(examples[0], Mapping):
            examples = [{k: v for k, v in each.items() if k not in self.without} for each in examples]
        return to_device(self._split(self.collate(examples)), device)

    def batches(self, rows: Sequence[int] | Ints, size: int, device: torch.device) -> Iterator[Batch]:
        """Yield batches of at most `size` rows, in this order."""
        for start in range(0, len(rows), size):
            yield self.batch(rows[start : start + size], device)

    def _split(self, given: Any) -> Batch:
        """Inputs and targets; tokens are their own targets for the next-token loss."""
        labels = ("labels", "label", "y", "target")
        unlabelled = isinstance(given, Mapping) and not any(name in given for name in labels)
        if unlabelled and self.loss == "next-token" and "input_ids" in given:
            tokens = as_tensor(given["input_ids"])
            mask = given.get("attention_mask")
            kept = torch.ones_like(tokens) if mask is None else as_tensor(mask)
            given = {**given, "labels": tokens.masked_fill(kept == 0, IGNORED)}
        elif unlabelled and callable(self.loss):
            # A loss of the user's own may take everything from the inputs, as those of preferences do.
            count = len(next(iter(given.values())))
            return Batch(dict(given), torch.zeros(count, dtype=torch.long))
        return split_batch(given)


def _arrays(data: tuple[Any, ...]) -> bool:
    return len(data) >= 2 and all(isinstance(each, Tensor | np.ndarray | Sequence | Mapping) for each in data)


def collate_padded(examples: list[Any]) -> Any:
    """Join examples into a batch; sequences of tokens of different lengths are padded and masked."""
    if not isinstance(examples[0], Mapping) or "input_ids" not in examples[0]:
        return collate_examples(examples)
    lengths = [len(each["input_ids"]) for each in examples]
    if len(set(lengths)) == 1:
        return collate_examples(examples)
    padded = []
    for each, length in zip(examples, lengths, strict=True):
        more = max(lengths) - length
        row = {"attention_mask": [1] * length, **each}
        for name, value in row.items():
            sequence = isinstance(value, Sequence | np.ndarray | Tensor) and not isinstance(value, str)
            if sequence and len(value) == length:
                row[name] = [*map(int, value), *[IGNORED if name == "labels" else 0] * more]
        padded.append(row)
    return collate_examples(padded)


def contributor_codes(rows: RowBatches, contributor: Any) -> tuple[Ints, list[str]]:
    """Codes and names of each row's contributor, by column name or as one value a row."""
    if isinstance(contributor, str):
        contributor = rows.column(contributor)
    return as_codes("contributor", contributor, len(rows))

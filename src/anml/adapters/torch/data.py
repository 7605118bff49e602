"""Samples in any form, as batches in order: DataLoader, Dataset, arrays, tensors, Arrow and other frames."""

from collections.abc import Iterator
from dataclasses import dataclass
from operator import itemgetter
from typing import Any, NamedTuple

import narwhals as nw
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, SequentialSampler

from anml.core.errors import InputError
from anml.gradients.modules import Batch, each_tensor


@dataclass(frozen=True)
class Samples:
    """Batches that can be gone through again and again, and how many samples they hold (None: unknown)."""

    loader: Any
    count: int | None

    def batches(self, device: torch.device) -> Iterator[Batch]:
        """Batch after batch, on the device."""
        for given in self.loader:
            yield _placed(_parted(given), device)


def samples_of(data: Any, y: Any = None, batch: int = 64) -> Samples:
    """Take samples as they are given; only arrays and frames need `y` beside them.

    `y` is an array of targets, or the name of a frame's column.
    """
    if isinstance(data, DataLoader):
        _check_order(data, y)
        sized = not isinstance(data.dataset, IterableDataset)
        return Samples(data, len(data.dataset) if sized else None)  # type: ignore[arg-type]
    if isinstance(data, Dataset):
        if y is not None:
            raise InputError("a Dataset brings its own targets; leave y out")
        sized = not isinstance(data, IterableDataset) and hasattr(data, "__len__")
        return Samples(DataLoader(data, batch_size=batch), len(data) if sized else None)  # type: ignore[arg-type]
    if y is None:
        raise InputError(f"{type(data).__name__} needs targets: give y, or a DataLoader or Dataset of pairs")
    x, target = _framed(data, y) if isinstance(y, str) else (_tensors(data), _tensor(y))
    length = _length(x)
    if length != len(target) or not length:
        raise InputError(f"x and y must be of the same length, at least 1, got {length} and {len(target)}")
    return Samples(_Cut(x, target, batch), length)


class _Cut(NamedTuple):
    """Tensors cut into batches, as views of them."""

    x: Any
    y: Tensor
    batch: int

    def __iter__(self) -> Iterator[Any]:
        for start in range(0, len(self.y), self.batch):
            rows = slice(start, start + self.batch)
            yield each_tensor(self.x, itemgetter(rows)), self.y[rows]


def _check_order(loader: DataLoader[Any], y: Any) -> None:
    if y is not None:
        raise InputError("a DataLoader brings its own targets; leave y out")
    in_order = isinstance(loader.dataset, IterableDataset) or isinstance(loader.sampler, SequentialSampler)
    if not in_order or loader.drop_last:
        raise InputError(
            "scores are in the order of the samples, so the DataLoader must neither shuffle, sample nor drop "
            "any; pass its dataset, or one with shuffle=False and drop_last=False"
        )


def _parted(given: Any) -> Batch:
    """Inputs and targets of what a DataLoader gives: a pair, several inputs and a target, or a dict."""
    if isinstance(given, dict):
        name = next((each for each in ("labels", "label", "y", "target") if each in given), None)
        if name is None:
            raise InputError(f"a batch must hold labels, got {', '.join(map(repr, given))}")
        # What Hugging Face calls a label enters as a target: the loss is computed here.
        beside = (name, "weight", "sample_index")
        return Batch({key: value for key, value in given.items() if key not in beside}, given[name])
    if isinstance(given, tuple | list) and len(given) >= 2:
        *inputs, target = given
        return Batch(inputs[0] if len(inputs) == 1 else tuple(inputs), target)
    raise InputError(f"a batch must be inputs and targets, got {type(given).__name__}")


def _placed(batch: Batch, device: torch.device) -> Batch:
    def move(tensor: Tensor) -> Tensor:
        return tensor.to(device, non_blocking=True)

    target = _tensor(batch.target)
    # Classes of a NumPy array are often of a narrower kind than torch's losses take.
    narrow = target.dtype in (torch.int8, torch.int16, torch.int32, torch.uint8)
    return Batch(each_tensor(batch.inputs, move), move(target.long() if narrow else target))


def _tensor(values: Any) -> Tensor:
    if isinstance(values, Tensor):
        return values
    array = np.asarray(values)
    if array.dtype.kind not in "iufb":
        raise InputError(f"samples and targets must be numbers, got {array.dtype}")
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    # Arrow's buffers must not be written to, and torch has no such tensors.
    return torch.as_tensor(array if array.flags.writeable else array.copy())


def _tensors(data: Any) -> Any:
    if isinstance(data, dict):
        return {name: _tensors(value) for name, value in data.items()}
    return tuple(_tensors(each) for each in data) if isinstance(data, tuple) else _tensor(data)


def _length(x: Any) -> int:
    while isinstance(x, dict | tuple):
        x = next(iter(x.values() if isinstance(x, dict) else x))
    return len(x)


def _framed(data: Any, label: str) -> tuple[Tensor, Tensor]:
    """Features and targets of a frame; Arrow's own buffers are used where they can be."""
    try:
        frame = nw.from_native(data, eager_only=True)
    except TypeError:
        raise InputError(
            "y names a column, so the samples must be a pandas, polars or Arrow table, "
            f"got {type(data).__name__}"
        ) from None
    if label not in frame.columns:
        raise InputError(f"the frame has no column {label!r}; it has {', '.join(frame.columns[:10])}")
    names = [name for name in frame.columns if name != label]
    texts = [name for name in names if not frame[name].dtype.is_numeric()]
    if texts or not names:
        raise InputError(f"features must be columns of numbers, got {texts[:1] or 'none'}")
    columns = [_tensor(frame[name].to_numpy()).float() for name in names]
    return torch.stack(columns, dim=1), _tensor(frame[label].to_numpy())

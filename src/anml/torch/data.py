"""Samples in any form, as batches in the order of their rows, whatever a loader's sampler does.

A stream is read by one process. Where examples say which row they are (`sample_index`), they go by that.
"""

import copy
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset, IterableDataset, default_collate

from anml.core.checks import Ints
from anml.core.errors import InputError
from anml.gradients.batches import Batch, map_tensors

# Under this name an example says which row of the data it is.
INDEX = "sample_index"


@dataclass(frozen=True)
class Samples:
    """Batches that can be gone through again and again, and how many samples they hold (None: unknown).

    `before`: targets as they came the first time, where a stream may come in another order.
    """

    loader: Any
    count: int | None
    before: Tensor | None = None

    def batches(self, device: torch.device) -> Iterator[Batch]:
        """Batch after batch, on the device; as many samples as there are rows, or an error."""
        done, targets = 0, []
        for given in self.loader:
            batch = to_device(split_batch(given), device)
            done += len(batch)
            if self.before is not None:
                targets.append(_each_sum(batch.target))
            yield batch
        if self.count is not None and done != self.count:
            raise InputError(f"{done} samples came from a dataset of {self.count} rows")
        if self.before is not None:
            now = torch.cat(targets)
            if not torch.equal(now, self.before) and _same_rows(now, self.before):
                raise InputError(
                    f"the stream gives its rows in another order each time; let them say which they are, "
                    f"under {INDEX!r}"
                )

    def counted(self, device: torch.device) -> "Samples":
        """The same, with a stream gone through once to count it."""
        if self.count is not None:
            return self
        targets, named = [], False
        for batch in self.batches(device):
            targets.append(_each_sum(batch.target))
            named = named or batch.rows is not None
        before = torch.cat(targets) if targets and not named else None
        return Samples(self.loader, sum(map(len, targets)), before)


def samples_of(data: Any, y: Any = None, batch: int = 64) -> Samples:
    """Take samples as they are given; only arrays and tensors need targets `y` beside them."""
    loader = isinstance(data, DataLoader)
    if loader or isinstance(data, Dataset) or is_iterable_dataset(data) or (y is None and has_examples(data)):
        if y is not None:
            raise InputError(f"a {type(data).__name__} brings its own targets; leave y out")
        return _of_loader(data) if loader else _of_dataset(data, batch)
    if y is None and isinstance(data, Mapping):
        data, y, _ = split_batch(data)
    if y is None:
        raise InputError(f"{type(data).__name__} needs targets: give y, or a DataLoader or Dataset of pairs")
    x, target = as_tensors(data), as_tensor(y)
    length = _length(x)
    if length != len(target) or not length:
        raise InputError(f"x and y must be of the same length, at least 1, got {length} and {len(target)}")
    # Batches are views: nothing is copied.
    cuts = [slice(start, start + batch) for start in range(0, length, batch)]
    return Samples([(map_tensors(x, itemgetter(rows)), target[rows]) for rows in cuts], length)


def in_row_order(rows: list[Any], n: int) -> Ints | None:
    """Return the positions of rows 0, 1, ... among the samples; None if batches have no row numbers."""
    if all(each is None for each in rows):
        return None
    if any(each is None for each in rows):
        raise InputError(f"some batches name their rows under {INDEX!r} and some do not")
    named = np.concatenate([np.asarray(each).reshape(-1) for each in rows])
    if not np.array_equal(np.sort(named), np.arange(n)):
        values, times = np.unique(named, return_counts=True)
        twice = values[times > 1]
        what = f"row {twice[0]} comes {times[times > 1][0]} times" if len(twice) else f"got {named.max()}"
        raise InputError(f"{INDEX!r} must name each of the rows 0 to {n - 1} once, {what}")
    return np.argsort(named)


def _of_loader(loader: DataLoader[Any]) -> Samples:
    own = type(loader).__iter__ is not DataLoader.__iter__
    if own and not type(loader).__module__.startswith("accelerate."):
        raise InputError(
            f"a {type(loader).__name__} makes its own batches, so that rows cannot be told from them; "
            "give its dataset, or a torch DataLoader"
        )
    whole = loader.batch_size is None and loader.batch_sampler is None
    size = 1 if whole else loader.batch_size or getattr(loader.batch_sampler, "batch_size", None) or 64
    return _of_dataset(loader.dataset, size, loader, whole)


def _of_dataset(data: Any, batch: int, loader: Any = None, whole: bool = False) -> Samples:
    """Rows of a dataset in its own order; `whole` where its examples are batches."""
    given = default_collate if loader is None else loader.collate_fn
    collate = collate_examples if given is default_collate else OrderCheckingCollator(given)
    if is_iterable_dataset(data):
        return Samples(_Stream(data, batch, loader.collate_fn if whole else collate, whole), None)
    settings = {} if loader is None else {
        name: getattr(loader, name)
        for name in ("num_workers", "worker_init_fn", "multiprocessing_context", "timeout")
    }  # fmt: skip
    if whole:
        return Samples(DataLoader(data, batch_size=None, collate_fn=loader.collate_fn, **settings), None)
    return Samples(DataLoader(data, batch_size=batch, collate_fn=collate, **settings), len(data))


class OrderCheckingCollator:
    """A collator of any kind; an error if it changes the order of examples, for example by length."""

    def __init__(self, inner: Callable[[Any], Any]) -> None:
        self.inner, self.tried = inner, False

    def __call__(self, examples: list[Any]) -> Any:
        """A batch; the first of several examples is also made twice more, the second time in reverse."""
        if not self.tried and len(examples) > 1:
            self.tried = True
            if _reorders_examples(self.inner, examples):
                raise InputError(
                    "the collate function changes the order of the examples of a batch, so that "
                    "rows cannot be told from batches; let it keep the order, and sort in a batch sampler"
                )
        return self.inner(examples)


def _reorders_examples(collate: Callable[[Any], Any], examples: list[Any]) -> bool:
    """True if the collator reorders examples, always or at random. Restores random states."""
    trial, numbers, others = copy.copy(collate), np.random.get_state(), random.getstate()  # noqa: NPY002
    made: list[list[Tensor]] = [[], [], []]
    with torch.random.fork_rng(devices=[]):
        for tensors, order in zip(made, (examples, examples, examples[::-1]), strict=True):
            batch = trial([copy.copy(each) for each in order])
            map_tensors(dict(batch) if isinstance(batch, Mapping) else batch, tensors.append)
    np.random.set_state(numbers)  # noqa: NPY002
    random.setstate(others)
    rows = [each for each in zip(*made, strict=False) if each[0].shape[:1] == (len(examples),)]
    fixed = [(a, c.flip(0)) for a, b, c in rows if torch.equal(a, b)]
    if any(torch.equal(a, c) and not torch.equal(a, a.flip(0)) for a, c in fixed):
        return False
    shuffled = [_same_rows(a, b) for a, b, _ in rows if not torch.equal(a, b)]
    return any(not torch.equal(a, c) for a, c in fixed) or (bool(shuffled) and all(shuffled))


def _same_rows(a: Tensor, b: Tensor) -> bool:
    """True if two tensors have the same rows in any order, compared by their sums."""
    return torch.equal(_each_sum(a).sort().values, _each_sum(b).sort().values)


def _each_sum(values: Tensor) -> Tensor:
    return values.double().reshape(len(values), -1).sum(1).cpu()


class _Stream(NamedTuple):
    """A stream cut into batches by this process alone: workers may each give all of it, or mix it."""

    data: Any
    batch: int
    collate: Callable[[Any], Any]
    whole: bool

    def __iter__(self) -> Iterator[Any]:
        examples = iter(self.data)
        if self.whole:
            yield from map(self.collate, examples)
            return
        while part := list(islice(examples, self.batch)):
            yield self.collate(part)


def is_iterable_dataset(data: Any) -> bool:
    """True if examples can only be iterated, as in the IterableDataset of torch and Hugging Face."""
    named = hasattr(data, "column_names") and hasattr(data, "__iter__") and not hasattr(data, "__getitem__")
    return isinstance(data, IterableDataset) or named


def has_examples(data: Any) -> bool:
    """True if an object has length and examples, as a Hugging Face dataset or a list has."""
    if isinstance(data, Mapping | tuple | Tensor | np.ndarray) or not hasattr(data, "__len__"):
        return False
    try:
        return len(data) > 0 and isinstance(data[0], Mapping | tuple)
    except (KeyError, TypeError, IndexError):
        return False


def collate_examples(examples: list[Any]) -> Any:
    """Examples as one batch: numbers by name, stacked; text is dropped, and lengths must be equal."""
    if not isinstance(examples[0], Mapping):
        try:
            return default_collate(examples)
        except (TypeError, RuntimeError) as error:
            raise InputError(f"examples cannot be joined into a batch: {error}") from None
    batch = {}
    for name in examples[0]:
        values = [one.get(name) for one in examples]
        if any(isinstance(each, str) for each in values) or all(each is None for each in values):
            continue
        if any(each is None for each in values):
            raise InputError(f"{name!r} is missing in some of the examples")
        each = [as_tensor(value) for value in values]
        if len({tuple(tensor.shape) for tensor in each}) > 1:
            lengths = sorted({tensor.shape[0] for tensor in each})
            raise InputError(
                f"{name!r} is {lengths[0]} long in one example and {lengths[-1]} in another; give a "
                "DataLoader whose collate_fn pads, as DataCollatorWithPadding of Hugging Face"
            )
        batch[name] = torch.stack(each)
    return batch


def split_batch(given: Any) -> Batch:
    """Inputs and targets of what a DataLoader gives: a pair, several inputs and a target, or a dict."""
    if isinstance(given, Mapping):
        name = next((each for each in ("labels", "label", "y", "target") if each in given), None)
        if name is None:
            raise InputError(f"a batch must hold labels, got {', '.join(map(repr, given))}")
        # Labels of Hugging Face become targets: the loss is computed here.
        reserved = (name, "weight", INDEX)
        inputs = {key: value for key, value in given.items() if key not in reserved and not _text(value)}
        return Batch(inputs, given[name], given.get(INDEX))
    if isinstance(given, tuple | list) and len(given) >= 2:
        *first, target = given
        return Batch(first[0] if len(first) == 1 else tuple(first), target)
    raise InputError(f"a batch must be inputs and targets, got {type(given).__name__}")


def _text(value: Any) -> bool:
    return isinstance(value, list | tuple) and bool(value) and isinstance(value[0], str)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """A batch on a device, with targets of a type that losses take."""

    def move(tensor: Tensor) -> Tensor:
        return tensor.to(device, non_blocking=True)

    target = as_tensor(batch.target)
    # Classes of a NumPy array are often of a narrower kind than torch's losses take.
    narrow = target.dtype in (torch.int8, torch.int16, torch.int32, torch.uint8)
    rows = None if batch.rows is None else np.asarray(batch.rows)
    return Batch(map_tensors(batch.inputs, move), move(target.long() if narrow else target), rows)


def as_tensor(values: Any) -> Tensor:
    """Numbers of any kind as a tensor, in single precision."""
    if isinstance(values, Tensor):
        return values
    try:
        array = np.asarray(values)
    except ValueError:
        raise InputError("samples differ in shape; give a DataLoader whose collate_fn pads them") from None
    if array.dtype.kind not in "iufb":
        raise InputError(f"samples and targets must be numbers, got {array.dtype}")
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    # Arrow's buffers must not be written to, and torch has no such tensors.
    return torch.as_tensor(array if array.flags.writeable else array.copy())


def as_tensors(data: Any) -> Any:
    """Arrays, alone, in a tuple or by name, as tensors."""
    if isinstance(data, Mapping):
        return {name: as_tensors(value) for name, value in data.items()}
    return tuple(as_tensors(each) for each in data) if isinstance(data, tuple) else as_tensor(data)


def _length(x: Any) -> int:
    while isinstance(x, dict | tuple):
        x = next(iter(x.values() if isinstance(x, dict) else x))
    return len(x)

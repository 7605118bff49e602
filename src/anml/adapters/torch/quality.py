"""Q of each sample by the gradients of the user's own module."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anml.adapters.torch.data import Samples, in_row_order, samples_of
from anml.core.checks import Floats, one_of, whole
from anml.core.errors import InputError
from anml.core.progress import Progress
from anml.core.signals.quality import quality
from anml.gradients.batches import Batch, Readout
from anml.gradients.devices import device_of
from anml.gradients.factors import Factors
from anml.gradients.losses import SampleLoss, loss_of
from anml.gradients.modules import EXPLICIT_BYTES, covered_batches, exact_factors, settled, sketched_factors
from anml.gradients.neighbours import Search, scores
from anml.gradients.record import Unreadable
from anml.gradients.sketch import SIZE

GRADIENTS = ("auto", "exact", "sketch", "last")
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True)
class Scoring:
    """How q of a module is scored: which gradients, and among whom neighbours are sought."""

    loss: str | SampleLoss = "softmax"
    gradients: str = "auto"
    size: int = SIZE
    layers: int = 1
    search: Search = field(default_factory=Search)
    batch: int = 64
    device: str | torch.device = "auto"
    precision: str = "float32"
    limit_bytes: int = EXPLICIT_BYTES

    def __post_init__(self) -> None:
        loss_of(self.loss)
        one_of("gradients", self.gradients, GRADIENTS)
        one_of("precision", self.precision, PRECISIONS)
        for name in ("size", "layers", "batch"):
            whole(name, getattr(self, name), 1)

    @property
    def reading(self) -> Readout:
        """How gradients are read."""
        last = self.layers if self.gradients == "last" else None
        return Readout(self.loss, last, PRECISIONS[self.precision])


def scoring_of(seed: int = 0, **settings: Any) -> Scoring:
    """Settings of `Scoring` and of its `Search`, which is among references where their number is given."""
    own, search = (set(kind.__dataclass_fields__) - {"search", "seed"} for kind in (Scoring, Search))
    for name in settings:
        one_of("setting", name, sorted(own | search))
    if settings.get("references") is not None:
        settings.setdefault("among", "references")
    given = {name: value for name, value in settings.items() if name in search}
    rest = {name: value for name, value in settings.items() if name in own}
    return Scoring(search=Search(**given, seed=seed), **rest)


def module_quality(
    module: nn.Module, x: Any, y: Any = None, loss: str | SampleLoss = "softmax", *, seed: int = 0,
    progress: Progress | None = None, **scoring: Any,
) -> Floats:  # fmt: skip
    """Q of each sample by the gradients of the user's own module.

    Train the module only briefly before: what it has memorised has no gradient.

    Parameters
    ----------
    x, y
        A Dataset of inputs and targets (torch's or Hugging Face's), or a DataLoader, of whose dataset every
        row is scored in the dataset's order, whatever the sampler; or arrays, tensors, or a dict of them,
        with targets beside.
    loss
        `"softmax"` (of Hugging Face's causal language models that of the next token), `"next-token"`,
        `"logistic"`, `"squared"`, or a function from outputs and targets to one loss a sample.
    gradients, size, layers, limit_bytes
        `"exact"`; `"sketch"`, of `size` numbers a sample; `"last"`, of the last `layers` layers alone; or
        `"auto"`: exact where that takes at most `limit_bytes`, else a sketch.
    among, references, probes, minibatch
        Where the `k` nearest are sought: `"all"`; `"references"`, that many random samples (the default
        where `references` is given); `"approximate"`, in `probes` cells; `"minibatch"`, of that many.
    k, malicious
        Neighbours in a Krum score, 10 by default; None is the classic n - f - 2, with f from `malicious`.
    batch, device, precision
        Samples at a time; `"auto"` is where the module is, elsewhere it is taken there for the pass, and
        back; `"float32"`, or torch's autocast in `"bfloat16"` or `"float16"`.
    progress
        Called with (what, done, of).

    Examples
    --------
    >>> x, y = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)), torch.arange(20) % 2
    >>> module_quality(nn.Linear(3, 2), x, y).shape
    (20,)
    """
    chosen = scoring_of(seed, loss=loss, **scoring)
    return quality(raw_quality(module, samples_of(x, y, chosen.batch), chosen, progress))


def checkpoint_quality(
    module: nn.Module, states: Iterable[dict[str, Tensor]], x: Any, y: Any = None, **settings: Any
) -> Floats:
    """Mean q over checkpoints of a module, given by their `state_dict()`; the module is left as it was."""
    before = {name: value.clone() for name, value in module.state_dict().items()}
    found = []
    try:
        for state in states:
            _load(module, state)
            found.append(module_quality(module, x, y, **settings))
    finally:
        module.load_state_dict(before)
    if not found:
        raise InputError("at least one checkpoint is needed")
    return np.asarray(np.mean(found, axis=0))


def _load(module: nn.Module, state: dict[str, Tensor]) -> None:
    try:
        module.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        reason = " ".join(str(error).split())
        raise InputError(f"a checkpoint does not fit the {type(module).__name__}: {reason}") from None


def raw_quality(
    module: nn.Module, samples: Samples, how: Scoring, progress: Progress | None = None
) -> Floats:
    """Raw scores of samples, low is consistent."""
    if not isinstance(module, nn.Module):
        raise InputError(f"module must be a torch.nn.Module, got {type(module).__name__}")
    if any(p.is_meta or isinstance(p, nn.UninitializedParameter) for p in module.parameters()):
        raise InputError(f"{type(module).__name__} has parameters without values; load it, or run it once")
    home = next((p.device for p in module.parameters()), torch.device("cpu"))
    there = home if how.device == "auto" else device_of(how.device)
    moved = there.type != home.type
    if moved:
        module.to(there)
    try:
        # Also where it is called among predictions, without gradients.
        with torch.inference_mode(False), torch.enable_grad():
            factors = module_gradients(module, samples, how, there, progress)
    finally:
        if moved:
            module.to(home)
    return scores(factors, how.search)


def module_gradients(
    module: nn.Module, samples: Samples, scoring: Scoring, device: torch.device, progress: Progress | None
) -> Factors:
    """What distances between gradients are computed from."""
    how, samples = scoring.gradients, samples.counted(device)
    if not samples.count:
        raise InputError("there are no samples")
    if how == "auto":
        how = "exact" if _fits(module, samples, scoring, device) else "sketch"
    rows: list[Any] = []

    def batches() -> Iterator[Batch]:
        rows.clear()
        done = 0
        for batch in samples.batches(device):
            rows.append(batch.rows)
            yield batch
            done += len(batch)
            if progress is not None:
                progress("gradients", done, samples.count or done)

    def factors(reading: Readout) -> Factors:
        if how == "sketch":
            return sketched_factors(module, batches(), reading, scoring.size, scoring.search.seed)
        return exact_factors(module, batches(), reading, samples.count, scoring.limit_bytes)

    try:
        found = factors(scoring.reading)
    except Unreadable:
        # A later batch took another way through the module: torch differentiates it sample by sample.
        found = factors(replace(scoring.reading, from_layers=False))
    order = in_row_order(rows, len(found))
    return found if order is None else found.take(torch.as_tensor(order, device=found.loss.device))


def _fits(module: nn.Module, samples: Samples, scoring: Scoring, device: torch.device) -> bool:
    """Whether exact gradients of all samples take no more room than allowed, by those of two samples."""
    first = next(samples.batches(device)).some(slice(0, 2))
    covered, _ = next(covered_batches(module, [first], scoring.reading))
    each = sum(settled(part).bytes_per_sample() for _, part in covered)
    return (samples.count or 0) * each <= scoring.limit_bytes

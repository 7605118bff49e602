"""Q of each sample by the gradients of the user's own module."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anml.core.checks import Floats, as_integer, one_of
from anml.core.errors import InputError
from anml.core.progress import Progress
from anml.gradients.batches import Batch, GradientSettings
from anml.gradients.devices import device_of
from anml.gradients.losses import SampleLoss, loss_of
from anml.gradients.modules import (
    EXPLICIT_BYTES,
    choose_representation,
    covered_batches,
    exact_factors,
    sketched_factors,
)
from anml.gradients.record import UnsupportedLayer
from anml.gradients.sample_krum_torch import krum_scores
from anml.gradients.sketch import SIZE
from anml.networks.factors import Factors
from anml.schema import options_from
from anml.signals.quality import krum_neighbours, scale_scores
from anml.torch.data import Samples, in_row_order, samples_of

GRADIENTS = ("auto", "exact", "sketch", "last")
PRECISIONS = {"float32": None, "bfloat16": torch.bfloat16, "float16": torch.float16}


@dataclass(frozen=True, kw_only=True)
class Gradients:
    """Representation of the gradients of samples.

    Parameters
    ----------
    method
        `exact`; `sketch`, a random projection to `size` numbers; `last`, the gradients of the last `layers`
        layers; or `auto`: exact where that takes at most `limit_bytes`, else a sketch.
    precision
        `float32`, or torch's autocast in `bfloat16` or `float16`.
    """

    method: str = "auto"
    size: int = SIZE
    layers: int = 1
    limit_bytes: int = EXPLICIT_BYTES
    precision: str = "float32"

    def __post_init__(self) -> None:
        one_of("gradients", self.method, GRADIENTS)
        one_of("precision", self.precision, PRECISIONS)
        for name in ("size", "layers"):
            as_integer(name, getattr(self, name), 1)


@dataclass(frozen=True, kw_only=True)
class Neighbors:
    """Neighbours that make a Krum score.

    Parameters
    ----------
    k, malicious
        Number of neighbours; None is the classic n - f - 2, with f from the share `malicious`.
    references
        Number of random samples among which neighbours are sought; None is all samples.
    """

    k: int | None = 10
    malicious: float | None = None
    references: int | None = None

    def __post_init__(self) -> None:
        for name in ("k", "references"):
            if getattr(self, name) is not None:
                as_integer(name, getattr(self, name), 1)


@dataclass(frozen=True)
class Scoring:
    """Settings of q of a module: loss, gradients, neighbours, and batches."""

    loss: str | SampleLoss = "softmax"
    gradients: Gradients = field(default_factory=Gradients)
    neighbors: Neighbors = field(default_factory=Neighbors)
    seed: int = 0
    batch_size: int = 64
    device: str | torch.device = "auto"

    def __post_init__(self) -> None:
        loss_of(self.loss)
        as_integer("batch_size", self.batch_size, 1)

    @property
    def reading(self) -> GradientSettings:
        """Settings by which gradients are read from layers."""
        last = self.gradients.layers if self.gradients.method == "last" else None
        return GradientSettings(self.loss, last, PRECISIONS[self.gradients.precision])


def gradients_of(given: str | Gradients | Mapping[str, Any]) -> Gradients:
    """Return the representation of gradients of a method, by its settings, or as it is."""
    return Gradients(method=given) if isinstance(given, str) else options_from(Gradients, given)


def neighbors_of(given: int | Neighbors | Mapping[str, Any]) -> Neighbors:
    """Return the neighbours by their number, by their settings, or as they are."""
    return Neighbors(k=given) if isinstance(given, int) else options_from(Neighbors, given)


def module_quality(
    module: nn.Module,
    X: Any,
    y: Any = None,
    *,
    loss: str | SampleLoss = "softmax",
    gradients: str | Gradients | Mapping[str, Any] = "auto",
    neighbors: int | Neighbors | Mapping[str, Any] = 10,
    batch_size: int = 64,
    device: str | torch.device = "auto",
    random_state: int = 0,
    progress: Progress | None = None,
) -> Floats:
    """Return signal q of each sample, by the gradients of a module.

    Train the module only briefly before: a memorised sample has no gradient.

    Parameters
    ----------
    X, y
        A Dataset of inputs and targets (torch's or Hugging Face's), or a DataLoader, whose dataset is scored
        in its own order, whatever the sampler; or arrays, tensors, or a dict of them, with targets beside.
    loss
        `"softmax"` (of Hugging Face's causal language models that of the next token), `"next-token"`,
        `"logistic"`, `"squared"`, or a function from outputs and targets to one loss per sample.
    gradients
        `"exact"`, `"sketch"`, `"last"` (layer), or `"auto"`; or `Gradients` or a dict of its fields: method,
        size, layers, limit_bytes, precision.
    neighbors
        Number of neighbours in a Krum score; or `Neighbors` or a dict of its fields: k, malicious,
        references.
    batch_size, device
        Samples at a time, and where they are computed: `"auto"` is where the module is.
    random_state
        Seed of sketches and of random references.
    progress
        Called with (step, done, total).

    Examples
    --------
    >>> X, y = torch.randn(20, 3, generator=torch.Generator().manual_seed(0)), torch.arange(20) % 2
    >>> module_quality(nn.Linear(3, 2), X, y).shape
    (20,)
    """
    seed = as_integer("random_state", random_state, 0)
    chosen = Scoring(loss, gradients_of(gradients), neighbors_of(neighbors), seed, batch_size, device)
    return scale_scores(raw_quality(module, samples_of(X, y, batch_size), chosen, progress))


def checkpoint_quality(
    module: nn.Module, checkpoints: Iterable[dict[str, Tensor]], X: Any, y: Any = None, **settings: Any
) -> Floats:
    """Return the mean q over checkpoints of a module, given by their `state_dict()`.

    `settings` are those of `module_quality`. The parameters of the module are restored afterwards.
    """
    before = {name: value.clone() for name, value in module.state_dict().items()}
    scores = []
    try:
        for state in checkpoints:
            _load(module, state)
            scores.append(module_quality(module, X, y, **settings))
    finally:
        module.load_state_dict(before)
    if not scores:
        raise InputError("at least one checkpoint is needed")
    return np.asarray(np.mean(scores, axis=0))


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
    pool = min(how.neighbors.references or len(factors), len(factors))
    return krum_scores(
        factors,
        krum_neighbours(pool, how.neighbors.k, how.neighbors.malicious),
        how.neighbors.references,
        how.seed,
    )


def module_gradients(
    module: nn.Module, samples: Samples, scoring: Scoring, device: torch.device, progress: Progress | None
) -> Factors:
    """Compute the gradient factors from which distances are computed."""
    how, samples = scoring.gradients.method, samples.counted(device)
    if not samples.count:
        raise InputError("there are no samples")
    if how == "auto":
        how = "exact" if _fits_in_memory(module, samples, scoring, device) else "sketch"
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

    def factors(reading: GradientSettings) -> Factors:
        if how == "sketch":
            return sketched_factors(module, batches(), reading, scoring.gradients.size, scoring.seed)
        return exact_factors(module, batches(), reading, samples.count, scoring.gradients.limit_bytes)

    try:
        result = factors(scoring.reading)
    except UnsupportedLayer:
        # A later batch took another way through the module: torch differentiates it sample by sample.
        result = factors(replace(scoring.reading, from_layers=False))
    order = in_row_order(rows, len(result))
    return result if order is None else result.take(torch.as_tensor(order, device=result.loss.device))


def _fits_in_memory(module: nn.Module, samples: Samples, scoring: Scoring, device: torch.device) -> bool:
    """True if exact gradients of all samples fit into the limit, extrapolated from two samples."""
    first = next(samples.batches(device)).some(slice(0, 2))
    covered, _ = next(covered_batches(module, [first], scoring.reading))
    each = sum(choose_representation(part).bytes_per_sample() for _, part in covered)
    return (samples.count or 0) * each <= scoring.gradients.limit_bytes

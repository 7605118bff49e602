"""Index of a model's training: curvature and sums of gradients by contributor at each checkpoint.

index = anml.attribution.index(model, train, contributor="author", loss="next-token", checkpoints="ckpt/")
result = index.trace(queries)
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor, nn

from anml.attribution.calibration import Retrainings, draw_coalitions
from anml.attribution.ekfac import (
    Curvature,
    GradientReader,
    Sums,
    contributor_sums,
    fit_curvature,
    losses_along,
    query_direction,
    score_queries,
)
from anml.attribution.recording import CHECKED_SECONDS, recorded_settings, retrain_as_recorded
from anml.attribution.samples import RowBatches, contributor_codes
from anml.core.checks import Bools, Floats, Ints, as_integer, as_vector
from anml.core.errors import InputError, UnsupportedError
from anml.core.progress import Progress
from anml.gradients.batches import Batch, GradientSettings, in_evaluation, run_module
from anml.gradients.devices import device_of
from anml.gradients.losses import SampleLoss, loss_of, sample_losses
from anml.gradients.own_loss import loss_as_trained
from anml.gradients.record import UnsupportedLayer

if TYPE_CHECKING:
    from anml.attribution.tracing import Trace

# Damping of the eigenvalues, as a share of their mean: the choices of the self-check, and the default.
DAMPINGS = (1e-3, 1e-2, 0.1, 1.0, 3.0, 10.0, 100.0)
UNCHECKED_DAMPING = 0.1
# Rows from which curvature is estimated: a tenth, but at least this number.
CURVATURE_SHARE, CURVATURE_ROWS = 0.1, 256
# Retrainings of the self-check.
RETRAININGS = 10

# Files of a training that hold other values than those of a checkpoint.
NO_CHECKPOINTS = ("initial.safetensors", "optimizer.pt", "scheduler.pt", "training_args.bin")

State = dict[str, Tensor]
# Train a model on rows (with repeats, as many as all rows) and a seed; return it, or states at checkpoints.
Retrain = Callable[[Ints, int], Any]


class Index:
    """Curvature and contributor sums of a model; `trace` answers for queries.

    `contributors` holds the names in the order of the columns of every array of influences.
    """

    def __init__(
        self, module: nn.Module, train: RowBatches, codes: Ints, names: list[str], settings: GradientSettings,
        *, weight: Floats, runs: list[list[State]], retrain: Retrain | None, device: torch.device,
        batch_size: int, seed: int, progress: Progress | None,
    ) -> None:  # fmt: skip
        self.module, self.train, self.codes, self.contributors = module, train, codes, names
        self.settings, self.weight, self.runs, self.retrain = settings, weight, runs, retrain
        self.device, self.batch_size, self.seed, self.progress = device, batch_size, seed, progress
        self.curvatures: list[list[Curvature]] = []
        self.sums: list[list[Sums]] = []
        self.coalitions: Bools = np.zeros((0, len(names)), dtype=bool)
        self.repeated: list[int] = []
        self.retrained: list[State] = []

    @property
    def rows(self) -> Floats:
        """Weight of the rows of each contributor."""
        return np.asarray(np.bincount(self.codes, self.weight, minlength=len(self.contributors)), np.float64)

    def build(self) -> "Index":
        """Compute curvature and sums at every checkpoint."""
        rng, n = np.random.default_rng(self.seed), len(self.train)
        subset = rng.permutation(n)[: max(round(CURVATURE_SHARE * n), min(n, CURVATURE_ROWS))]
        order = np.argsort(self.codes, kind="stable")
        done, total = 0, sum(map(len, self.runs))
        for states in self.runs:
            self.curvatures.append([])
            self.sums.append([])
            for state in states:
                with self.loaded(state):
                    curvature, sums = self._read(subset, order)
                self.curvatures[-1].append(curvature)
                self.sums[-1].append(sums)
                done += 1
                self.report("index of a checkpoint", done, total)
        return self

    def _read(self, subset: Ints, order: Ints) -> tuple[Curvature, Sums]:
        def batches() -> Iterator[Batch]:
            yield from self.train.batches(subset, self.batch_size, self.device)

        def weighted() -> Iterator[tuple[Batch, Tensor, Tensor]]:
            for start in range(0, len(order), self.batch_size):
                rows = order[start : start + self.batch_size]
                weight = torch.as_tensor(self.weight[rows], dtype=torch.float32, device=self.device)
                yield (
                    self.train.batch(rows, self.device), weight,
                    torch.as_tensor(self.codes[rows], device=self.device),
                )  # fmt: skip

        count = len(self.contributors)
        try:
            reader = self.reader()
            curvature = fit_curvature(reader, batches)
            return curvature, contributor_sums(reader, curvature, weighted(), count)
        except UnsupportedLayer:
            # A later batch took another way through the module: torch differentiates it sample by sample.
            self.settings = replace(self.settings, from_layers=False)
            reader = self.reader()
            curvature = fit_curvature(reader, batches)
            return curvature, contributor_sums(reader, curvature, weighted(), count)

    def reader(self) -> GradientReader:
        """Reader of the module's gradients with the settings of the index."""
        return GradientReader(self.module, self.settings)

    def report(self, what: str, done: int, total: int) -> None:
        """Report progress where it is wanted."""
        if self.progress is not None:
            self.progress(what, done, total)

    @property
    def model_sha256(self) -> str:
        """Hash of the trained parameters and buffers of the model."""
        total = sha256()
        for name, value in sorted(self.runs[0][-1].items()):
            flat = value.detach().cpu().contiguous().flatten()
            total.update(name.encode() + flat.view(torch.uint8).numpy().tobytes())
        return total.hexdigest()

    @contextmanager
    def loaded(self, state: State) -> Iterator[None]:
        """Load a state of the module inside the block, and its own afterwards."""
        before = {name: value.clone() for name, value in self.module.state_dict().items() if name in state}
        try:
            self.module.load_state_dict(state, strict=False)
            yield
        finally:
            self.module.load_state_dict(before, strict=False)

    def scores(self, queries: RowBatches) -> Floats:
        """Influence of contributors on queries, (runs, checkpoints, dampings, queries, contributors).

        The increase of a query's loss, to first order, if the contributor's rows are excluded.
        """
        result = []
        for states, curvatures, sums in zip(self.runs, self.curvatures, self.sums, strict=True):
            each = []
            for state, curvature, total in zip(states, curvatures, sums, strict=True):
                with self.loaded(state):
                    batches = queries.batches(range(len(queries)), self.batch_size, self.device)
                    scores = score_queries(self.reader(), curvature, total, batches, DAMPINGS)
                each.append(scores.double().cpu().numpy() / self.weight.sum())
            result.append(each)
        return np.array(result)

    def row_scores(
        self, queries: RowBatches, usage: Floats, rows: Ints, checkpoints: Sequence[int], damping: float
    ) -> Floats:
        """Influence of single rows on the weighted mean of queries, by two passes without gradients."""
        total = np.zeros(len(rows))
        share = usage / usage.sum()
        for at in checkpoints:
            with self.loaded(self.runs[0][at]):
                reader = self.reader()
                starts = range(0, len(queries), self.batch_size)
                weighted = (
                    (queries.batch(range(s, min(s + self.batch_size, len(queries))), self.device),
                     torch.as_tensor(share[s : s + self.batch_size], dtype=torch.float32, device=self.device))
                    for s in starts
                )  # fmt: skip
                change = query_direction(reader, self.curvatures[0][at], weighted, damping)
                result = losses_along(reader.parameters, change, lambda: self.losses(self.train, rows))
                total += result.double().cpu().numpy()
        return np.asarray(total * self.weight[rows] / self.weight.sum())

    @torch.no_grad()
    def losses(self, samples: RowBatches, rows: Sequence[int] | Ints | None = None) -> Tensor:
        """Loss of each sample by the module as it is."""
        result = []
        with in_evaluation(self.module):
            where = range(len(samples)) if rows is None else rows
            for batch in samples.batches(where, self.batch_size, self.device):
                outputs = run_module(self.module, batch.inputs, self.settings.precision)
                result.append(sample_losses(self.settings.loss, outputs, batch.target).float())
        return torch.cat(result)

    def add_retrainings(self, count: int) -> None:
        """Retrain on coalitions of contributors, with the number of steps of the whole training."""
        assert self.retrain is not None
        rng = np.random.default_rng(self.seed + 1)
        self.coalitions, self.repeated = draw_coalitions(len(self.contributors), count, rng)
        n = len(self.train)
        for at, members in enumerate(self.coalitions):
            mine = np.flatnonzero(members[self.codes])
            # As many rows as all contributors have, so that every model takes the same number of steps.
            rows = np.concatenate([rng.permutation(mine) for _ in range(-(-n // len(mine)))])[:n]
            self.retrained.append(self.state_of(self.retrain(rows, self.seed + 1_000 + at))[-1])
            self.report("retraining", at + 1, count)

    def retrainings(self, queries: RowBatches) -> Retrainings | None:
        """Losses of the queries by the retrained models; None without a self-check."""
        if not self.retrained:
            return None
        losses = []
        for state in self.retrained:
            with self.loaded(state):
                losses.append(self.losses(queries).double().cpu().numpy())
        repeats = tuple((one, at) for at, one in enumerate(self.repeated) if one >= 0)
        return Retrainings((~self.coalitions).astype(float), np.array(losses), repeats)

    def state_of(self, given: Any) -> list[State]:
        """States at checkpoints of a module, a state dict, a file, a folder, or a sequence of these."""
        if isinstance(given, list | tuple):
            return [self.state_of(each)[-1] for each in given]
        if isinstance(given, str | Path):
            return [self._fitting(state, name) for name, state in read_checkpoints(Path(given))]
        if isinstance(given, nn.Module):
            return [self._fitting(given.state_dict(), type(given).__name__)]
        if isinstance(given, Mapping):
            return [self._fitting(given, "a checkpoint")]
        raise InputError(f"a checkpoint must be a state dict, a module or a path, got {type(given).__name__}")

    def _fitting(self, state: Mapping[str, Tensor], name: str) -> State:
        """The values of a state that the module has; all trainable parameters must be there."""
        own = self.module.state_dict()
        state = {_adapter_name(key, own): value for key, value in state.items()}
        trained = {key: p for key, p in self.module.named_parameters() if p.requires_grad}
        missing = [key for key in trained if key not in state]
        wrong = [key for key in state if key in own and own[key].shape != state[key].shape]
        if missing or wrong:
            key = (missing or wrong)[0]
            why = f"has no {key}" if missing else f"has {key} of shape {tuple(state[key].shape)}"
            raise InputError(f"{name} does not fit the {type(self.module).__name__}: it {why}")
        # Frozen parameters are the module's own.
        frozen = {key for key, p in self.module.named_parameters() if not p.requires_grad}
        return {
            key: value.detach().clone().to(own[key].device)
            for key, value in state.items()
            if key in own and key not in frozen
        }

    def trace(self, queries: Any, **settings: Any) -> "Trace":
        """Attribute the behaviour on queries to contributors, as `anml.attribution.tracing.trace` does."""
        from anml.attribution.tracing import trace

        return trace(self, queries, **settings)


def _adapter_name(key: str, own: Mapping[str, Tensor]) -> str:
    """Name of a parameter in the module; files of peft leave the name of the adapter out."""
    inside = re.sub(r"(lora_[AB])\.weight$", r"\1.default.weight", key)
    return inside if key not in own and inside in own else key


def read_checkpoints(path: Path) -> list[tuple[str, State]]:
    """Read a file, or the files and `checkpoint-*` folders of a folder, in the order of their steps."""
    from safetensors.torch import load_file

    if not path.exists():
        raise InputError(f"there are no checkpoints in {path}: it does not exist")

    def weights(place: Path) -> Path | None:
        if place.is_file():
            return place if place.suffix in (".safetensors", ".pt", ".pth", ".bin") else None
        names = ("adapter_model.safetensors", "model.safetensors", "pytorch_model.bin")
        return next((place / name for name in names if (place / name).is_file()), None)

    def step(place: Path) -> tuple[int, str]:
        numbers = re.findall(r"\d+", place.stem if place.is_file() else place.name)
        return (int(numbers[-1]) if numbers else 0), place.name

    places = [path] if weights(path) else sorted(path.iterdir(), key=step)
    result = []
    for place in places:
        file = weights(place)
        if file is None or file.name in NO_CHECKPOINTS:
            continue
        state = load_file(file) if file.suffix == ".safetensors" else torch.load(file, weights_only=True)
        result.append((str(place), state))
    if not result:
        raise InputError(f"there are no checkpoints in {path}: it has no .safetensors or .pt file")
    return result


def index(
    model: nn.Module,
    train: Any,
    contributor: Any,
    *,
    loss: str | SampleLoss = "softmax",
    checkpoints: Any = None,
    weight: Any = None,
    retrain: Retrain | None = None,
    check: int | None = None,
    runs: int = 1,
    batch_size: int = 64,
    device: str | torch.device = "auto",
    random_state: int = 0,
    progress: Progress | None = None,
) -> Index:
    """Index the training of a model by contributor, so that its behaviour can be attributed.

    Parameters
    ----------
    model
        A torch module as it was trained: a classifier, or a language model, with LoRA or without. Only
        parameters with `requires_grad` count.
    train
        The training rows: arrays (X, y), a dict of arrays, a list of examples, a Dataset or a DataLoader.
    contributor
        Column of `train`, or one name per row.
    loss
        As in `anml.torch.module_quality`.
    checkpoints
        Folder of checkpoints, or a list of state dicts; early ones carry the level of shares. None: the
        model as it is. A list of lists has one list for each of several runs.
    weight
        Weight of each row in training.
    retrain
        Function of (rows, seed) that trains a new model on these rows and returns it, or its states at
        checkpoints. Rows may repeat; they are as many as all rows, so that all models take the same steps.
        None: as a `CheckpointRecorder` recorded in the folder of checkpoints.
    check
        Retrainings of the self-check; None is 10 where a training takes at most an hour, 0 is none.
    runs
        Trainings on all rows whose influences are averaged; more than one needs `retrain`.
    batch_size, device, random_state, progress
        As in `anml.torch.module_quality`.

    Examples
    --------
    >>> X, y = torch.randn(40, 3, generator=torch.Generator().manual_seed(0)), torch.arange(40) % 2
    >>> result = index(nn.Linear(3, 2), (X, y), ["ann", "bob"] * 20).trace((X[:5], y[:5]))
    >>> sorted(result.contributors["contributor"]), result.check["status"]
    (['ann', 'bob'], 'not checked')
    """
    if not isinstance(model, nn.Module):
        raise InputError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    loss_of(loss)
    recorded = recorded_settings(checkpoints) if retrain is None else None
    can = retrain is not None or (recorded is not None and recorded["seconds"] <= CHECKED_SECONDS)
    count = (RETRAININGS if can else 0) if check is None else as_integer("check", check, 0)
    if 0 < count < 4:
        raise InputError(f"a self-check takes at least 4 retrainings, got {count}")
    if retrain is None and recorded is None and (count or runs > 1):
        what = f"a self-check of {count} retrainings needs" if count else f"{runs} runs need"
        raise UnsupportedError(f"{what} retrain=, a function of rows and a seed")
    if device != "auto":
        model.to(device_of(device))
    home = next((p.device for p in model.parameters()), torch.device("cpu"))
    column = [contributor] if isinstance(contributor, str) else []
    rows = RowBatches(train, column, loss)
    codes, names = contributor_codes(rows, contributor)
    if len(names) < 2:
        raise InputError(f"attribution needs at least two contributors, got only {names[0]!r}")
    weights = np.ones(len(rows)) if weight is None else as_vector("weight", weight, len(rows))
    if (weights < 0).any() or weights.sum() <= 0:
        raise InputError("weights must not be negative, and at least one must be positive")
    settings = GradientSettings(loss)
    resolved = loss_as_trained(model, rows.batch([0, len(rows) - 1], home), settings)
    made = Index(
        model, rows, codes, names, replace(settings, loss=resolved), weight=weights, runs=[], retrain=retrain,
        device=home, batch_size=as_integer("batch_size", batch_size, 1),
        seed=as_integer("random_state", random_state, 0), progress=progress,
    )  # fmt: skip
    if recorded is not None:
        made.retrain = partial(retrain_as_recorded, made, Path(checkpoints), recorded)
    several = (
        isinstance(checkpoints, list | tuple) and checkpoints and isinstance(checkpoints[0], list | tuple)
    )
    given = checkpoints if several else [model if checkpoints is None else checkpoints]
    made.runs = [made.state_of(each) for each in given]
    for seed in range(len(made.runs), as_integer("runs", runs, 1)):
        assert made.retrain is not None
        made.report("run", seed, runs)
        again = made.state_of(made.retrain(np.arange(len(rows)), seed))
        made.runs.append(again if len(again) == len(made.runs[0]) else again[-len(made.runs[0]) :])
    made.build()
    if count:
        made.add_retrainings(count)
    return made

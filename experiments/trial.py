"""The one trial body: simulate, score, weigh, train, measure; networks are trained as batched programs."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import torch

from anml.core.checks import Floats
from anml.core.profile import PROFILES
from anml.core.types import Signals, Weighting
from anml.gradients.backend import torch_backend
from anml.gradients.mlp import as_data, initialise
from anml.gradients.sample_krum_torch import krum_scores
from anml.gradients.threads import limit_threads
from anml.networks.factors import network_factors
from anml.networks.mlp import LayerWidths, NetworkBatch, TrainingData, predict, train
from anml.networks.scoring import score
from anml.signals.freshness import Decay
from anml.signals.quality import krum_neighbours, scale_scores
from anml.weighting.combine import correlation
from anml.weighting.weigh import compute_sample_weights
from experiments.belief import label_estimates
from experiments.cases import digest, make_case
from experiments.measures import Outcome, error_of, of_labels, percent, rank_correlation
from experiments.seen import Case, MethodInput
from experiments.spec import Experiment, Key, Setting


class Clock:
    """Times steps where the experiment is about time; otherwise just runs them."""

    def __init__(self, on: bool = False, device: str = "cpu") -> None:
        self.on, self.device = on, device
        self.spent: dict[str, list[float]] = {}
        self.of_job: dict[str, float] = {}

    def __call__(self, step: str, work: Callable[[], Any], job: str = "") -> Any:
        """Do the work of a step, for a job that can be asked for later."""
        if not self.on:
            return work()
        start = time.perf_counter()
        result = work()
        if torch.device(self.device).type == "cuda":
            torch.cuda.synchronize()  # work there goes on after the call returns
        seconds = time.perf_counter() - start
        self.spent.setdefault(step, []).append(1000 * seconds if step.endswith("_ms") else seconds)
        self.of_job[job] = seconds
        return result

    def of(self, job: str) -> dict[str, float]:
        """Mean time of each step, and the time of training this job; nothing where nothing is timed."""
        times = {step: float(np.mean(seconds)) for step, seconds in self.spent.items()}
        return {**times, "train_s": self.of_job[job]} if times else {}


Row = dict[str, Any]
# A trial, and a condition: its labels, its setting, and the methods to run there.
Place = tuple[int, tuple[Key, tuple[Setting, list[str]]]]

TIERS = ("attacker", "novice", "intermediate", "expert")
# NetworkBatch trained together: enough to keep the device busy, few enough to stay in a processor's cache.
PROGRAM = {"cpu": 48, "cuda": 1024}


@dataclass(frozen=True)
class Job:
    """One network to train: rows of what is seen, and how long."""

    seen: MethodInput
    rows: np.ndarray[Any, Any]
    epochs: int
    batch: int
    hidden: tuple[int, ...]

    @property
    def shape(self) -> LayerWidths:
        """Layer widths."""
        return LayerWidths(self.seen.x.shape[1], self.hidden, self.seen.classes)

    @property
    def name(self) -> str:
        """The same for jobs that would give the same network."""
        how = (self.seen.seed, self.epochs, self.batch, self.hidden)
        return digest(self.seen.x[self.rows], self.seen.y[self.rows], how)


# q of a case, and the loss of each sample as the scoring model sees it.
TrialScores = tuple[Floats, Floats]


def run_batch(experiment: Experiment, places: Sequence[Place], device: str = "cpu") -> list[Row]:
    """Rows of methods in some conditions and trials, whose networks are trained together."""
    keyed = [
        (trial, key, setting, make_case(setting, trial, experiment.seed), methods)
        for trial, (key, (setting, methods)) in places
    ]
    with limit_threads(1):
        clock = Clock(experiment.timed, device)
        scored = score_cases([(setting, case.seen) for _, _, setting, case, _ in keyed], device, clock)
        rows: list[Row] = []
        jobs: list[tuple[Case, Job]] = []
        for (trial, key, setting, case, methods), (q, loss) in zip(keyed, scored, strict=True):
            inputs = case.seen
            t = np.ones(len(inputs.y)) if inputs.age is None else Decay(setting.decay)(inputs.age)
            signals = Signals.of(q, inputs.v, inputs.r, t, inputs.contributor)
            if any(experiment.methods[method].combine == "evidence" for method in methods):
                belief = label_estimates(inputs, setting.decay)
                signals = replace(
                    signals, p_correct=belief.p_correct, disputed=belief.doubtful, equal_votes=belief.evenly
                )
            for method in methods:
                recipe = experiment.methods[method]
                if setting.best < 1 and recipe.keep is not None:
                    recipe = replace(recipe, keep=recipe.keep * setting.best)
                weighting = clock("combine_ms", partial(compute_sample_weights, signals, recipe))
                result = _measured(case, signals, loss, weighting)
                rows.append({"trial": trial, **dict(key), "method": method, **result})
                kept = np.flatnonzero(weighting.kept)
                jobs.append((case, Job(inputs, kept, setting.epochs, setting.batch, setting.hidden)))
        errors = train_jobs(jobs, device, clock)
    trained = zip(rows, jobs, errors, strict=True)
    return [{**row, "error": error, **clock.of(job.name)} for row, (_, job), error in trained]


def _measured(case: Case, signals: Signals, loss: Floats, weighting: Weighting) -> Row:
    """Measure the selection of samples before training."""
    kept, branch, tier = weighting.kept, weighting.gate.branch, case.truth.group
    believes = weighting.recipe.combine == "evidence"
    rho_c = correlation(signals.q, signals.v * signals.r)
    row: Row = {
        **of_labels(case, Outcome(kept=kept, p_correct=signals.p_correct if believes else None)),
        "rho_c": float("nan") if rho_c is None else rho_c,
        # How far the loss ranks bad samples last; undefined where none is bad.
        "rho_d": rank_correlation(loss, case.truth.bad),
        "uniform_branch": 100.0 * (branch == "uniform"),
        "krum_branch": 100.0 * (branch == "q_only"),
        "doubtful": 100.0 * (branch == "disputed"),
    }
    for code, name in enumerate(TIERS if tier is not None else ()):
        row[f"kept_{name}"] = percent(kept[tier == code])
    return row


def score_cases(cases: Sequence[tuple[Setting, MethodInput]], device: str, clock: Clock) -> list[TrialScores]:
    """Q of every case; cases with the same data are scored once."""
    how = [(setting.profile, setting.scoring_epochs, setting.scoring_batch) for setting, _ in cases]
    names = [
        (digest(inputs.x, inputs.y), inputs.seed, each) for (_, inputs), each in zip(cases, how, strict=True)
    ]
    first = {name: inputs for name, (_, inputs) in zip(names, cases, strict=True)}
    jobs: dict[Any, Job] = {}
    for name, inputs in first.items():
        chosen, epochs, batch = name[2]
        profile = PROFILES[chosen]
        if profile.epochs is not None:
            every, batch = np.arange(len(inputs.y)), batch or profile.batch or 200
            jobs[name] = Job(inputs, every, epochs or profile.epochs, batch, profile.hidden)
    networks = dict(zip(jobs, train_in_batches(list(jobs.values()), device, clock, "scoring_s"), strict=True))
    known = {
        name: clock("krum_s", partial(_krum, jobs[name], networks[name], name[2][0], device))
        if name in jobs
        else _early_stopped(inputs, name[2][0], device)
        for name, inputs in first.items()
    }
    return [known[name] for name in names]


def _krum(job: Job, network: NetworkBatch, profile: str, device: str) -> TrialScores:
    x, y = as_data(job.seen.x, job.seen.y, job.seen.task, device)
    factors = network_factors(network, x, y, job.seen.task)
    raw = krum_scores(factors, krum_neighbours(len(y), PROFILES[profile].k))
    return scale_scores(raw), factors.loss.double().cpu().numpy()


def _early_stopped(inputs: MethodInput, profile: str, device: str) -> TrialScores:
    scores = score(
        inputs.x, inputs.y, inputs.task, classes=inputs.classes, profile=profile, seed=inputs.seed,
        backend=torch_backend(device),
    )  # fmt: skip
    if inputs.numeric:
        return scores.q, np.square(scores.held_out - inputs.y)
    return scores.q, -scores.held_out[np.arange(len(inputs.y)), inputs.y]


def train_jobs(jobs: Sequence[tuple[Case, Job]], device: str, clock: Clock) -> list[float]:
    """Test error of every job, in percent (mean absolute error for regression); the same network once."""
    if not any(job.epochs for _, job in jobs):
        return [float("nan")] * len(jobs)  # an experiment about selection alone
    names = [job.name for _, job in jobs]
    first = {name: job for name, (_, job) in reversed(list(zip(names, jobs, strict=True)))}
    networks = dict(zip(first, train_in_batches(list(first.values()), device, clock, "train_s"), strict=True))
    return [measured_error(networks[name], case, device) for name, (case, _) in zip(names, jobs, strict=True)]


def train_in_batches(jobs: Sequence[Job], device: str, clock: Clock, step: str) -> list[NetworkBatch]:
    """Train networks of the same shape and number of rows together, some at a time."""
    groups: dict[Any, list[int]] = {}
    for position, job in enumerate(jobs):
        key = (job.shape, len(job.rows), job.epochs, job.batch, job.seen.task, len(job.seen.y))
        groups.setdefault(key, []).append(position)
    networks: list[NetworkBatch | None] = [None] * len(jobs)
    size = 1 if clock.on else PROGRAM[torch.device(device).type]
    for positions in groups.values():
        for start in range(0, len(positions), size):
            subset = positions[start : start + size]
            batch = clock(step, partial(_program, [jobs[i] for i in subset], device), jobs[subset[0]].name)
            for place, position in enumerate(subset):
                networks[position] = batch.pick([place])
    return [network for network in networks if network is not None]


def _program(jobs: Sequence[Job], device: str) -> NetworkBatch:
    """Train some networks as one program; all have as many rows, so none depends on the others."""
    seeds = [job.seen.seed for job in jobs]
    networks = initialise(jobs[0].shape, seeds, device)
    every = {id(job.seen): job.seen for job in jobs}
    place = {name: position for position, name in enumerate(every)}
    tensors = [as_data(inputs.x, inputs.y, inputs.task, device) for inputs in every.values()]
    data = TrainingData(
        torch.stack([x for x, _ in tensors]),
        torch.stack([y for _, y in tensors]),
        torch.tensor([place[id(job.seen)] for job in jobs], device=device),
        torch.as_tensor(np.stack([job.rows for job in jobs]), device=device),
        torch.ones(len(jobs), len(jobs[0].rows), device=device),
    )
    train(networks, data, jobs[0].seen.task, seeds, epochs=jobs[0].epochs, batch=jobs[0].batch)
    return networks


def measured_error(network: NetworkBatch, case: Case, device: str) -> float:
    """Error rate in percent, or mean absolute error in the units of the labels."""
    truth = case.truth
    outputs = predict(network, torch.as_tensor(truth.x_test, dtype=torch.float32, device=device))[0]
    if case.seen.numeric:
        return truth.unit * float(np.abs(outputs[:, 0].double().cpu().numpy() - truth.y_test).mean())
    return error_of(outputs.argmax(dim=1).cpu().numpy(), truth.y_test)

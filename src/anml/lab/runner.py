"""Run experiments: blocks of trials, on some processes, kept as they finish, so that a run can go on.

A block is some trials of an experiment on one data set; what is in it does not depend on the number of
processes, and each finished block is a file named after everything that decides its rows.
"""

import importlib
import json
import multiprocessing
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.lab.cases import make_case, stream
from anml.lab.contributed import CONTRIBUTED, load_contributed
from anml.lab.data import DataMissingError, load_dataset
from anml.lab.spec import Experiment

Progress = Callable[[str, int, int], None]
PARTS = ".parts"

# What makes the rows of an experiment: a module with `run_block`, loaded when needed (torch is slow to load).
KINDS = {
    "simulated": "anml.lab.trial",
    "real": "anml.lab.real",
    "calibration": "anml.lab.calibration",
}


@dataclass(frozen=True)
class Block:
    """Some trials of an experiment on one data set."""

    experiment: Experiment
    dataset: str
    start: int
    stop: int

    def path(self, out: Path) -> Path:
        """Where the rows are kept until the experiment is complete."""
        name = f"{self.dataset}-{self.start}-{self.stop}.parquet"
        return out / PARTS / f"{self.experiment.name}-{self.experiment.fingerprint()}" / name


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def available(device: str) -> str:
    """Resolve `auto` to a GPU where there is one."""
    import torch

    one_of("device", device, ("auto", "cpu", "cuda"))
    there = torch.cuda.is_available()
    if device == "cuda" and not there:
        raise InputError("the device cuda is not there; use cpu or auto")
    return "cuda" if there and device != "cpu" else "cpu"


def blocks_of(experiment: Experiment) -> list[Block]:
    """Cut an experiment into blocks."""
    datasets = dict.fromkeys(setting.dataset for _, setting in experiment.conditions())
    return [
        Block(experiment, dataset, start, min(start + experiment.chunk, experiment.trials))
        for dataset in datasets
        for start in range(0, experiment.trials, experiment.chunk)
    ]


def run(
    experiments: list[Experiment],
    out: Path,
    *,
    trials: int | None = None,
    jobs: int = 1,
    device: str = "cpu",
    progress: Progress | None = None,
) -> dict[str, list[str]]:
    """Run experiments and write their rows under `out`; return the data sets each had to leave out."""
    if trials is not None:
        if trials < 1:
            raise InputError(f"the number of trials must be at least 1, got {trials}")
        experiments = [replace(experiment, trials=trials) for experiment in experiments]
    for experiment in experiments:
        one_of(f"kind of experiment {experiment.name!r}", experiment.kind, KINDS)
    if jobs < 1:
        raise InputError(f"the number of processes must be at least 1, got {jobs}")
    if out.exists() and not out.is_dir():
        raise InputError(f"the folder of results {out} is a file")
    missing = {experiment.name: _missing(experiment) for experiment in experiments}
    blocks = [
        block
        for experiment in experiments
        for block in blocks_of(experiment)
        if block.dataset not in missing[experiment.name]
    ]
    waiting = [block for block in blocks if not block.path(out).exists()]
    start = time.perf_counter()
    tick = progress or (lambda what, done, of: None)
    tick("", len(blocks) - len(waiting), len(blocks))
    # Blocks about time run alone, at the end: nothing else may disturb them.
    together = sorted((b for b in waiting if not b.experiment.timed), key=_cost, reverse=True)
    spent = _run_together(together, out, jobs, device, tick, len(blocks))
    for block in (b for b in waiting if b.experiment.timed):
        _timed(block, out, device, spent)
        tick(block.experiment.name, sum(b.path(out).exists() for b in blocks), len(blocks))
    for experiment in experiments:
        _collect(experiment, [b for b in blocks if b.experiment.name == experiment.name], out)
    _record(experiments, out, spent, {"jobs": jobs, "device": device, "blocks": len(waiting)}, start)
    return {name: datasets for name, datasets in missing.items() if datasets}


def _missing(experiment: Experiment) -> list[str]:
    missing = []
    for dataset in dict.fromkeys(setting.dataset for _, setting in experiment.conditions()):
        try:
            if dataset in CONTRIBUTED:
                load_contributed(dataset, stream(0, 0, "labels", dataset))
            else:
                load_dataset(dataset)
        except DataMissingError:
            missing.append(dataset)
    return missing


def _cost(block: Block) -> int:
    """Rough cost, so that long blocks start first and no core waits at the end."""
    rows = {"covertype": 20_000, "adult": 32_000, "cifar10n": 50_000, "digits": 1_797}.get(block.dataset, 500)
    return rows * (block.stop - block.start)


def _run_together(
    blocks: list[Block], out: Path, jobs: int, device: str, tick: Progress, total: int
) -> dict[str, float]:
    spent: dict[str, float] = {}
    done = total - len(blocks)
    if jobs <= 1 or len(blocks) <= 1:
        for block in blocks:
            _timed(block, out, device, spent)
            done += 1
            tick(block.experiment.name, done, total)
        return spent
    # A fresh process each: torch's threads do not survive a fork.
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        pending: dict[Future[float], Block] = {pool.submit(run_part, b, out, device): b for b in blocks}
        while pending:
            finished, _ = wait(pending, return_when=FIRST_COMPLETED)
            for future in finished:
                block = pending.pop(future)
                spent[block.experiment.name] = spent.get(block.experiment.name, 0.0) + future.result()
                done += 1
                tick(block.experiment.name, done, total)
    return spent


def _timed(block: Block, out: Path, device: str, spent: dict[str, float]) -> None:
    seconds = run_part(block, out, device)
    spent[block.experiment.name] = spent.get(block.experiment.name, 0.0) + seconds


def run_part(block: Block, out: Path, device: str) -> float:
    """Run one block and keep its rows; return the seconds it took."""
    run_block = importlib.import_module(KINDS[block.experiment.kind]).run_block
    start = time.perf_counter()
    rows = run_block(block.experiment, range(block.start, block.stop), block.dataset, device)
    path = block.path(out)
    path.parent.mkdir(parents=True, exist_ok=True)
    # A block is there whole or not at all, however the run ends.
    half = path.with_suffix(f".{os.getpid()}.half")
    pl.DataFrame(rows).write_parquet(half)
    half.rename(path)
    return time.perf_counter() - start


def _collect(experiment: Experiment, blocks: list[Block], out: Path) -> None:
    """Join the blocks of an experiment into one compact file of rows."""
    if not blocks:
        return
    frame = pl.concat([pl.read_parquet(block.path(out)) for block in blocks], how="diagonal")
    folder = out / "rows"
    folder.mkdir(parents=True, exist_ok=True)
    frame = frame.sort("trial", maintain_order=True)
    frame.write_parquet(folder / f"{experiment.name}.parquet", compression="zstd", compression_level=19)
    if experiment.samples:
        sample_rows(experiment).write_parquet(
            folder / f"{experiment.name}.samples.parquet", compression="zstd"
        )


def sample_rows(experiment: Experiment) -> pl.DataFrame:
    """q, s and who is bad for every sample of the first trial, for figures of single samples."""
    from anml.lab.trial import score_alone

    frames = []
    for key, setting in experiment.conditions():
        case = make_case(setting, 0, experiment.seed)
        columns = {"q": score_alone(setting, case).q, "s": case.v * case.r, "bad": case.bad}
        frames.append(pl.DataFrame({**columns}).with_columns(**{name: pl.lit(v) for name, v in key}))
    return pl.concat(frames)


def _record(
    experiments: list[Experiment], out: Path, spent: dict[str, float], how: dict[str, Any], start: float
) -> None:
    """Write down what ran, for how long and on what, beside the rows."""
    path = out / "run.json"
    out.mkdir(parents=True, exist_ok=True)
    record: dict[str, Any] = (
        json.loads(path.read_text()) if path.exists() else {"experiments": {}, "runs": []}
    )
    for experiment in experiments:
        entry = record["experiments"].setdefault(experiment.name, {})
        same = (
            entry.get("fingerprint") == experiment.fingerprint() and entry.get("trials") == experiment.trials
        )
        before = entry.get("seconds", 0.0) if same else 0.0
        entry.update(
            trials=experiment.trials,
            fingerprint=experiment.fingerprint(),
            seconds=round(before + spent.get(experiment.name, 0.0), 1),
        )
    if how["blocks"]:
        seconds = round(time.perf_counter() - start, 1)
        machine = {"cores": cores(), "machine": platform.machine()}
        record["runs"].append({**how, **machine, "experiments": len(experiments), "wall_seconds": seconds})
    path.write_text(json.dumps(record, indent=1) + "\n")

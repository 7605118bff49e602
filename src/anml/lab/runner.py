"""Run experiments: blocks of trials, on some processes, kept as they finish, so that a run can go on.

A block is some trials of an experiment on one data set. Of each block only cells without rows are run
(`anml.lab.store`). What is in a row does not depend on the number of processes; which other cells its
networks are trained with can change their last bit, and with it now and then a prediction.
"""

import hashlib
import multiprocessing
import os
import platform
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.core.progress import Progress
from anml.lab.bank.conditions import make_condition
from anml.lab.block import run_block
from anml.lab.cases import split, stream
from anml.lab.cells import cells_of, version_of
from anml.lab.contributed import cifar10n, load_contributed, replayed
from anml.lab.crowds import load_crowd
from anml.lab.data import DataMissingError, load_dataset
from anml.lab.door import check_runnable
from anml.lab.fields import EXPERIMENT, within
from anml.lab.kinds import PEERS
from anml.lab.pairs import load_pairs
from anml.lab.spec import Experiment
from anml.lab.store import (
    Done,
    check_folder,
    done,
    forget,
    has_parts,
    join_parts,
    keep_part,
    known_rows,
    make_folder,
    read_record,
    write_record,
)

# How a data set is loaded to see whether it is there, where it is none of `anml.lab.data`.
LOAD: dict[str, Callable[[str], Any]] = {
    "real": lambda name: load_contributed(name, stream(0, 0, "labels", name)),
    "crowds": load_crowd,
    "pairs": load_pairs,
    "bank": lambda name: make_condition(name, 0),
    "modules": lambda name: cifar10n() if name.startswith("cifar10n") else None,
    "approximations": lambda name: cifar10n() if name.startswith("cifar10n") else None,
    "longitudinal": lambda name: load_dataset("digits"),
    "reuse": lambda name: load_dataset("digits"),
    "relabel": lambda name: replayed(name.partition("-")[0]),
}


@dataclass(frozen=True)
class Block:
    """Some trials of an experiment on one data set; of these, the cells that have no rows yet."""

    experiment: Experiment
    dataset: str
    start: int
    stop: int
    cells: frozenset[str]

    @property
    def name(self) -> str:
        """Apart from every other block of the experiment."""
        cells = hashlib.sha256(" ".join(sorted(self.cells)).encode()).hexdigest()[:12]
        return f"{self.dataset}-{self.start}-{self.stop}-{cells}"


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0))


def processes(device: str) -> int:
    """How many at a time, where nobody says: one per core, or a few that share a GPU."""
    return cores() if device == "cpu" else min(cores(), 4)


def available(device: str) -> str:
    """Resolve `auto` to a GPU where there is one."""
    import torch

    one_of("device", device, ("auto", "cpu", "cuda"))
    there = torch.cuda.is_available()
    if device == "cuda" and not there:
        raise InputError("the device cuda is not there; use cpu or auto")
    return "cuda" if there and device != "cpu" else "cpu"


def blocks_of(experiment: Experiment, have: Done | None = None) -> list[Block]:
    """Cut an experiment into blocks, and leave out of each the cells that have rows of all its trials."""
    have = have or set()
    blocks = []
    for dataset in dict.fromkeys(setting.dataset for _, setting in experiment.conditions()):
        cells = [cell for cell, _, _, _ in cells_of(experiment, dataset)]
        for start in range(0, experiment.trials, experiment.chunk):
            stop = min(start + experiment.chunk, experiment.trials)
            open_ = {cell for cell in cells if any((cell, t) not in have for t in range(start, stop))}
            # Times of methods are compared with each other, so they are measured together.
            chosen = cells if open_ and experiment.timed else open_
            blocks.append(Block(experiment, dataset, start, stop, frozenset(chosen)))
    return blocks


def run(
    experiments: list[Experiment],
    out: Path,
    *,
    trials: int | None = None,
    jobs: int = 1,
    device: str = "cpu",
    fresh: bool = False,
    command: str = "",
    progress: Progress | None = None,
) -> dict[str, list[str]]:
    """Run experiments and write their rows under `out`; return the data sets each had to leave out.

    Rows that are there are not run again, unless a `fresh` run throws them away first.
    """
    if trials is not None:
        EXPERIMENT["trials"]("the number of trials", trials)
        experiments = [replace(experiment, trials=trials) for experiment in experiments]
    for experiment in experiments:
        check_runnable(experiment)
    if jobs < 1:
        raise InputError(f"the number of processes must be at least 1, got {jobs}")
    check_folder(out, experiments, fresh=fresh)
    start = time.perf_counter()
    missing = {experiment.name: _missing(experiment) for experiment in experiments}
    for experiment in experiments:
        _check_splits(experiment, missing[experiment.name])
    make_folder(out)
    if fresh:
        forget(experiments, out)
    blocks = [
        block
        for experiment in experiments
        for block in blocks_of(experiment, done(known_rows(experiment, out)))
        if block.dataset not in missing[experiment.name]
    ]
    waiting = [block for block in blocks if block.cells]
    tick = progress or (lambda what, done, of: None)
    tick("", len(blocks) - len(waiting), len(blocks))
    # Blocks about time run alone, at the end: nothing else may disturb them.
    together = sorted((b for b in waiting if not b.experiment.timed), key=_cost, reverse=True)
    alone = [b for b in waiting if b.experiment.timed]
    spent = _run_together(together, out, jobs, device, tick, (len(blocks) - len(waiting), len(blocks)))
    for position, block in enumerate(alone):
        _timed(block, out, device, spent)
        tick(block.experiment.name, len(blocks) - len(alone) + position + 1, len(blocks))
    changed = [experiment for experiment in experiments if has_parts(experiment, out)]
    for experiment in changed:
        join_parts(experiment, out)
    how = {"command": command, "jobs": jobs, "device": device, "blocks": len(waiting)}
    _record(experiments, out, spent, missing, how, start)
    keep_versions(changed, out)
    return {name: datasets for name, datasets in missing.items() if datasets}


def _check_splits(experiment: Experiment, missing: list[str]) -> None:
    """Are there rows enough for a training and a test part, wherever not all rows are used?"""
    if experiment.kind in PEERS:
        return
    parts = {
        (s.dataset, s.size, s.fraction): s for _, s in experiment.conditions() if s.size or s.fraction < 1
    }
    for setting in parts.values():
        if setting.dataset not in missing:
            rng = stream(experiment.seed, 0, "split", setting.dataset)
            with within(f"experiment {experiment.name!r}"):
                split(load_dataset(setting.dataset), setting, rng)


def _missing(experiment: Experiment) -> list[str]:
    missing = []
    for dataset in dict.fromkeys(setting.dataset for _, setting in experiment.conditions()):
        try:
            LOAD.get(experiment.kind, load_dataset)(dataset)
        except DataMissingError:
            missing.append(dataset)
    return missing


def _cost(block: Block) -> int:
    """Rough cost, so that long blocks start first and no core waits at the end."""
    rows = {"covertype": 20_000, "adult": 32_000, "cifar10n": 50_000, "digits": 1_797}.get(block.dataset, 500)
    return rows * (block.stop - block.start)


def _run_together(
    blocks: list[Block], out: Path, jobs: int, device: str, tick: Progress, count: tuple[int, int]
) -> dict[str, float]:
    spent: dict[str, float] = {}
    done, total = count
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
    start = time.perf_counter()
    rows = run_block(
        block.experiment, range(block.start, block.stop), block.dataset, device, cells=block.cells
    )
    asked = {(cell, trial) for cell in block.cells for trial in range(block.start, block.stop)}
    keep_part(block.experiment, out, block.name, rows, asked)
    return time.perf_counter() - start


def _record(
    experiments: list[Experiment],
    out: Path,
    spent: dict[str, float],
    missing: dict[str, list[str]],
    how: dict[str, Any],
    start: float,
) -> None:
    """Write down what ran, for how long and on what, beside the rows."""
    record, names = read_record(out), [experiment.name for experiment in experiments]
    for experiment in experiments:
        entry = record["experiments"].setdefault(experiment.name, {})
        entry.update(
            trials=experiment.trials,
            seconds=round(entry.get("seconds", 0.0) + spent.get(experiment.name, 0.0), 1),
            left_out=missing[experiment.name],
        )
    if how["blocks"]:
        seconds = round(time.perf_counter() - start, 1)
        machine = {"cores": cores(), "machine": platform.machine()}
        record["runs"].append({**how, **machine, "experiments": names, "wall_seconds": seconds})
    write_record(out, record)


def keep_versions(experiments: list[Experiment], out: Path) -> None:
    """Write down which version the rows of experiments came from."""
    record = read_record(out)
    for experiment in experiments:
        record["experiments"][experiment.name]["version"] = version_of(experiment)
    write_record(out, record)

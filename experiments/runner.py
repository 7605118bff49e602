"""Run experiments: blocks of trials on one data set, kept as they finish, so that a run can go on."""

import hashlib
import itertools
import multiprocessing
import os
import platform
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from anml.core.checks import as_integer, one_of
from anml.core.errors import InputError
from anml.core.progress import Progress
from experiments import store
from experiments.cases import split
from experiments.cells import cells_of, version_of
from experiments.data import DataMissingError, load_dataset
from experiments.door import check_runnable
from experiments.fields import error_context
from experiments.kinds import KINDS, run_block
from experiments.spec import EXPERIMENT, Experiment, random_stream
from experiments.store import Done


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


def default_jobs(device: str) -> int:
    """Default number of parallel jobs: one per core, or a few that share a GPU."""
    return cores() if device == "cpu" else min(cores(), 4)


def resolve_device(device: str) -> str:
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
    datasets = dict.fromkeys(setting.dataset for _, setting in experiment.conditions())
    for draw, dataset in itertools.product(experiment.draws, datasets):
        cells = [cell for cell, _, _, _ in cells_of(draw, dataset)]
        for start in range(0, experiment.trials, experiment.chunk):
            stop = min(start + experiment.chunk, experiment.trials)
            open_ = {cell for cell in cells if any((cell, t) not in have for t in range(start, stop))}
            # Times of methods are compared with each other, so they are measured together.
            chosen = cells if open_ and experiment.timed else open_
            blocks.append(Block(draw, dataset, start, stop, frozenset(chosen)))
    return blocks


def run(
    experiments: list[Experiment], out: Path, *, trials: int | None = None, jobs: int = 1,
    seeds: int | None = None, device: str = "cpu", fresh: bool = False, command: str = "",
    progress: Progress | None = None,
) -> dict[str, list[str]]:  # fmt: skip
    """Run experiments and write their rows under `out`; return the data sets each had to leave out.

    Rows that are there are not run again, unless a `fresh` run throws them away first.
    """
    if trials is not None:
        EXPERIMENT["trials"]("the number of trials", trials)
        experiments = [replace(experiment, trials=trials) for experiment in experiments]
    if seeds is not None:
        as_integer("the number of seeds", seeds, 1)
        experiments = [replace(experiment, seeds=experiment.seeds[:seeds]) for experiment in experiments]
    for experiment in experiments:
        check_runnable(experiment)
    as_integer("the number of processes", jobs, 1)
    store.check_folder(out, experiments, fresh=fresh)
    start = time.perf_counter()
    missing = {experiment.name: _missing(experiment) for experiment in experiments}
    for experiment in experiments:
        _check_splits(experiment, missing[experiment.name])
    store.make_folder(out)
    if fresh:
        store.discard_rows(experiments, out)
    blocks = [
        block
        for experiment in experiments
        for block in blocks_of(experiment, store.finished_trials(store.known_rows(experiment, out)))
        if block.dataset not in missing[experiment.name]
    ]
    waiting = [block for block in blocks if block.cells]
    tick, done = progress or (lambda what, done, total: None), len(blocks) - len(waiting)
    tick("", done, len(blocks))
    spent: dict[str, float] = defaultdict(float)
    for block, seconds in _run_blocks(waiting, out, jobs, device):
        spent[block.experiment.name] += seconds
        done += 1
        tick(block.experiment.name, done, len(blocks))
    how = {"command": command, "jobs": jobs, "device": device, "blocks": len(waiting)}
    _record(experiments, out, spent, missing, how, time.perf_counter() - start)
    return {name: datasets for name, datasets in missing.items() if datasets}


def _check_splits(experiment: Experiment, missing: list[str]) -> None:
    """Are there rows enough for a training and a test part, wherever not all rows are used?"""
    if KINDS[experiment.kind].peers:
        return
    parts = {
        (s.dataset, s.size, s.fraction): s for _, s in experiment.conditions() if s.size or s.fraction < 1
    }
    for setting in parts.values():
        if setting.dataset not in missing:
            rng = random_stream(experiment.seed, 0, "split", setting.dataset)
            with error_context(f"experiment {experiment.name!r}"):
                split(load_dataset(setting.dataset), setting, rng)


def _missing(experiment: Experiment) -> list[str]:
    missing, load = [], KINDS[experiment.kind].load
    if load is None:
        return []
    for dataset in dict.fromkeys(setting.dataset for _, setting in experiment.conditions()):
        try:
            load(dataset)
        except DataMissingError:
            missing.append(dataset)
    return missing


def _cost(block: Block) -> int:
    """Rough cost, so that long blocks start first and no core waits at the end."""
    rows = {"covertype": 20_000, "adult": 32_000, "cifar10n": 50_000, "digits": 1_797}.get(block.dataset, 500)
    return rows * (block.stop - block.start)


def _run_blocks(blocks: list[Block], out: Path, jobs: int, device: str) -> Iterator[tuple[Block, float]]:
    """Run blocks; each as it is done, with its seconds.

    Blocks about time run alone, at the end: nothing else may disturb them.
    """
    together = sorted((b for b in blocks if not b.experiment.timed), key=_cost, reverse=True)
    alone = [b for b in blocks if b.experiment.timed]
    if jobs > 1 and len(together) > 1:
        # A fresh process each: torch's threads do not survive a fork.
        with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
            pending = {pool.submit(run_part, block, out, device): block for block in together}
            for future in as_completed(pending):
                yield pending[future], future.result()
        together = []
    for block in (*together, *alone):
        yield block, run_part(block, out, device)


def run_part(block: Block, out: Path, device: str) -> float:
    """Run one block and keep its rows; return the seconds it took."""
    start = time.perf_counter()
    rows = run_block(
        block.experiment, range(block.start, block.stop), block.dataset, device, cells=block.cells
    )
    asked = {(cell, trial) for cell in block.cells for trial in range(block.start, block.stop)}
    store.keep_part(block.experiment, out, block.name, rows, asked)
    return time.perf_counter() - start


def _record(
    experiments: list[Experiment], out: Path, spent: Mapping[str, float], missing: dict[str, list[str]],
    how: dict[str, Any], seconds: float,
) -> None:  # fmt: skip
    """Join what is done; write down what ran, for how long, on what and by which version, beside the rows."""
    record, names = store.read_record(out), [experiment.name for experiment in experiments]
    for experiment in experiments:
        entry = record["experiments"].setdefault(experiment.name, {})
        entry.update(
            trials=experiment.trials,
            seconds=round(entry.get("seconds", 0.0) + spent[experiment.name], 1),
            left_out=missing[experiment.name],
        )
        if store.join_parts(experiment, out):
            entry["version"] = version_of(experiment)
    if how["blocks"]:
        machine = {"cores": cores(), "machine": platform.machine()}
        more = {"experiments": names, "wall_seconds": round(seconds, 1)}
        record["runs"].append({**how, **machine, **more})
    store.write_record(out, record)

"""`python bench/slices.py ROWS CONTRIBUTORS [ENGINE]`: an audit slice by slice, of made-up Parquet files.

20 measured columns, 5 classes, a tenth of the contributors give wrong labels nine times in ten, the others
one in fifty. Prints seconds, seconds per million rows, peak memory of all processes together (proportional
set size, so that what they share counts once), who was accused, and how well wrong labels are found.
"""

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
import polars as pl

PER_FILE = 250_000


def make(folder: Path, rows: int, people: int) -> np.ndarray:
    """Write the files; who is bad."""
    rng = np.random.default_rng(0)
    centres = 0.9 * np.random.default_rng(1).normal(size=(5, 20))
    bad = np.zeros(people, dtype=bool)
    bad[rng.permutation(people)[: people // 10]] = True
    for at, start in enumerate(range(0, rows, PER_FILE)):
        n = min(PER_FILE, rows - start)
        z, who = rng.integers(0, 5, n), rng.integers(0, people, n)
        x = (centres[z] + rng.normal(size=(n, 20))).astype(np.float32)
        y = np.where(rng.uniform(size=n) < 0.02, rng.integers(0, 5, n), z)
        y = np.where(bad[who] & (rng.uniform(size=n) < 0.9), (z + rng.integers(1, 5, n)) % 5, y)
        columns = {f"x{i:02d}": x[:, i] for i in range(20)}
        labels = {"label": [f"c{v}" for v in y], "contributor": [f"p{v:06d}" for v in who]}
        pl.DataFrame({**columns, **labels}).write_parquet(folder / f"data-{at:04d}.parquet")
        np.save(folder / f"right-{at:04d}.npy", y == z)
    return bad


def family(pid: int) -> list[int]:
    """A process and all of its descendants, and what Ray started for it."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            parents.setdefault(parent, []).append(int(entry.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += parents.get(one, [])
    return found


def memory(pids: list[int]) -> float:
    total = 0
    for pid in pids:
        try:
            for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
                if line.startswith("Pss:"):
                    total += int(line.split()[1])
        except OSError:
            continue
    return total / 2**20


def watch(pid: int, peak: list[float], stop: threading.Event, kill_after: float | None) -> None:
    start, killed = time.monotonic(), kill_after is None
    while not stop.wait(2.0):
        pids = family(pid)
        peak[0] = max(peak[0], memory(pids))
        if not killed and kill_after is not None and time.monotonic() - start > kill_after:
            workers = [p for p in pids if b"_Worker" in _command(p)]
            if workers:
                os.kill(workers[0], signal.SIGKILL)
                print(f"killed worker {workers[0]} with -9", flush=True)
                killed = True


def _command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int)
    parser.add_argument("people", type=int)
    parser.add_argument("engine", nargs="?", default="ray")
    parser.add_argument("--folder", type=Path, help="keep the files and the result here")
    parser.add_argument("--kill-after", type=float, help="kill a worker with -9 after so many seconds")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch)
        data = folder / f"data-{asked.rows}"
        if not data.is_dir():
            data.mkdir(parents=True)
            np.save(folder / f"bad-{asked.rows}.npy", make(data, asked.rows, asked.people))
        bad = np.load(folder / f"bad-{asked.rows}.npy")
        out = folder / f"out-{asked.rows}-{asked.engine}{'-killed' if asked.kill_after else ''}"
        command = [sys.executable, "-m", "anml.surfaces.cli", "audit", str(data), "--engine", asked.engine]
        start, peak, stop = time.perf_counter(), [0.0], threading.Event()
        done = subprocess.Popen([*command, "--out", str(out), "--json"], stdout=subprocess.DEVNULL)
        watcher = threading.Thread(target=watch, args=(done.pid, peak, stop, asked.kill_after))
        watcher.start()
        code = done.wait()
        seconds = time.perf_counter() - start
        stop.set()
        watcher.join()
        if code:
            raise SystemExit(code)
        report(asked.rows, seconds, peak[0], out, data, bad)


def report(rows: int, seconds: float, peak: float, out: Path, data: Path, bad: np.ndarray) -> None:
    people = pl.read_csv(out / "contributors.csv")
    accused = people.filter(pl.col("verdict").is_in(["answers without looking", "contradicts the others"]))
    liars = {f"p{at:06d}" for at in np.flatnonzero(bad)}
    found = set(accused["contributor"])
    p = pl.scan_parquet(out / "samples").select("p_correct").collect().to_series().to_numpy()
    right = np.concatenate([np.load(path) for path in sorted(data.glob("right-*.npy"))])
    kept = p >= 0.5
    print(f"{rows:,} rows: {seconds:.0f} s, {seconds / rows * 1e6:.1f} s per million, {peak:.2f} GiB; "
          f"{len(found & liars)} of {len(liars)} liars accused, {len(found - liars)} others; "
          f"{right[kept].mean():.2%} of kept labels are right, "
          f"{(~kept)[~right].mean():.1%} of wrong ones left out", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()

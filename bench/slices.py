"""`python bench/slices.py ROWS CONTRIBUTORS [ENGINE]`: an audit slice by slice, of made-up Parquet files.

20 measured columns, 5 classes, a tenth of the contributors give wrong labels nine times in ten, the others
one in fifty. With `--items 3` three labels of each item, with `--credentials` a verification of each row,
with `--to-the-end` also `relabel`, `settle` and `statement` of the run. Prints seconds, seconds per million
rows, peak memory of all processes together (proportional set size, so that what they share counts once), who
was accused, and how well wrong labels are found.
"""

import argparse
import json
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


def make(folder: Path, rows: int, people: int, items: int, credentials: bool) -> np.ndarray:
    """Write the files; who is bad. Labels of an item lie far apart."""
    rng = np.random.default_rng(0)
    centres = 0.9 * np.random.default_rng(1).normal(size=(5, 20))
    bad = np.zeros(people, dtype=bool)
    bad[rng.permutation(people)[: people // 10]] = True
    for at, start in enumerate(range(0, rows, PER_FILE)):
        n = min(PER_FILE, rows - start)
        item = (np.arange(start, start + n) * 7_919) % max(rows // items, 1)
        z, contributor = (item * 2_654_435_761 >> 7) % 5, rng.integers(0, people, n)
        noise = rng.normal(size=(n, 20))
        if items > 1:
            noise = np.stack([np.random.default_rng(int(one)).normal(size=20) for one in item])
        x = (centres[z] + noise).astype(np.float32)
        y = np.where(rng.uniform(size=n) < 0.02, rng.integers(0, 5, n), z)
        y = np.where(bad[contributor] & (rng.uniform(size=n) < 0.9), (z + rng.integers(1, 5, n)) % 5, y)
        columns = {f"x{i:02d}": x[:, i] for i in range(20)}
        labels = {"label": [f"c{v}" for v in y], "contributor": [f"p{v:06d}" for v in contributor]}
        if items > 1:
            labels["item"] = [f"t{v}" for v in item]
        if credentials:
            columns["verification"] = np.clip(np.where(y == z, 0.7, 0.5) + rng.normal(0, 0.15, n), 0, 1)
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
    result, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        result.append(one)
        waiting += parents.get(one, [])
    return result


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
            workers = [p for p in pids if b"ray::_on_one_thread" in _command(p)]
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
    parser.add_argument("--kill-driver", type=float, help="kill the driver after so many seconds, and go on")
    parser.add_argument("--items", type=int, default=1, help="labels of each item")
    parser.add_argument("--credentials", action="store_true")
    parser.add_argument("--to-the-end", action="store_true", help="relabel, settle and state the run as well")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = asked.folder or Path(scratch)
        data = folder / f"data-{asked.rows}"
        if not data.is_dir():
            data.mkdir(parents=True)
            bad = make(data, asked.rows, asked.people, asked.items, asked.credentials)
            np.save(folder / f"bad-{asked.rows}.npy", bad)
        bad = np.load(folder / f"bad-{asked.rows}.npy")
        out = folder / f"out-{asked.rows}-{asked.engine}{'-killed' if asked.kill_after else ''}"
        command = [sys.executable, "-m", "anml.cli.main", "audit", str(data), "--engine", asked.engine]
        command += ["--out", str(out), "--json"]
        start, peak, stop = time.perf_counter(), [0.0], threading.Event()
        if asked.kill_driver:
            driver = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            time.sleep(asked.kill_driver)
            driver.kill()
            print(f"killed the driver with -9 (it had ended: {driver.wait() == 0})", flush=True)
        done = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        watcher = threading.Thread(target=watch, args=(done.pid, peak, stop, asked.kill_after))
        watcher.start()
        code = done.wait()
        seconds = time.perf_counter() - start
        stop.set()
        watcher.join()
        if code:
            raise SystemExit(code)
        report(asked.rows, seconds, peak[0], out, data, bad)
        if asked.to_the_end:
            to_the_end(folder, out)


def to_the_end(folder: Path, run: Path) -> None:
    """Relabel, settle and state a run, and say how long each takes."""
    place = {"ANML_LEDGER": str(folder / "books.db"), "ANML_STAFF_KEYS": str(folder / "staff")}
    terms = ["--pool", "1000", "--currency", "EUR", "--source", "table", "--window-days", "0", "--by", "ada"]

    def anml(*words: str, code: int = 0) -> str:
        start = time.perf_counter()
        command = [sys.executable, "-m", "anml", *words]
        done = subprocess.run(
            command, env={**os.environ, **place}, capture_output=True, text=True, check=False
        )
        if done.returncode != code:
            raise SystemExit(done.stderr)
        print(f"anml {words[0]}: {time.perf_counter() - start:.1f} s", flush=True)
        return done.stdout

    anml("relabel", str(run), "--out", str(folder / "look.csv"))
    anml(
        "ledger", "init", "--origin", "books", "--by", "ada", "--appeals", "x@example.org", "--single-person"
    )
    sid = json.loads(anml("settle", str(run), *terms, "--json"))["settlement"]
    inputs = json.loads(anml("settle", "--approve", sid, "--by", "ada", "--json", code=3))["digest"]
    anml("settle", "--approve", sid, "--by", "ada", "--yes", inputs)
    anml("statement", sid, "--out", str(folder / "statements"), "--by", "ada")


def report(rows: int, seconds: float, peak: float, out: Path, data: Path, bad: np.ndarray) -> None:
    people = pl.read_csv(out / "contributors.csv")
    accused = people.filter(pl.col("verdict").is_in(["no better than guessing", "contradicts the others"]))
    liars = {f"p{at:06d}" for at in np.flatnonzero(bad)}
    results = set(accused["contributor"])
    p = (
        pl.scan_parquet(out / "samples")
        .select("row", "p_correct")
        .collect()
        .sort("row")["p_correct"]
        .to_numpy()
    )
    right = np.concatenate([np.load(path) for path in sorted(data.glob("right-*.npy"))])
    kept = p >= 0.5
    print(f"{rows:,} rows: {seconds:.0f} s, {seconds / rows * 1e6:.1f} s per million, {peak:.2f} GiB; "
          f"{len(results & liars)} of {len(liars)} liars accused, {len(results - liars)} others; "
          f"{right[kept].mean():.2%} of kept labels are right, "
          f"{(~kept)[~right].mean():.1%} of wrong ones left out", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()

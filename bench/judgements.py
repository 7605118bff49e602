"""Many comparisons or spans: processor time, memory, and who is accused.

python bench/judgements.py preference|spans JUDGEMENTS PEOPLE
"""

import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

BAD = 0.1


def comparisons(count: int, people: int, rng: np.random.Generator) -> pl.DataFrame:
    """Four answers to a prompt, twenty comparisons of each prompt; the bad always take the first."""
    prompts = max(count // 20, 10)
    scores, prompt = rng.normal(0, 1.5, (prompts, 4)), rng.integers(0, prompts, count)
    first, contributor = rng.integers(0, 4, count), rng.integers(0, people, count)
    second = (first + rng.integers(1, 4, count)) % 4
    p = 1 / (1 + np.exp(scores[prompt, second] - scores[prompt, first]))
    took = (contributor < BAD * people) | (rng.random(count) < p)
    names = {"prompt": prompt, "first": first, "second": second, "judge": contributor}
    shown = {name: pl.format("{}", pl.Series(codes)) for name, codes in names.items()}
    return pl.select(**shown, choice=pl.Series(np.where(took, "first", "second")))


def spans(count: int, people: int, rng: np.random.Generator) -> pl.DataFrame:
    """Four places of three types in each document, by three people; the bad mark anywhere."""
    documents = count // 12
    shape = documents, 3, 4
    contributor = rng.integers(0, people, (documents, 1)) + np.cumsum(
        rng.integers(1, people // 3, shape[:2]), axis=1
    )
    contributor = np.broadcast_to((contributor % people)[:, :, None], shape).ravel()
    kind = np.broadcast_to(rng.integers(0, 3, (documents, 1, 4)), shape).ravel()
    start = np.broadcast_to(np.arange(4) * 30 + 5, shape).ravel()
    document = np.repeat(np.arange(documents), 12)
    off, wrong, inputs = rng.random((3, len(contributor))) < np.array([0.1, 0.07, 0.9])[:, None]
    end, bad = start + 8 + kind, contributor < BAD * people
    start = np.where(bad, rng.integers(0, 100, len(contributor)), start + off)
    marks = {
        "document": pl.format("d{}", pl.Series(document)),
        "annotator": pl.format("{}", pl.Series(contributor)),
        "start": pl.Series(start),
        "end": pl.Series(np.where(bad, start + 10, end)),
        "type": pl.Series(np.array(["PER", "LOC", "ORG"])[(kind + wrong) % 3]),
    }
    return pl.select(**marks).filter(pl.Series(inputs))


MADE = {"preference": (comparisons, ["--column", "group=prompt"]), "spans": (spans, [])}


def main(task: str, count: int, people: int) -> None:
    """Write the table, audit it in a process of its own, and say what it took."""
    make, options = MADE[task]
    frame = make(count, people, np.random.default_rng(0))
    with tempfile.TemporaryDirectory() as folder:
        data, run = Path(folder, "data.parquet"), Path(folder, "run")
        frame.write_parquet(data)
        command = [sys.executable, "-m", "anml", "audit", data, "--task", task, "--out", run, "--quiet"]
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        subprocess.run([*command, *options], check=True, env=environment, stdout=subprocess.DEVNULL)
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        verdicts = pl.read_csv(run / "contributors.csv").select("contributor", "verdict")
    accused = verdicts.filter(pl.col("verdict").is_in(["no better than guessing", "contradicts the others"]))
    bad = (accused["contributor"].cast(pl.Int64) < BAD * people).sum()
    print(
        f"{task}: {frame.height:,} by {verdicts.height:,} people in "
        f"{used.ru_utime + used.ru_stime:.0f} s of processor time and {used.ru_maxrss / 2**20:.2f} GiB; "
        f"{bad:,} of {round(BAD * people):,} bad ones accused, and {accused.height - bad:,} others"
    )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))

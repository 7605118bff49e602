"""A table for engines: items with several labels, credentials, times, known labels, predictions beside it."""

from pathlib import Path

import numpy as np
import polars as pl

from anml.core.checks import Floats


def crowd(items: int = 200, per: int = 4, people: int = 12, seed: int = 0) -> tuple[pl.DataFrame, Floats]:
    """Two of the people are bad, the last guesses in the second half of the year; and predictions."""
    rng = np.random.default_rng(seed)
    truth, item = rng.integers(0, 3, items), np.repeat(np.arange(items), per)
    contributor = np.concatenate([rng.permutation(people)[:per] for _ in range(items)])
    day, n = rng.integers(0, 330, len(item)), len(item)
    skill = np.r_[0.05, 0.35, np.linspace(0.8, 0.97, people - 2)][contributor]
    skill = np.where((contributor == people - 1) & (day > 165), 1 / 3, skill)
    right = rng.uniform(size=n) < skill
    y = np.where(right, truth[item], (truth[item] + rng.integers(1, 3, n)) % 3)
    p = np.full((items, 3), 0.15)
    p[np.arange(items), np.where(rng.uniform(size=items) < 0.8, truth, (truth + 1) % 3)] = 0.7
    order = rng.permutation(n)
    frame = pl.DataFrame(
        {
            "task": [f"t{at:04d}" for at in item],
            "label": [f"c{code}" for code in y],
            "contributor": [f"p{code:02d}" for code in contributor],
            "verification": np.clip(np.where(right, 0.7, 0.4) + rng.normal(0, 0.15, n), 0, 1),
            "reputation": np.clip(skill + rng.normal(0, 0.1, n), 0, 1),
            "when": [f"2025-{1 + each // 28:02d}-{1 + each % 28:02d}" for each in day],
            # Of a few items, which are not in every slice.
            "truth": [f"c{truth[at]}" if at < 3 else None for at in item],
        }
    )[order.tolist()]
    # Some labels are missing.
    gaps = pl.int_range(pl.len()) % 97 == 5
    return frame.with_columns(label=pl.when(~gaps).then("label")), p[item][order]


def written(frame: pl.DataFrame, folder: Path, rows: int) -> Path:
    """The table as Parquet files of so many rows."""
    folder.mkdir(parents=True)
    for at, start in enumerate(range(0, frame.height, rows)):
        frame.slice(start, rows).write_parquet(folder / f"{at}.parquet")
    return folder


def _pairs() -> pl.DataFrame:
    """Ten judges, of whom the first always takes the first."""
    rng = np.random.default_rng(0)
    contributor, topic = np.repeat(np.arange(10), 40), rng.integers(0, 3, 400)
    first = rng.integers(0, 5, 400)
    second = (first + rng.integers(1, 5, 400)) % 5
    chosen = np.where(rng.random(400) < 1 / (1 + np.exp(1.5 * (second - first))), "first", "second")
    chosen = np.where(rng.random(400) < 0.1, "equal", chosen)
    names = {"topic": topic, "first": first, "second": second, "judge": contributor}
    shown = {name: [f"{name[0]}{at}" for at in codes] for name, codes in names.items()}
    return pl.DataFrame(shown | {"choice": np.where(contributor == 0, "first", chosen)})


def _marked(places: tuple[str, ...]) -> pl.DataFrame:
    """Three types of places in forty documents, by six people, of whom the last marks anywhere."""
    rng, made = np.random.default_rng(1), []
    for document in range(40):
        right = [(40 * k + int(rng.integers(0, 20)), int(rng.integers(0, 3))) for k in range(3)]
        for contributor in range(6):
            for start, kind in right:
                if rng.random() < 0.1:
                    continue
                begin = int(rng.integers(0, 150)) if contributor == 5 else start + int(rng.random() < 0.1)
                kind = int(rng.integers(0, 3)) if rng.random() < 0.1 else kind
                size = (begin + 9,) if len(places) == 2 else (5, 12, 10)
                made.append((f"d{document}", f"a{contributor}", f"k{kind}", begin, *size))
    return pl.DataFrame(made, schema=["document", "annotator", "type", *places], orient="row")


def _graded(tags: bool) -> pl.DataFrame:
    """Grades, or sets of tags, of eighty things by seven people, of whom the last answers anyhow."""
    rng, made = np.random.default_rng(2), []
    for thing in range(80):
        grade, own = int(rng.integers(1, 6)), rng.random(4) < 0.4
        for contributor in range(7):
            blind = contributor == 6
            mark = int(rng.integers(1, 6)) if blind else int(np.clip(grade + rng.integers(-1, 2), 1, 5))
            ticked = own ^ (rng.random(4) < (0.5 if blind else 0.08))
            sets = ";".join(name for name, on in zip("abcd", ticked, strict=True) if on)
            made.append((f"i{thing}", f"w{contributor}", sets if tags else mark))
    return pl.DataFrame(made, schema=["item", "worker", "tags" if tags else "grade"], orient="row")


# A table of every shape.
SHAPED = {
    "preferences": _pairs,
    "ordinal": lambda: _graded(tags=False),
    "tags": lambda: _graded(tags=True),
    "spans": lambda: _marked(("start", "end")),
    "boxes": lambda: _marked(("x", "y", "width", "height")),
}


def check_alike(result: pl.DataFrame, wanted: pl.DataFrame, atol: float) -> None:
    """Assert that an engine and the in-memory audit agree: figures within `atol`, the rest exactly."""
    for name in wanted.columns:
        if wanted.schema[name] == pl.Float64:
            one, two = (each[name].fill_null(-1).to_numpy() for each in (result, wanted))
            np.testing.assert_allclose(one, two, atol=atol, err_msg=name)
        else:
            assert result[name].to_list() == wanted[name].to_list(), name

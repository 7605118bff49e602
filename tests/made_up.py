"""Small made-up tables: two clear classes, four contributors, the last of them mostly wrong."""

from pathlib import Path

import numpy as np
import polars as pl

VERIFIED = {"ann": "reproduced", "bob": "peer-reviewed", "cat": "institution", "dan": "self-attested"}
REPUTED = {"ann": "top", "bob": "established", "cat": "established", "dan": "poor"}
WRONG = {"ann": 0.0, "bob": 0.02, "cat": 0.05, "dan": 0.8}


def consortium(rows: int = 120, seed: int = 0) -> pl.DataFrame:
    """Three numbers, a label, and everything that can be known about a contribution."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 2, rows)
    x = rng.normal(size=(rows, 3)) + 2.5 * right[:, None]
    who = np.resize(list(WRONG), rows)
    label = np.where(rng.uniform(size=rows) < [WRONG[name] for name in who], 1 - right, right)
    return pl.DataFrame(
        {
            "width": x[:, 0],
            "height": x[:, 1],
            "depth": x[:, 2],
            "label": np.array(["no", "yes"])[label].tolist(),
            "contributor": who.tolist(),
            "verification": [VERIFIED[name] for name in who],
            "reputation": [REPUTED[name] for name in who],
            "labeled_at": [f"{2020 + at % 6}-03-01" for at in range(rows)],
        }
    )


def two_weeks(place: Path) -> Path:
    """A folder with runs of two weeks of one consortium: dan lies in the second, and not in the first."""
    import anml

    seen = pl.when(pl.col("width") + pl.col("height") + pl.col("depth") > 3.75).then(pl.lit("yes"))
    honest = pl.when(pl.col("contributor") == "dan").then(seen.otherwise(pl.lit("no"))).otherwise("label")
    weeks = {"one": consortium(160).with_columns(label=honest), "two": consortium(160, seed=5)}
    for name, frame in weeks.items():
        frame.write_csv(place / f"{name}.csv")
        anml.audit(place / f"{name}.csv", compare=False).save(place / name)
    return place


def measurements(rows: int = 120, seed: int = 0) -> pl.DataFrame:
    """The same people measuring a quantity; the last of them is far off."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    who = np.resize(list(WRONG), rows)
    off = np.where((who == "dan") & (rng.uniform(size=rows) < 0.8), 8.0, 0.0)
    dose = 3 * x[:, 0] - x[:, 1] + 0.1 * rng.normal(size=rows) + off
    return pl.DataFrame({"mass": x[:, 0], "age": x[:, 1], "dose": dose, "contributor": who.tolist()})


def reviews(rows: int = 120, seed: int = 0) -> pl.DataFrame:
    """Sentences that are good or bad by one word; the last contributor says the opposite."""
    rng = np.random.default_rng(seed)
    words = {"good": ["lovely", "tasty", "friendly"], "bad": ["cold", "stale", "rude"]}
    places = ["kitchen", "garden", "window", "corner", "market", "station"]
    right = rng.choice(["good", "bad"], rows)
    texts = [
        f"day {at}: the {rng.choice(words[mood])} {rng.choice(places)} was {rng.choice(words[mood])}"
        for at, mood in enumerate(right)
    ]
    who = np.resize(list(WRONG), rows)
    turned = (who == "dan") & (rng.uniform(size=rows) < 0.8)
    label = np.where(turned, np.where(right == "good", "bad", "good"), right)
    return pl.DataFrame({"text": texts, "label": label.tolist(), "annotator": who.tolist()})

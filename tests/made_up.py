"""Small made-up tables, and pictures that are drawn here, by contributors of known quality."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.cli.demo_data import MEMBERS

VERIFIED = {"ann": "reproduced", "bob": "peer-reviewed", "cat": "institution", "dan": "self-attested"}
REPUTED = {"ann": "top", "bob": "established", "cat": "established", "dan": "poor"}
WRONG = {"ann": 0.0, "bob": 0.02, "cat": 0.05, "dan": 0.8}


def consortium(rows: int = 120, seed: int = 0) -> pl.DataFrame:
    """Three numbers, a label, and everything that can be known about a contribution."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 2, rows)
    x = rng.normal(size=(rows, 3)) + 2.5 * right[:, None]
    contributor = np.resize(list(WRONG), rows)
    label = np.where(rng.uniform(size=rows) < [WRONG[name] for name in contributor], 1 - right, right)
    return pl.DataFrame(
        {
            "width": x[:, 0],
            "height": x[:, 1],
            "depth": x[:, 2],
            "label": np.array(["no", "yes"])[label].tolist(),
            "contributor": contributor.tolist(),
            "verification": [VERIFIED[name] for name in contributor],
            "reputation": [REPUTED[name] for name in contributor],
            "labeled_at": [f"{2020 + at % 6}-03-01" for at in range(rows)],
        }
    )


def two_weeks(place: Path) -> Path:
    """A folder with runs of two weeks of one consortium: dan lies in the second, and not in the first."""
    import anml

    inputs = pl.when(pl.col("width") + pl.col("height") + pl.col("depth") > 3.75).then(pl.lit("yes"))
    honest = pl.when(pl.col("contributor") == "dan").then(inputs.otherwise(pl.lit("no"))).otherwise("label")
    weeks = {"one": consortium(160).with_columns(label=honest), "two": consortium(160, seed=5)}
    for name, frame in weeks.items():
        frame.write_csv(place / f"{name}.csv")
        anml.audit(place / f"{name}.csv", evaluate=False).save(place / name)
    return place


def measurements(rows: int = 120, seed: int = 0) -> pl.DataFrame:
    """The same people measuring a quantity; the last of them is far off."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(rows, 2))
    contributor = np.resize(list(WRONG), rows)
    off = np.where((contributor == "dan") & (rng.uniform(size=rows) < 0.8), 8.0, 0.0)
    dose = 3 * x[:, 0] - x[:, 1] + 0.1 * rng.normal(size=rows) + off
    return pl.DataFrame({"mass": x[:, 0], "age": x[:, 1], "dose": dose, "contributor": contributor.tolist()})


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
    contributor = np.resize(list(WRONG), rows)
    turned = (contributor == "dan") & (rng.uniform(size=rows) < 0.8)
    label = np.where(turned, np.where(right == "good", "bad", "good"), right)
    return pl.DataFrame({"text": texts, "label": label.tolist(), "annotator": contributor.tolist()})


SHAPES = ("circle", "square", "triangle", "cross", "ring")
SIDE, FOLDER = 48, "pictures"


def pictures(folder: Path, seed: int = 0, count: int = 200) -> tuple[pl.DataFrame, Any]:
    """Draw pictures into a folder; a table of who labelled which as what, and which labels are wrong."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(0, len(SHAPES), count)
    shares, errors = np.array([(member.share, member.wrong) for member in MEMBERS]).T
    contributor = rng.choice(len(MEMBERS), size=count, p=shares / shares.sum())
    wrong = rng.uniform(size=count) < errors[contributor]
    labels = np.where(wrong, (shape + rng.integers(1, len(SHAPES), count)) % len(SHAPES), shape)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    names = [f"{FOLDER}/{at:04d}.png" for at in range(count)]
    for name, kind in zip(names, shape, strict=True):
        drawn(SHAPES[kind], rng).save(folder / name)
    given = {
        "label": [SHAPES[label] for label in labels],
        "contributor": [MEMBERS[i].name for i in contributor],
    }
    return pl.DataFrame({"image": names, **given}), wrong


def drawn(shape: str, rng: np.random.Generator) -> Any:
    """One shape of any colour, place and size, on a noisy ground."""
    from PIL import Image, ImageDraw

    ground, colour = rng.integers(0, 110, 3), rng.integers(130, 256, 3)
    image = Image.new("RGB", (SIDE, SIDE), tuple(int(c) for c in ground))
    draw = ImageDraw.Draw(image)
    half = int(rng.integers(8, 17))
    x, y = (int(rng.integers(half + 2, SIDE - half - 2)) for _ in range(2))
    ink = tuple(int(c) for c in colour)
    box = (x - half, y - half, x + half, y + half)
    if shape == "circle":
        draw.ellipse(box, fill=ink)
    elif shape == "square":
        draw.rectangle((x - 0.8 * half, y - 0.8 * half, x + 0.8 * half, y + 0.8 * half), fill=ink)
    elif shape == "triangle":
        draw.polygon([(x, y - half), (x - half, y + half), (x + half, y + half)], fill=ink)
    elif shape == "cross":
        thin = half / 3
        draw.rectangle((x - half, y - thin, x + half, y + thin), fill=ink)
        draw.rectangle((x - thin, y - half, x + thin, y + half), fill=ink)
    else:
        draw.ellipse(box, outline=ink, width=max(2, half // 3))
    noise = rng.normal(0, 18, (SIDE, SIDE, 3))
    return Image.fromarray(np.clip(np.asarray(image) + noise, 0, 255).astype(np.uint8))


def crowd_rows(classes: Sequence[str], items: int = 120, seed: int = 0) -> pl.DataFrame:
    """Labels of items by five annotators, of whom `eve` is wrong in two of three."""
    rng = np.random.default_rng(seed)
    correct = rng.integers(len(classes), size=items)
    rows = []
    for name, accuracy in {"ann": 0.92, "bob": 0.9, "cat": 0.93, "dan": 0.91, "eve": 0.3}.items():
        other = (correct + rng.integers(1, len(classes), size=items)) % len(classes)
        labels = np.where(rng.random(items) < accuracy, correct, other)
        rows += [(f"t{at}", name, classes[label]) for at, label in enumerate(labels)]
    return pl.DataFrame(rows, schema=["item", "annotator", "label"], orient="row")

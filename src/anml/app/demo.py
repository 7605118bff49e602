"""A made-up consortium: digits, or pictures that are drawn here, labelled by people of known quality."""

from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from anml.core.checks import Array, Bools, Ints


class DemoContributor(NamedTuple):
    """One contributor: share of the rows, share of wrong labels, and what their papers say."""

    name: str
    share: float
    wrong: float
    verification: str
    reputation: str


MEMBERS = [
    DemoContributor("lab-oslo", 0.14, 0.01, "reproduced", "top"),
    DemoContributor("lab-kyoto", 0.13, 0.02, "peer-reviewed", "established"),
    DemoContributor("clinic-lima", 0.11, 0.03, "peer-reviewed", "established"),
    DemoContributor("clinic-accra", 0.10, 0.03, "institution", "established"),
    DemoContributor("student-ana", 0.07, 0.03, "self-attested", "new"),
    DemoContributor("student-ben", 0.06, 0.04, "self-attested", "new"),
    DemoContributor("newcomer-zoe", 0.006, 0.0, "self-attested", "new"),
    DemoContributor("crowd-17", 0.09, 0.20, "self-attested", "new"),
    DemoContributor("vendor-alpha", 0.08, 0.35, "institution", "established"),
    DemoContributor("vendor-beta", 0.09, 0.90, "self-attested", "poor"),
    DemoContributor("click-farm-1", 0.07, 0.90, "self-attested", "new"),
    DemoContributor("click-farm-2", 0.054, 0.90, "institution", "established"),
]


def _labelled(true: Array, classes: int, rng: np.random.Generator) -> tuple[Any, Ints, Bools]:
    """Who labels each thing, as what, and whether that is wrong."""
    shares, errors = np.array([(member.share, member.wrong) for member in MEMBERS]).T
    who = rng.choice(len(MEMBERS), size=len(true), p=shares / shares.sum())
    wrong = rng.uniform(size=len(true)) < errors[who]
    labels = np.where(wrong, (true + rng.integers(1, classes, len(true))) % classes, true)
    return [MEMBERS[i] for i in who], labels, wrong


def demo_tables(seed: int = 0) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return a contributed table with wrong labels in it, and a test table with right ones."""
    x, y = load_digits(return_X_y=True)
    x_train, x_test, y_train, y_test = train_test_split(x, y, test_size=0.3, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    who, labels, _ = _labelled(y_train, 10, rng)
    days = rng.integers(0, 6 * 365, len(y_train))
    told: dict[str, list[Any]] = {"contributor": [each.name for each in who]}
    told |= {name: [getattr(each, name) for each in who] for name in ("verification", "reputation")}
    told["labeled_at"] = [date(2026, 1, 1) - timedelta(days=int(d)) for d in days]
    return _digits(x_train, labels).hstack(pl.DataFrame(told)), _digits(x_test, y_test)


def _digits(x: Array, labels: Array) -> pl.DataFrame:
    pixels = {f"pixel_{i:02d}": x[:, i].astype(int) for i in range(64)}
    return pl.DataFrame({**pixels, "label": [f"digit {digit}" for digit in labels]})


SHAPES = ("circle", "square", "triangle", "cross", "ring")
SIDE, PICTURES = 48, 700
FOLDER = "pictures"


def demo_pictures(folder: Path, seed: int = 0, count: int = PICTURES) -> tuple[pl.DataFrame, Any]:
    """Draw pictures into a folder; a table of who labelled which as what, and which labels are wrong."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(0, len(SHAPES), count)
    who, labels, wrong = _labelled(shape, len(SHAPES), rng)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    names = [f"{FOLDER}/{at:04d}.png" for at in range(count)]
    for name, kind in zip(names, shape, strict=True):
        drawn(SHAPES[kind], rng).save(folder / name)
    given = {"label": [SHAPES[label] for label in labels], "contributor": [each.name for each in who]}
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

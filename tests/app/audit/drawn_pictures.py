"""Pictures that the tests draw, labelled by contributors of known quality."""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.app.demo import MEMBERS

SHAPES = ("circle", "square", "triangle", "cross", "ring")
SIDE, PICTURES = 48, 700
FOLDER = "pictures"


def demo_pictures(folder: Path, seed: int = 0, count: int = PICTURES) -> tuple[pl.DataFrame, Any]:
    """Draw pictures into a folder; a table of who labelled which as what, and which labels are wrong."""
    rng = np.random.default_rng(seed)
    shape = rng.integers(0, len(SHAPES), count)
    shares = np.array([member.share for member in MEMBERS])
    who = rng.choice(len(MEMBERS), size=count, p=shares / shares.sum())
    wrong = rng.uniform(size=count) < np.array([member.wrong for member in MEMBERS])[who]
    labels = np.where(wrong, (shape + rng.integers(1, len(SHAPES), count)) % len(SHAPES), shape)
    (folder / FOLDER).mkdir(parents=True, exist_ok=True)
    names = [f"{FOLDER}/{at:04d}.png" for at in range(count)]
    for name, kind in zip(names, shape, strict=True):
        drawn(SHAPES[kind], rng).save(folder / name)
    frame = pl.DataFrame(
        {
            "image": names,
            "label": [SHAPES[label] for label in labels],
            "contributor": [MEMBERS[i].name for i in who],
        }
    )
    return frame, wrong


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

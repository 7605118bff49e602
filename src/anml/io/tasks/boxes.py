"""Boxes in pictures: those of different people that mostly cover each other are one candidate."""

from collections.abc import Mapping

import numpy as np
import polars as pl

from anml.core.checks import Floats, Ints
from anml.core.errors import InputError
from anml.io.roles import find_column
from anml.io.tasks.candidates import SpanAnnotations, candidate_labels, first_example, read_marks, valid_spans
from anml.io.tasks.types import BOXES, CandidateLabels, Given

BOXED: Mapping[str, tuple[str, ...]] = {
    "x": ("x", "left", "xmin", "x1"),
    "y": ("y", "top", "ymin", "y1"),
    "width": ("width", "w"),
    "height": ("height", "h"),
}
# What the far side is called, where a table has both corners.
FAR_CORNER = {"x": ("xmax", "x2", "right"), "y": ("ymax", "y2", "bottom")}
# Two boxes are the same place where they share this much of what they cover together; less is beside.
MIN_IOU, MIN_OVERLAP = 0.5, 0.1
# Tools round: a box may stick out of its picture by so much.
PIXEL_TOLERANCE = 1.0


def read_boxes(frame: pl.DataFrame, given: Given) -> CandidateLabels:
    """Boxes of a table: document, contributor, x, y, width, height (or the far corner), type."""
    return reduce_boxes(read_marks(with_sizes(frame), given, BOXED))


def with_sizes(frame: pl.DataFrame) -> pl.DataFrame:
    """Boxes with their sizes, where a table has both corners instead."""
    for near, size in (("x", "width"), ("y", "height")):
        named = (BOXED[near], FAR_CORNER[near], BOXED[size])
        low, far, sized = (find_column(frame.columns, {}, near, names) for names in named)
        if sized is None and low is not None and far is not None:
            sides = frame.select(pl.col(far, low).cast(pl.Float64, strict=False))
            frame = frame.drop(far).with_columns((sides[far] - sides[low]).alias(size))
    return frame


def reduce_boxes(read: SpanAnnotations) -> CandidateLabels:
    """Every box that anybody drew, judged by all who saw its picture."""
    marks, exposure, warnings = valid_spans(read, BOXED)
    x, y, width, height = (pl.col(name) for name in BOXED)
    beyond = (x < -PIXEL_TOLERANCE) | (y < -PIXEL_TOLERANCE)
    if read.lengths is not None:
        # Shares of the sides of the image, in hundredths.
        beyond = beyond | (x + width > 100 + PIXEL_TOLERANCE) | (y + height > 100 + PIXEL_TOLERANCE)
    flat = (width <= 0) | (height <= 0)
    for bad, why in ((flat, "covers nothing"), (beyond, "lies outside of the picture")):
        if not (wrong := marks.filter(bad)).is_empty():
            raise InputError(f"{first_example(wrong)} {why}")
    marks = marks.sort("document", "contributor", *BOXED, maintain_order=True)
    codes, near, count = np.zeros(marks.height, dtype=np.int64), [], 0
    annotators = marks["contributor"].to_numpy()
    place = marks.select(*BOXED).to_numpy()
    for rows in marks.with_row_index("row").group_by("document", maintain_order=True).agg("row")["row"]:
        at = rows.to_numpy().astype(np.int64)
        share = iou(place[at])
        part = cluster_boxes(share, annotators[at])
        codes[at] = part + count
        meets, other = np.nonzero((share > MIN_OVERLAP) & (part[:, None] != part[None, :]))
        near += [(annotators[at[one]], int(part[two]) + count) for one, two in zip(meets, other, strict=True)]
        count += int(part.max()) + 1
    marks = marks.with_columns(candidate=pl.Series(codes))
    means = [pl.col(name).median().round(2) for name in BOXED]
    candidates = marks.group_by("candidate", maintain_order=True).agg(pl.col("document").first(), *means)
    item = pl.format("{}:{},{},{},{}", "document", *BOXED)
    candidates = candidates.sort("candidate").with_columns(item=item)
    neighbours = pl.DataFrame(near, schema={"contributor": pl.String, "candidate": pl.Int64}, orient="row")
    return candidate_labels(BOXES, candidates, marks, exposure, neighbours, None, warnings)


def iou(boxes: Floats) -> Floats:
    """Intersection over union of each pair of boxes (x, y, width, height)."""
    low, size = boxes[:, :2], boxes[:, 2:]
    high = low + size
    both = np.minimum(high[:, None], high[None]) - np.maximum(low[:, None], low[None])
    shared = np.clip(both, 0, None).prod(axis=2)
    area = size.prod(axis=1)
    return np.asarray(shared / (area[:, None] + area[None] - shared))


def cluster_boxes(share: Floats, annotators: Ints) -> Ints:
    """Cluster boxes around the box with the largest total overlap, at most one box per contributor."""
    part = np.full(len(share), -1)
    close = np.where(share >= MIN_IOU, share, 0.0)
    for number in range(len(share)):
        if not (free := part < 0).any():
            break
        seed = int(np.where(free, (close * free).sum(axis=1), -1.0).argmax())
        taken = set()
        for at in np.argsort(-close[seed], kind="stable"):
            if part[at] < 0 and close[seed, at] > 0 and annotators[at] not in taken:
                part[at] = number
                taken.add(annotators[at])
    return part

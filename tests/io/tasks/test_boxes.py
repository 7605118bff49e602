"""Boxes that mostly cover each other are one place."""

import numpy as np
import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io.tasks.boxes import cluster_boxes, iou, read_boxes


def table(rows):
    names = ["image", "annotator", "x", "y", "width", "height", "label"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


BOXES = table([("p1", "ann", 0.0, 0.0, 10.0, 10.0, "car"), ("p1", "bob", 1.0, 0.0, 10.0, 10.0, "car"),
               ("p1", "eve", 50.0, 50.0, 5.0, 5.0, "dog"),
               ("p1", "bob", 6.0, 0.0, 10.0, 10.0, "car")])  # fmt: skip


def test_what_boxes_share():
    share = iou(np.array([[0, 0, 2, 2], [0, 0, 2, 2], [5, 5, 1, 1.0]]))
    assert share[0].tolist() == [1.0, 1.0, 0.0]


def test_two_of_one_person_are_two_places():
    share = np.array([[1, 0.9, 0.8], [0.9, 1, 0.7], [0.8, 0.7, 1]])
    assert cluster_boxes(share, np.array(["ann", "bob", "bob"])).tolist() == [0, 0, 1]


def test_boxes_are_judged_by_all_who_saw_the_picture():
    made = read_boxes(BOXES, {})
    assert made.shape.frames["candidates"].height == 3
    assert made.rows.height == 9
    car = made.rows.filter(pl.col("item").str.starts_with("p1:0.5")).sort("contributor")
    assert car["label"].to_list() == ["car", "car", "(nothing)"]
    # Ann's box also meets bob's second one.
    assert made.rows.filter(pl.col("near") & (pl.col("contributor") == "ann")).height == 1


def test_a_box_that_covers_nothing_is_refused():
    with pytest.raises(InputError, match="covers nothing"):
        read_boxes(pl.concat([BOXES, table([("p1", "ann", 0.0, 0.0, 0.0, 4.0, "car")])]), {})


def test_a_table_may_have_both_corners():
    sizes = pl.DataFrame({"image": ["i"] * 2, "annotator": ["ann", "bob"], "x": [1, 50], "y": [2, 50],
                          "width": [3, 5], "height": [4, 5], "label": ["car", "dog"]})  # fmt: skip
    corners = sizes.select(
        "image", "annotator", "label", xmin="x", ymin="y", xmax=pl.col("x") + pl.col("width"),
        ymax=pl.col("y") + pl.col("height"),
    )  # fmt: skip
    assert read_boxes(corners, {}).rows.equals(read_boxes(sizes, {}).rows)
    with pytest.raises(InputError, match="lies outside of the picture"):
        read_boxes(sizes.with_columns(x=pl.Series([-5, 1])), {})
    with pytest.raises(InputError, match="no column says width; call one of"):
        read_boxes(sizes.drop("width"), {})

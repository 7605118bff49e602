"""Input of an audit: detection of the file format, and its message."""

from pathlib import Path

import polars as pl
import pytest

from anml.core.errors import AnmlError, InputError
from anml.io.source import read_source
from intake_tables import FILES

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize("name", [name for name, format in FILES.items() if format != "table"])
def test_exports_come_as_labels_with_their_roles(name):
    result = read_source(DATA / name, "auto", {})
    assert result.format == FILES[name]
    assert result.roles.items() >= {"label": "label", "contributor": "contributor", "item": "item"}.items()
    assert result.notes[0].startswith(
        f"{name} was read as {FILES[name]}: {result.table.frame.height} labels by "
    )
    assert set(result.roles.values()) <= set(result.table.frame.columns)
    assert len(result.table.sha256) == 64


def test_reviews_in_a_file_become_v_without_a_ledger():
    result = read_source(DATA / "toloka.tsv", "auto", {})
    # One assignment was approved, one rejected, one only submitted, which says nothing.
    assert result.table.frame["verification"].to_list() == [0.70, 0.07, None]
    assert "2 reviews in this file, which nobody signed" in result.about_v
    assert result.others == ("truth", "true_label")


def test_without_reviews_v_is_not_made_up():
    result = read_source(DATA / "argilla_flat.json", "auto", {})
    assert "verification" not in result.table.frame.columns
    assert result.about_v == ""


def test_a_plain_table_stays_as_it_is():
    result = read_source(DATA / "crowd_long.csv", "auto", {})
    assert (result.format, result.roles, result.others, result.notes) == ("table", {}, (), [])


def test_a_named_format_goes_before_what_is_recognised():
    assert read_source(DATA / "toloka.tsv", "table", {}).format == "table"
    wide = read_source(DATA / "crowd_wide.csv", "crowd-wide", {})
    assert set(wide.table.frame.columns) == {"item", "contributor", "label"}


def test_other_columns_of_a_crowd_table_are_kept(tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("task,worker,label,size\nt1,w1,cat,1.5\nt1,w2,dog,1.5\n")
    result = read_source(path, "crowd-long", {})
    assert result.table.frame["size"].to_list() == [1.5, 1.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "neither a Label Studio nor an Argilla export"),
        ('{"a": 1}', "neither a Label Studio nor an Argilla export"),
        ('"text"', "neither a Label Studio nor an Argilla export"),
        ("{", "neither JSON nor lines of JSON"),
    ],
    ids=["empty", "other", "text", "broken"],
)
def test_other_json_is_refused_in_one_sentence(tmp_path, text, message):
    path = tmp_path / "x.json"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_source(path, "auto", {})


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(AnmlError, match="unknown format 'excel'"):
        read_source(tmp_path / "x.json", "excel", {})


def test_rows_of_the_ledger_are_recognised_with_all_their_columns(tmp_path):
    names = (
        "item",
        "contributor",
        "label",
        "time",
        "truth",
        "verification",
        "reputation",
        "level",
        "evidence",
    )
    path = tmp_path / "rows.parquet"
    pl.DataFrame({name: ["a"] for name in (*names, "batch")}).write_parquet(path)
    result = read_source(path, "auto", {})
    assert result.format == "ledger rows"
    assert result.others == ("level", "evidence", "batch", "truth")
    pl.DataFrame({name: ["a"] for name in names}).write_parquet(path)
    assert read_source(path, "auto", {}).format == "table"


def test_boxes_in_a_folder_of_images_keep_their_positions(tmp_path):
    boxes = [(1, 2, 9, 7), (40, 30, 12, 8)]
    rows = [
        (f"i{at}.png", name, "car", x, y, width, height)
        for at in range(4)
        for name, drawn in (("ann", boxes), ("bob", boxes[:1]))
        for x, y, width, height in drawn
    ]
    names = ["image", "annotator", "label", "x", "y", "width", "height"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(tmp_path / "annotations.csv")
    (tmp_path / "i0.png").write_bytes(b"")
    source = read_source(tmp_path, "auto", {"task": "auto"})
    assert source.shape is not None
    assert source.shape.kind == "boxes"

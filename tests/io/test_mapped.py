"""Any table with named columns: found by common names or named by hand."""

import pytest

from anml.core.errors import InputError
from anml.io import mapped
from anml.io.file import InputFile
from anml.io.mapped import _REVIEWS, NAMES, REQUIRED, map_columns


def read_mapped(path, columns=None):
    return mapped.read_with_mapping(InputFile(path), columns or {})


def rows(result, *names):
    return result.rows.select(*names).rows()


def test_tables_by_common_names_or_by_hand(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(
        "item,Worker-ID,label,review,reviewer,size\n1,007,a,accepted,z,3.5\n1,b,a,,,1\n2,b,c,rejected,b,2\n"
    )
    result = read_mapped(file)
    assert rows(result, "item", "contributor", "label", "size") == [
        ("1", "007", "a", 3.5),
        ("1", "b", "a", 1.0),
        ("2", "b", "c", 2.0),
    ]
    assert result.evidence.select("contributor", "kind", "issuer").rows() == [
        ("007", "review-accepted", "z"),
        ("b", "review-rejected", "b"),
    ]
    by_hand = read_mapped(file, {"contributor": "reviewer", "label": "size"})
    assert by_hand.rows["contributor"].to_list() == ["z", "b"]
    assert "1 of 3 rows do not say who" in by_hand.warnings[0]
    with pytest.raises(InputError, match="no column 'nobody' for contributor"):
        read_mapped(file, {"contributor": "nobody"})


def table(tmp_path, text):
    file = tmp_path / "t.csv"
    file.write_text(text)
    return file


@pytest.mark.parametrize(
    ("role", "alias"), [(role, alias) for role, names in NAMES.items() for alias in names]
)
def test_every_part_is_found_by_every_name(role, alias):
    needed = {"contributor": "worker", "label": "label"}
    names = ["size", alias, *(name for other, name in needed.items() if other != role)]
    assert map_columns(names, {})[role] == alias


def test_a_column_plays_one_part_only():
    """Taken for the item, a column is not the contributor as well, whatever it is called."""
    with pytest.raises(InputError, match="no column for the contributor"):
        map_columns(["label", "worker"], {"item": "worker"})
    assert map_columns(["label", "worker", "user"], {"item": "worker"})["contributor"] == "user"


def test_a_column_named_for_one_part_is_not_guessed_for_another():
    """A column called task is an item, unless somebody says that it is the contributor."""
    chosen = map_columns(["task", "label", "id"], {"contributor": "task"})
    assert chosen == {"contributor": "task", "label": "label", "item": "id"}


@pytest.mark.parametrize("missing", REQUIRED)
def test_the_parts_that_are_needed_are_named(missing):
    names = [{"contributor": "worker", "label": "label"}[role] for role in REQUIRED if role != missing]
    with pytest.raises(InputError, match=f"no column for the {missing}; name one of"):
        map_columns([*names, "size"], {})


@pytest.mark.parametrize(("word", "kind"), _REVIEWS.items())
def test_every_word_of_a_review(word, kind, tmp_path):
    file = table(tmp_path, f"item,worker,label,review\n1,ann,a,{word.upper()}\n2,bob,b,later\n")
    assert read_mapped(file).evidence.select("item", "kind", "issuer").rows() == [
        ("1", kind, "unknown reviewer")
    ]


def test_rows_without_a_label_are_left_out_and_items_counted_by_row(tmp_path):
    result = read_mapped(table(tmp_path, "worker,label\nann,a\nbob,\ncat,b\n"))
    assert rows(result, "item", "contributor", "label") == [("0", "ann", "a"), ("2", "cat", "b")]


def test_times_that_cannot_be_read_are_counted_and_shown(tmp_path):
    result = read_mapped(table(tmp_path, "worker,label,time\nann,a,2026-01-01\nbob,b,soon\ncat,a,later\n"))
    assert result.rows["time"].to_list() == ["2026-01-01T00:00:00.000000Z", None, None]
    assert result.warnings == [
        "column 'time' (time) has 2 values that are not times, the first 'soon'; they count as not known"
    ]


def test_an_empty_cell_stays_missing_in_the_data_columns(tmp_path):
    result = read_mapped(table(tmp_path, "worker,label,size,hue\nann,a,1,\nbob,b,,red\n"))
    assert result.rows.select("size", "hue").rows() == [(1, None), (None, "red")]

"""Result type of export readers: rows, attestations, warnings, and its parts."""

from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io import file as file_module
from anml.io.contributions import (
    EVIDENCE_COLUMNS,
    IS_TRUTH,
    KNOWN,
    REVIEWED,
    ROW_COLUMNS,
    as_object,
    as_object_list,
    assemble,
    label_text,
    read_typed,
    scalar_fields,
    utc_text,
)
from anml.io.file import InputFile


def test_times_and_json_at_the_door(tmp_path):
    assert utc_text("2026-01-01T00:00:00+02:00") == "2025-12-31T22:00:00.000000Z"
    assert utc_text(None) is None
    with pytest.raises(InputError, match="there is no file"):
        InputFile(tmp_path / "none.json").json  # noqa: B018


def row(item="1", contributor="ann", label="a", **more):
    return {"item": item, "contributor": contributor, "label": label, **more}


def proof(item="1", contributor="ann", kind="review-accepted", issuer="bob", at=None):
    return {"item": item, "contributor": contributor, "kind": kind, "issuer": issuer, "at": at}


class TestGather:
    def test_every_table_has_the_same_first_columns_as_text(self):
        result = assemble("x", [row(item=1, label=2, size=3.5), row(item=2, label=4)])
        assert result.rows.columns == [*ROW_COLUMNS, "size"]
        assert [result.rows[name].dtype for name in ROW_COLUMNS] == [pl.String] * len(ROW_COLUMNS)
        assert result.rows["label"].to_list() == ["2", "4"]
        assert result.rows["size"].to_list() == [3.5, None]
        assert result.evidence.columns == list(EVIDENCE_COLUMNS)

    def test_nothing_found_is_an_error(self):
        with pytest.raises(InputError, match="no finished toloka label was found"):
            assemble("toloka", [])

    def test_rows_of_nobody_are_left_out_and_said(self):
        result = assemble("x", [row(), row(contributor=None), row(contributor="bob")])
        assert result.rows["contributor"].to_list() == ["ann", "bob"]
        assert result.warnings == ["1 of 3 rows do not say who contributed them and were left out"]
        with pytest.raises(InputError, match="no row says who contributed it"):
            assemble("x", [row(contributor=None)])

    def test_what_is_said_of_work_that_nobody_did_is_left_out(self):
        result = assemble("x", [row()], [proof(), proof(contributor="zoe"), proof(contributor=None)])
        assert result.evidence["contributor"].to_list() == ["ann"]

    @pytest.mark.parametrize(("limit", "message"), [(5, False), (6, True)])
    def test_an_account_with_more_than_half_of_the_rows_is_named(self, limit, message):
        rows = [row(contributor="ann" if at < limit else f"c{at}") for at in range(10)]
        warnings = assemble("x", rows).warnings
        assert bool(warnings) == message
        if message:
            assert "one account, 'ann', holds 60% of the rows" in warnings[0]

    def test_a_single_contributor_is_not_accused_of_importing(self):
        assert assemble("x", [row()] * 5).warnings == []


class TestJson:
    def test_one_value_or_one_on_each_line(self, tmp_path):
        file = tmp_path / "x.json"
        file.write_text('\ufeff[{"a": 1}]', encoding="utf-8")
        assert InputFile(file).json == [{"a": 1}]
        file.write_text('{"a": 1}\n\n{"a": 2}\n')
        assert InputFile(file).json == [{"a": 1}, {"a": 2}]

    @pytest.mark.parametrize(
        ("data", "says"),
        [
            (b"", "x.json is empty"),
            (b"  \n ", "x.json is empty"),
            (b"\xff\xfe{", r"not UTF-8 text \(at byte 0\)"),
            (b'{"a": 1,}', "neither JSON nor lines of JSON .line 1"),
            (b'{"a": "\\ud800"}', "half of a letter"),
            (b"[" * 100_000, "nested too deeply"),
        ],
    )
    def test_what_is_wrong_is_one_sentence(self, tmp_path, data, says):
        file = tmp_path / "x.json"
        file.write_bytes(data)
        with pytest.raises(InputError, match=says) as raised:
            InputFile(file).json  # noqa: B018
        assert "\n" not in str(raised.value)

    def test_a_whole_letter_of_two_halves_is_read(self, tmp_path):
        file = tmp_path / "x.json"
        file.write_text('{"a": "\\ud83d\\ude00"}')
        assert InputFile(file).json == {"a": "😀"}

    def test_a_file_that_is_too_large_is_not_read(self, tmp_path, monkeypatch):
        file = tmp_path / "x.json"
        file.write_text("[1]")
        monkeypatch.setattr(file_module, "MAX_FILE_BYTES", 2)
        with pytest.raises(InputError, match="split it first"):
            InputFile(file).json  # noqa: B018


class TestParts:
    @pytest.mark.parametrize("value", [None, [], {}, ""])
    def test_nothing_is_empty(self, value):
        assert as_object_list(value, "x") == []
        assert as_object(value, "x") == {}

    @pytest.mark.parametrize("value", [[1], {"a": 1}, "text", 3])
    def test_other_shapes_are_named(self, value):
        with pytest.raises(InputError, match="annotations must be a list of objects, got"):
            as_object_list(value, "annotations")

    def test_an_object_is_an_object(self):
        assert as_object({"a": 1}, "x") == {"a": 1}
        with pytest.raises(InputError, match="data must be an object, got 'text'"):
            as_object("text", "data")

    def test_long_values_are_cut_short(self):
        with pytest.raises(InputError) as raised:
            as_object_list("x" * 1000, "annotations")
        assert len(str(raised.value)) < 120

    def test_plain_values_are_kept_and_renamed_where_they_clash(self):
        names = [*ROW_COLUMNS, KNOWN, REVIEWED, IS_TRUTH]
        result = scalar_fields(
            {**dict.fromkeys(names, 1), "size": 2, "parts": [1], "box": {"x": 1}, "none": None}
        )
        assert result == {**{f"data_{name}": 1 for name in names}, "size": 2}


class TestLabelText:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (None, None),
            ("", None),
            ([], None),
            ("a", "a"),
            (["a"], "a"),
            ([["a"]], "a"),
            (True, "true"),
            (4.5, "4.5"),
            (["b", "a"], '["a", "b"]'),
            ({"b": 1, "a": "é"}, '{"a": "é", "b": 1}'),
            ([2, 1], "[2, 1]"),
        ],
    )
    def test_by_hand(self, value, expected):
        assert label_text(value) == expected

    @given(st.lists(st.text(min_size=1, max_size=4), min_size=2, max_size=5), st.randoms())
    def test_the_order_of_choices_does_not_make_another_label(self, choices, random):
        assert label_text(random.sample(choices, len(choices))) == label_text(choices)


class TestTimes:
    @given(st.datetimes(timezones=st.timezones()))
    @settings(max_examples=30)
    def test_any_zone_is_the_same_moment_in_utc(self, moment):
        try:
            expected = moment.astimezone(UTC)
        except OverflowError:
            assert utc_text(moment) is None
            return
        assert datetime.fromisoformat(utc_text(moment)) == expected
        assert utc_text(moment).endswith("Z")

    @given(st.datetimes(min_value=datetime(1971, 1, 1), max_value=datetime(2200, 1, 1)))
    @settings(max_examples=30)
    def test_text_reads_back(self, moment):
        assert utc_text(utc_text(moment)) == utc_text(moment)
        assert utc_text(moment.replace(tzinfo=UTC).timestamp())[:19] == utc_text(moment)[:19]

    @pytest.mark.parametrize("value", [None, "", "soon", float("nan"), float("inf"), 1e30, [1]])
    def test_what_is_no_time_is_none(self, value):
        assert utc_text(value) is None

    def test_other_forms_are_read_where_they_are_named(self):
        assert utc_text("9/14/2025", ("%m/%d/%Y",)) == "2025-09-14T00:00:00.000000Z"
        assert utc_text("9/14/2025") is None


def test_identifiers_and_labels_are_text_whatever_they_look_like(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text("worker,size\n7,1.5\n8,2\n")
    result = read_typed(file, ["worker", "absent"])
    assert result["worker"].to_list() == ["7", "8"]
    assert result["size"].to_list() == [1.5, 2.0]


def test_numbers_that_fit_no_column_are_names():
    assert scalar_fields({"a": 2**70, "b": -(2**70), "c": 7, "d": True}) == {
        "a": str(2**70), "b": str(-(2**70)), "c": 7, "d": True,
    }  # fmt: skip

"""Exports: which one a file is; one law for every format."""

import json
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.io.contributions import EVIDENCE_COLUMNS, ROW_COLUMNS
from anml.io.file import InputFile
from anml.io.formats import FORMAT_SIGNATURES, FORMATS, detect_format, read_export
from intake_tables import FILES

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize(("name", "format"), FILES.items())
def test_files_are_recognised(name, format):
    assert detect_format(InputFile(DATA / name)) == format


def test_lines_of_json_are_recognised(tmp_path):
    tasks = json.loads((DATA / "label_studio.json").read_text())
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps(task) for task in tasks))
    assert detect_format(InputFile(path)) == "label-studio"


# A file of every format; a format that is added has to be named here.
OF_FORMAT = {
    "table": ("papers.csv", {"item": "sample", "label": "verdict", "contributor": "lab"}),
    "label-studio": ("label_studio.json", {}),
    "argilla": ("argilla_flat.json", {}),
    "crowd-long": ("crowd_long.csv", {}),
    "crowd-wide": ("crowd_wide.csv", {}),
    "toloka": ("toloka.tsv", {}),
    "mturk": ("mturk.csv", {}),
    "langfuse": ("langfuse.json", {}),
    "phoenix": ("phoenix.json", {}),
}


def test_every_format_has_a_file():
    assert set(OF_FORMAT) == set(FORMATS)


@pytest.mark.parametrize("format", FORMATS)
class TestEveryFormat:
    def read(self, format):
        name, columns = OF_FORMAT[format]
        return read_export(InputFile(DATA / name), format, columns)[1]

    def test_rows_say_who_labelled_what_how(self, format):
        rows = self.read(format).rows
        assert rows.columns[: len(ROW_COLUMNS)] == list(ROW_COLUMNS)
        assert rows.height > 1
        for name in ("item", "contributor", "label"):
            assert rows[name].dtype == pl.String
            assert rows[name].null_count() == 0

    def test_times_are_utc_or_missing(self, format):
        for text in self.read(format).rows["time"].drop_nulls():
            assert datetime.fromisoformat(text).tzinfo is not None
            assert text.endswith("Z")

    def test_evidence_is_about_labels_of_the_file(self, format):
        result = self.read(format)
        assert result.evidence.columns == list(EVIDENCE_COLUMNS)
        pairs = set(result.rows.select("item", "contributor").rows())
        assert set(result.evidence.select("item", "contributor").rows()) <= pairs
        assert set(result.evidence["kind"]) <= {"review-accepted", "review-rejected", "fixed"}

    def test_reading_twice_gives_the_same(self, format):
        one, two = self.read(format), self.read(format)
        assert one.rows.equals(two.rows)
        assert one.evidence.equals(two.evidence)
        assert one.warnings == two.warnings

    def test_data_columns_hold_plain_values(self, format):
        rows = self.read(format).rows
        assert not any(rows[name].dtype.is_nested() for name in rows.columns)

    @pytest.mark.parametrize("data", [b"", b"\x00\x01", b"[]", b"{}", b"a\n", b"[[[", b"\xff\xff"])
    def test_other_files_are_refused_in_one_sentence(self, format, data, tmp_path):
        name, columns = OF_FORMAT[format]
        file = tmp_path / f"x{Path(name).suffix}"
        file.write_bytes(data)
        with pytest.raises(AnmlError) as raised:
            read_export(InputFile(file), format, columns)
        assert "\n" not in str(raised.value)
        assert str(raised.value)

    def test_a_file_that_is_not_there_is_named(self, format, tmp_path):
        name, columns = OF_FORMAT[format]
        with pytest.raises(AnmlError, match="gone"):
            read_export(InputFile(tmp_path / f"gone{Path(name).suffix}"), format, columns)


@pytest.mark.parametrize("format", FORMAT_SIGNATURES)
def test_marks_are_columns_of_the_formats_own_file(format):
    result = detect_format(InputFile(DATA / OF_FORMAT[format][0]))
    assert result == format


def test_an_unknown_format_names_the_known():
    with pytest.raises(AnmlError, match="unknown format 'excel'; allowed: auto, table"):
        read_export(InputFile(DATA / "papers.csv"), "excel", {})

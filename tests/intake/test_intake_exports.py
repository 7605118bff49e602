"""Exports: which one a file is; one law for every format."""

import json
from datetime import datetime
from pathlib import Path

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.intake.contributions import EVIDENCE, ROWS
from anml.intake.exports import FORMATS, MARKS, read_export, recognise
from anml.intake.file import File
from intake_tables import FILES

DATA = Path(__file__).parents[1] / "data"


@pytest.mark.parametrize(("name", "format"), FILES.items())
def test_files_are_recognised(name, format):
    assert recognise(File(DATA / name)) == format


def test_lines_of_json_are_recognised(tmp_path):
    tasks = json.loads((DATA / "label_studio.json").read_text())
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps(task) for task in tasks))
    assert recognise(File(path)) == "label-studio"


# A file of every format; a format that is added has to be named here.
OF_FORMAT = {
    "table": ("papers.csv", {"item": "sample", "label": "verdict", "contributor": "lab"}),
    "label-studio": ("label_studio.json", {}),
    "argilla": ("argilla_flat.json", {}),
    "croissant": ("croissant.json", {}),
    "crowd-long": ("crowd_long.csv", {}),
    "crowd-wide": ("crowd_wide.csv", {}),
    "toloka": ("toloka.tsv", {}),
    "mturk": ("mturk.csv", {}),
}


def test_every_format_has_a_file():
    assert set(OF_FORMAT) == set(FORMATS)


@pytest.mark.parametrize("format", FORMATS)
class TestEveryFormat:
    def read(self, format):
        name, columns = OF_FORMAT[format]
        return read_export(File(DATA / name), format, columns)[1]

    def test_rows_say_who_labelled_what_how(self, format):
        rows = self.read(format).rows
        assert rows.columns[: len(ROWS)] == list(ROWS)
        assert rows.height > 1
        for name in ("item", "contributor", "label"):
            assert rows[name].dtype == pl.String
            assert rows[name].null_count() == 0

    def test_times_are_utc_or_missing(self, format):
        for text in self.read(format).rows["time"].drop_nulls():
            assert datetime.fromisoformat(text).tzinfo is not None
            assert text.endswith("Z")

    def test_evidence_is_about_labels_of_the_file(self, format):
        found = self.read(format)
        assert found.evidence.columns == list(EVIDENCE)
        pairs = set(found.rows.select("item", "contributor").rows())
        assert set(found.evidence.select("item", "contributor").rows()) <= pairs
        assert set(found.evidence["kind"]) <= {"review-accepted", "review-rejected", "fixed"}

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
            read_export(File(file), format, columns)
        assert "\n" not in str(raised.value)
        assert str(raised.value)

    def test_a_file_that_is_not_there_is_named(self, format, tmp_path):
        name, columns = OF_FORMAT[format]
        with pytest.raises(AnmlError, match="gone"):
            read_export(File(tmp_path / f"gone{Path(name).suffix}"), format, columns)


@pytest.mark.parametrize("format", MARKS)
def test_marks_are_columns_of_the_formats_own_file(format):
    found = recognise(File(DATA / OF_FORMAT[format][0]))
    assert found == format


def test_columns_named_by_hand_go_before_a_description():
    _, found = read_export(File(DATA / "croissant.json"), "croissant", {"label": "value"})
    assert found.rows["label"].to_list() == ["0.5", "0.1", "0.7", "0.9"]


def test_a_description_without_a_local_file_is_refused(tmp_path):
    about = json.loads((DATA / "croissant.json").read_text())
    about["distribution"] = [{"contentUrl": "https://lab.example/papers.csv"}]
    (tmp_path / "c.json").write_text(json.dumps(about))
    with pytest.raises(AnmlError, match="does not say which local file holds the data"):
        read_export(File(tmp_path / "c.json"), "croissant", {})


def test_an_unknown_format_names_the_known():
    with pytest.raises(AnmlError, match="unknown format 'excel'; allowed: auto, table"):
        read_export(File(DATA / "papers.csv"), "excel", {})

"""A file on its way in is read once, and its hash is that of its bytes."""

import hashlib
from collections import Counter
from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.io.file import InputFile
from anml.io.formats import read_export
from anml.io.source import read_source

DATA = Path(__file__).parents[1] / "data"
EXPORTS = {
    "label_studio.json": "label-studio", "argilla_flat.json": "argilla", "argilla_nested.json": "argilla",
    "toloka.tsv": "toloka", "mturk.csv": "mturk",
}  # fmt: skip


@pytest.fixture
def reads(monkeypatch):
    """Count the reads of each file."""
    inputs = Counter()
    whole = Path.read_bytes

    def read(path):
        inputs[path.name] += 1
        return whole(path)

    monkeypatch.setattr(Path, "read_bytes", read)
    return inputs


@pytest.mark.parametrize("name", EXPORTS)
def test_an_audit_reads_an_export_once(reads, name):
    result = read_source(DATA / name, "auto", {})
    assert reads[name] == 1
    assert result.format == EXPORTS[name]
    assert result.table.sha256 == hashlib.sha256((DATA / name).read_bytes()).hexdigest()


def test_a_plain_table_is_read_once(reads, tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("label,contributor,x\n0,ann,1\n1,bob,2\n")
    result = read_source(path, "auto", {})
    assert (result.format, reads["rows.csv"]) == ("table", 1)


def test_an_import_reads_it_once_too(reads):
    file = InputFile(DATA / "toloka.tsv")
    format, result = read_export(file, "auto", {})
    assert (format, result.rows.is_empty()) == ("toloka", False)
    digest = file.sha256
    assert reads == {"toloka.tsv": 1}
    assert digest == hashlib.sha256((DATA / "toloka.tsv").read_bytes()).hexdigest()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\xff\xfe", "is not UTF-8 text"),
        (b"{", "is neither JSON nor lines of JSON"),
        (b'["\\ud800"]', "half of a letter"),
        (b"[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_json_is_one_sentence(tmp_path, content, message):
    path = tmp_path / "export.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        InputFile(path).json  # noqa: B018


def test_lines_of_json_are_a_list(tmp_path):
    path = tmp_path / "export.jsonl"
    path.write_text('{"a": 1}\n\n{"a": 2}\n')
    assert InputFile(path).json == [{"a": 1}, {"a": 2}]

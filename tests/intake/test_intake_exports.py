"""Exports: which one a file is; one law for every format."""

import json
from pathlib import Path

import pytest

from anml.intake.exports import recognise

DATA = Path(__file__).parents[1] / "data"


FILES = {
    "label_studio.json": "label-studio",
    "argilla_nested.json": "argilla",
    "argilla_flat.json": "argilla",
    "croissant.json": "croissant",
    "toloka.tsv": "toloka",
    "mturk.csv": "mturk",
    "crowd_long.csv": "table",
    "crowd_wide.csv": "table",
    "papers.csv": "table",
}


@pytest.mark.parametrize(("name", "format"), FILES.items())
def test_files_are_recognised(name, format):
    assert recognise(DATA / name) == format


def test_lines_of_json_are_recognised(tmp_path):
    tasks = json.loads((DATA / "label_studio.json").read_text())
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(json.dumps(task) for task in tasks))
    assert recognise(path) == "label-studio"

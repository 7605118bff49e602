"""Which reader reads what; the rest is refused."""

import json

import pytest

from anml.core.errors import InputError, UnsupportedError
from anml.intake.file import File
from anml.intake.shapes.read import reduced


def test_a_format_without_that_shape_is_refused(tmp_path):
    path = tmp_path / "x.json"
    path.write_text(json.dumps({"@context": {}}))
    with pytest.raises(UnsupportedError, match="preference cannot be read from a file of croissant"):
        reduced(File(path), "preference", "croissant", {})


def test_an_export_is_a_list(tmp_path):
    path = tmp_path / "x.json"
    path.write_text("[1, 2]")
    with pytest.raises(InputError, match=r"x\.json is not a list of tasks"):
        reduced(File(path), "preference", "label-studio", {})

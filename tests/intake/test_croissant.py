"""Croissant: which column says who, what and when."""

from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.intake.croissant import read_croissant
from anml.intake.mapped import read_mapped

DATA = Path(__file__).parents[1] / "data"


def rows(found, *names):
    return found.rows.select(*names).rows()


def test_croissant_maps_columns_even_from_annotations():
    found = read_croissant(DATA / "croissant.json")
    assert found.columns == {"item": "sample", "label": "verdict", "contributor": "lab", "time": "measured"}
    assert found.file == "papers.csv"
    read = read_mapped(DATA / found.file, found.columns)
    assert rows(read, "item", "contributor", "label")[0] == ("p1", "lab-a", "up")


def test_croissant_without_a_contributor_is_an_error(tmp_path):
    file = tmp_path / "c.json"
    file.write_text('{"recordSet": []}')
    with pytest.raises(InputError, match="prov:wasAttributedTo"):
        read_croissant(file)

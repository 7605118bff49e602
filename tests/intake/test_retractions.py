"""Retractions: matched by DOI however it is spelt; nothing is guessed."""

from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.intake.mapped import read_mapped
from anml.intake.retractions import match_retractions, read_retractions

DATA = Path(__file__).parents[1] / "data"


def test_retractions_match_by_doi_however_it_is_spelt():
    table = read_mapped(DATA / "papers.csv", {"item": "sample", "label": "verdict", "contributor": "lab"})
    notices = read_retractions(DATA / "retractions.csv")
    assert notices.height == 5
    assert match_retractions(table.rows, notices).select("item", "contributor", "kind").rows() == [
        ("p1", "lab-a", "retracted"),
        ("p2", "lab-a", "concern"),
        ("p3", "lab-b", "correction"),
        ("p4", "lab-b", "retracted"),
        ("p4", "lab-b", "reinstated"),
    ]


def test_unknown_retraction_natures_are_an_error(tmp_path):
    file = tmp_path / "r.csv"
    file.write_text("OriginalPaperDOI,RetractionNature,RetractionDate\n10.1/x,Rumour,1/1/2025 0:00\n")
    with pytest.raises(InputError, match="unknown RetractionNature 'Rumour'"):
        read_retractions(file)

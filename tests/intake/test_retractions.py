"""Retractions: matched by DOI however it is spelt; nothing is guessed."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import AnmlError, InputError
from anml.core.signals.policy import KINDS
from anml.intake.file import File
from anml.intake.mapped import read_mapped
from anml.intake.retractions import NATURES, match_retractions, normal_doi, read_retractions

DATA = Path(__file__).parents[1] / "data"


def test_retractions_match_by_doi_however_it_is_spelt():
    named = {"item": "sample", "label": "verdict", "contributor": "lab"}
    table = read_mapped(File(DATA / "papers.csv"), named)
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
    with pytest.raises(AnmlError, match="unknown RetractionNature 'rumour'"):
        read_retractions(file)


HEADER = "OriginalPaperDOI,RetractionNature,RetractionDate\n"


def notices(tmp_path, *lines):
    file = tmp_path / "r.csv"
    file.write_text(HEADER + "".join(f"{line}\n" for line in lines))
    return read_retractions(file)


@pytest.mark.parametrize(("nature", "kind"), NATURES.items())
def test_every_nature_in_any_case(nature, kind, tmp_path):
    found = notices(tmp_path, f"10.1/x,{nature.title()},1/2/2025 0:00", f"10.1/y, {nature.upper()} ,1/2/2025")
    assert found["kind"].to_list() == [kind, kind]
    assert found["at"].to_list() == ["2025-01-02T00:00:00.000000Z"] * 2


def test_every_kind_is_one_that_v_knows():
    assert set(NATURES.values()) <= set(KINDS)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("10.1000/ABC", "10.1000/abc"),
        (" https://dx.doi.org/10.1/x ", "10.1/x"),
        ("HTTP://DOI.ORG/10.1/x", "10.1/x"),
        ("doi: 10.1/x", "10.1/x"),
        ("unavailable", None),
        ("", None),
        (None, None),
    ],
)
def test_spellings_of_a_doi(text, expected):
    assert normal_doi(text) == expected


@given(st.from_regex(r"\A10\.[0-9]{4}/[a-z0-9]{1,8}\Z"), st.sampled_from(["", "doi:", "https://doi.org/"]))
def test_a_spelling_is_normal_after_the_first_time(doi, start):
    assert normal_doi(start + doi.upper()) == doi == normal_doi(normal_doi(doi))


def test_a_date_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(InputError, match="the RetractionDate 'soon' cannot be read"):
        notices(tmp_path, "10.1/x,Retraction,soon")


def test_another_table_is_no_file_of_notices(tmp_path):
    (tmp_path / "r.csv").write_text("a,b\n1,2\n")
    with pytest.raises(InputError, match="has no column 'OriginalPaperDOI'; it needs OriginalPaperDOI,"):
        read_retractions(tmp_path / "r.csv")


def test_a_table_without_dois_cannot_be_matched(tmp_path):
    with pytest.raises(InputError, match="needs a column with DOIs"):
        match_retractions(pl.DataFrame({"item": ["1"]}), notices(tmp_path, "10.1/x,Retraction,1/1/2025"))


def test_every_row_of_a_paper_gets_each_notice_once(tmp_path):
    rows = pl.DataFrame({"item": ["1", "1", "2"], "contributor": ["a", "b", "a"], "doi": ["10.1/X"] * 3})
    found = match_retractions(rows, notices(tmp_path, *["10.1/x,Retraction,1/1/2025 0:00"] * 2))
    assert found.select("item", "contributor").rows() == [("1", "a"), ("1", "b"), ("2", "a")]
    assert set(found["issuer"]) == {"retraction-watch"}

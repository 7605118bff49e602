"""Conditions for pipelines: read from text, held against a result, exit code 1.

A whole process that fails by one is in test_cli.py.
"""

from types import SimpleNamespace

import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.core.stats import Estimate
from anml.surfaces.fail_if import FACTS, OF_CONTRIBUTORS, OF_RUN, condition_of, fail, failures

PEOPLE = pl.DataFrame(
    {
        "contributor": ["eve", "dan", "ann"],
        "quality": [0.2, 0.55, 0.98],
        "verdict": ["contradicts the others", "cannot tell", "reliable"],
    }
)
FOUND = SimpleNamespace(contributors=PEOPLE, wrong=Estimate(0.12, 0.1, 0.14), comparison=None, doubtful=None)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("quality<0.6", ["quality of eve is 0.2 and dan is 0.55"]),
        ("quality <= 0.2", ["quality of eve is 0.2"]),
        ("quality<0.1", []),
        ("quality>0.97", ["quality of ann is 0.98"]),
        ("wrong>10%", ["wrong is 0.12"]),
        ("wrong>=0.2 or accused", ["accused: eve"]),
        ("doubtful", []),
        ("quality<0.3 or wrong>1e-1", ["quality of eve is 0.2", "wrong is 0.12"]),
    ],
)
def test_what_fails_is_said_of_whom(text, said):
    assert failures(condition_of(text), FOUND) == said


def test_a_doubtful_result_says_why():
    doubtful = SimpleNamespace(**{**vars(FOUND), "doubtful": "two groups contradict each other"})
    assert failures(condition_of("doubtful"), doubtful) == [
        "the result is doubtful: two groups contradict each other"
    ]


def test_many_names_are_counted():
    many = pl.DataFrame({"contributor": [f"c{i}" for i in range(9)], "quality": [0.1] * 9})
    (said,) = failures(condition_of("quality<1"), SimpleNamespace(contributors=many))
    assert said.endswith("c4 is 0.1 and 4 more")


@pytest.mark.parametrize(
    "text",
    ["", "quality", "quality<", "<0.6", "quality=0.6", "quality<0.6.1", "quality<x", "or", "quality<1 or",
     "quality<0.6; rm", "accused<1", "0.6>quality", "QUALITY<1", "quality<nan"],
)  # fmt: skip
def test_what_is_no_condition_is_one_sentence(text):
    with pytest.raises(AnmlError) as refused:
        condition_of(text)
    assert "\n" not in str(refused.value)
    assert "--fail-if" in str(refused.value)


def test_a_misspelt_figure_is_suggested():
    with pytest.raises(AnmlError, match=r"unknown figure in --fail-if 'qualty' \(did you mean 'quality'\?\)"):
        condition_of("qualty<0.6")


def test_a_figure_that_was_not_measured_says_how():
    with pytest.raises(AnmlError, match="leave --no-compare out"):
        failures(condition_of("error>0.1"), FOUND)


def test_every_name_is_read():
    for name in (*OF_CONTRIBUTORS, *OF_RUN):
        assert condition_of(f"{name}<0.5")[0].name == name
    assert [part.name for part in condition_of(" or ".join(FACTS))] == list(FACTS)


def test_no_condition_never_fails(capsys):
    fail([], None, FOUND)
    fail(condition_of("quality<0"), "quality<0", FOUND)
    with pytest.raises(SystemExit) as stopped:
        fail(condition_of("accused"), "accused", FOUND)
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "failed (accused): accused: eve\n"


def test_names_cannot_move_the_cursor(capsys):
    bad = replace_names(FOUND, "\x1b[2Jeve")
    with pytest.raises(SystemExit):
        fail(condition_of("accused"), "accused", bad)
    assert "\x1b" not in capsys.readouterr().err


def replace_names(found, name):
    return SimpleNamespace(**{**vars(found), "contributors": PEOPLE.with_columns(contributor=pl.lit(name))})

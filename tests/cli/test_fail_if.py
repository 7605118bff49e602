"""Conditions for pipelines: read from text, held against a result, exit code 1.

A whole process that fails by one is in test_cli.py.
"""

from types import SimpleNamespace

import polars as pl
import pytest

from anml.cli.fail_if import (
    BOOLEAN_CONDITIONS,
    CONTRIBUTOR_METRICS,
    RUN_METRICS,
    evaluate_condition,
    fail,
    parse_condition,
)
from anml.core.errors import AnmlError
from anml.core.stats import Estimate

PEOPLE = pl.DataFrame(
    {
        "contributor": ["eve", "dan", "ann"],
        "accuracy": [0.2, 0.55, 0.98],
        "kept": [0, 4, 9],
        "kept_share": [0.0, 0.4, 0.9],
        "verdict": ["contradicts the others", "inconclusive", "reliable"],
    }
)
FOUND = SimpleNamespace(
    contributors=PEOPLE, label_error_rate=Estimate(0.12, 0.1, 0.14), evaluation=None, disputed_share=None
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("accuracy<0.6", ["accuracy of eve is 0.2 and dan is 0.55"]),
        ("accuracy <= 0.2", ["accuracy of eve is 0.2"]),
        ("accuracy<0.1", []),
        ("kept_share<0.5", ["kept_share of eve is 0 and dan is 0.4"]),
        ("kept<5", ["kept of eve is 0 and dan is 4"]),
        ("accuracy>0.97", ["accuracy of ann is 0.98"]),
        ("label_error_rate>10%", ["label_error_rate is 0.12"]),
        ("label_error_rate>=0.2 or flagged", ["flagged: eve"]),
        ("disputed", []),
        ("accuracy<0.3 or label_error_rate>1e-1", ["accuracy of eve is 0.2", "label_error_rate is 0.12"]),
    ],
)
def test_what_fails_is_said_of_whom(text, message):
    assert evaluate_condition(parse_condition(text), FOUND) == message


def test_a_disputed_result_says_why():
    disputed = SimpleNamespace(**{**vars(FOUND), "disputed_share": 0.4})
    assert evaluate_condition(parse_condition("disputed"), disputed) == [
        "the result is disputed: contributors of 40% of the rows contradict the rest, "
        "and the data cannot show which side is correct"
    ]


def test_many_names_are_counted():
    n_large = pl.DataFrame({"contributor": [f"c{i}" for i in range(9)], "accuracy": [0.1] * 9})
    (message,) = evaluate_condition(parse_condition("accuracy<1"), SimpleNamespace(contributors=n_large))
    assert message.endswith("c4 is 0.1 and 4 more")


@pytest.mark.parametrize(
    "text",
    ["", "accuracy", "accuracy<", "<0.6", "accuracy=0.6", "accuracy<0.6.1", "accuracy<x", "or",
     "accuracy<1 or", "accuracy<0.6; rm", "flagged<1", "0.6>accuracy", "ACCURACY<1", "accuracy<nan"],
)  # fmt: skip
def test_what_is_no_condition_is_one_sentence(text):
    with pytest.raises(AnmlError) as refused:
        parse_condition(text)
    assert "\n" not in str(refused.value)
    assert "--fail-if" in str(refused.value)


@pytest.mark.parametrize("text", ["kept<0.5", "kept<50%", "rows<0.5"])
def test_a_share_of_a_count_is_refused(text):
    with pytest.raises(AnmlError, match=r"is a number of rows, got .*; kept_share is the kept share"):
        parse_condition(text)


def test_a_misspelt_figure_is_suggested():
    with pytest.raises(
        AnmlError, match=r"unknown metric in --fail-if 'acuracy' \(did you mean 'accuracy'\?\)"
    ):
        parse_condition("acuracy<0.6")


def test_a_figure_that_was_not_measured_says_how():
    with pytest.raises(AnmlError, match="the evaluation was switched off"):
        evaluate_condition(parse_condition("error>0.1"), FOUND)


def test_every_name_is_read():
    for name in (*CONTRIBUTOR_METRICS, *RUN_METRICS):
        assert parse_condition(f"{name}<2")[0].name == name
    assert [part.name for part in parse_condition(" or ".join(BOOLEAN_CONDITIONS))] == list(
        BOOLEAN_CONDITIONS
    )


def test_no_condition_never_fails(capsys):
    fail([], None, FOUND)
    fail(parse_condition("accuracy<0"), "accuracy<0", FOUND)
    with pytest.raises(SystemExit) as stopped:
        fail(parse_condition("flagged"), "flagged", FOUND)
    assert stopped.value.code == 1
    assert capsys.readouterr().err == "failed (flagged): flagged: eve\n"


def test_names_cannot_move_the_cursor(capsys):
    bad = replace_names(FOUND, "\x1b[2Jeve")
    with pytest.raises(SystemExit):
        fail(parse_condition("flagged"), "flagged", bad)
    assert "\x1b" not in capsys.readouterr().err


def replace_names(result, name):
    return SimpleNamespace(**{**vars(result), "contributors": PEOPLE.with_columns(contributor=pl.lit(name))})

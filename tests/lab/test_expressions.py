"""Expressions and claims on rows worked out by hand."""

import numpy as np
import polars as pl
import pytest

from anml.core.errors import AnmlError
from anml.lab.claims import check
from anml.lab.expressions import NoRowsError, Results, interval
from anml.lab.spec import parse


@pytest.fixture
def results():
    """Three trials; krum 10, 12, 14; mine half of it at bad = 0.1, the same at bad = 0.3."""
    table = {
        "title": "x",
        "vary": {"bad": [0.1, 0.3]},
        "methods": {"krum": {"like": "krum"}, "mine": {"like": "softmax"}},
        "derived": {"gain": {"saving": ["*.error", "krum.error"]}},
    }
    rows = [
        {"trial": trial, "bad": bad, "method": method, "error": (10.0 + 2 * trial) * factor}
        for trial in (2, 0, 1)  # order of rows does not matter
        for bad, method, factor in (
            ("0.1", "krum", 1.0), ("0.1", "mine", 0.5), ("0.3", "krum", 2.0), ("0.3", "mine", 2.0),
        )
    ]  # fmt: skip
    return Results(parse("x", table), pl.DataFrame(rows))


@pytest.mark.parametrize(
    ("expression", "at", "expected"),
    [
        ("krum.error", {}, 12.0),
        ("krum.error@bad=0.3", {}, 24.0),
        ("*.error", {"method": "mine"}, 6.0),
        ("mine.gain", {}, 50.0),
        ("mine.gain@bad=0.3", {}, 0.0),
        (3, {}, 3.0),
        ({"ratio": ["krum.error", "mine.error"]}, {}, 2.0),
        ({"minus": ["krum.error", 2]}, {}, 10.0),
        ({"plus": ["krum.error", "mine.error", 1]}, {}, 19.0),
        ({"rise": ["krum.error@bad=0.3", "krum.error@bad=0.1"]}, {}, 100.0),
        ({"percent": ["mine.error", "krum.error"]}, {}, 50.0),
        ({"least": ["krum.error", "mine.error", 7]}, {}, 6.0),
        # A method without rows is none of those to choose from.
        ({"least": ["krum.error", "nobody.error"]}, {}, 12.0),
        ({"way_gone": ["krum.error", "mine.error", 4]}, {}, 75.0),
        ({"lowest": ["mine.gain"], "over": "bad"}, {}, 0.0),
        ({"highest": "mine.gain", "over": "bad"}, {}, 50.0),
        ({"mean": ["krum.error"], "over": "bad"}, {}, 18.0),
        ({"pearson": ["krum.error", "mine.gain"], "over": "bad"}, {}, -1.0),
        ({"each_saving": ["mine.error", "krum.error"]}, {}, 50.0),
        # Differences 5, 6, 7: mean 6, spread 1.
        ({"cohens_d": ["krum.error", "mine.error"]}, {}, 6.0),
    ],
)
def test_expressions_by_hand(results, expression, at, expected):
    assert results.value(expression, at)[0] == pytest.approx(expected)


def test_a_way_of_at_most_a_point_is_none(results):
    way = {"way_gone": ["krum.error", "mine.error", {"minus": ["krum.error", 1]}]}
    assert np.isnan(results.value(way, {})).all()
    # At bad = 0.1 undefined, at 0.3 nothing of the way is gone.
    goal = {"minus": ["krum.error", {"minus": ["krum.error", 11]}]}
    defined = {"mean_defined": {"way_gone": ["krum.error", "mine.error", goal]}, "over": "bad"}
    values = results.value(defined, {})
    assert values[0] == 0
    assert (values[1:] == 0).all()
    nowhere = {"mean_defined": way, "over": "bad"}
    assert np.isnan(results.value(nowhere, {})).all()


def test_nothing_to_choose_from_is_said(results):
    with pytest.raises(NoRowsError, match="no rows for any of"):
        results.value({"least": ["nobody.error", "noone.error"]}, {})


def test_resamples_keep_pairs_together(results):
    # Half of the errors in every trial is half of them in every resample.
    point, low, high = interval(results.value("mine.gain", {}))
    assert (point, low, high) == pytest.approx((50.0, 50.0, 50.0))
    _, low, high = interval(results.value("krum.error", {}))
    assert 10 <= low < 12 < high <= 14


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ({"less": ["mine.error", "krum.error"]}, True),
        ({"less": ["krum.error", "mine.error"]}, False),
        ({"less": ["mine.error", "krum.error"], "over": {"bad": "*"}}, False),
        ({"less": ["mine.error", "krum.error"], "over": {"bad": [0.1]}}, True),
        ({"less": ["mine.error", "krum.error"], "p": 0.05}, True),
        ({"less": ["mine.error", "krum.error"], "p": 0.001}, False),
        ({"same": ["mine.error", "krum.error"], "where": {"bad": 0.3}}, True),
        ({"same": ["mine.error", "krum.error"]}, False),
        ({"no_worse": ["mine.error", "krum.error"], "over": {"bad": "*"}}, True),
        ({"no_worse": ["krum.error", "mine.error"]}, False),
        ({"at_most": ["mine.error", 6.0]}, True),
        ({"at_most": ["mine.error", 5.9]}, False),
        ({"at_least": ["mine.gain", 50]}, True),
        ({"between": ["mine.gain", 49, 51]}, True),
        ({"between": ["mine.gain", 51, 60]}, False),
    ],
)
def test_claims_by_hand(results, claim, holds):
    verdict = check({"text": "t", **claim}, results)
    assert verdict.holds is holds
    assert verdict.detail


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ({"text": "t"}, "one of less"),
        ({"less": ["krum.error", 1]}, "a claim has a text"),
        ({"text": "t", "less": ["krum.error", 1], "ovr": {}}, "did you mean 'over'"),
        ({"text": "t", "less": ["krumm.error", 1]}, "no rows for"),
        ({"text": "t", "less": ["krum.errors", 1]}, "no metric 'errors'"),
        ({"text": "t", "less": ["krum.error@bda=1", 1]}, "did you mean 'bad'"),
        ({"text": "t", "less": [{"rato": [1, 2]}, 1]}, "did you mean 'ratio'"),
        ({"text": "t", "less": [{"ratio": [1, 2], "minus": [1, 2]}, 1]}, "one operator"),
    ],
)
def test_what_a_claim_cannot_say(results, claim, says):
    with pytest.raises(AnmlError, match=says):
        check(claim, results)


def test_shapiro_of_constant_errors_is_undefined(results):
    constant = Results(results.experiment, results.rows.with_columns(error=pl.lit(1.0)))
    assert np.isnan(constant.value({"shapiro": ["krum.error"]}, {})[0])

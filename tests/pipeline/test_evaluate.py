"""Effect of the weights on the error: held-out rows, same network."""

import numpy as np
import pytest

from anml.core.types import Gate, Weighting
from anml.pipeline import evaluate as module
from anml.pipeline.evaluate import compare_weightings


def weighting(kept):
    kept = np.asarray(kept, dtype=bool)
    return Weighting(kept / kept.sum(), kept, Gate("test", ""))


def blobs(rows, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, rows)
    return (rng.normal(size=(rows, 2)) + 3 * y[:, None]).astype(np.float32), y


def test_bad_rows_left_out_lower_the_error_on_test_data():
    x, right = blobs(200, 0)
    wrong = np.arange(200) < 90
    y = np.where(wrong, 1 - right, right)
    ways = {"uniform": weighting(np.ones(200)), "clean": weighting(~wrong)}
    result = compare_weightings(x, y, "classification", 2, ways, test=blobs(300, 1))
    assert (result.on, result.rows) == ("test data", 300)
    assert result.metric == "error rate"
    uniform, clean = result.results
    assert clean.error.mean < 0.1 < uniform.error.mean
    assert clean.error.low <= clean.error.mean <= clean.error.high
    assert uniform.against == {}
    assert clean.against["uniform"].high < 0
    assert clean.against["uniform"].mean == pytest.approx(clean.error.mean - uniform.error.mean)


def test_without_test_data_every_row_is_held_out_once_against_its_given_label():
    x, right = blobs(150, 0)
    y = np.where(np.arange(150) < 30, 1 - right, right)
    result = compare_weightings(x, y, "classification", 2, {"uniform": weighting(np.ones(150))})
    assert result.on == "held-out rows, against the given labels"
    assert result.rows == 150
    assert result.results[0].error.mean == pytest.approx(0.2, abs=0.06)


def test_folds_respect_items():
    """Rows of one item are copies: where they may be split, a random label can be learned by heart."""
    rng = np.random.default_rng(0)
    item = np.repeat(np.arange(40), 5)
    x, y = np.eye(40, dtype=np.float32)[item], rng.integers(0, 2, 40)[item]
    ways = {"uniform": weighting(np.ones(200))}
    split = compare_weightings(x, y, "classification", 2, ways)
    whole = compare_weightings(x, y, "classification", 2, ways, groups=item)
    assert split.results[0].error.mean < 0.05
    assert whole.results[0].error.mean > 0.25


def test_regression_is_measured_in_the_units_of_the_label():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(150, 2)).astype(np.float32)
    y = 1000 + 100 * x[:, 0].astype(np.float64)
    ways = {"uniform": weighting(np.ones(150)), "again": weighting(np.ones(150))}
    result = compare_weightings(x, y, "regression", 0, ways)
    assert result.metric == "mean absolute error"
    assert 0 < result.results[0].error.mean < 60
    assert result.results[0].error == result.results[1].error
    assert result.results[1].against["uniform"].mean == 0


def test_class_that_was_never_seen_counts_as_an_error():
    x, y = blobs(80, 0)
    result = compare_weightings(
        x, y, "classification", 2, {"uniform": weighting(np.ones(80))}, test=(x[:4], np.full(4, -1))
    )
    assert result.results[0].error.mean == 1.0


def test_same_seed_same_answer_and_progress_is_told():
    x, y = blobs(60, 0)
    ways, gold = {"uniform": weighting(np.ones(60))}, []
    first = compare_weightings(
        x, y, "classification", 2, ways, seed=4, progress=lambda *step: gold.append(step)
    )
    assert first == compare_weightings(x, y, "classification", 2, ways, seed=4)
    assert gold[-1] == ("evaluating the weights", first.epochs, first.epochs)


def test_large_tables_are_measured_on_some_rows(monkeypatch):
    monkeypatch.setattr(module, "MAX_ROWS", 50)
    x, y = blobs(80, 0)
    result = compare_weightings(x, y, "classification", 2, {"uniform": weighting(np.ones(80))})
    assert result.rows == 50


def test_plain_values_for_json_have_no_infinities():
    x, y = blobs(40, 0)
    ways = {"uniform": weighting(np.ones(40)), "again": weighting(np.ones(40))}
    plain = compare_weightings(x, y, "classification", 2, ways, test=(x[:1], y[:1])).to_dict()
    assert plain["weightings"][1]["difference_from"]["uniform"] == {"mean": 0.0, "low": None, "high": None}
    assert set(plain) == {"weightings", "measured_on", "rows", "epochs", "metric"}

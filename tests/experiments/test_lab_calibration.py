"""Rows about belief against truth: one for each condition and recipe that makes a claim about labels."""

import numpy as np
import pytest

from anml.core.calibration import auroc, calibration_curve
from experiments.belief import label_estimates
from experiments.cases import make_case
from experiments.cells import cells_of
from experiments.kinds import MEASURES, run_block
from experiments.measures import BINS, from_columns
from experiments.spec import parse

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def experiment():
    return parse(
        "c",
        {"title": "c", "kind": "calibration", "methods": ["evidence", "krum"], "setting": {"size": 60},
         "vary": {"bad": [0.1, 0.3]}},
    )  # fmt: skip


@pytest.fixture(scope="module")
def rows(experiment):
    return run_block(experiment, [0], "wine")


def test_rows_are_of_recipes_that_say_p_correct(rows):
    assert [(row["trial"], row["bad"], row["method"]) for row in rows] == [
        (0, "0.1", "evidence"), (0, "0.3", "evidence"),
    ]  # fmt: skip
    assert all(set(row) == {"trial", "bad", "method", *MEASURES["calibration"], *BINS} for row in rows)


def test_a_row_is_what_is_believed_of_its_case(experiment, rows):
    for (_, setting), row in zip(experiment.conditions(), rows, strict=True):
        case = make_case(setting, 0, experiment.seed)
        p_correct = label_estimates(case.seen, setting.decay).p_correct
        bins = calibration_curve(p_correct, case.right)
        assert row["calibration"] == bins.error
        assert row["gap"] == bins.gap == pytest.approx(p_correct.mean() - case.right.mean())
        assert row["ranking"] == auroc(p_correct, case.right)
        assert from_columns(row).count.sum() == len(case.seen.y)


def test_some_cells_run_alone(experiment, rows):
    chosen = next(
        c for c, key, _, method in cells_of(experiment) if key[0][1] == "0.3" and method == "evidence"
    )
    (alone,) = run_block(experiment, [0], "wine", cells=[chosen])
    assert alone["bad"] == "0.3"
    assert np.isclose(alone["calibration"], rows[1]["calibration"])
    assert run_block(experiment, [0], "digits") == []

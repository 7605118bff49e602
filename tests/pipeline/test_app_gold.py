"""Rows with a known label: counted by hand, and through the whole audit."""

import json

import numpy as np
import polars as pl
import pytest

import anml
from anml.io.labels import EvalGold
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.result import evaluate_on_gold, run_metadata
from anml.pipeline.write import write_run
from anml.report.html import render_report
from made_up import consortium

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


def gold(known, right, kind="labels"):
    return EvalGold(np.array(known), np.array(right), kind)


def test_by_hand():
    result = evaluate_on_gold(
        gold([True, True, True, False], [True, False, True, False]),
        np.array([0.95, 0.85, 0.75, 0.1]),
        np.array([True, True, False, True]),
    )
    assert (result.rows, result.right, result.wrong) == (3, 2, 1)
    assert (result.kept_right, result.kept_wrong, result.ranking) == (0.5, 1.0, 0.5)
    assert result.reliability.error == pytest.approx((0.05 + 0.85 + 0.25) / 3)
    assert result.sentence() == (
        "2 of 3 labels agree with their test label. Calibration error of p_correct: 38% (too high by 18% on "
        "average). Kept: 50% of the correct and 100% of the wrong labels."
    )


def test_marks_say_nothing_of_wrong_labels():
    marks = gold([True, True, False], [True, True, False], "marks")
    result = evaluate_on_gold(marks, np.array([0.9, 0.7, 0.1]), np.array([True, True, False]))
    assert (result.right, result.wrong, result.kept_wrong, result.ranking) == (2, 0, None, None)
    assert result.sentence() == "2 test labels are correct: mean p_correct 80%, 100% kept."


def test_nothing_known_is_nothing_checked():
    assert evaluate_on_gold(gold([False], [False]), np.array([0.5]), np.array([True])) is None


def with_right_labels(rows=120):
    """The made-up table beside what the labels should have been, for every third row."""
    frame = consortium(rows)
    right = np.random.default_rng(0).integers(0, 2, rows)  # as consortium draws them
    names = np.array(["no", "yes"])[right].tolist()
    return frame.with_columns(answer=pl.Series([n if at % 3 == 0 else None for at, n in enumerate(names)]))


def test_gold_checks_and_changes_nothing():
    frame = with_right_labels()
    checked, _, _ = audit_table(frame, Request(test_label="answer", evaluate=False))
    plain, _, _ = audit_table(frame, Request(ignore=["answer"], evaluate=False))
    assert checked.samples.drop("test_label_matches").equals(plain.samples)
    assert plain.gold is None
    assert checked.gold.rows == 40
    given = frame.filter(pl.col("answer").is_not_null())
    assert checked.gold.right == int((given["label"] == given["answer"]).sum())
    assert checked.gold.ranking > 0.9
    assert checked.samples["test_label_matches"].null_count() == 80
    assert "answer" not in checked.columns.features


def test_gold_is_in_the_record_and_in_the_report(tmp_path):
    result, _, _ = audit_table(with_right_labels(), Request(test_label="answer", evaluate=False))
    write_run(tmp_path / "run", result, "audit", lambda draft: None)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["schema"]["test_label"] == "answer"
    assert record["test_label_check"] == json.loads(
        json.dumps(run_metadata(result, "audit")["test_label_check"])
    )
    assert record["test_label_check"]["calibration"]["rows"] == 40
    html = render_report(result)
    assert '<section id="gold">' in html
    assert result.gold.sentence() in html
    assert "Calibration of p_correct" in html
    plain, _, _ = audit_table(consortium(), Request(evaluate=False))
    assert '<section id="gold">' not in render_report(plain)


def test_from_python_by_marks():
    frame = with_right_labels().drop("answer").with_columns(sure=pl.col("contributor") == "ann")
    result = anml.audit(frame, evaluate=False, schema={"test_label": "sure"})._result
    assert (result.gold.kind, result.gold.right, result.gold.wrong) == ("marks", 30, 0)
    assert result.gold.kept_right > 0.9
    assert any("marks as known to be right 30 rows" in note for note in result.notes)
    assert "Calibration of p_correct" not in render_report(result)

"""Rows with a known label: counted by hand, and through the whole audit."""

import json

import numpy as np
import polars as pl
import pytest

import anml
from anml.app.audit.audit import audit_table
from anml.app.audit.output import write_run
from anml.app.audit.request import Request
from anml.app.audit.result import check_gold, run_record
from anml.intake.labels import Gold
from anml.surfaces.report import render_report
from made_up import consortium


def gold(known, right, kind="labels"):
    return Gold(np.array(known), np.array(right), kind)


def test_by_hand():
    found = check_gold(
        gold([True, True, True, False], [True, False, True, False]),
        np.array([0.95, 0.85, 0.75, 0.1]),
        np.array([True, True, False, True]),
    )
    assert (found.rows, found.right, found.wrong) == (3, 2, 1)
    assert (found.kept_right, found.kept_wrong, found.ranking) == (0.5, 1.0, 0.5)
    assert found.reliability.error == pytest.approx((0.05 + 0.85 + 0.25) / 3)
    assert found.sentence() == (
        "Of 3 labels that are known, 2 are right: p_correct is off by 38%, too high by 18% on average; "
        "50% of the right ones and 100% of the wrong ones were kept."
    )


def test_marks_say_nothing_of_wrong_labels():
    marks = gold([True, True, False], [True, True, False], "marks")
    found = check_gold(marks, np.array([0.9, 0.7, 0.1]), np.array([True, True, False]))
    assert (found.right, found.wrong, found.kept_wrong, found.ranking) == (2, 0, None, None)
    assert found.sentence() == "2 labels are known to be right: p_correct is 80% on average, and 100% kept."


def test_nothing_known_is_nothing_checked():
    assert check_gold(gold([False], [False]), np.array([0.5]), np.array([True])) is None


def with_right_labels(rows=120):
    """The made-up table beside what the labels should have been, for every third row."""
    frame = consortium(rows)
    right = np.random.default_rng(0).integers(0, 2, rows)  # as consortium draws them
    names = np.array(["no", "yes"])[right].tolist()
    return frame.with_columns(answer=pl.Series([n if at % 3 == 0 else None for at, n in enumerate(names)]))


def test_gold_checks_and_changes_nothing():
    frame = with_right_labels()
    checked, _, _ = audit_table(frame, Request(gold="answer", compare=False))
    plain, _, _ = audit_table(frame, Request(ignore=["answer"], compare=False))
    assert checked.samples.drop("gold_right").equals(plain.samples)
    assert plain.gold is None
    assert checked.gold.rows == 40
    given = frame.filter(pl.col("answer").is_not_null())
    assert checked.gold.right == int((given["label"] == given["answer"]).sum())
    assert checked.gold.ranking > 0.9
    assert checked.samples["gold_right"].null_count() == 80
    assert "answer" not in checked.columns.features


def test_gold_is_in_the_record_and_in_the_report(tmp_path):
    result, _, _ = audit_table(with_right_labels(), Request(gold="answer", compare=False))
    write_run(tmp_path / "run", result, "audit", lambda draft: None)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert record["columns"]["gold"] == "answer"
    assert record["gold"] == json.loads(json.dumps(run_record(result, "audit")["gold"]))
    assert record["gold"]["calibration"]["rows"] == 40
    html = render_report(result)
    assert '<section id="gold">' in html
    assert result.gold.sentence() in html
    assert "p_correct against truth" in html
    plain, _, _ = audit_table(consortium(), Request(compare=False))
    assert '<section id="gold">' not in render_report(plain)


def test_from_python_by_marks():
    frame = with_right_labels().drop("answer").with_columns(sure=pl.col("contributor") == "ann")
    result = anml.audit(frame, gold="sure", compare=False).result
    assert (result.gold.kind, result.gold.right, result.gold.wrong) == ("marks", 30, 0)
    assert result.gold.kept_right > 0.9
    assert any("marks as known to be right 30 rows" in note for note in result.notes)
    assert "p_correct against truth" not in render_report(result)

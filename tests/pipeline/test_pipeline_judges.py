"""Judges beside people, with figures worked by hand."""

import polars as pl
import pytest

import anml
from anml.core.errors import AnmlError
from anml.pipeline.judges import compare_judges

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """60 items; `ana` and `ben` label 40 and differ on 4, `machine` errs on 8 of those 36 and labels all."""
    place, rows = tmp_path_factory.mktemp("judges"), []
    for item in range(60):
        right, wrong = ("yes", "no") if item % 2 else ("no", "yes")
        if item < 40:
            rows += [(item, "ana", right), (item, "ben", wrong if item < 4 else right)]
        rows += [(item, "machine", wrong if 4 <= item < 12 else right), (item, "parrot", "yes")]
    frame = pl.DataFrame(rows, schema=["item", "who", "label"], orient="row")
    frame.write_csv(place / "data.csv")
    anml.audit(place / "data.csv", label="label", contributor="who", item="item", evaluate=False).save(
        place / "run"
    )
    return place / "run"


def test_agreement_counts_items_with_a_label_of_people(run):
    report = compare_judges(run, ["ana", "ben"], 0.6)
    rows = {row["judge"]: row for row in report.judges.to_dicts()}
    # On 4 items the people differ, which is half of an agreement; on 8 of 36 the machine differs from both.
    assert rows["machine"]["agreement"] == pytest.approx((28 + 4 / 2) / 40)
    assert rows["machine"]["n_labels"] == rows["parrot"]["n_labels"] == 40
    assert rows["machine"]["kappa"] == pytest.approx(0.5, abs=0.05)
    assert rows["parrot"]["kappa"] == pytest.approx(0.0, abs=0.02)
    assert rows["parrot"]["decision"] == "not usable"
    assert report.people_items == 40
    assert report.people_kappa[0] == pytest.approx(1 - 2 * 4 / 40, abs=0.05)
    alone = compare_judges(run, ["ana"], 0.6)
    assert alone.people_kappa is None
    assert {"ben"} < set(alone.judges["judge"])


def test_runs_without_items_are_refused(tmp_path):
    from made_up import consortium

    consortium(60).write_csv(tmp_path / "data.csv")
    anml.audit(tmp_path / "data.csv", evaluate=False).save(tmp_path / "run")
    with pytest.raises(AnmlError, match="has no column of items"):
        compare_judges(tmp_path / "run", ["ann"], 0.6)

"""From a table and the roles of its columns to arrays."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from anml.core.errors import InputError
from intake_tables import labelled, mixed_table, prepared


def test_by_hand() -> None:
    table = pl.DataFrame(
        {
            "size": [1.0, 3.0, None, 2.0],
            "colour": ["red", "blue", "red", "red"],
            "worker": ["ann", "bob", "ann", "ann"],
            "label": ["b", "a", None, "b"],
        }
    )
    made = prepared(table)
    # The row without a label is left out before anything is learned: sizes 1, 3, 2.
    root = np.sqrt(1.5)
    assert made.x.tolist() == np.float32([[-root, 1, 0], [root, 0, 1], [0, 1, 0]]).tolist()
    assert made.x.dtype == np.float32
    assert made.preparation.feature_names == ["size", "colour=red", "colour=blue"]
    assert made.y.tolist() == [1, 0, 1]
    assert made.y.dtype == np.int64
    assert (made.task, made.classes) == ("classification", ["a", "b"])
    assert made.contributor is not None
    assert made.contributor.tolist() == ["ann", "bob", "ann"]
    assert made.rows.tolist() == [0, 1, 3]
    assert made.warnings == ["column 'label' (label) is missing in 1 row, which is left out"]
    assert made.notes == []
    absent = (made.item, made.verification, made.reputation, made.age, made.parents, made.gold)
    assert absent == (None,) * 6


def test_contributors() -> None:
    made = prepared(labelled(worker=[7.0, 8.0, 7.0, 8.0]), contributor="worker")
    assert made.contributor is not None
    assert made.contributor.tolist() == ["7", "8", "7", "8"]
    assert made.contributor.dtype.kind == "U"
    with pytest.raises(InputError, match=r"'worker' \(contributor\) is empty in 2 of 4 rows"):
        prepared(labelled(worker=["a", None, "", "b"]), contributor="worker")
    alone = prepared(labelled(worker=["a"] * 4), contributor="worker")
    assert alone.warnings == ["column 'worker' names one contributor only, who cannot be compared"]


def test_contributor_may_be_missing_where_the_label_is() -> None:
    made = prepared(
        labelled(worker=["a", "b", "a", None]).with_columns(label=pl.Series(["x", "y", "x", None]))
    )
    assert made.rows.tolist() == [0, 1, 2]


def test_repeated_pairs_are_kept_and_said() -> None:
    made = prepared(labelled(worker=["a", "a", "b", "a"], item=[1, 1, 1, 1]))
    assert len(made.y) == 4
    assert len(made.warnings) == 1
    assert made.warnings[0].startswith("2 rows repeat a pair of 'item' and 'worker'; all are kept")


def test_infinite_features_are_missing_and_said() -> None:
    made = prepared(labelled(height=[1.0, float("inf"), 3.0, float("-inf")]))
    assert made.warnings == ["column 'height' has 2 infinite values, which count as missing"]
    assert np.isfinite(made.x).all()
    assert made.preparation.feature_names == ["size", "height", "height (missing)"]
    assert made.x[:, 2].tolist() == [0, 1, 0, 1]


def test_gaps_are_said() -> None:
    made = prepared(labelled(height=[1.0, None, 3.0, None], hue=["r", "r", None, "g"]))
    assert made.notes == ["missing feature values were filled in and marked: 'height' 2, 'hue' 1"]


def test_nothing_to_learn_from() -> None:
    with pytest.raises(InputError, match="cannot be a feature"):
        prepared(labelled(parts=[[1], [2], [3]]), features=["parts"])


def test_every_form_of_a_table_gives_the_same_arrays(tmp_path: Path) -> None:
    frame = mixed_table()
    frame.write_csv(tmp_path / "t.csv")
    frame.write_csv(tmp_path / "t.csv.gz", compression="gzip")
    frame.write_csv(tmp_path / "t.tsv", separator="\t")
    frame.write_parquet(tmp_path / "t.parquet")
    files = [tmp_path / name for name in ("t.csv", "t.csv.gz", "t.tsv", "t.parquet")]
    made = [prepared(source) for source in (*files, frame, frame.lazy(), frame.to_pandas(), frame.to_arrow())]
    first = made[0]
    assert first.contributor is not None
    for other in made[1:]:
        assert other.contributor is not None
        np.testing.assert_array_equal(first.x, other.x)
        np.testing.assert_array_equal(first.y, other.y)
        np.testing.assert_array_equal(first.contributor, other.contributor)
        assert first.preparation.feature_names == other.preparation.feature_names
        assert (first.notes, first.warnings) == (other.notes, other.warnings)

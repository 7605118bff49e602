from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from intake_tables import labelled, mixed_table, prepared

from anml.core.errors import InputError
from anml.core.signals.reputation import REPUTATION
from anml.core.signals.verification import VERIFICATION


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


def labels_of(values: Any, **options: Any) -> Any:
    return prepared(pl.DataFrame({"size": range(len(values)), "label": values}), label="label", **options)


@pytest.mark.parametrize(
    ("values", "task", "classes"),
    [
        (["x", "y"] * 4, "classification", ["x", "y"]),
        ([True, False] * 4, "classification", ["false", "true"]),
        ([10, 2, 10, 2], "classification", ["2", "10"]),
        ([1.0, 0.0, None, 1.0, 0.0], "classification", ["0", "1"]),
        ([0.5, 1.5, 0.5, 1.5], "regression", []),
        (list(range(200)), "regression", []),
        ([at / 3 for at in range(9)], "regression", []),
    ],
)
def test_task_from_labels(values: list[Any], task: str, classes: list[str]) -> None:
    made = labels_of(values)
    assert (made.task, made.classes) == (task, classes)
    known = [value for value in values if value is not None]
    if task == "regression":
        assert made.y.dtype == np.float64
        assert made.y.tolist() == known
    else:
        assert [classes[code] for code in made.y] == [str(v).lower().removesuffix(".0") for v in known]
    if isinstance(known[0], float | int) and not isinstance(known[0], bool):
        assert f"({task})" in made.notes[0]


def test_task_as_told() -> None:
    assert labels_of([0, 1] * 4, task="regression").y.tolist() == [0.0, 1.0] * 4
    assert labels_of([0.5, 1.5] * 4, task="classification").classes == ["0.5", "1.5"]
    assert labels_of(["1.5", "2"] * 4, task="regression").y.tolist() == [1.5, 2.0] * 4


@pytest.mark.parametrize(
    ("values", "options", "said"),
    [
        ([None, None], {}, r"'label' \(label\) is empty in all 2 rows of frame"),
        (["x", "x", "x"], {}, "one class only, 'x'"),
        (["x", None, "x"], {}, "one class only, 'x'"),
        ([f"c{at}" for at in range(9)], {}, "9 classes in 9 rows.*name another label column$"),
        ([*"abcdef", "a"], {}, "6 classes in 7 rows"),
        (list(range(9)), {"task": "classification"}, "9 classes in 9 rows.*regression"),
        (["x", "y"], {"task": "regression"}, "cannot be a quantity for regression: 'x' is not a number"),
        ([2.5, 2.5], {"task": "regression"}, "2.5 in every row"),
        ([float("inf"), 2.5], {}, "1 infinite labels"),
        ([date(2024, 1, 1)] * 2, {}, "cannot be a quantity"),
        ([[1], [2]], {}, "cannot be a label"),
        (
            ["x", "y"],
            {"task": "clustering"},
            "unknown task 'clustering'; allowed: auto, classification, regression",
        ),
    ],
)
def test_bad_labels(values: list[Any], options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        labels_of(values, **options)


def test_contributors() -> None:
    made = prepared(labelled(worker=[7.0, 8.0, 7.0, 8.0]), contributor="worker")
    assert made.contributor is not None
    assert made.contributor.tolist() == ["7", "8", "7", "8"]
    assert made.contributor.dtype.kind == "U"
    with pytest.raises(InputError, match=r"'worker' \(contributor\) is empty in 2 of 4 rows"):
        prepared(labelled(worker=["a", None, "", "b"]), contributor="worker")
    alone = prepared(labelled(worker=["a"] * 4), contributor="worker")
    assert alone.warnings == [
        "column 'worker' names one contributor only, so contributors cannot be compared"
    ]


def test_contributor_may_be_missing_where_the_label_is() -> None:
    made = prepared(
        labelled(worker=["a", "b", "a", None]).with_columns(label=pl.Series(["x", "y", "x", None]))
    )
    assert made.rows.tolist() == [0, 1, 2]


def test_repeated_pairs_are_kept_and_said() -> None:
    made = prepared(labelled(worker=["a", "a", "b", "a"], item=[1, 1, 1, 1]))
    assert len(made.y) == 4
    assert made.warnings == ["2 rows repeat a pair of 'item' and 'worker'; all are kept"]


def test_signals_by_hand() -> None:
    made = prepared(
        labelled(verification=["Peer reviewed", "flagged", None, "0.5"], reputation=[0.0, 1.0, 0.25, None])
    )
    assert made.verification is not None
    assert made.reputation is not None
    default = VERIFICATION["self-attested"].default
    assert made.verification.tolist() == [0.85, 0.07, default, 0.5]
    assert made.reputation.tolist() == [0.0, 1.0, 0.25, REPUTATION["new"].default]
    assert made.warnings == [
        "column 'verification' (verification) is missing in 1 row, which counts as 'self-attested'",
        "column 'reputation' (reputation) is missing in 1 row, which counts as 'new'",
    ]


def test_truth_values_as_verification() -> None:
    made = prepared(labelled(verified=[True, False, True, None]))
    assert made.verification is not None
    assert made.verification.tolist() == [0.65, 0.25, 0.65, 0.25]
    assert "true is read as 'institution', false as 'self-attested'" in made.warnings[0]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([0.5, 1.5, 0.1, 0.2], "column 'trust': verification must be a level name or lie in .*, got 1.5"),
        ([0.5, -0.1, 0.1, 0.2], "got -0.1"),
        (
            ["flagged", "flaged", None, None],
            "column 'trust': unknown verification level 'flaged'.*allowed: flagged,",
        ),
        ([float("inf"), 0.1, 0.1, 0.1], "got inf"),
    ],
)
def test_bad_signals(values: list[Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        prepared(labelled(trust=values), verification="trust")


NEW_YEAR = [0.0, 365.0, 731.0]  # days before 2022-01-01: 2020 was a leap year


@pytest.mark.parametrize(
    "values",
    [
        [2022, 2021, 2020],
        ["2022", "2021", "2020"],
        ["2022-01-01", "2021-01-01", "2020-01-01"],
        ["2022-01-01", "2021/1/1", "2020-01-01T00:00:00Z"],
        ["2022-01-01T05:30:00+05:30", "2020-12-31 19:00-05:00", "2020-01"],
        [date(2022, 1, 1), date(2021, 1, 1), date(2020, 1, 1)],
        [datetime(2022, 1, 1), datetime(2021, 1, 1), datetime(2020, 1, 1)],
        [
            datetime(2022, 1, 1, tzinfo=UTC),
            datetime(2021, 1, 1, tzinfo=UTC),
            datetime(2020, 1, 1, tzinfo=UTC),
        ],
        [1640995200, 1609459200, 1577836800],
        [1640995200000, 1609459200000, 1577836800000],
        ["1640995200", "2021-01-01", "1577836800.0"],
    ],
)
def test_times_in_every_form(values: list[Any]) -> None:
    made = prepared(labelled(when=values), time="when")
    assert made.age is not None
    np.testing.assert_allclose(made.age * 365.25, NEW_YEAR, rtol=0, atol=1e-9)
    assert made.notes == ["ages are counted from the newest time in 'when', 2022-01-01 00:00:00"]
    assert made.warnings == []


def test_future_and_missing_times_are_new_and_said() -> None:
    now = datetime(2021, 1, 1, tzinfo=UTC)
    made = prepared(labelled(time=[2022, 2021, None, 2020]), now=now)
    assert made.age is not None
    np.testing.assert_allclose(made.age * 365.25, [0, 0, 0, 366])
    assert made.notes == []
    assert made.warnings == [
        "column 'time' (time) is missing in 1 row, which counts as new",
        "column 'time' (time) lies after 2021-01-01 00:00:00 in 1 row, which counts as new",
    ]
    empty = prepared(labelled(when=[None] * 4), time="when")
    assert empty.age is not None
    assert empty.age.tolist() == [0.0] * 4
    assert empty.notes == []


@pytest.mark.parametrize(
    ("values", "bad"),
    [
        (["2024-01-31", "soon", "later"], "2 values that are not times, the first 'soon'"),
        (["2024-02-30", "2024-01-01", "2024-01-02"], "'2024-02-30'"),
        (["31/01/2024", "2024-01-01", "2024-01-02"], "'31/01/2024'"),
        ([2024, 5, 2023], "the first '5'"),
        ([True, False, True], "not times"),
    ],
)
def test_bad_times(values: list[Any], bad: str) -> None:
    with pytest.raises(InputError, match=bad) as raised:
        prepared(labelled(when=values), time="when")
    assert "allowed: dates and times as 2024-01-31" in str(raised.value)


def test_parents_by_hand() -> None:
    table = labelled(item=["a", "b", "c", "b"], derived_from=[None, "a", "a; b", ""])
    assert prepared(table).parents == [[], [0], [0, 1, 3], []]
    # Positions are among the rows used.
    without = table.with_columns(label=pl.Series(["x", "y", None, "x"])).reverse()
    assert prepared(without).parents == [[], [2], []]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (
            {"item": ["a", "b", "c"], "derived_from": [None, "z", "y"]},
            "2 items that are not in column 'item'.*'z'",
        ),
        ({"item": ["a", "b", "c"], "derived_from": [None, "b", None]}, "derives item 'b' from itself"),
        ({"derived_from": [None, "b", None]}, "there is no item column"),
    ],
)
def test_bad_parents(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        prepared(labelled(**columns), derived_from="derived_from")


def test_gold_marks() -> None:
    made = prepared(labelled(honeypot=["yes", "No", None, "1"]))
    assert made.gold is not None
    assert made.gold.kind == "marks"
    assert made.gold.known.tolist() == made.gold.right.tolist() == [True, False, False, True]
    assert any("marks as known to be right 2 rows" in note for note in made.notes)


def test_gold_labels() -> None:
    # Labels are b, a, b, a; what nobody gave as a label is a right label all the same.
    made = prepared(labelled(g=["b", "b", None, "c"]), gold="g")
    assert made.gold is not None
    assert made.gold.kind == "labels"
    assert made.gold.known.tolist() == [True, True, False, True]
    assert made.gold.right.tolist() == [True, False, False, False]
    assert "g" not in made.preparation.feature_names


@pytest.mark.parametrize(("name", "kind"), [("g", "labels"), ("is_gold", "marks")])
def test_gold_where_labels_are_flags_too_goes_by_the_name(name: str, kind: str) -> None:
    table = labelled(**{name: [1, 0, 1, 1]}).with_columns(label=pl.Series([1, 0, 0, 1]))
    made = prepared(table, gold=name)
    assert made.gold is not None
    assert made.gold.kind == kind
    right = {"labels": [True, True, False, True], "marks": [True, False, True, True]}
    assert made.gold.right.tolist() == right[kind]


@pytest.mark.parametrize(
    ("column", "labels", "said"),
    [
        (
            {"g": ["perhaps", "no", "no"]},
            None,
            "must hold true or false, or labels of column 'label'",
        ),
        ({"is_gold": ["a", "b", "b"]}, None, "must be true or false, got 'a'"),
        (
            {"g": [1.5, 2.5, 7.25]},
            [1.5, 2.5, 7.0],
            "true or false where labels are numbers, got '1.5'",
        ),
    ],
    ids=["neither", "labels under a name of marks", "numbers"],
)
def test_bad_gold(column: dict[str, Any], labels: list[Any] | None, said: str) -> None:
    table = labelled(**column)
    if labels is not None:
        table = table.with_columns(label=pl.Series(labels))
    with pytest.raises(InputError, match=said):
        prepared(table, gold=next(iter(column)))


def test_gold_that_knows_nothing_is_a_warning() -> None:
    made = prepared(labelled(is_gold=["no", "no", "no"]), gold="is_gold")
    assert made.warnings == ["column 'is_gold' (gold) says of no label that it is known"]


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

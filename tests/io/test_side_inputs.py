"""Predictions and embeddings given beside a table: aligned, checked, and refused in one sentence."""

from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import torch

from anml.core.errors import InputError
from anml.io.columns import choose_columns
from anml.io.prepare import Prepared, prepare
from anml.io.side_inputs import SideInputs, read_numbers
from anml.io.tables import read_table

TABLE = pl.DataFrame(
    {
        "id": [10, 11, 12, 13, 14, 15],
        "size": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6],
        "label": ["a", "b", None, "a", "b", "a"],
    }
)
P_A = [0.9, 0.2, 0.5, 0.7, 0.1, 0.6]
USED = [0, 1, 3, 4, 5]
BOTH = pl.DataFrame({"b": [1 - p for p in P_A], "a": P_A})


def given(table: Any = TABLE, *, task: str = "auto", label: str = "label", **extra: Any) -> Prepared:
    made = SideInputs(**extra)
    table = read_table(table)
    free = made.predictions is not None or made.embeddings is not None
    features = () if made.embeddings is not None else None
    columns, _ = choose_columns(
        table.frame, label=label, features=features, key=made.key, needs_features=not free
    )
    return prepare(table, columns, task=task, side_inputs=made)


def refused(**extra: Any) -> str:
    with pytest.raises(InputError) as error:
        given(**extra)
    assert "\n" not in str(error.value)
    return str(error.value)


def probabilities(made: Prepared) -> Any:
    assert made.predictions is not None
    assert made.predictions.dtype == np.float64
    assert made.predictions.sum(axis=1) == pytest.approx(1)
    return made.predictions


@pytest.mark.parametrize("kind", ["polars", "pandas", "arrow", "csv", "parquet", "tsv"])
def test_columns_named_by_class_in_any_order_and_kind(kind, tmp_path) -> None:
    BOTH.write_csv(tmp_path / "p.csv")
    BOTH.write_csv(tmp_path / "p.tsv", separator="\t")
    BOTH.write_parquet(tmp_path / "p.parquet")
    source = {
        "polars": BOTH, "pandas": BOTH.to_pandas(), "arrow": BOTH.to_arrow(), "csv": tmp_path / "p.csv",
        "parquet": str(tmp_path / "p.parquet"), "tsv": tmp_path / "p.tsv",
    }[kind]  # fmt: skip
    made = given(predictions=source)
    assert made.classes == ["a", "b"]
    # The third row has no label: it is left out here as well.
    assert probabilities(made)[:, 0] == pytest.approx([P_A[at] for at in USED])
    assert len(made.side_input_files["predictions"]["sha256"]) == 64


def test_an_array_is_in_the_order_of_the_classes(tmp_path) -> None:
    array = np.column_stack([P_A, 1 - np.array(P_A)])
    np.save(tmp_path / "p.npy", array)
    for source in (array, array.tolist(), tmp_path / "p.npy", array.astype(np.float32)):
        assert probabilities(given(predictions=source))[:, 0] == pytest.approx([P_A[at] for at in USED])


@pytest.mark.parametrize("name", ["a", "b", "A"])
def test_of_two_classes_one_named_column_is_enough(name) -> None:
    result = probabilities(given(predictions=pl.DataFrame({name: P_A})))
    assert result[:, 0 if name.lower() == "a" else 1] == pytest.approx([P_A[at] for at in USED])


def test_numbered_and_boolean_classes_are_named_as_pandas_names_them() -> None:
    table = TABLE.with_columns(label=pl.Series([0, 1, None, 0, 1, 0]))
    frame = pd.DataFrame({0: P_A, 1: 1 - np.array(P_A)})
    assert probabilities(given(table, predictions=frame))[0, 0] == pytest.approx(0.9)
    table = TABLE.with_columns(label=pl.Series([False, True, None, False, True, False]))
    frame = pd.DataFrame({True: 1 - np.array(P_A), False: P_A})
    assert probabilities(given(table, predictions=frame))[0, 0] == pytest.approx(0.9)


def test_by_key_in_any_order_with_more_than_is_needed() -> None:
    order = [5, 3, 1, 0, 4]  # not of the row without a label
    keyed = BOTH.with_columns(id=pl.Series([10, 11, 12, 13, 14, 15]))[order]
    more = pl.concat([keyed, pl.DataFrame({"b": [0.5], "a": [0.5], "id": [99]})])
    assert probabilities(given(predictions=more, key="id"))[:, 0] == pytest.approx([P_A[at] for at in USED])
    # Floats in one and whole numbers in the other are one key, as are several rows of one item.
    table = TABLE.with_columns(id=pl.Series([10.0, 10.0, 11.0, 11.0, 12.0, 12.0]))
    short = pl.DataFrame({"id": [12, 11, 10], "a": [0.1, 0.2, 0.3]})
    assert probabilities(given(table, predictions=short, key="id"))[:, 0] == pytest.approx(
        [0.3, 0.3, 0.2, 0.1, 0.1]
    )


def test_a_key_is_no_feature() -> None:
    table = TABLE.with_columns(code=pl.Series([1, 2, 3, 4, 5, 6]))
    keyed = BOTH.with_columns(code=pl.Series([1, 2, 3, 4, 5, 6]))
    assert given(table, predictions=keyed, key="code").preparation.feature_names == ["size"]


def test_rounded_probabilities_are_made_to_sum_to_one() -> None:
    assert probabilities(given(predictions=BOTH * 1.0005))[0, 0] == pytest.approx(0.9)
    assert (probabilities(given(predictions=pl.DataFrame({"a": [1 + 1e-12] * 6}))) >= 0).all()


def test_numbers_are_one_column(tmp_path) -> None:
    table = TABLE.with_columns(dose=pl.Series([0.5, 1.25, 2.5, None, 7.75, 1.5]))
    message = np.array([1.0, 2, 3, 4, 5, 6])
    np.save(tmp_path / "p.npy", message)
    for source in (
        message,
        tmp_path / "p.npy",
        pl.DataFrame({"guess": message}),
        pd.Series(message, name="guess"),
    ):
        made = given(table, label="dose", predictions=source)
        assert made.task == "regression"
        assert made.predictions is not None
        assert made.predictions.tolist() == [1, 2, 3, 5, 6]
    with pytest.raises(InputError, match="predictions of a quantity are one column, got 2"):
        given(table, label="dose", predictions=BOTH)


def test_predictions_alone_are_enough() -> None:
    made = given(TABLE.drop("size"), predictions=BOTH)
    assert made.x.shape == (5, 0)


BAD = {
    "rows": (BOTH.head(4), "have 4 rows and the table has 6; give one row for each"),
    "unknown class": (BOTH.rename({"b": "c"}), "column 'c' of the predictions is no class; classes: 'a',"),
    "p": (pl.DataFrame({"p": P_A}), "column 'p' of the predictions is no class; classes: 'a', 'b'"),
    "key not named": (BOTH.with_columns(id=pl.lit(1)), "column 'id' is also in the table: name it as key"),
    "text": (BOTH.with_columns(id=pl.lit("x")), "holds String, not numbers; it is also in the table"),
    "negative": (BOTH.with_columns(a=pl.lit(-0.25)), "which are not negative, got -0.25 in row 0"),
    "missing": (BOTH.with_columns(a=pl.Series([None, *P_A[1:]])), "1 values are missing or infinite"),
    "nan": (np.full((6, 2), np.nan), "10 values are missing or infinite, the first in row 0"),
    "sum": (BOTH.with_columns(b=pl.lit(0.9)), "must sum to 1, got 1.8 in row 0 (off by more than 0.001 in 4"),
    "logits": (np.ones((6, 2)) * [3.0, 1.0], "must sum to 1, got 4 in row 0"),
    "too many": (np.ones((6, 3)) / 3, "need one column for each of the 2 classes ('a', 'b'), got 3"),
    "three dimensions": (np.ones((6, 2, 2)), "must be an array (rows, columns), got one of shape (6, 2, 2)"),
    "words": (np.array(["x"] * 6), "must be an array of numbers, a frame or the path of a file, got ndarray"),
    "ragged": ([[0.5, 0.5], [1.0]], "must be an array of numbers, a frame or the path of a file, got list"),
    "nothing of the kind": (7, "must be an array (rows, columns), got one of shape ()"),
    "no file": ("nowhere.parquet", "predictions file 'nowhere.parquet' does not exist in folder"),
    "no array": ("nowhere.npy", "predictions file 'nowhere.npy' does not exist in folder"),
    "ending": ("p.pkl", "unknown ending; allowed: .csv, .csv.gz, .tsv, .tsv.gz, .parquet, .pq, .npy"),
    "both cases": (
        pl.DataFrame({"a": P_A, "A": P_A, "b": P_A}), "column 'A' of the predictions is a second column of a"
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_predictions(case) -> None:
    source, message = BAD[case]
    assert message in refused(predictions=source)


def test_a_class_without_a_column() -> None:
    table = TABLE.with_columns(label=pl.Series(["a", "b", "c", "a", "b", "c"]))
    with pytest.raises(InputError, match="no column for class 'c'; one for each is needed: 'a', 'b', 'c'"):
        given(table, predictions=BOTH)


KEYS = {
    "twice": (BOTH.with_columns(id=pl.Series([10, 10, 12, 13, 14, 15])), "id", "1 values occur more often"),
    "missing": (BOTH.with_columns(id=pl.Series([1, 2, 3, 4, 5, 6])), "id", "lack 5 values of key 'id'"),
    "empty": (BOTH.with_columns(id=pl.Series([10, None, 12, 13, 14, 15])), "id", "empty in 1 rows of the p"),
    "not there": (BOTH, "id", "the predictions have no key column 'id'; columns: b, a"),
    "not in the table": (BOTH, "idd", "there is no column 'idd' (did you mean 'id'?)"),
    "an array": (np.ones((6, 2)) / 2, "id", "are an array without named columns, so key 'id' cannot align"),
    "nothing else": (pl.DataFrame({"id": [10, 11, 12, 13, 14, 15]}), "id", "no column beside the key"),
}


@pytest.mark.parametrize("case", KEYS)
def test_bad_keys(case) -> None:
    source, key, message = KEYS[case]
    assert message in refused(predictions=source, key=key)


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16])
def test_a_tensor_that_is_in_training(kind) -> None:
    given = torch.tensor([[0.5, 0.25], [1.0, 2.0]], dtype=kind, requires_grad=True)
    assert read_numbers(given, "embeddings").tolist() == [[0.5, 0.25], [1.0, 2.0]]


def test_a_damaged_array_file(tmp_path) -> None:
    (tmp_path / "p.npy").write_bytes(b"\x93NUMPY but no more")
    assert "is not a NumPy file" in refused(predictions=tmp_path / "p.npy")
    np.save(tmp_path / "o.npy", np.array([{"a": 1}], dtype=object), allow_pickle=True)
    assert "is not a NumPy file" in refused(predictions=tmp_path / "o.npy")
    for content in (b"", b"PK\x03\x04 cut off"):
        (tmp_path / "p.npy").write_bytes(content)
        assert "is not a NumPy file" in refused(predictions=tmp_path / "p.npy")
    np.savez(tmp_path / "several.npz", a=np.ones(2), b=np.ones(2))
    (tmp_path / "several.npz").rename(tmp_path / "p.npy")
    assert "is not a NumPy file with one array" in refused(predictions=tmp_path / "p.npy")


VECTORS = np.arange(18.0).reshape(6, 3)


@pytest.mark.parametrize("kind", ["array", "npy", "frame", "lists", "parquet", "csv"])
def test_embeddings_take_the_place_of_features(kind, tmp_path) -> None:
    frame = pl.DataFrame(VECTORS, schema=["e0", "e1", "e2"])
    lists = pl.DataFrame({"embedding": VECTORS.tolist()})
    np.save(tmp_path / "e.npy", VECTORS)
    lists.write_parquet(tmp_path / "e.parquet")
    frame.write_csv(tmp_path / "e.csv")
    source = {
        "array": VECTORS, "npy": tmp_path / "e.npy", "frame": frame.to_pandas(), "lists": lists,
        "parquet": tmp_path / "e.parquet", "csv": str(tmp_path / "e.csv"),
    }[kind]  # fmt: skip
    made = given(embeddings=source)
    assert made.x.dtype == np.float32
    assert made.x.tolist() == VECTORS[USED].tolist()
    assert made.preparation.feature_names == []


def test_embeddings_by_key() -> None:
    keyed = pa.table({"id": [15, 14, 13, 11, 10], "e": [5.0, 4, 3, 1, 0]})
    assert given(embeddings=keyed, key="id").x[:, 0].tolist() == [0, 1, 3, 4, 5]


BAD_VECTORS = {
    "flat": (np.arange(6.0), "embeddings must be an array (rows, columns), got one of shape (6,)"),
    "none": (np.ones((6, 0)), "need at least one dimension"),
    "infinite": (np.full((6, 3), np.inf), "embeddings must be finite numbers"),
    "huge": (VECTORS * 1e300, "too large"),
    "rows": (VECTORS[:2], "the embeddings have 2 rows and the table has 6"),
    "ragged": (pl.DataFrame({"e": [[1.0], [1.0, 2.0]] * 3}), "must hold lists of numbers of one length"),
    "key not named": (pl.DataFrame({"id": range(6), "e": range(6)}), "'id' of the embeddings is also in the"),
    "words": (pl.DataFrame({"e": ["x"] * 6}), "column 'e' of the embeddings holds String, not numbers"),
}


@pytest.mark.parametrize("case", BAD_VECTORS)
def test_bad_embeddings(case) -> None:
    source, message = BAD_VECTORS[case]
    assert message in refused(embeddings=source)

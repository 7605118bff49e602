"""Rows by number: columns, padding, targets, and what is refused."""

import numpy as np
import pytest
import torch

import anml
from anml.attribution.samples import RowBatches, contributor_codes
from anml.core.errors import InputError, UnsupportedError

CPU = torch.device("cpu")


def test_tokens_of_different_lengths_are_padded_and_masked():
    rows = RowBatches([{"input_ids": [5, 6, 7]}, {"input_ids": [8]}], loss="next-token")
    batch = rows.batch([1, 0], CPU)
    assert batch.inputs["input_ids"].tolist() == [[8, 0, 0], [5, 6, 7]]
    assert batch.inputs["attention_mask"].tolist() == [[1, 0, 0], [1, 1, 1]]
    assert batch.target.tolist() == [[8, -100, -100], [5, 6, 7]]


def test_given_labels_are_padded_without_a_loss():
    rows = RowBatches(
        [{"input_ids": [5, 6], "labels": [-100, 6]}, {"input_ids": [8], "labels": [8]}], loss="next-token"
    )
    assert rows.batch([0, 1], CPU).target.tolist() == [[-100, 6], [8, -100]]


@pytest.mark.parametrize(
    "data",
    [
        (np.arange(6.0).reshape(3, 2), np.arange(3)),
        {"x": np.arange(6.0).reshape(3, 2), "y": np.arange(3)},
        [{"x": np.arange(2.0) + 2 * at, "y": at} for at in range(3)],
        [(torch.arange(2.0) + 2 * at, at) for at in range(3)],
    ],
)
def test_rows_in_any_form_and_order(data):
    batch = RowBatches(data).batch([2, 0], CPU)
    x = batch.inputs["x"] if isinstance(batch.inputs, dict) else batch.inputs
    assert x.tolist() == [[4, 5], [0, 1]]
    assert batch.target.tolist() == [2, 0]


def test_a_contributor_column_is_not_given_to_the_model():
    rows = RowBatches([{"x": [1.0], "y": 0, "by": 4}, {"x": [2.0], "y": 1, "by": 7}], ["by"])
    assert set(rows.batch([0], CPU).inputs) == {"x"}
    codes, names = contributor_codes(rows, "by")
    assert codes.tolist() == [0, 1]
    assert list(names) == ["4", "7"]


def test_a_column_that_is_missing_is_named():
    with pytest.raises(InputError, match="no 'author'"):
        RowBatches([{"x": [1.0], "y": 0}]).column("author")
    with pytest.raises(InputError, match="give the values of 'author' as an array"):
        RowBatches((np.zeros((2, 1)), np.zeros(2))).column("author")


def test_a_stream_is_refused():
    from torch.utils.data import IterableDataset

    class Stream(IterableDataset):
        def __iter__(self):
            yield torch.zeros(3), 0

    with pytest.raises(UnsupportedError, match="rows by number"):
        anml.attribution.index(torch.nn.Linear(3, 2), Stream(), ["a", "b"])

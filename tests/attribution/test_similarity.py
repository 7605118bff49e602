"""Similarity without a model: by hand, of tokens and of numbers."""

import numpy as np
import pytest

from anml.attribution.samples import RowBatches
from anml.attribution.similarity import similarity


def tokens(*rows):
    return RowBatches([{"input_ids": list(row)} for row in rows], loss="next-token")


def test_the_same_text_has_similarity_one_and_other_words_none():
    train = tokens([1, 2, 3], [7, 8, 9], [1, 2, 3])
    result = similarity(train, tokens([1, 2, 3], [7, 8, 9], [4, 5, 6]), np.array([0, 1, 0]), 2, 8)
    assert result[0] == pytest.approx([1.0, 0.0], abs=0.05)
    assert result[1] == pytest.approx([0.0, 1.0], abs=0.05)
    assert result[2].tolist() == [0, 0]


def test_tokens_without_a_loss_in_a_query_are_not_compared():
    train = tokens([1, 2], [7, 8])
    query = RowBatches([{"input_ids": [1, 2, 7, 8], "labels": [-100, -100, 7, 8]}], loss="next-token")
    assert similarity(train, query, np.array([0, 1]), 2, 8).argmax() == 1


def test_numbers_are_compared_with_rows_of_the_same_class():
    x, y = np.array([[1.0, 0.0], [-1.0, 0.0], [1.0, 0.1], [-1.0, 0.1]]), np.array([0, 1, 1, 0])
    query = RowBatches((np.array([[1.0, 0.05]]), np.array([0])))
    result = similarity(RowBatches((x, y)), query, np.array([0, 0, 1, 1]), 2, 8)
    # Each contributor has one row of class 0, along the query or against it, among two rows.
    assert result[0, 0] > 0.3
    assert result[0, 1] < -0.3

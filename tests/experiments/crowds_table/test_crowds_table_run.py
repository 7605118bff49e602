"""Scores of items."""

import numpy as np

from experiments.crowds_table.run import item_scores


def test_ties_count_by_their_expected_accuracy():
    posterior = np.array([[0.5, 0.5, 0], [1 / 3, 1 / 3, 1 / 3], [0.2, 0.7, 0.1], [0.9, 0.1, 0], [1, 0, 0]])
    # The last true label is one that no contributor gave; that of the fourth is not known.
    np.testing.assert_allclose(item_scores(posterior, np.array([0, 2, 1, -1, 3])), [1 / 2, 1 / 3, 1, 0])

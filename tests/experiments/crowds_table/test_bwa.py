"""The Bayesian weighted average by hand."""

import numpy as np
from crowd_cases import crowd_of

from experiments.crowds_table.bwa import fit_bwa
from experiments.crowds_table.read import Crowd


def test_bwa_by_hand():
    """Each of three contributors errs once: all precisions are equal, and votes are a fixed point."""
    labels = np.ones((3, 3), dtype=int) - np.eye(3, dtype=int)
    result = fit_bwa(crowd_of(labels, [1, 1, 1]))
    np.testing.assert_allclose(result, [[1 / 3, 2 / 3]] * 3)


def test_bwa_counts_a_repeated_pair_once():
    crowd = crowd_of([[0, 0, 1], [1, 1, 0], [1, 1, 1]], [0, 1, 1])
    twice = Crowd(
        "",
        np.r_[crowd.item, 0],
        np.r_[crowd.contributor, 0],
        np.r_[crowd.label, 0],
        crowd.truth,
        crowd.classes,
    )
    np.testing.assert_allclose(fit_bwa(twice), fit_bwa(crowd))

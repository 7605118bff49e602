"""Bayesian weighted average (BWA): a class is one against all others, a label is a number with noise.

For each class k, y_ij is 1 where contributor j labelled item i as k and 0 where j gave another label:
y_ij ~ Normal(z_i, 1 / v_j), z_i ~ Normal(mu, 1 / LAMBDA), and v_j has a Gamma prior that counts as A_V labels
with the mean squared deviation of labels from the vote, corrected for the number of classes. Coordinate
ascent finds z, v and mu. The consensus is the class with the highest z_i.

Reference
---------
Y. Li, B. I. P. Rubinstein, T. Cohn. Truth Inference at Scale: A Bayesian Model for Adjudicating Highly
Redundant Crowd Annotations. WWW 2019. Hyperparameters are those of the authors' program.
"""

import numpy as np

from anml.core.checks import Floats, Ints
from experiments.crowds_table.read import Crowd

A_V, LAMBDA = 15.0, 1.0
MAX_ITERATIONS, TOLERANCE = 500, 1e-3


def fit_bwa(crowd: Crowd) -> Floats:
    """Return a score of every item and class; scores of an item need not sum to one."""
    # A contributor who labelled an item twice counts once, and as 1 for each of the classes given.
    codes = crowd.item * crowd.n_contributors + crowd.contributor
    pairs, place = np.unique(codes, return_inverse=True)
    given = np.zeros((len(pairs), len(crowd.classes)))
    given[place, crowd.label] = 1.0
    item, contributors = np.divmod(pairs, crowd.n_contributors)
    correction = 4 * (1 - 1 / len(crowd.classes))
    return np.column_stack([_fit_class(item, contributors, y, correction) for y in given.T])


def _fit_class(item: Ints, contributor: Ints, y: Floats, correction: float) -> Floats:
    of_item, of_contributor = np.bincount(item), np.bincount(contributor)
    z = np.bincount(item, y) / of_item
    b_v = A_V * correction * float((z * (1 - z))[item].mean())
    if b_v == 0:  # all votes agree: the precision of contributors is unbounded
        return np.asarray(z)
    for _ in range(MAX_ITERATIONS):
        v = (A_V + of_contributor) / (b_v + np.bincount(contributor, (y - z[item]) ** 2))
        weight, before = v[contributor], z
        z = (LAMBDA * z.mean() + np.bincount(item, weight * y)) / (LAMBDA + np.bincount(item, weight))
        if np.allclose(before, z, rtol=TOLERANCE):
            break
    return np.asarray(z)

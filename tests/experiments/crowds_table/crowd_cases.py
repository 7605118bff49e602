"""Crowds that are made up."""

import numpy as np

from experiments.crowds_table.read import Crowd

# The probability of a correct label of each contributor; the last four guess.
ONE_COIN = np.array([0.95, 0.9, 0.9, 0.7, 0.6, 0.5, 0.5, 0.5, 0.5])


def crowd_of(labels, truth, classes=2):
    """A crowd in which every contributor (column) labels every item (line)."""
    labels = np.asarray(labels)
    item, contributor = np.divmod(np.arange(labels.size), labels.shape[1])
    names = tuple(str(code) for code in range(classes))
    return Crowd("made up", item, contributor, labels.ravel(), np.asarray(truth), names)

"""True accuracy of contributors and counts of verdicts, by hand."""

import numpy as np
import pytest

from experiments.crowds_table.audited import AuditEstimates
from experiments.crowds_table.contributors import accuracy_measures, true_accuracy, verdict_counts
from experiments.crowds_table.read import Crowd


@pytest.fixture
def three():
    """Forty items of two classes: one contributor is right, one guesses, one has labelled five items."""
    item = np.r_[np.arange(40), np.arange(40), np.arange(5)]
    truth, contributor = np.arange(40) % 2, np.repeat([0, 1, 2], [40, 40, 5])
    return Crowd(
        "three", item, contributor, np.where(contributor == 1, item // 2 % 2, item % 2), truth, ("0", "1")
    )


def test_true_accuracy_by_hand(three):
    result = true_accuracy(three)
    assert result.judged.tolist() == [True, True, False]
    assert result.accuracy.tolist() == [1.0, 0.5]
    assert result.kappa.tolist() == [1.0, 0.0]
    # The median kappa is .5. An interval of 20 in 40 reaches up to an accuracy of .65, a kappa of .3.
    assert result.fine.tolist() == [True, False]
    assert (result.bad.tolist(), result.surely_bad.tolist()) == ([False, True], [False, False])


def test_verdicts_are_counted_by_group(three):
    verdict = np.array(["less reliable", "reliable", "no better than guessing"])
    accuracy, low, high = np.array([[0.9, 0.6, 0.5], [0.8, 0.4, 0.1], [0.95, 0.7, 0.9]])
    result = AuditEstimates(three.truth, np.ones(40), verdict, accuracy, low, high)
    counts = verdict_counts(result, true_accuracy(three))
    assert counts == {
        "judged": 2, "fine": 1, "fine_flagged": 0, "fine_reliable": 0, "bad": 1, "bad_found": 0,
        "bad_reliable": 1, "surely_bad": 0, "surely_bad_found": 0, "surely_bad_reliable": 0,
    }  # fmt: skip
    # One of the two intervals has the true accuracy; two contributors have no correlation worth the name.
    assert accuracy_measures(result, true_accuracy(three)) == {"correlation": None, "coverage": 0.5}

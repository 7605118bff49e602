"""What comparisons say of people."""

import numpy as np
import pytest
from pair_worlds import world

from anml.core.people.pair_people import judges
from anml.core.people.pairs import fit_pairs

KINDS = ["careful"] * 16 + ["coin", "first", "reversed", "taste"]


@pytest.fixture(scope="module")
def made():
    first, second, choice, who, scores = world(KINDS, rows=100, seed=5)
    return fit_pairs(first, second, choice, who), first, second, scores


def test_reliability_orders_people_as_they_are(made):
    people = judges(made[0])
    assert people.kappa[:16].min() > 0.5
    assert np.abs(people.kappa[16:18]).max() < 0.3
    assert people.kappa[18] < -0.5
    assert (people.low <= people.kappa + 1e-9).all()
    assert (people.kappa <= people.high + 1e-9).all()
    assert people.rows.tolist() == [100] * 20


def test_a_taste_of_ones_own_is_no_guess(made):
    people = judges(made[0])
    assert people.taste[19] > 0.8
    assert people.guess[19] < 0.1
    assert people.guess[17] > 0.95
    assert people.side[17] > 2

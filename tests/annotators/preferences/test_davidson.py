"""Davidson's law and the Gaussian around the likeliest pulls."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, special

from anml.annotators.preferences.davidson import (
    FIRST,
    NO_TIES,
    SECOND,
    TIE,
    choice_probabilities,
    laplace,
    slope_and_curvature,
)


def test_three_choices_by_hand():
    # exp(1) : exp(-1) : exp(0)
    e = np.e
    expected = np.array([e, 1 / e, 1]) / (e + 1 / e + 1)
    assert choice_probabilities(np.array([2.0]), 0.0)[:, 0] == pytest.approx(expected)


def test_without_ties_it_is_bradley_and_terry():
    p = choice_probabilities(np.array([1.3]), NO_TIES)[:, 0]
    assert p == pytest.approx([special.expit(1.3), special.expit(-1.3), 0.0])


def test_an_uncertain_pull_is_a_mean_over_it():
    def weighed(x, k):
        density = np.exp(-(x**2) / 2) / np.sqrt(2 * np.pi)
        return density * choice_probabilities(np.array([0.5 + 1.5 * x]), -0.3)[k, 0]

    found = choice_probabilities(np.array([0.5]), -0.3, np.array([1.5**2]))[:, 0]
    exact = [integrate.quad(weighed, -8, 8, args=(k,))[0] for k in range(3)]
    assert found == pytest.approx(exact, abs=2e-3)
    # Where the pull may be large, a tie is less likely than where it is known to be nearly none.
    assert found[TIE] < choice_probabilities(np.array([0.5]), -0.3)[TIE, 0]


@given(st.floats(-5, 5), st.floats(-3, 3), st.sampled_from([FIRST, SECOND, TIE]))
def test_slope_and_curvature_are_derivatives(pull, tie, choice):
    step = 1e-4
    at = [np.log(choice_probabilities(np.array([pull + by]), tie)[choice, 0]) for by in (-step, 0.0, step)]
    slope, curvature = slope_and_curvature(choice_probabilities(np.array([pull]), tie), np.array([choice]))
    assert slope[0] == pytest.approx((at[2] - at[0]) / (2 * step), abs=1e-5)
    assert curvature[0] == pytest.approx(-(at[2] - 2 * at[1] + at[0]) / step**2, abs=1e-3)


def test_evidence_of_one_choice_is_its_probability():
    # One choice between equals, whatever the variance: the probability of the first is a half.
    mode = laplace(
        np.array([[0]]), np.array([[True]]), np.zeros((1, 1)), np.full((1, 1, 1), 0.5), NO_TIES, 0.0
    )
    assert np.exp(mode.evidence[0]) == pytest.approx(0.5, abs=0.03)


def test_padding_says_nothing():
    choice, used = np.array([[0, 1, 0], [0, 1, 2]]), np.array([[True, True, False], [True, True, False]])
    covariance = np.tile(np.eye(3) + 0.3, (2, 1, 1)) * used[:, :, None] * used[:, None, :]
    mode = laplace(choice, used, np.zeros((2, 3)), covariance, 0.0, 0.2)
    assert mode.evidence[0] == pytest.approx(mode.evidence[1])
    assert (mode.precision(covariance)[:, 2] == 0).all()

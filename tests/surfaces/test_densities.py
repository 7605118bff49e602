"""Figures of many rows: their size does not grow with the table, and their words say the figures."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.calibration import reliability
from anml.core.signals.temporal import Decay
from anml.surfaces.densities import (
    BINS,
    _depth,
    ages_figure,
    confusion_figure,
    q_against_s_figure,
    reliability_figure,
)


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    return rng.uniform(size=n), rng.uniform(size=n)


def test_a_figure_of_many_rows_is_not_larger():
    few, many = (len(q_against_s_figure(*rows(n))) for n in (20_000, 60_000))
    assert many < 1.3 * few


def test_words_by_hand():
    q, s = np.array([0.2, 0.4, 0.9]), np.array([0.1, 0.1, 0.95])
    assert "3 rows; mean q is 0.30 at the lowest s, 0.90 at the highest." in q_against_s_figure(q, s)


@settings(max_examples=40)
@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=6))
def test_shades_are_five_and_grow_with_the_count(counts):
    deep = _depth(np.array(counts, dtype=float))
    assert ((deep >= 0.15) & (deep <= 0.95)).all()
    order = np.argsort(counts)
    assert (np.diff(deep[order]) >= 0).all()
    assert len(set(deep.tolist())) <= 5


def test_rows_at_the_edges_are_in_the_figure():
    edge = np.array([0.0, 1.0, 1.0])
    assert "3 rows" in q_against_s_figure(edge, edge)
    assert BINS > 1


def test_ages_are_in_days_where_all_are_young():
    decay = Decay.half_life("1y")
    assert "age in years" in ages_figure(np.array([0.0, 1.0, 2.0]), decay)
    said = ages_figure(np.array([0.0, 0.1]), decay)
    assert "age in days" in said
    # A tenth of a year is 36.5 days, where half a year's fading leaves 2^-0.1 = 0.93.
    assert "oldest 36.5 days, where T is 0.93" in said
    assert "age in" in ages_figure(np.zeros(3), decay)


def test_what_is_known_of_p_correct_is_said():
    found = reliability(np.array([0.95, 0.95, 0.05, 0.05]), np.array([True, True, False, True]))
    said = reliability_figure(found)
    assert "2 rows with p_correct 95%: 100% right" in said
    assert "2 rows with p_correct 5%: 50% right" in said


@pytest.mark.parametrize("people", [1, 2, 3, 4])
def test_matrices_of_a_few_contributors(people):
    matrix = np.array([[5, 1], [0, 7]])
    names = [f"person {n} <b>" for n in range(people)]
    svg = confusion_figure(names, [matrix] * people, ["cat", "dog"])
    assert svg.count("person 0 &lt;b&gt;") >= 1
    assert "<b>" not in svg
    assert ">7<" in svg

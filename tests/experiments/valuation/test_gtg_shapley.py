"""GTG-Shapley: from updates alone, near the exact value, and cheap where nothing happens."""

import numpy as np
import pytest

from anml.attribution.games import all_coalitions
from anml.attribution.semivalues import exact_shapley
from experiments.valuation.gtg_shapley import gtg_shapley


def test_gtg_is_exact_shapley_where_orders_are_many():
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(4, 3))
    aim = updates[:3].mean(axis=0)

    def worth(subset):
        return 10 - np.square(subset - aim).sum(axis=1)

    def game(members):
        total = members.sum(axis=1, keepdims=True)
        mixed = np.where(total > 0, members @ updates / np.maximum(total, 1), 0.0)
        return worth(mixed)

    result = gtg_shapley(updates, worth, limit=2_000)
    truth = exact_shapley(game(all_coalitions(4)))
    assert result.value.sum() == pytest.approx(truth.sum(), abs=0.01)
    assert np.abs(result.value - truth).max() < 0.5 * np.abs(truth).max()


def test_gtg_passes_over_a_round_that_changes_nothing():
    result = gtg_shapley(np.ones((3, 2)), lambda subset: np.zeros(len(subset)))
    assert result.value.tolist() == [0, 0, 0]
    assert result.evaluations == 2


def linear(updates, aim):
    """Worth of models that move towards an aim."""
    return lambda subset: subset @ aim


def test_values_sum_to_what_the_round_gained():
    rng = np.random.default_rng(0)
    updates, aim = rng.normal(size=(5, 3)), np.array([1.0, 0.5, 0.0])
    result = gtg_shapley(updates, linear(updates, aim))
    assert result.value.sum() == pytest.approx(float(updates.mean(axis=0) @ aim))


def test_rows_weigh_the_updates_of_a_coalition():
    updates = np.array([[1.0], [0.0]])
    result = gtg_shapley(updates, lambda subset: subset[:, 0], rows=[3, 1])
    # Alone the first gives 1, both 0.75: the second takes off what it dilutes.
    assert result.value.sum() == pytest.approx(0.75)
    assert result.value[0] > 0.75


def test_a_coalition_is_evaluated_once():
    asked = []

    def worth(subset):
        asked.extend(subset.tolist())
        return np.linalg.norm(subset, axis=1)

    updates = np.eye(4)
    result = gtg_shapley(updates, worth)
    assert result.evaluations == len(asked)
    assert len({tuple(row) for row in asked}) == len(asked)


def test_clients_who_do_the_same_get_the_same_about():
    updates = np.ones((4, 2))
    result = gtg_shapley(updates, lambda subset: subset.sum(axis=1), limit=200)
    assert result.value == pytest.approx(np.full(4, 0.5), abs=0.15)


def test_the_same_seed_gives_the_same_values():
    updates = np.random.default_rng(0).normal(size=(5, 3))
    one, two = (
        gtg_shapley(updates, lambda subset: np.tanh(subset).sum(axis=1), rng=np.random.default_rng(3))
        for _ in range(2)
    )
    assert one.value.tolist() == two.value.tolist()

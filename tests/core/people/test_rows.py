"""Side information: credentials in standard units, and bounded steps."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anml.core.people.rows import Side, design, newton


class TestDesign:
    def test_by_hand(self):
        found = design(np.array([[0.0, 0.5], [1.0, 0.5]]), 2)
        # v, r, v v, v r, r r: what is constant says nothing.
        np.testing.assert_allclose(found, [[-1, 0, -1, -1, 0], [1, 0, 1, 1, 0]])

    def test_what_goes_with_the_label_is_taken_off_and_what_goes_with_the_contributor_stays(self):
        rng = np.random.default_rng(0)
        labels, who = np.tile([0, 1], 500), np.repeat(np.arange(10), 100)
        v, r = rng.uniform(size=1_000), rng.uniform(size=10)[who]
        # Free of the label to begin with.
        for label in (0, 1):
            v[labels == label] -= v[labels == label].mean() - 0.5
        tied = design(np.column_stack([v + 0.4 * labels, r]), 1_000, labels, who)
        free = design(np.column_stack([v + 0.2, r]), 1_000, labels, who)
        np.testing.assert_allclose(tied, free, atol=0.02)
        # Who has labels of one class only is not compared with others.
        alone = design(r[:, None], 1_000, who % 2, who)
        np.testing.assert_allclose(alone, design(r[:, None], 1_000))

    def test_no_credentials_are_no_columns(self):
        assert design(None, 3).shape == (3, 0)

    @given(st.integers(2, 12), st.integers(1, 3), st.integers(0, 99))
    def test_columns_are_in_standard_units(self, n, count, seed):
        found = design(np.random.default_rng(seed).uniform(size=(n, count)), n)
        assert found.shape == (n, count + count * (count + 1) // 2)
        np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(found.std(axis=0), 1, atol=1e-9)

    @given(st.integers(0, 99))
    def test_rows_may_come_in_any_order(self, seed):
        rng = np.random.default_rng(seed)
        credentials, order = rng.uniform(size=(9, 2)), rng.permutation(9)
        np.testing.assert_allclose(design(credentials[order], 9), design(credentials, 9)[order])


class TestNewton:
    def test_a_step_solves_the_equations(self):
        # 2 a = 1, 4 b = -2.
        np.testing.assert_allclose(newton(np.array([1.0, -2.0]), np.diag([2.0, 4.0])), [0.5, -0.5])

    def test_a_long_step_is_cut(self):
        np.testing.assert_allclose(newton(np.array([9.0, -9.0]), np.eye(2)), [1.0, -1.0])


def test_nothing_is_known_unless_it_is_given():
    assert all(part is None for part in Side())

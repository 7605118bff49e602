"""FLTrust: as far as clients point where the server does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.federated.rules import fltrust


def test_fltrust_by_hand():
    result = fltrust([[3.0, 4.0], [-1.0, 0.0]], server=[1.0, 0.0])
    # cos = 3/5; the update at the server's length is (0.6, 0.8); the other points away and has no say.
    assert result.scores.tolist() == [0.6, 0.0]
    assert result.update == pytest.approx([0.6, 0.8])


def test_a_server_without_an_update_is_refused():
    with pytest.raises(InputError, match="the server's update is zero"):
        fltrust(np.ones((3, 2)), server=[0.0, 0.0])


@settings(max_examples=20)
@given(st.integers(0, 99))
def test_is_the_papers_formula(seed):
    rng = np.random.default_rng(seed)
    updates, server = rng.normal(size=(7, 4)), rng.normal(size=4)
    length = np.linalg.norm(server)
    trust = [max(u @ server / (np.linalg.norm(u) * length), 0.0) for u in updates]
    result = fltrust(updates, server)
    np.testing.assert_allclose(result.scores, trust, atol=1e-12)
    if sum(trust) > 0:
        scaled = [t * length / np.linalg.norm(u) * u for t, u in zip(trust, updates, strict=True)]
        np.testing.assert_allclose(result.update, np.sum(scaled, axis=0) / sum(trust), atol=1e-9)
        assert np.linalg.norm(result.update) <= length + 1e-9


@settings(max_examples=20)
@given(st.integers(0, 99), st.lists(st.floats(0.01, 1000), min_size=7, max_size=7))
def test_how_loud_a_client_is_does_not_matter(seed, factors):
    rng = np.random.default_rng(seed)
    updates, server = rng.normal(size=(7, 4)), rng.normal(size=4)
    one, two = fltrust(updates, server), fltrust(updates * np.array(factors)[:, None], server)
    np.testing.assert_allclose(two.update, one.update, atol=1e-6)


def test_where_all_point_away_nothing_is_learned():
    result = fltrust([[-1.0, 0.0], [0.0, 1.0]], server=[1.0, 0.0])
    assert result.update.tolist() == [0, 0]
    assert result.weights.tolist() == [0, 0]


def test_a_client_that_did_not_move_is_not_trusted():
    assert fltrust([[0.0, 0.0], [1.0, 0.0]], server=[1.0, 0.0]).scores.tolist() == [0, 1]


@pytest.mark.parametrize(
    ("server", "says"),
    [
        ([1.0], "the server's update has 1 values, those of clients 2"),
        ([np.nan, 1.0], "the server's update has missing or infinite values"),
    ],
)
def test_a_bad_server_is_named(server, says):
    with pytest.raises(InputError, match=says):
        fltrust(np.ones((3, 2)), server)

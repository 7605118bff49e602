"""RECESS: what turns against a probe loses trust."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.federated.rules import abnormality, recess


def test_recess_by_hand():
    # Both replies have length 2, the median: minus the cosine remains.
    away = abnormality([[1.0, 0.0], [1.0, 0.0]], [[2.0, 0.0], [0.0, 2.0]])
    assert away.tolist() == [-1.0, 0.0]
    result = recess([[1.0], [3.0]], abnormal=np.log([1.0, 3.0]))
    # Softmax of (0, -ln 3) is (3/4, 1/4).
    assert result.weights == pytest.approx([0.75, 0.25])
    assert result.update == pytest.approx([1.5])


@settings(max_examples=20)
@given(st.integers(0, 99))
def test_is_minus_the_cosine_the_more_the_shorter_the_reply(seed):
    rng = np.random.default_rng(seed)
    sent, replies = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    lengths = np.linalg.norm(replies, axis=1)
    expected = [
        -(s @ a) / (np.linalg.norm(s) * np.linalg.norm(a)) / (np.linalg.norm(a) / np.median(lengths))
        for s, a in zip(sent, replies, strict=True)
    ]
    np.testing.assert_allclose(abnormality(sent, replies), expected, rtol=1e-9)


@settings(max_examples=20)
@given(st.integers(0, 99), st.floats(0.01, 100))
def test_the_scale_of_updates_does_not_matter(seed, factor):
    rng = np.random.default_rng(seed)
    sent, replies = rng.normal(size=(5, 3)), rng.normal(size=(5, 3))
    np.testing.assert_allclose(
        abnormality(sent, replies), abnormality(factor * sent, factor * replies), atol=1e-9
    )


def test_no_reply_is_neither_for_nor_against():
    assert abnormality([[1.0], [1.0], [1.0]], [[0.0], [1.0], [1.0]])[0] == 0


def test_trust_is_carried_from_round_to_round():
    first = recess([[1.0], [2.0]], abnormal=[0.0, 1.0])
    second = recess([[1.0], [2.0]], abnormal=[0.0, 1.0], trust=first.scores)
    assert second.scores.tolist() == [0, -2]
    assert second.weights[1] < first.weights[1]


@settings(max_examples=20)
@given(st.lists(st.floats(-5, 5), min_size=2, max_size=6), st.floats(-10, 10))
def test_only_differences_of_trust_count(abnormal, shift):
    updates = np.arange(len(abnormal), dtype=float)[:, None]
    one, two = recess(updates, abnormal), recess(updates, abnormal, trust=shift)
    np.testing.assert_allclose(one.weights, two.weights, atol=1e-9)


def test_what_was_sent_must_come_back():
    with pytest.raises(InputError, match=r"\(2, 1\) values were sent and \(3, 1\) came back"):
        abnormality([[1.0], [1.0]], [[1.0], [1.0], [1.0]])

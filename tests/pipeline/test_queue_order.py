"""In which order to ask: by hand, and for any gains."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from anml.pipeline.queue_order import REPEAT_DISCOUNT, order_by_gain


def test_the_most_to_gain_comes_first():
    assert order_by_gain(np.array([0.2, 0.9, 0.5]), np.array([0, 1, 2])).tolist() == [1, 2, 0]


def test_a_further_label_of_one_person_gives_way_to_one_that_is_nearly_as_good():
    # 0.90, 0.98 x 0.90 = 0.882, 0.9604 x 0.90 = 0.864; somebody else has 0.87.
    gain, person = np.array([0.9, 0.9, 0.9, 0.87]), np.array([0, 0, 0, 1])
    assert order_by_gain(gain, person).tolist() == [0, 1, 3, 2]
    assert REPEAT_DISCOUNT == 0.98


def test_nothing_to_ask_is_no_order():
    assert order_by_gain(np.array([]), np.array([], dtype=np.int64)).tolist() == []


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 3)), max_size=40))
def test_everything_is_asked_once_and_each_persons_labels_by_gain(drawn):
    gain = np.array([g for g, _ in drawn])
    person = np.array([p for _, p in drawn], dtype=np.int64)
    result = order_by_gain(gain, person)
    assert sorted(result) == list(range(len(drawn)))
    for contributor in range(4):
        mine = gain[result][person[result] == contributor]
        assert (np.diff(mine) <= 0).all()

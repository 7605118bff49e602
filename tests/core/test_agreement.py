"""Labels of one item: what they say of each other, and how contributors confuse classes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.agreement import ANY_CLASS, MOST_TRUSTED, OWN_HABITS, alike, habits, others_said
from anml.core.evidence import classify, company
from anml.core.noise import label_noise


def crowd(n=400, labels_each=5, classes=4, seed=0, workers=8, takes=None, accuracy=0.8):
    """Items with several labels each; `takes` maps a class to the one it is mostly mistaken for."""
    rng = np.random.default_rng(seed)
    items = np.repeat(np.arange(n), labels_each)
    truth = rng.integers(0, classes, n)[items]
    who = np.concatenate([rng.choice(workers, labels_each, replace=False) for _ in range(n)])
    wrong = rng.uniform(size=len(items)) > accuracy
    other = (truth + rng.integers(1, classes, len(items))) % classes
    for of, taken_for in (takes or {}).items():
        other[truth == of] = taken_for
    return items, who, truth, np.where(wrong, other, truth)


class TestByHand:
    def test_alike_is_right_as_often_as_expected(self):
        said = alike(np.array([2]), 3, np.array([0.7]))
        np.testing.assert_allclose(said.given, [[0.15, 0.15, 0.7]])

    def test_a_label_speaks_for_its_class_and_bounds_hold(self):
        said = alike(np.array([0, 0]), 4, np.array([1.0, 0.0]))
        np.testing.assert_allclose(said.given[0], [MOST_TRUSTED, *[(1 - MOST_TRUSTED) / 3] * 3])
        np.testing.assert_allclose(said.given[1], 0.25)  # below chance: says nothing

    def test_one_column_of_the_table(self):
        """Ten items of class 0, all labelled 1 by one contributor of two classes who is right half the time.

        Pooled: of class 0 wrong labels can only be 1. Its own: (10 + OWN * 0.5) / (10 + OWN).
        """
        labels, belief = np.ones(10, int), np.tile([1.0, 0.0], (10, 1))
        said = habits(labels, belief, np.full(10, 0.5), None)
        assert said.given[0, 0] == pytest.approx((10 + OWN_HABITS * 0.5) / (10 + OWN_HABITS))
        assert said.given[0, 1] == pytest.approx(0.5)  # no item of class 1 was seen

    def test_what_all_do_is_drawn_from_any_class_alike(self):
        """Three classes; 0 is taken for 1, 45 times. A newcomer's label 1 speaks for 0 more than for 2."""
        labels = np.r_[np.ones(45, int), 1]
        belief = np.r_[np.tile([1.0, 0, 0], (45, 1)), [[0.0, 1, 0]]]
        codes = np.r_[np.zeros(45, int), 1]
        expected = np.full(46, 0.5)
        said = habits(labels, belief, expected, codes)
        share = (45 * 0.5 + ANY_CLASS / 2) / (45 * 0.5 + ANY_CLASS)
        assert said.given[-1, 0] == pytest.approx(0.5 * share)
        assert said.given[-1, 2] == pytest.approx(0.5 * 0.5)

    def test_three_labels_of_one_item(self):
        even = np.log(np.full((3, 2), 0.5))
        given = alike(np.array([0, 0, 1]), 2, np.full(3, 0.8)).given
        told = np.exp(others_said(even, given, np.zeros(3, int)))
        np.testing.assert_allclose(told[0], [0.5, 0.5])  # one for each class
        np.testing.assert_allclose(told[2], [16 / 17, 1 / 17])  # two for class 0: odds 4 x 4

    def test_company(self):
        np.testing.assert_array_equal(company(np.array([0, 1, 1, 2])), [False, True, True, False])


@given(st.integers(0, 10_000))
def test_without_credentials_a_table_sums_to_one(seed):
    """Over the labels a contributor may give to an item of one class."""
    rng = np.random.default_rng(seed)
    classes = int(rng.integers(2, 5))
    labels = np.r_[np.arange(classes), rng.integers(0, classes, 30)]
    belief = rng.dirichlet(np.ones(classes), len(labels))
    said = habits(labels, belief, np.full(len(labels), rng.uniform(0.3, 0.9)), None)
    np.testing.assert_allclose(said.given[:classes].sum(axis=0), 1, atol=1e-6)


@given(st.integers(0, 10_000))
def test_order_of_rows_and_names_of_contributors_do_not_matter(seed):
    rng = np.random.default_rng(seed)
    labels, codes = rng.integers(0, 3, 40), np.r_[np.arange(4), rng.integers(0, 4, 36)]
    belief, expected = rng.dirichlet(np.ones(3), 40), rng.uniform(0.2, 0.95, 40)
    order, renamed = rng.permutation(40), rng.permutation(4)
    first = habits(labels, belief, expected, codes)
    again = habits(labels[order], belief[order], expected[order], renamed[codes[order]])
    np.testing.assert_allclose(again.given, first.given[order], atol=1e-12)
    assert (first.given > 0).all()
    assert (first.given <= 1).all()


def test_a_better_credential_speaks_louder():
    labels, belief = np.zeros(40, int), np.tile([0.9, 0.1], (40, 1))
    said = habits(labels, belief, np.r_[np.full(20, 0.6), np.full(20, 0.9)], None)
    assert said.given[-1, 0] > said.given[0, 0]
    assert said.given[-1, 1] < said.given[0, 1]


def found(items, who, labels, classes=4):
    even = np.log(np.full((len(labels), classes), 1 / classes))
    return classify(even, labels, label_noise(even, labels), None, who, items)


def test_labels_alone_settle_items_of_which_the_model_knows_nothing():
    items, who, truth, labels = crowd()
    clean = found(items, who, labels).clean
    assert ((clean > 0.5) == (labels == truth)).mean() > 0.95


def test_a_shared_confusion_is_learned():
    """Half of class 0 is called 1 by everybody, never the other way round: a disputed item is 0."""
    items, who, truth, labels = crowd(takes={0: 1, 1: 2}, accuracy=0.7, n=600)
    clean = found(items, who, labels).clean
    disputed = np.bincount(items, labels == 0)[items] * np.bincount(items, labels == 1)[items] > 0
    right = labels == truth
    assert ((clean > 0.5) == right)[disputed].mean() > 0.85
    assert ((clean > 0.5) == right).mean() > 0.9


def test_one_who_always_says_the_same_says_nothing():
    items, who, truth, labels = crowd(accuracy=0.75)
    labels = np.where(who == 0, 2, labels)
    result = found(items, who, labels)
    right = labels == truth
    assert ((result.clean > 0.5) == right)[who != 0].mean() > 0.93
    quality = np.array([result.expected[who == k].mean() for k in range(8)])
    assert quality[0] < quality[1:].min()


def test_parts_add_up_to_the_belief():
    items, who, _, labels = crowd(n=60)
    result = found(items, who, labels)
    logit = result.base + result.credentials + result.contributor + result.model
    np.testing.assert_allclose(result.clean, 1 / (1 + np.exp(-logit)), atol=1e-9)

"""`AnnotatorModel` on arrays: consensus, contributors and p_correct of classes, grades and numbers."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from anml import AnnotatorModel
from anml.core.errors import AnmlError
from anml.tasks import Ordinal


def crowd(items=80, classes=3, seed=0):
    """Five contributors label every item: four are wrong in 10% of the items, and `eve` guesses."""
    rng = np.random.default_rng(seed)
    truth = np.repeat(rng.integers(0, classes, items), 5)
    contributor = np.tile(["ann", "bob", "cat", "dan", "eve"], items)
    wrong = rng.uniform(size=len(truth)) < 0.1
    labels = np.where(wrong, (truth + 1) % classes, truth)
    labels = np.where(contributor == "eve", rng.integers(0, classes, len(truth)), labels)
    return labels, contributor, np.repeat(np.arange(items), 5), truth


def test_consensus_contributors_and_p_correct():
    labels, contributor, item, truth = crowd()
    model = AnnotatorModel(random_state=0).fit(labels, contributor, item)
    consensus = model.consensus_["consensus_label"].to_numpy()
    assert (consensus == truth[::5]).mean() > 0.95
    assert model.p_correct_.shape == labels.shape
    assert model.p_correct_[labels == truth].mean() > model.p_correct_[labels != truth].mean() + 0.4
    table = dict(model.contributors_.select("contributor", "accuracy").iter_rows())
    assert [*table] == ["ann", "bob", "cat", "dan", "eve"]
    assert max(table, key=table.get) != "eve"
    assert min(table, key=table.get) == "eve"
    assert model.confusion_.shape == (5, 3, 3)
    np.testing.assert_allclose(model.confusion_.sum(axis=2), 1)
    assert model.label_error_rate_ == pytest.approx(1 - model.p_correct_.mean())


def test_identifiers_and_labels_keep_their_type():
    labels, contributor, item, _ = crowd(40)
    names = {name: 100 + place for place, name in enumerate(np.unique(contributor))}
    model = AnnotatorModel().fit(labels, [names[name] for name in contributor], item)
    assert model.contributors_["contributor"].to_list() == [100, 101, 102, 103, 104]
    assert model.consensus_["item"].to_list() == list(range(40))
    assert model.classes_.tolist() == [0, 1, 2]
    assert model.consensus_["consensus_label"].dtype.is_integer()


def test_series_are_aligned_by_index():
    labels, contributor, item, _ = crowd(40)
    series = pd.Series(labels, index=np.arange(len(labels)) + 1_000)
    shuffled = pd.Series(contributor, index=series.index).sample(frac=1, random_state=1)
    model = AnnotatorModel().fit(series, shuffled, pd.Series(item, index=series.index))
    expected = AnnotatorModel().fit(labels, contributor, item)
    np.testing.assert_array_equal(model.p_correct_, expected.p_correct_)


def test_predictions_alone_are_enough_and_true_labels_are_used():
    labels, contributor, item, truth = crowd(60)
    rng = np.random.default_rng(3)
    sure = np.where(rng.uniform(size=len(truth)) < 0.9, truth, (truth + 1) % 3)
    pred_probs = 0.1 + 0.7 * np.eye(3)[sure]
    model = AnnotatorModel().fit(labels, contributor, pred_probs=pred_probs)
    assert model.consensus_ is None
    assert model.p_correct_[labels == truth].mean() > model.p_correct_[labels != truth].mean() + 0.3
    known = np.where(item < 20, truth.astype(float), np.nan)
    with_truth = AnnotatorModel().fit(labels, contributor, item, true_label=known)
    np.testing.assert_array_equal(with_truth.consensus_["consensus_label"].to_numpy()[:20], truth[:100:5])


def test_numbers_and_grades():
    rng = np.random.default_rng(4)
    truth = np.repeat(rng.normal(10, 3, 60), 4)
    labels = truth + rng.normal(0, 0.2, len(truth))
    model = AnnotatorModel(task="regression").fit(
        labels, np.tile(list("abcd"), 60), np.repeat(np.arange(60), 4)
    )
    assert model.classes_ is None
    assert model.confusion_ is None
    assert np.abs(model.consensus_["consensus_label"].to_numpy() - truth[::4]).max() < 1
    grades = np.array(["low", "mid", "high"])[np.clip(np.digitize(truth, [8, 12]), 0, 2)]
    ordered = AnnotatorModel(task=Ordinal(order=["low", "mid", "high"]))
    ordered.fit(grades, np.tile(list("abcd"), 60), np.repeat(np.arange(60), 4))
    assert ordered.classes_.tolist() == ["low", "mid", "high"]
    assert (ordered.consensus_["consensus_label"].to_numpy() == grades[::4]).all()


def test_fit_predict_returns_the_consensus_and_the_model_can_be_cloned():
    labels, contributor, item, _ = crowd(30)
    model = AnnotatorModel(task="classification", random_state=7)
    consensus = clone(model).fit_predict(labels, contributor, item)
    assert consensus.columns == ["item", "n_labels", "consensus_label", "p_consensus", "annotator_agreement"]
    assert consensus["n_labels"].to_list() == [5] * 30


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([0, 1], ["a", "b"]), "labels alone cannot be assessed; give item or pred_probs"),
        (([0], ["a"], [0]), "at least two labels are needed, got 1"),
        (([0, 1, 1], ["a", "b"], [0, 0, 1]), "contributor must be one value per sample: 3 expected, got 2"),
        (([1, 1], ["a", "b"], [0, 0]), "only one class is present, '1'"),
    ],
)
def test_invalid_input_is_one_sentence(arguments, message):
    with pytest.raises(AnmlError, match=message):
        AnnotatorModel().fit(*arguments)

"""A model of words that did not see a span's document."""

import numpy as np
import pytest

from anml.predictors.spans import span_predictions


def test_capitals_are_learned_from_other_documents():
    texts, start, end, document, target = [], [], [], [], []
    for number in range(30):
        text = f"yesterday Name{number % 7} went home"
        for a, b, is_one in ((10, 15, True), (16, 20, False)):
            texts.append(text)
            start.append(a)
            end.append(b)
            document.append(number)
            target.append([0.1, 0.9] if is_one else [0.9, 0.1])
    found = span_predictions(texts, np.array(start), np.array(end), np.array(document), np.array(target))
    assert found.sum(axis=1) == pytest.approx(np.ones(60))
    assert found[::2, 1].min() > 0.5 > found[1::2, 1].max()


def test_one_class_alone_is_its_mean():
    target = np.array([[1.0, 0.0]] * 6)
    found = span_predictions(["a b"] * 6, np.zeros(6, int), np.ones(6, int), np.arange(6), target)
    assert (found[:, 0] > 0.99).all()

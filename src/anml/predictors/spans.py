"""Held-out predictions for spans by a linear model of words and their context."""

import re

import numpy as np
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression

from anml.core.checks import Floats, Ints
from anml.core.folds import cross_fit_predictions
from anml.predictors.classes import expand_to_all_classes

FOLDS = 5
# Letters looked at on either side, words of them that count, and the least a class may weigh.
CONTEXT_WINDOW, CONTEXT_WORDS, MIN_CLASS_WEIGHT = 60, 3, 0.02
# The least that a prediction gives any class.
FLOOR = 1e-3


def span_predictions(texts: list[str], start: Ints, end: Ints, document: Ints, target: Floats) -> Floats:
    """Probabilities of the classes of each span (n, classes), by a model that saw no span of its document.

    `texts` are the documents' texts, one for each span; `target` is what is believed of each span so far.
    """
    features = DictVectorizer().fit_transform(
        [_features(text, int(a), int(b)) for text, a, b in zip(texts, start, end, strict=True)]
    )
    classes = target.shape[1]

    def said(learn: Ints, asked: Ints, _: int) -> Floats:
        weight = target[learn].ravel()
        used = weight > MIN_CLASS_WEIGHT
        label = np.tile(np.arange(classes), len(learn))[used]
        if len(np.unique(label)) < 2:
            return np.asarray(target.mean(axis=0))
        model = LogisticRegression(C=1.0, max_iter=200, tol=1e-3)
        model.fit(features[np.repeat(learn, classes)[used]], label, sample_weight=weight[used])
        return expand_to_all_classes(model, features[asked], classes)

    found = cross_fit_predictions(document % FOLDS, said, (classes,)) + FLOOR
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _features(text: str, start: int, end: int) -> dict[str, int]:
    words = text[start:end].split() or [""]
    before, after = (
        text[max(0, start - CONTEXT_WINDOW) : start].split(),
        text[end : end + CONTEXT_WINDOW].split(),
    )
    found = {
        f"all={text[start:end].lower()}",
        f"form={' '.join(_word_shape(word) for word in words)}",
        f"n={min(len(words), 5)}",
        f"first={words[0].lower()}",
        f"last={words[-1].lower()}",
    }
    for word in words:
        found |= {f"w={word.lower()}", f"end={word[-3:].lower()}"}
    for side, near in (("b", before[-CONTEXT_WORDS:][::-1]), ("a", after[:CONTEXT_WORDS])):
        for place, word in enumerate(near):
            found |= {f"{side}{place}={word.lower()}", f"{side}{place}f={_word_shape(word)}"}
    return dict.fromkeys(found, 1)


def _word_shape(word: str) -> str:
    """Shape of a word: capitals, small letters and digits.

    Examples
    --------
    >>> _word_shape("McDonald's"), _word_shape("B2B")
    ("AaAa'a", 'A0A')
    """
    return re.sub("[a-z]+", "a", re.sub("[A-Z]+", "A", re.sub("[0-9]+", "0", word)))

"""Class Gaussians see through wrong labels, also where their samples were moved towards the label."""

import numpy as np
import pytest
from scipy import stats

from anml.core.checks import Floats, Ints
from anml.core.profile import PredictorTraining
from anml.predictors.classes import make_feature_rows, robust_class_gaussians
from anml.predictors.gaussians import ClassGaussians, directions


def apart(n: int = 400, wide: int = 6, far: float = 5.0, seed: int = 0) -> tuple[Floats, Ints]:
    """Two classes that lie far apart."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, wide)) + far * y[:, None] / np.sqrt(wide), y


def poisoned(x: Floats, y: Ints, share: float, moved: float) -> tuple[Floats, Ints, Ints]:
    """Samples of class 0, moved part of the way to class 1 and labelled so."""
    rows = np.flatnonzero(y == 0)[: int(share * len(y))]
    x, labels = x.copy(), y.copy()
    towards = x[y == 1].mean(axis=0) - x[y == 0].mean(axis=0)
    x[rows] += moved * towards
    labels[rows] = 1
    return x, labels, rows


def test_the_probability_of_a_class_is_that_of_its_normal_density() -> None:
    """One feature, known Gaussians: checked against scipy's densities, worked out by Bayes' rule."""
    model = ClassGaussians()
    model.classes_ = np.array([0, 1])
    model.centre, model.across = np.zeros(1), np.eye(1)
    model.root, model.centres = np.array([[2.0]]), np.array([[0.0], [1.5]])
    model.prior, model.rate = np.log([0.25, 0.75]), 0.1
    model.source = np.array([[0.0, 1.0], [1.0, 0.0]])
    x = np.array([[1.0]])
    density = np.array([0.25, 0.75]) * stats.norm.pdf(1.0, [0.0, 3.0], 2.0)
    assert model.predict_proba(x)[0] == pytest.approx(density / density.sum())
    # A label may be wrong, a tenth of the time, and is then that of the other class.
    one = np.array([0.25, 0.75]) * stats.norm.pdf(1.0, [3.0, 0.0], 2.0)
    label = 0.9 * density + 0.1 * one
    assert np.exp(model.parts(x).label[0]) == pytest.approx(label / label.sum())


def test_wrong_samples_that_were_moved_lie_between_the_classes() -> None:
    """Halfway from 0 to 4 is 2: there a moved sample of class 0 labelled 1 is likeliest."""
    model = ClassGaussians(moved=0.5)
    model.classes_ = np.array([0, 1])
    model.centre, model.across, model.root = np.zeros(1), np.eye(1), np.eye(1)
    model.centres = np.array([[0.0], [4.0]])
    model.prior, model.rate, model.source = np.log([0.5, 0.5]), 0.1, 1 - np.eye(2)
    x = np.linspace(-2, 6, 81)[:, None]
    # Up to the density that all classes share.
    likely = model.parts(x).wrong[:, 1, 0] - 0.5 * np.square(x[:, 0])
    assert x[likely.argmax(), 0] == pytest.approx(2.0)


@pytest.mark.parametrize("share", [0.05, 0.2, 0.35])
def test_flipped_labels_are_seen_however_many(share: float) -> None:
    x, y = apart()
    flipped = np.random.default_rng(1).choice(len(y), int(share * len(y)), replace=False)
    labels = y.copy()
    labels[flipped] = 1 - labels[flipped]
    model = ClassGaussians().fit(x, labels)
    assert (model.predict_proba(x).argmax(axis=1) == y).mean() > 0.98
    assert model.rate == pytest.approx(share, abs=0.03)


def test_samples_moved_towards_their_label_are_found_by_how_far_they_were_moved() -> None:
    x, y = apart(wide=10, far=9.0)
    x, labels, rows = poisoned(x, y, 0.15, 0.3)
    found = robust_class_gaussians(make_feature_rows(x, labels, 2, None, PredictorTraining(), 0))
    assert found is not None
    assert found.moved == pytest.approx(0.3, abs=0.11)
    assert found.rate == pytest.approx(0.15, abs=0.04)
    assert (found.log_p[rows].argmax(axis=1) == 0).mean() > 0.95


def test_right_labels_make_a_rate_of_nearly_nothing() -> None:
    x, y = apart()
    found = robust_class_gaussians(make_feature_rows(x, y, 2, None, PredictorTraining(), 0))
    assert found is not None
    assert found.rate < 0.02
    assert found.overlap < 0.02


def test_categories_and_classes_of_two_rows_make_no_clouds() -> None:
    x, y = apart()
    corners = (x > 2).astype(float)
    assert robust_class_gaussians(make_feature_rows(corners, y, 2, None, PredictorTraining(), 0)) is None
    rare = y.copy()
    rare[:2] = 2
    assert robust_class_gaussians(make_feature_rows(x, rare, 3, None, PredictorTraining(), 0)) is None


def test_columns_that_do_not_vary_have_no_direction() -> None:
    x, _ = apart(50)
    x[:, 2] = 7.0
    centre, across = directions(x)
    assert across.shape == (6, 5)
    assert ((x - centre) @ across).std(axis=0).min() > 0.1

"""Choice between pooled predictors and robust class Gaussians."""

import numpy as np
import pytest

from anml.annotators.result import LabelEstimates
from anml.annotators.rows import SideInformation
from anml.annotators.words import INCONCLUSIVE, RELIABLE
from anml.assessment.labels import LabelModelInput, estimate_labels
from anml.core.checks import Floats, Ints
from anml.core.profile import PredictorTraining

pytestmark = pytest.mark.slow

NOTHING = SideInformation()


def believed(x: Floats, y: Ints, side: SideInformation = NOTHING, seed: int = 0) -> LabelEstimates:
    z = (x - x.mean(axis=0)) / np.maximum(x.std(axis=0), 1e-9)
    return estimate_labels(LabelModelInput(z, y, int(y.max()) + 1, side, None, PredictorTraining(), seed))[0]


def apart(n: int, seed: int) -> tuple[Floats, Ints]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return rng.normal(size=(n, 8)) + 2.0 * y[:, None], y


def poison(n: int = 300, share: float = 0.2, seed: int = 0) -> tuple[Floats, Ints, Ints]:
    """Samples of class 0 moved 0.3 of the way to class 1 and labelled so."""
    x, y = apart(n, seed)
    rows = np.flatnonzero(y == 0)[: int(share * n)]
    labels = y.copy()
    x[rows] += 0.6
    labels[rows] = 1
    return x, labels, rows


def test_poison_between_two_classes_is_seen_through_credentials() -> None:
    x, y, rows = poison()
    rng = np.random.default_rng(1)
    credentials = rng.uniform(0.5, 1.0, (len(y), 2))
    credentials[rows] = rng.uniform(0.0, 0.6, (len(rows), 2))
    p = believed(x, y, SideInformation(credentials=credentials)).p_correct
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rows] = True
    # Credentials of the two kinds overlap: of sixty wrong rows a few look as right ones do, each 1.7 points.
    assert (p[wrong] < 0.5).mean() > 5 / 6
    assert (p[~wrong] < 0.5).mean() < 0.05


def test_credentials_that_say_nothing_condemn_nobody() -> None:
    x, y = apart(300, 0)
    credentials = np.random.default_rng(1).uniform(size=(300, 2))
    assert believed(x, y, SideInformation(credentials=credentials)).p_correct.min() > 0.5


def test_flipped_labels_are_found_where_predictors_learned_nothing() -> None:
    """Two fifths are flipped: predictors that learn from the labels hardly tell more than their share."""
    x, y = apart(300, 0)
    flipped = np.random.default_rng(2).choice(300, 120, replace=False)
    labels = y.copy()
    labels[flipped] = 1 - labels[flipped]
    p = believed(x, labels).p_correct
    wrong = labels != y
    assert (p[wrong] < 0.5).mean() > 0.9
    assert (p[~wrong] < 0.5).mean() < 0.1


def moons(n: int) -> tuple[Floats, Ints]:
    from sklearn.datasets import make_moons

    x, y = make_moons(n, noise=0.15, random_state=0)
    return x, y.astype(np.int64)


def ring(n: int) -> tuple[Floats, Ints]:
    from sklearn.datasets import make_circles

    x, y = make_circles(n, noise=0.05, factor=0.5, random_state=0)
    return x, y.astype(np.int64)


def second_part(n: int) -> tuple[Floats, Ints]:
    """A fifth of one class lies beside the other: a part of its own, which predictors predict."""
    x, y = apart(n, 3)
    part = (y == 1) & (np.random.default_rng(4).random(n) < 0.2)
    x[part] -= 2.0
    x[part, :3] += np.array([3.0, -3.0, 3.0])
    return x, y


@pytest.mark.parametrize("made", [moons, ring, second_part])
def test_right_labels_that_clouds_contradict_are_kept(made: object) -> None:
    assert callable(made)
    x, y = made(240)
    assert (believed(x, y).p_correct < 0.5).mean() == 0


def test_contributors_who_send_poison_are_told_from_those_who_do_not() -> None:
    x, y, rows = poison()
    wrong = np.zeros(len(y), dtype=bool)
    wrong[rows] = True
    codes = np.where(wrong, np.arange(len(y)) % 3, 3 + np.arange(len(y)) % 9)
    found = believed(x, y, SideInformation(codes=codes))
    assert (found.p_correct[wrong] < 0.5).mean() > 0.8
    assert found.contributors is not None
    honest = [found.contributors.verdict[k] for k in range(3, 12)]
    assert all(verdict in (RELIABLE, INCONCLUSIVE) for verdict in honest)


def test_sites_with_milder_cases_are_not_accused() -> None:
    """Two of eight sites send cases that lie halfway to the other class, rightly labelled."""
    rng = np.random.default_rng(0)
    y, who = rng.integers(2, size=400), rng.integers(8, size=400)
    x = rng.normal(size=(400, 8)) + 2.5 * y[:, None]
    x[(who < 2) & (y == 1) & (rng.random(400) < 0.8)] -= 1.2
    found = believed(x, y, SideInformation(codes=who))
    assert found.contributors is not None
    assert set(found.contributors.verdict) <= {RELIABLE, INCONCLUSIVE}
    assert found.contributors.verdict[2:].count(RELIABLE) >= 4


def test_a_site_of_its_own_is_neither_accused_nor_condemned():
    """One hospital measures on other scales, and its patients are mostly well whatever is measured."""
    rng = np.random.default_rng(0)
    who = np.arange(600) % 4
    x = rng.normal(size=(600, 5))
    y = (x[:, 0] + 0.3 * rng.normal(size=600) > 0).astype(np.int64)
    x[who == 3, 1:] += 6.0
    y[who == 3] = rng.uniform(size=150) < 0.25
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    belief, _ = estimate_labels(LabelModelInput(x, y, 2, SideInformation(who), None, PredictorTraining(), 0))
    assert belief.contributors is not None
    assert belief.contributors.verdict[3] == INCONCLUSIVE
    assert np.mean(belief.p_correct[who == 3] >= 0.5) > 0.95

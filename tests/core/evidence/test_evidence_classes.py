"""The contributor model on class labels: by hand where that is possible, then its laws, then whole cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from anml.core.evidence.belief import believe_classes, mixed
from anml.core.evidence.classes import Annotators, Labels, fit_classes, normalised
from anml.core.evidence.side import Side
from anml.core.verdicts import judge_contributors


def sharp(truth: np.ndarray, classes: int, p: float = 0.95) -> np.ndarray:
    """Predictions that name the truth with probability p."""
    found = np.full((len(truth), classes), (1 - p) / (classes - 1))
    found[np.arange(len(truth)), truth] = p
    return np.log(found)


def noisy_predictions(
    truth: np.ndarray, classes: int, accuracy: float, rng: np.random.Generator
) -> np.ndarray:
    """Predictions that are right at this rate, and say so."""
    named = np.where(rng.uniform(size=len(truth)) < accuracy, truth, rng.integers(0, classes, len(truth)))
    return sharp(named, classes, accuracy)


def p_correct(log_p: np.ndarray, y: np.ndarray, side: Side) -> np.ndarray:
    fits, weights = fit_classes(log_p, y, side)
    return mixed(weights, [fit.p_correct() for fit in fits])


def types(log_p: np.ndarray, y: np.ndarray, side: Side) -> np.ndarray:
    fits, weights = fit_classes(log_p, y, side)
    return mixed(weights, [fit.types for fit in fits])


def test_normalised_by_hand() -> None:
    logs, total = normalised(np.log([[1.0, 3.0], [2.0, 2.0]]))
    np.testing.assert_allclose(np.exp(logs), [[0.25, 0.75], [0.5, 0.5]])
    np.testing.assert_allclose(total, np.log([4.0, 4.0]))


def test_a_spammers_own_label_is_left_out_of_its_label_distribution() -> None:
    # One contributor gives 0, 0, 1; without its own row a label 0 was given once in two, plus the prior.
    y = np.array([0, 0, 1])
    labels = Labels(np.log(np.full((3, 2), 0.5)), y, Side(np.zeros(3, dtype=int)))
    share = labels.share
    np.testing.assert_allclose(np.exp(labels.spam[0]), (1 + 2 * share[0]) / 4)
    np.testing.assert_allclose(np.exp(labels.spam[2]), (0 + 2 * share[1]) / 4)


def test_nothing_wrong_is_believed_whole() -> None:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 300)
    believed = p_correct(noisy_predictions(truth, 3, 0.9, rng), truth, Side(rng.integers(0, 10, 300)))
    assert (believed < 0.5).sum() == 0


def test_labels_that_follow_flat_predictions_are_ambiguous_not_wrong() -> None:
    rng = np.random.default_rng(1)
    chance = special.expit(rng.normal(size=600))
    y = (rng.uniform(size=600) < chance).astype(int)
    believed = p_correct(np.log(np.c_[1 - chance, chance]), y, Side())
    assert (believed >= 0.5).all()


@pytest.mark.parametrize("lie", ["flip", "always", "random"])
def test_a_liar_is_told_from_the_honest(lie: str) -> None:
    rng = np.random.default_rng(2)
    truth, who = rng.integers(0, 3, 600), rng.integers(0, 10, 600)
    wrong = {"flip": (truth + 1) % 3, "always": np.zeros(600, dtype=int), "random": rng.integers(0, 3, 600)}
    y = np.where(who == 4, wrong[lie], truth)
    found = types(noisy_predictions(truth, 3, 0.9, rng), y, Side(who))
    assert found[4, 0] < 0.01
    assert np.delete(found[:, 0], 4).min() > 0.5
    if lie == "always":
        assert found[4, 1] > 0.9


def test_a_specialist_is_no_spammer() -> None:
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 4, 800)
    who = np.where(truth == 2, 0, rng.integers(1, 10, 800))
    found = types(noisy_predictions(truth, 4, 0.9, rng), truth, Side(who))
    assert found[:, 0].min() > 0.9


def test_a_confusion_that_everybody_shares_convicts_nobody_and_is_seen() -> None:
    rng = np.random.default_rng(4)
    truth, who = rng.integers(0, 6, 1500), rng.integers(0, 12, 1500)
    slips = (truth % 2 == 0) & (rng.uniform(size=1500) < 0.3)
    y = np.where(slips, truth + 1, truth)
    log_p = sharp(truth, 6, 0.97)
    assert types(log_p, y, Side(who))[:, 0].min() > 0.5
    believed = p_correct(log_p, y, Side(who))
    assert (believed[slips] < 0.5).mean() > 0.95
    assert (believed[~slips] < 0.5).mean() < 0.01


def test_the_other_labels_of_an_item_count() -> None:
    rng = np.random.default_rng(5)
    truth = np.repeat(rng.integers(0, 2, 200), 5)
    item, who = np.repeat(np.arange(200), 5), np.tile(np.arange(5), 200)
    y = np.where(rng.uniform(size=1000) < 0.15, 1 - truth, truth)
    flat = np.log(np.full((1000, 2), 0.5))
    believed = p_correct(flat, y, Side(who, items=item))
    assert ((believed >= 0.5) == (y == truth)).mean() > 0.95


def test_nobody_confirms_himself() -> None:
    rng = np.random.default_rng(6)
    truth = np.repeat(rng.integers(0, 2, 100), 3)
    item = np.repeat(np.arange(100), 3)
    # The first contributor labels every item twice, always wrongly; the second labels it once, rightly.
    who = np.tile([0, 0, 1], 100)
    y = np.where(who == 0, 1 - truth, truth)
    labels = Labels(np.log(np.full((300, 2), 0.5)), y, Side(who, items=item))
    fit = Annotators(labels, "none", 1.0, 2.5)
    # By the others alone, its labels look wrong and the other's look wrong as often: one voice each.
    assert (np.exp(fit.seen)[np.arange(300), y][who == 0] < 0.5).all()


def test_known_truth_is_believed_and_tells_of_its_contributor() -> None:
    rng = np.random.default_rng(7)
    truth, who = rng.integers(0, 2, 400), rng.integers(0, 4, 400)
    y = np.where(who == 0, 1 - truth, truth)
    known = np.where(rng.uniform(size=400) < 0.3, truth, -1)
    flat = np.log(np.full((400, 2), 0.5))
    side = Side(who, truth=known)
    believed = p_correct(flat, y, side)
    assert (believed[(known >= 0) & (y == truth)] > 0.99).all()
    assert (believed[(known >= 0) & (y != truth)] < 0.01).all()
    assert types(flat, y, side)[0, 0] < 0.01


def test_a_label_known_to_be_wrong_is_wrong() -> None:
    y = np.array([0, 1] * 20)
    wrong = np.zeros(40, dtype=bool)
    wrong[3] = True
    believed = p_correct(sharp(y, 2, 0.9), y, Side(wrong=wrong))
    assert believed[3] < 0.01
    assert believed[[0, 1, 2, 4]].min() > 0.9


def test_a_majority_of_one_mind_is_doubtful_and_nobody_is_accused() -> None:
    rng = np.random.default_rng(8)
    truth, who = rng.integers(0, 2, 600), rng.integers(0, 10, 600)
    y = np.where(who < 5, 1 - truth, truth)
    fits, weights = fit_classes(sharp(truth, 2, 0.9), y, Side(who))
    belief = judge_contributors(believe_classes(fits, weights, {}, None), fits, weights, None, rng)
    assert belief.doubtful is not None
    assert belief.contributors is not None
    assert set(belief.contributors.verdict) == {"cannot tell"}


def test_credentials_are_learned_in_either_direction() -> None:
    rng = np.random.default_rng(9)
    truth = rng.integers(0, 2, 600)
    bad = rng.uniform(size=600) < 0.3
    y = np.where(bad, 1 - truth, truth)
    log_p = noisy_predictions(truth, 2, 0.8, rng)
    alone = p_correct(log_p, y, Side())
    for low, high in ((0.2, 0.8), (0.8, 0.2)):
        credentials = np.clip(np.where(bad, low, high) + rng.normal(0, 0.1, 600), 0, 1)[:, None]
        told = p_correct(log_p, y, Side(credentials=credentials))
        assert ((told >= 0.5) == ~bad).mean() > ((alone >= 0.5) == ~bad).mean() + 0.02


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_rows_may_come_in_any_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, who = rng.integers(0, 3, 120), rng.integers(0, 5, 120)
    y = np.where((who == 0) & (rng.uniform(size=120) < 0.7), (truth + 1) % 3, truth)
    log_p = noisy_predictions(truth, 3, 0.85, rng)
    order = rng.permutation(120)
    straight = p_correct(log_p, y, Side(who))
    np.testing.assert_allclose(
        p_correct(log_p[order], y[order], Side(who[order])), straight[order], atol=1e-6
    )


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_names_of_contributors_and_classes_do_not_matter(seed: int) -> None:
    rng = np.random.default_rng(seed)
    truth, who = rng.integers(0, 3, 150), rng.integers(0, 5, 150)
    y = np.where(who == 1, (truth + 1) % 3, truth)
    log_p = noisy_predictions(truth, 3, 0.85, rng)
    straight = p_correct(log_p, y, Side(who))
    renamed, relabelled = rng.permutation(5), rng.permutation(3)
    other = p_correct(log_p[:, np.argsort(relabelled)], relabelled[y], Side(renamed[who]))
    np.testing.assert_allclose(other, straight, atol=1e-6)


@pytest.mark.parametrize("rows", [1, 2, 3])
def test_hardly_any_rows(rows: int) -> None:
    y = np.arange(rows) % 2
    believed = p_correct(np.log(np.full((rows, 2), 0.5)), y, Side(np.zeros(rows, dtype=int)))
    assert np.isfinite(believed).all()


def test_one_class_only() -> None:
    y = np.zeros(20, dtype=int)
    believed = p_correct(np.zeros((20, 1)), y, Side(np.arange(20) % 3))
    assert (believed > 0.5).all()


def test_a_label_known_to_be_wrong_is_wrong_however_sure_predictions_are() -> None:
    """Predictions that are far surer of the label than anything else do not outweigh what is known."""
    truth = np.arange(60) % 2
    wrong = np.zeros(60, dtype=bool)
    wrong[:3] = True
    p = p_correct(sharp(truth, 2, 1 - 1e-9), truth, Side(wrong=wrong))
    assert p[:3].max() < 0.01
    assert p[3:].min() > 0.5


def test_habits_of_ones_own_contradict_nobody_where_classes_keep_their_names() -> None:
    """Everybody takes another class for the next a third of the time: most labels are right."""
    rng = np.random.default_rng(0)
    truth = np.repeat(rng.integers(0, 4, 150), 6)
    who, item = np.tile(np.arange(6), 150), np.repeat(np.arange(150), 6)
    slips = (truth == who % 4) & (rng.uniform(size=900) < 0.35)
    y = np.where(slips, (truth + 1) % 4, truth)
    fits, weights = fit_classes(np.tile(np.log(np.full(4, 0.25)), (900, 1)), y, Side(who, items=item))
    best = fits[int(np.argmax(weights))]
    assert best.opposed() < 0.1
    assert (best.posterior().argmax(axis=1) == truth).mean() > 0.99

"""Which view is believed, and that without a clear reason nothing is called wrong."""

import numpy as np
import pytest

from anml.core.agreement import alike, others_said
from anml.core.attacks import align_poison, choose, flip_labels
from anml.core.combine import rejected_camp
from anml.core.domain import Signals
from anml.core.evidence import weigh_view
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.weigh import RECIPES
from anml.gradients.assess import Known, Policy, assess
from anml.gradients.scoring import PROFILES

POLICY = Policy(RECIPES["evidence"], PROFILES["default"], Decay(0.1), ColdStart(contributions=0), 0)


def clouds(n, apart, seed):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, 4)) + apart * np.eye(3, 4)[y], y


def test_aligned_poison_is_seen_through_without_any_credentials():
    x, truth = clouds(450, 8.0, 0)
    wrong = choose(450, 0.3, np.random.default_rng(1))
    moved, labels = align_poison(x, truth, wrong, 3, 0.3)
    clean = assess(moved, labels, "classification", 3, Known(), POLICY).evidence.clean
    assert np.mean(wrong[clean > 0.5]) < 0.05


def test_overlapping_classes_without_wrong_labels_lose_nothing():
    x, y = clouds(450, 1.5, 2)
    found = assess(x, y, "classification", 3, Known(), POLICY)
    assert (found.evidence.clean > 0.5).mean() > 0.98


def test_support_tells_wrong_from_hard():
    rng = np.random.default_rng(3)
    wrong = rng.uniform(size=2_000) < 0.3
    hard = rng.permutation(wrong)
    credentials = np.clip(0.6 - 0.3 * wrong + rng.normal(0, 0.1, 2_000), 0, 1)[:, None]
    sees_wrong, _ = weigh_view(np.where(wrong, -4.0, 4.0), 0.3, credentials, None)
    sees_hard, _ = weigh_view(np.where(hard, -4.0, 4.0), 0.3, credentials, None)
    assert sees_wrong > 300
    assert abs(sees_hard) < 10


def test_nothing_known_supports_nothing():
    support, _ = weigh_view(np.linspace(-3, 3, 100), 0.2, None, None)
    assert support == pytest.approx(0, abs=0.5)


def test_other_labels_of_an_item_settle_who_is_right():
    rng = np.random.default_rng(4)
    items = np.repeat(np.arange(200), 5)
    who = np.tile(np.arange(5), 200)
    truth = rng.integers(0, 3, 200)[items]
    labels = flip_labels(truth, (who == 4) & (rng.uniform(size=1_000) < 0.8), 3, rng)
    x = rng.normal(size=(1_000, 3))  # features that say nothing
    found = assess(x, labels, "classification", 3, Known(contributor=who, item=items), POLICY)
    quality = np.array([found.evidence.expected[who == k].mean() for k in range(5)])
    assert quality[4] < 0.5 < quality[:4].min()


def test_a_label_no_better_than_chance_says_nothing():
    even = np.log(np.full((2, 3), 1 / 3))
    given = alike(np.array([0, 1]), 3, np.array([0.1, 1 / 3])).given
    told = others_said(even, given, np.zeros(2, int))
    assert np.allclose(np.exp(told), 1 / 3)


def test_the_rejected_camp_is_counted_in_rows():
    signals = Signals.of(np.ones(6), contributor=np.array(["a", "a", "a", "b", "b", "c"]))
    signals = signals.__class__(**{**signals.__dict__, "clean": np.array([0.9, 0.9, 0.2, 0.1, 0.3, 0.6])})
    assert rejected_camp(signals) == pytest.approx(2 / 6)
    assert rejected_camp(Signals.of(np.ones(3))) == 0


def test_two_large_camps_are_doubtful():
    x, truth = clouds(600, 8.0, 5)
    who = np.arange(600) % 10
    labels = np.where(who < 4, (truth + 1) % 3, truth)
    found = assess(x, labels, "classification", 3, Known(contributor=who), POLICY)
    assert found.weighting.gate.branch == "doubtful"
    assert "40%" in found.weighting.gate.reason


def numbers(seed, bad):
    """Numbers of twenty contributors, and the mask of those whose labels are shifted."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(400, 3))
    who = np.arange(400) % 20
    wrong = who < bad
    return x, x[:, 0] + np.sin(x[:, 1]) + rng.normal(0, 0.5, 400) + 1.5 * wrong, who, wrong


def test_shifted_numbers_are_not_believed():
    x, y, who, wrong = numbers(0, 5)
    found = assess(x, y, "regression", 1, Known(contributor=who), POLICY)
    assert (found.evidence.clean > 0.5).tolist() == (~wrong).tolist()
    each = zip(found.contributors.names, found.contributors.quality, strict=True)
    poor = {int(name) for name, quality in each if quality < 0.5}
    assert poor == set(range(5))
    assert found.weighting.gate.branch == "evidence"


def test_honest_numbers_are_believed_without_training_again():
    x, y, who, _ = numbers(1, 0)
    said = []
    known = Known(contributor=who)
    found = assess(x, y, "regression", 1, known, POLICY, progress=lambda what, *_: said.append(what))
    assert found.evidence.clean.min() > 0.999
    assert not any("round" in what for what in said)

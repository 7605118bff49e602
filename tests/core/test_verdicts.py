"""What may be said of contributors: by hand, and that nobody honest is accused."""

import numpy as np
import pytest

from anml.core.evidence.belief import Belief, believe_classes, reason_for_doubt
from anml.core.evidence.classes import fit_classes
from anml.core.evidence.side import Side
from anml.core.verdicts import (
    ACCUSED,
    BLIND,
    CONTRADICTS,
    FALSE_DISCOVERIES,
    TRUSTED,
    UNSURE,
    accuse,
    judge_contributors,
)


def believed(truth: np.ndarray, y: np.ndarray, who: np.ndarray, accuracy: float, seed: int = 0) -> Belief:
    rng = np.random.default_rng(seed)
    classes = int(truth.max()) + 1
    named = np.where(rng.uniform(size=len(truth)) < accuracy, truth, rng.integers(0, classes, len(truth)))
    log_p = np.log(np.where(np.arange(classes) == named[:, None], accuracy, (1 - accuracy) / (classes - 1)))
    fits, weights = fit_classes(log_p, y, Side(who))
    return judge_contributors(believe_classes(fits, weights, {}, None), fits, weights, None, rng)


def verdicts(belief: Belief) -> np.ndarray:
    assert belief.contributors is not None
    return np.array(belief.contributors.verdict)


YES = np.ones(3, dtype=bool)


def test_the_false_discovery_rate_is_kept_over_all_accusations() -> None:
    # Two at 0.1% and one at 5%: all three would be false at 1.7% on average, so the third is left alone.
    types = np.array([[0.001, 0, 0.999], [0.05, 0, 0.95], [0.001, 0, 0.999]])
    found = accuse(types, ~YES, YES, YES, YES)
    assert found.verdict == [CONTRADICTS, UNSURE, CONTRADICTS]
    assert found.false_accusations == pytest.approx(0.002)
    assert found.false_accusations / 2 <= FALSE_DISCOVERIES


def test_who_is_not_beyond_chance_or_not_covered_is_not_accused() -> None:
    types = np.tile([0.0001, 0.0, 0.9999], (3, 1))
    assert accuse(types, ~YES, YES, np.array([True, False, True]), np.array([True, True, False])).verdict == [
        CONTRADICTS, UNSURE, UNSURE,
    ]  # fmt: skip


def test_who_differs_but_is_not_mostly_wrong_is_not_accused() -> None:
    types = np.tile([0.0001, 0.0, 0.9999], (3, 1))
    assert accuse(types, ~YES, ~YES, YES, YES).verdict == [UNSURE] * 3
    assert accuse(types[:, ::-1], ~YES, ~YES, YES, YES).verdict == [TRUSTED] * 3


def test_doubt_begins_with_a_large_camp() -> None:
    assert reason_for_doubt(0.2) is None
    assert "45%" in (reason_for_doubt(0.45) or "")


@pytest.mark.parametrize(("lie", "said"), [("flip", CONTRADICTS), ("always", BLIND), ("random", BLIND)])
def test_what_a_liar_does_is_named(lie: str, said: str) -> None:
    rng = np.random.default_rng(0)
    truth, who = rng.integers(0, 3, 900), rng.integers(0, 12, 900)
    wrong = {"flip": (truth + 1) % 3, "always": np.zeros(900, dtype=int), "random": rng.integers(0, 3, 900)}
    found = verdicts(believed(truth, np.where(who == 2, wrong[lie], truth), who, 0.9))
    assert found[2] == said
    assert not np.isin(np.delete(found, 2), ACCUSED).any()


@pytest.mark.parametrize("seed", range(6))
def test_nobody_honest_is_accused_whatever_the_predictions_are_worth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    accuracy = [0.5, 0.6, 0.7, 0.8, 0.9, 0.99][seed]
    truth, who = rng.integers(0, 2 + seed, 700), rng.integers(0, 20, 700)
    # Honest contributors err, some more than others.
    often = rng.uniform(0, 0.25, 20)
    slips = rng.uniform(size=700) < often[who]
    y = np.where(slips, rng.integers(0, 2 + seed, 700), truth)
    assert not np.isin(verdicts(believed(truth, y, who, accuracy, seed)), ACCUSED).any()


def test_few_rows_do_not_convict() -> None:
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 403)
    who = np.r_[rng.integers(0, 8, 400), [8, 8, 8]]
    y = truth.copy()
    y[400:402] = 1 - y[400:402]
    assert verdicts(believed(truth, y, who, 0.9))[8] not in ACCUSED


def test_nobody_is_perfect_and_cannot_tell_says_what_would_help() -> None:
    rng = np.random.default_rng(2)
    truth, who = rng.integers(0, 2, 300), rng.integers(0, 4, 300)
    belief = believed(truth, truth, who, 0.6)
    assert belief.contributors is not None
    assert (belief.contributors.high < 1).all()
    assert (belief.contributors.high - belief.contributors.low > 0.01).all()
    few = believed(np.arange(12) % 2, np.arange(12) % 2, np.arange(12) // 2, 0.8)
    assert UNSURE in verdicts(few)
    assert few.help is not None
    # Two rows each are fewer than a second label would be needed for.
    assert few.help.startswith("known labels for about ")
    assert few.help.endswith(" of 1 contributor would settle it")


def test_flawless_labels_earn_reputation() -> None:
    rng = np.random.default_rng(3)
    truth, who = rng.integers(0, 2, 600), rng.integers(0, 3, 600)
    belief = believed(truth, truth, who, 0.95)
    assert belief.contributors is not None
    learned = belief.contributors.reputation()
    assert (learned["r"] > 0.97).all()
    assert (learned["good"] > 100).all()


def test_parts_of_the_log_odds_add_up() -> None:
    rng = np.random.default_rng(4)
    truth, who = rng.integers(0, 2, 400), rng.integers(0, 5, 400)
    belief = believed(truth, np.where(who == 0, 1 - truth, truth), who, 0.9)
    total = belief.base + belief.credentials + belief.contributor + belief.model
    np.testing.assert_allclose(1 / (1 + np.exp(-total)), belief.p_correct, atol=1e-6)

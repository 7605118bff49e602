"""Verdicts, by hand; few rows, weak evidence and two equal sides give no flags."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.annotators.verdicts import (
    FALSE_DISCOVERY_RATE,
    MIN_ROWS_TO_FLAG,
    MODELS_DISAGREE,
    TOO_FEW_PEERS,
    VerdictProbabilities,
    assign_verdicts,
    errors_are_concentrated,
    p_minority_correct,
)
from anml.annotators.words import (
    CONTRADICTS,
    FLAGGED,
    GUESSING,
    INCONCLUSIVE,
    LESS_RELIABLE,
    RELIABLE,
    SEVERITY_ORDER,
    VERDICTS,
)


def chances(guessing, against=0.0, less=0.0, rows=100.0):
    """One value for everybody, or a list."""
    count = len(guessing)
    parts = (np.broadcast_to(np.asarray(part, dtype=float), count) for part in (against, less, rows))
    return VerdictProbabilities(np.asarray(guessing, dtype=float), *parts)


def said(given, blind=False, covered=True, mirror=0.0):
    count = len(given.guessing)
    blind, covered = (np.broadcast_to(np.asarray(part), count) for part in (blind, covered))
    return assign_verdicts(given, blind, covered, mirror)


def test_the_words_are_these_five():
    assert VERDICTS == (
        "reliable", "less reliable", "no better than guessing", "contradicts the others", "inconclusive",
    )  # fmt: skip
    assert FLAGGED == (GUESSING, CONTRADICTS)
    assert set(SEVERITY_ORDER) == set(VERDICTS)
    assert (
        max(SEVERITY_ORDER[word] for word in FLAGGED)
        < SEVERITY_ORDER[LESS_RELIABLE]
        < SEVERITY_ORDER[INCONCLUSIVE]
        < SEVERITY_ORDER[RELIABLE]
    )


def test_who_is_spared_is_not_accused_and_may_be_less_reliable():
    given = chances([0.999, 0.5, 0.01] * 3, less=[1.0, 1.0, 0.0] * 3)
    spared = np.repeat([0, TOO_FEW_PEERS, MODELS_DISAGREE], 3)
    nobody, everybody = np.zeros(9, dtype=bool), np.ones(9, dtype=bool)
    found = assign_verdicts(given, nobody, everybody, spared=spared).words
    assert found[:3] == [GUESSING, LESS_RELIABLE, RELIABLE]
    assert found[3:6] == [LESS_RELIABLE, LESS_RELIABLE, RELIABLE]
    assert found[6:] == [LESS_RELIABLE, INCONCLUSIVE, INCONCLUSIVE]


class TestDecide:
    @pytest.mark.parametrize(
        ("guessing", "against", "less", "word"),
        [
            (0.0, 0.0, 0.01, RELIABLE),
            (0.0, 0.0, 0.5, INCONCLUSIVE),
            (0.0, 0.0, 0.099, RELIABLE),
            (0.0, 0.0, 0.101, INCONCLUSIVE),
            (0.3, 0.0, 0.96, LESS_RELIABLE),
            (0.3, 0.0, 0.94, INCONCLUSIVE),
            # Not comparably worse than others, who are no better than guessing either.
            (0.5, 0.0, 0.0, INCONCLUSIVE),
            (0.999, 0.1, 0.94, INCONCLUSIVE),
            (0.999, 0.1, 1.0, GUESSING),
            (0.999, 0.94, 1.0, GUESSING),
            (0.999, 0.95, 1.0, CONTRADICTS),
            (0.94, 0.9, 1.0, LESS_RELIABLE),
        ],
    )
    def test_by_hand(self, guessing, against, less, word):
        assert said(chances([guessing], against, less)).words == [word]

    def test_whoever_does_not_look_guesses_however_wrong(self):
        assert said(chances([0.999], 0.9, 1.0), blind=True).words == [GUESSING]

    @pytest.mark.parametrize("rows", [1, 5, 9])
    def test_nobody_is_accused_on_few_rows(self, rows):
        assert rows < MIN_ROWS_TO_FLAG
        found = said(chances([1.0, 1.0, 1.0], [1.0, 0.0, 0.0], 1.0, [rows, rows, 100]))
        assert found.words == [LESS_RELIABLE, LESS_RELIABLE, GUESSING]
        assert said(chances([1.0], 1.0, 1.0, MIN_ROWS_TO_FLAG)).words == [CONTRADICTS]

    def test_the_false_discovery_rate_is_kept_over_all_accusations(self):
        # Two at 0.1% and one at 4%: 1.4% on average, so the third is left alone.
        found = said(chances([0.999, 0.96, 0.999], 1.0, 1.0))
        assert found.words == [CONTRADICTS, LESS_RELIABLE, CONTRADICTS]
        assert found.false_accusations == pytest.approx(0.002)
        assert found.false_accusations / 2 <= FALSE_DISCOVERY_RATE

    def test_no_weak_case_rides_along(self):
        """A hundred sure cases leave room for some at 90%: they are not accused for it."""
        found = said(chances([1.0] * 100 + [0.9] * 5, 1.0, 1.0))
        assert found.words == [CONTRADICTS] * 100 + [LESS_RELIABLE] * 5
        assert found.false_accusations == 0

    def test_who_cannot_be_compared_is_not_judged(self):
        found = said(chances([1.0, 0.0], 1.0, [1.0, 0.0]), covered=[False, False])
        assert found.words == [INCONCLUSIVE, INCONCLUSIVE]

    @pytest.mark.parametrize("mirror", [0.02, 0.5])
    def test_where_the_others_may_be_right_nobody_is_judged(self, mirror):
        found = said(chances([1.0, 0.0], 1.0, [1.0, 0.0]), mirror=mirror)
        assert found.words == [INCONCLUSIVE, INCONCLUSIVE]
        assert found.false_accusations == 0

    def test_a_camp_that_is_hardly_right_makes_accusations_a_little_less_sure(self):
        found = said(chances([1.0], 1.0, 1.0), mirror=0.005)
        assert found.words == [CONTRADICTS]
        assert found.false_accusations == pytest.approx(0.005)

    @given(st.integers(0, 10_000))
    def test_laws(self, seed):
        rng = np.random.default_rng(seed)
        count, order = 12, rng.permutation(12)
        # Who hardly does better than guessing may be less reliable.
        less = np.maximum(rng.uniform(size=count) ** 3, rng.uniform(size=count))
        guessing = np.where(rng.uniform(size=count) < 0.5, 1 - 0.01 * rng.uniform(size=count), 0.1 * less)
        rows = rng.integers(1, 40, count).astype(float)
        given_ = VerdictProbabilities(guessing, rng.uniform(size=count), less, rows)
        blind, covered = rng.uniform(size=count) < 0.3, rng.uniform(size=count) < 0.8
        found = assign_verdicts(given_, blind, covered)
        accused = np.isin(found.words, FLAGGED)
        assert set(found.words) <= set(VERDICTS)
        assert (given_.rows[accused] >= MIN_ROWS_TO_FLAG).all()
        assert (guessing[accused] >= 0.95).all()
        assert covered[accused].all()
        assert found.false_accusations <= FALSE_DISCOVERY_RATE * max(accused.sum(), 1) + 1e-12
        other = assign_verdicts(
            VerdictProbabilities(*(part[order] for part in given_)), blind[order], covered[order]
        )
        assert other.words == [found.words[k] for k in order]


class TestMirrored:
    def test_nobody_against_is_nothing(self):
        assert p_minority_correct(np.zeros(5), np.full(5, 10.0)) == 0.0

    def test_by_hand(self):
        # Three against one: two more people, each a factor of exp(-2) / 2.
        expected = 1 / (1 + np.exp(2 * (2 + np.log(2))))
        assert p_minority_correct(np.array([1.0, 0, 0, 0]), np.full(4, 100.0)) == pytest.approx(expected)

    def test_camps_of_equal_size_cannot_be_told_apart(self):
        assert p_minority_correct(np.array([1.0, 1, 0, 0]), np.full(4, 7.0)) == pytest.approx(0.5)

    def test_one_who_has_most_of_the_rows_is_one_person(self):
        # Five others with few rows each, who contradict the one: five people, or two with several names.
        assert p_minority_correct(np.array([0, 1.0, 1, 1, 1, 1]), np.array([600.0, 80, 80, 80, 80, 80])) > 0.9
        assert p_minority_correct(np.array([1.0, 0, 0, 0, 0, 0]), np.array([600.0, 80, 80, 80, 80, 80])) < 0.1

    def test_many_names_with_few_rows_are_not_many_people(self):
        # Thirty of a hundred rows under sixty names, against fourteen people.
        against, rows = np.repeat([1.0, 0.0], [60, 14]), np.repeat([5.0, 50.0], [60, 14])
        assert p_minority_correct(against, rows) < 1e-4
        # The same rows by six people: as unlikely.
        by_six = p_minority_correct(np.repeat([1.0, 0.0], [6, 14]), np.full(20, 50.0))
        assert by_six < 1e-4

    @given(st.integers(0, 10_000))
    def test_the_two_sides_share_all_probability(self, seed):
        rng = np.random.default_rng(seed)
        against, rows = (rng.uniform(size=8) < 0.5).astype(float), rng.integers(1, 50, 8).astype(float)
        if 0 < against.sum() < 8:
            for alike in (False, True):
                both = p_minority_correct(against, rows, alike), p_minority_correct(1 - against, rows, alike)
                assert sum(both) == pytest.approx(1)

    @pytest.mark.parametrize(
        ("of_twenty", "doubt"), [(1, False), (4, False), (6, False), (8, True), (9, True)]
    )
    def test_camps_may_have_one_cause_each(self, of_twenty, doubt):
        against = np.repeat([1.0, 0.0], [of_twenty, 20 - of_twenty])
        assert (p_minority_correct(against, np.full(20, 30.0), True) > FALSE_DISCOVERY_RATE) == doubt
        # Each with a reason of their own, so many cannot all be wrong.
        assert p_minority_correct(against, np.full(20, 30.0)) < FALSE_DISCOVERY_RATE or of_twenty == 9


class TestInTheSameWay:
    def test_by_hand(self):
        # Of three classes, those against say 1 where 0 is true; or 1 and 2 as often.
        same, apart = np.zeros((2, 2, 3, 3))
        same[0, 1, 0], apart[0, 1, 0], apart[0, 2, 0] = 9, 5, 5
        same[1], apart[1] = np.eye(3), np.eye(3)
        against = np.array([1.0, 0.0])
        assert errors_are_concentrated(same, against)
        assert not errors_are_concentrated(apart, against)

    def test_who_agrees_contradicts_nobody(self):
        assert not errors_are_concentrated(np.tile(np.eye(3), (2, 1, 1)), np.zeros(2))

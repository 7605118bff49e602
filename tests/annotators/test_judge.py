"""From fits to what is believed: liars named, nobody honest accused, doubt, and what would settle it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from people_cases import believed, crowd, flat, judged, noisy_predictions, sharp

from anml.annotators.fit import fit_label_model, initial_params
from anml.annotators.judge import credential_log_odds, estimate_labels_and_contributors
from anml.annotators.judge_numbers import numeric_verdicts
from anml.annotators.numbers import fit_numbers
from anml.annotators.result import ContributorEstimates, Neighbourhood
from anml.annotators.rows import SideInformation, make_label_data
from anml.annotators.summaries import error_distribution_of, gold_items
from anml.annotators.verdicts import disputed_share
from anml.annotators.words import (
    CONTRADICTS,
    FLAGGED,
    GUESSING,
    INCONCLUSIVE,
    LESS_RELIABLE,
    RELIABLE,
    VERDICTS,
)


def accused(found: ContributorEstimates):
    return np.isin(found.verdict, FLAGGED)


class TestLiars:
    @pytest.mark.parametrize(
        ("lie", "said"), [("flip", CONTRADICTS), ("always", GUESSING), ("random", GUESSING)]
    )
    def test_what_a_liar_does_is_named(self, lie, said):
        rng = np.random.default_rng(0)
        truth, who = rng.integers(0, 3, 2000), np.arange(2000) % 10
        wrong = {"flip": (truth + 1) % 3, "always": np.zeros(2000, int), "random": rng.integers(0, 3, 2000)}
        found = judged(
            noisy_predictions(truth, 3, 0.9, rng), np.where(who == 2, wrong[lie], truth), SideInformation(who)
        )
        assert found.verdict[2] == said
        assert set(np.delete(found.verdict, 2)) == {RELIABLE}
        assert found.false_accusations <= 0.01

    def test_who_lies_now_and_then_is_accused_or_less_reliable(self):
        rng = np.random.default_rng(1)
        truth, who = rng.integers(0, 3, 1500), rng.integers(0, 10, 1500)
        y = np.where((who == 3) & (rng.uniform(size=1500) < 0.5), (truth + 1) % 3, truth)
        found = judged(noisy_predictions(truth, 3, 0.9, rng), y, SideInformation(who))
        assert found.verdict[3] in (LESS_RELIABLE, *FLAGGED)
        assert found.reliability_high[3] < found.reliability[np.arange(10) != 3].min()


class TestHonest:
    @pytest.mark.parametrize("seed", range(6))
    def test_nobody_is_accused_whatever_the_predictions_are_worth(self, seed):
        rng = np.random.default_rng(seed)
        accuracy = [0.5, 0.6, 0.7, 0.8, 0.9, 0.99][seed]
        truth, who = rng.integers(0, 2 + seed, 700), rng.integers(0, 20, 700)
        # Honest contributors err, some more than others.
        slips = rng.uniform(size=700) < rng.uniform(0, 0.25, 20)[who]
        y = np.where(slips, rng.integers(0, 2 + seed, 700), truth)
        found = judged(noisy_predictions(truth, 2 + seed, accuracy, rng), y, SideInformation(who))
        assert not accused(found).any()

    @pytest.mark.parametrize("rows", [1, 5, 9])
    def test_few_rows_do_not_convict(self, rows):
        rng = np.random.default_rng(1)
        truth, who = rng.integers(0, 2, 400 + rows), np.r_[rng.integers(0, 8, 400), np.full(rows, 8)]
        y = np.where(who == 8, 1 - truth, truth)
        found = judged(noisy_predictions(truth, 2, 0.95, rng), y, SideInformation(who))
        assert not accused(found).any()
        assert found.quality[8] < found.quality[:8].min()

    def test_nobody_is_perfect(self):
        rng = np.random.default_rng(2)
        truth, who = rng.integers(0, 2, 300), rng.integers(0, 4, 300)
        found = judged(noisy_predictions(truth, 2, 0.6, rng), truth, SideInformation(who))
        assert (found.low < found.quality).all()
        assert (found.high - found.low > 0.01).all()

    def test_flawless_labels_earn_reputation(self):
        rng = np.random.default_rng(3)
        truth, who = rng.integers(0, 2, 600), rng.integers(0, 3, 600)
        learned = judged(noisy_predictions(truth, 2, 0.95, rng), truth, SideInformation(who)).reputation()
        assert (learned["r"] > 0.95).all()
        assert (learned["good"] > 50).all()
        assert (learned["good"] + learned["bad"] <= np.bincount(who) + 2).all()


class TestFigures:
    @settings(max_examples=8)
    @given(st.integers(0, 10_000))
    def test_laws(self, seed):
        rng = np.random.default_rng(seed)
        made = crowd(rng.uniform(0.3, 1, 7), items=60, per_item=3, seed=seed)
        found = judged(flat(180, 3), made.y, made.side)
        assert set(found.verdict) <= set(VERDICTS)
        for low, mean, high in (
            (found.low, found.quality, found.high),
            (found.reliability_low, found.reliability, found.reliability_high),
        ):
            assert (low <= mean).all()
            assert (mean <= high).all()
            assert (high <= 1).all()
        assert ((found.expected > 0) & (found.expected < 1)).all()
        assert ((found.settled_by > 0) == (np.array(found.verdict) == INCONCLUSIVE)).all()
        assert (found.good >= 0).all()
        assert (found.bad >= 0).all()

    @settings(max_examples=6)
    @given(st.integers(0, 10_000))
    def test_people_and_classes_may_be_named_otherwise(self, seed):
        rng = np.random.default_rng(seed)
        made = crowd(rng.uniform(0.4, 1, 6), items=50, per_item=3, seed=seed)
        found = judged(flat(150, 3), made.y, made.side)
        names, labels, order = rng.permutation(6), rng.permutation(3), rng.permutation(150)
        side = SideInformation(names[made.who][order], items=made.item[order])
        other = judged(flat(150, 3), labels[made.y][order], side)
        np.testing.assert_allclose(other.reliability[names], found.reliability, atol=2e-3)
        np.testing.assert_allclose(other.quality[names], found.quality, atol=2e-3)


class TestKnown:
    @settings(max_examples=10)
    @given(st.integers(0, 10_000), st.integers(0, 5), st.integers(1, 20))
    def test_right_where_it_is_known_never_makes_anybody_less_reliable(self, seed, k, many):
        rng = np.random.default_rng(seed)
        made = crowd(rng.uniform(0.55, 1, 6), items=100, per_item=3, seed=seed)
        right = np.flatnonzero((made.who == k) & (made.y == made.truth))[:many]
        known = np.full(300, -1)
        # The truth is that of the item: all of its labels are told.
        known[np.isin(made.item, made.item[right])] = made.truth[np.isin(made.item, made.item[right])]
        before = judged(flat(300, 3), made.y, made.side)
        after = judged(flat(300, 3), made.y, made.side._replace(truth=known))
        assert after.reliability[k] >= before.reliability[k] - 0.02

    def test_a_crowd_that_errs_together_is_found_out(self):
        """Everybody calls a third of class 1 class 0: all agree, and only known labels tell."""
        nearer, covered = [], []
        for seed in range(10):
            fooled = np.random.default_rng(seed).uniform(size=200) < 0.3
            made = crowd([0.95] * 6, classes=2, items=200, per_item=4, seed=seed)
            y = np.where(fooled[made.item] & (made.truth == 1), 0, made.y)
            alone = judged(flat(800, 2), y, made.side)
            known = np.where(np.isin(made.item, np.arange(60)), made.truth, -1)
            told = judged(flat(800, 2), y, made.side._replace(truth=known))
            share = np.array([(y == made.truth)[made.who == k].mean() for k in range(6)])
            nearer.append(np.abs(told.quality - share).mean() < np.abs(alone.quality - share).mean())
            covered.append(((told.low <= share) & (share <= told.high)).mean())
        assert np.mean(nearer) >= 0.8
        # All six share one rate that sixty items tell to four points or so.
        assert np.mean(covered) > 0.7

    def test_camps_of_equal_size_accuse_nobody(self):
        rng = np.random.default_rng(8)
        truth, who = rng.integers(0, 2, 600), np.arange(600) % 10
        belief = believed(sharp(truth, 2, 0.9), np.where(who < 5, 1 - truth, truth), SideInformation(who))
        assert belief.doubtful is not None
        assert belief.contributors.verdict == [INCONCLUSIVE] * 10
        assert belief.contributors.false_accusations == 0

    def test_share_by_hand(self):
        rows = np.array([30.0, 70.0])
        assert disputed_share(0.005, np.array([1.0, 0.0]), rows) is None
        assert disputed_share(0.4, np.array([1.0, 0.0]), rows) == pytest.approx(0.3)

    @pytest.mark.parametrize("each", [2, 3, 6])
    @pytest.mark.parametrize("noise", [0.0, 0.1])
    def test_nor_do_they_by_items_alone(self, each, noise):
        rng = np.random.default_rng(8)
        who, item = np.tile(np.arange(2 * each), 80), np.repeat(np.arange(80), 2 * each)
        truth = np.repeat(rng.integers(0, 2, 80), 2 * each)
        y = np.where((who < each) ^ (rng.uniform(size=len(who)) < noise), 1 - truth, truth)
        belief = believed(flat(len(y), 2), y, SideInformation(who, items=item))
        assert set(belief.contributors.verdict) == {INCONCLUSIVE}

    def test_a_small_camp_is_accused_and_leaves_no_doubt(self):
        rng = np.random.default_rng(8)
        truth, who = rng.integers(0, 2, 600), np.arange(600) % 10
        belief = believed(sharp(truth, 2, 0.9), np.where(who < 2, 1 - truth, truth), SideInformation(who))
        assert belief.doubtful is None
        assert belief.contributors.verdict == [CONTRADICTS] * 2 + [RELIABLE] * 8


class TestHelp:
    @pytest.mark.parametrize(("rows", "wrong"), [(8, 3), (20, 5)])
    def test_so_many_known_labels_do_settle_it(self, rows, wrong):
        """Eight who are always right, and one who is wrong in some of a few rows."""
        rng = np.random.default_rng(0)
        truth, who = rng.integers(0, 2, 400 + rows), np.r_[np.arange(400) % 8, np.full(rows, 8)]
        log_p = noisy_predictions(truth, 2, 0.9, rng)
        order = 400 + rng.permutation(rows)
        y = truth.copy()
        y[order[:wrong]] = 1 - y[order[:wrong]]
        belief = believed(log_p, y, SideInformation(who))
        assert belief.contributors.verdict[8] == INCONCLUSIVE
        asked = int(belief.contributors.settled_by[8])
        # Where there are not so many rows, more rows are needed: all that there are may leave it open.
        if asked <= rows:
            known = np.full(len(y), -1)
            known[400 : 400 + asked] = truth[400 : 400 + asked]
            assert judged(log_p, y, SideInformation(who, truth=known)).verdict[8] != INCONCLUSIVE


class TestBelieve:
    def test_labels_that_rest_on_their_contributor_alone_are_not_condemned(self):
        rng = np.random.default_rng(5)
        truth, who = rng.integers(0, 2, 300), np.arange(300) % 5
        y = np.where(who == 0, 1 - truth, truth)
        fitted = fit_label_model(sharp(truth, 2, 0.95), y, SideInformation(who))
        plain = estimate_labels_and_contributors(*fitted, {}, True)
        alone, covered = who == 0, np.arange(5) != 0
        spared = estimate_labels_and_contributors(*fitted, {}, True, alone, Neighbourhood(covered))
        assert plain.p_correct[who == 0].max() < 0.5
        assert spared.p_correct[who == 0].min() > 0.5
        np.testing.assert_array_equal(spared.alone, alone)
        assert plain.contributors.verdict[0] in FLAGGED
        assert spared.contributors.verdict[0] == INCONCLUSIVE

    def test_without_contributors_nobody_is_judged(self):
        y = np.arange(40) % 2
        belief = believed(sharp(y, 2), y, SideInformation())
        assert belief.contributors is None
        assert not belief.contributor.any()

    def test_what_is_known_is_certain_whatever_crowds_get_wrong_together(self):
        y = np.arange(40) % 2
        known = np.where(np.arange(40) < 4, y, -1)
        belief = believed(sharp(y, 2, 0.7), y, SideInformation(np.arange(40) % 4, truth=known))
        assert belief.p_correct[:4].min() > 1 - 1e-8
        assert belief.p_correct[4:].max() < 1 - 1e-8

    def test_kappa_is_a_number_even_where_every_guess_would_be_right(self):
        truth = np.array([0, 0, -1, -1])
        found = judged(
            flat(4, 2),
            np.array([0, 1, 0, 1]),
            SideInformation(np.arange(4), items=np.repeat([0, 1], 2), truth=truth),
        )
        for name in ("reliability", "reliability_low", "reliability_high"):
            assert (np.abs(getattr(found, name)) <= 1).all()

    def test_credentials_that_say_nothing_add_nothing(self):
        y = np.arange(40) % 2
        rows, fits, _ = fit_label_model(sharp(y, 2), y, SideInformation(np.arange(40) % 4))
        np.testing.assert_array_equal(credential_log_odds(rows, fits[0]), 0)

    def test_where_wrong_labels_go_is_a_distribution_over_others(self):
        rows = make_label_data(flat(9, 3), np.arange(9) % 3, SideInformation(np.arange(9) % 2))
        np.testing.assert_allclose(
            error_distribution_of(initial_params(rows, "even", 1.0, 2.5)), (1 - np.eye(3)) / 2
        )


class TestNumbers:
    def judged(self, shift=4.0, people=8, rows=40, credentials=None):
        rng = np.random.default_rng(0)
        codes = np.repeat(np.arange(people), rows)
        predicted = rng.normal(0, 5, people * rows)
        values = predicted + rng.normal(size=people * rows) + np.where(codes == 0, shift, 0.0)
        side = SideInformation(codes, credentials)
        fit = fit_numbers(values, predicted, np.ones(len(values)), side)
        return numeric_verdicts(fit, np.clip(fit.p_correct, 1e-9, 1 - 1e-9), values, codes)

    def test_who_is_off_is_accused_and_nobody_else(self):
        found, against = self.judged()
        assert found.verdict[0] in FLAGGED
        assert set(found.verdict[1:]) == {RELIABLE}
        assert against[0] > 0.9
        assert against[1:].max() < 0.1

    def test_nobody_is_accused_where_all_are_alike(self):
        found, against = self.judged(0.0)
        assert set(found.verdict) == {RELIABLE}
        assert against.max() < 0.1

    @pytest.mark.parametrize("rows", [1, 5, 9])
    def test_nobody_is_accused_on_few_rows(self, rows):
        assert not np.isin(self.judged(rows=rows, people=20)[0].verdict, FLAGGED).any()


def test_the_interval_of_who_guesses_covers_what_luck_gave_them():
    rng = np.random.default_rng(0)
    who = np.repeat(np.arange(40), 60)
    truth = rng.integers(0, 4, len(who))
    y = np.where(who < 15, rng.integers(0, 4, len(who)), truth)
    found = judged(noisy_predictions(truth, 4, 0.95, rng), y, SideInformation(who))
    right = np.bincount(who, y == truth) / 60
    assert set(found.verdict[:15]) <= set(FLAGGED)
    assert np.mean((found.low <= right) & (right <= found.high)) >= 0.9
    # They differ by luck, of which the interval says no more than a binomial would.
    assert (found.high - found.low)[:15].mean() < 4 * np.sqrt(0.25 * 0.75 / 60)


class TestAlone:
    # 10 / 77 * 77 is less than 10, by rounding.
    @pytest.mark.parametrize("rows", [77, 200])
    @pytest.mark.parametrize(("known", "says"), [(0, INCONCLUSIVE), (9, INCONCLUSIVE), (10, RELIABLE)])
    def test_the_only_contributor_is_compared_with_what_is_known(self, known, says, rows):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 2, rows)
        told = np.where(np.arange(rows) < known, truth, -1)
        side = SideInformation(np.zeros(rows, dtype=np.int64), truth=told if known else None)
        found = judged(noisy_predictions(truth, 2, 0.9, rng), truth, side)
        assert found.verdict == [says]
        assert found.settled_by[0] == (0 if says == RELIABLE else 10 - known)

    def test_nor_where_it_is_said_that_others_cover_the_rows(self):
        rng = np.random.default_rng(0)
        truth, side = rng.integers(0, 2, 200), SideInformation(np.zeros(200, dtype=np.int64))
        rows, fits, weights = fit_label_model(noisy_predictions(truth, 2, 0.9, rng), truth, side)
        around = Neighbourhood(np.ones(1, dtype=bool), np.ones(1))
        found = estimate_labels_and_contributors(rows, fits, weights, {}, True, None, around).contributors
        assert found is not None
        assert found.verdict == [INCONCLUSIVE]


class TestKnownItems:
    """True labels enter the fit; the collective error is estimated by a fit that does not use them."""

    def mistaken(self, seed):
        """A class that a third of a crowd of twenty takes for the next, on half of its items all of them."""
        made = crowd([0.85] * 20, classes=4, items=300, per_item=4, seed=seed)
        rng = np.random.default_rng(seed)
        hard = (rng.uniform(size=300) < 0.5)[made.item] & (made.truth == 0)
        taken = rng.uniform(size=len(made.y)) < np.where(hard, 0.75, 0.0)
        return made._replace(y=np.where(taken & (made.y == 0), 1, made.y))

    def test_a_fit_that_nothing_was_known_to_is_kept_beside(self):
        made = self.mistaken(0)
        known = np.where(made.item < 60, made.truth, -1)
        _, fits, _ = fit_label_model(flat(len(made.y), 4), made.y, made.side._replace(truth=known))
        assert all(fit.untold is not None and not fit.untold.told for fit in fits)
        _, fits, _ = fit_label_model(flat(len(made.y), 4), made.y, made.side)
        assert all(fit.untold is None for fit in fits)

    def test_known_items_do_not_confirm_what_they_taught(self):
        """A fit without them says of them what is asked, on average."""
        gaps = []
        for seed in range(4):
            made = self.mistaken(seed)
            known = np.where(made.item < 60, made.truth, -1)
            rows, fits, weights = fit_label_model(
                flat(len(made.y), 4), made.y, made.side._replace(truth=known)
            )
            said, truth = gold_items(rows, fits, weights)
            assert said.shape == (60, 4)
            _, blank, likely = fit_label_model(flat(len(made.y), 4), made.y, made.side)
            first = np.unique(made.item[made.item < 60], return_index=True)[1]
            without = sum(w * fit.truth[first] for w, fit in zip(likely, blank, strict=True))
            at = np.arange(60), truth
            gaps.append(np.mean(said[at]) - np.mean(without[at]))
        assert abs(np.mean(gaps)) < 0.02

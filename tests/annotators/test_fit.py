"""Fits of the model to class labels: where they start and end, laws, then whole cases."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from people_cases import crowd, flat, noisy_predictions, sharp
from scipy import special

from anml.annotators.fit import EM_STARTS, InMemoryTable, fit_label_model, initial_params, run_em
from anml.annotators.params import BURN_IN, HYPOTHESES, MAX_LOGIT
from anml.annotators.result import average_over_hypotheses
from anml.annotators.rows import SideInformation, make_label_data
from anml.core.calibration import auroc

pytestmark = pytest.mark.slow


def p_correct(log_p, y, side):
    _, fits, weights = fit_label_model(log_p, y, side)
    return average_over_hypotheses(weights, [fit.truth for fit in fits])[np.arange(len(y)), y]


def types(log_p, y, side):
    _, fits, weights = fit_label_model(log_p, y, side)
    return average_over_hypotheses(weights, [fit.params.types for fit in fits])


class TestBegin:
    def test_labels_are_counted(self):
        rows = make_label_data(flat(4, 2), np.array([0, 1, 1, 1]), SideInformation(np.array([0, 0, 1, 1])))
        params = initial_params(rows, "even", 0.5, 1.2)
        np.testing.assert_array_equal(params.given, [[1, 1], [0, 2]])
        np.testing.assert_array_equal(params.size, [2, 2])
        np.testing.assert_allclose(params.share, [0.25, 0.75], atol=1e-3)
        assert params.base == 1.2
        # A class prior is no prediction: it is not taken for sharper or flatter than it is.
        assert params.temperature == 1.0

    def test_labels_that_are_never_wrong_start_sure(self):
        rows = make_label_data(
            sharp(np.arange(6) % 2, 2), np.arange(6) % 2, SideInformation(np.arange(6) % 3)
        )
        assert initial_params(rows, "none", 0.5, 1.2).base == MAX_LOGIT
        assert initial_params(rows, "none", 0.5, 1.2).temperature == 0.5

    @pytest.mark.parametrize(("people", "hypothesis"), [(1, "classes"), (3, "all ordinary")])
    def test_alone_or_where_all_are_ordinary_nobody_is_of_another_kind(self, people, hypothesis):
        rows = make_label_data(flat(6, 2), np.arange(6) % 2, SideInformation(np.arange(6) % people))
        np.testing.assert_array_equal(
            initial_params(rows, hypothesis, 1.0, 2.5).types, [[1.0, 0, 0]] * people
        )


class TestClimb:
    def test_stops_where_beliefs_hardly_change(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 2, 200)
        rows = make_label_data(sharp(truth, 2), truth, SideInformation(rng.integers(0, 5, 200)))
        fit = run_em({"a": initial_params(rows, "none", 1.0, 2.5)}, InMemoryTable(rows), 200)["a"]
        assert BURN_IN < fit.params.steps < 200

    def test_starting_from_its_own_end_hardly_changes_anything(self):
        rng = np.random.default_rng(1)
        truth, who = rng.integers(0, 3, 300), rng.integers(0, 6, 300)
        y = np.where((who == 1) & (rng.uniform(size=300) < 0.7), (truth + 1) % 3, truth)
        log_p = noisy_predictions(truth, 3, 0.85, rng)
        _, fits, weights = fit_label_model(log_p, y, SideInformation(who))
        _, again, others = fit_label_model(log_p, y, SideInformation(who), fits)
        straight, repeated = (
            average_over_hypotheses(w, [fit.truth for fit in each])
            for w, each in ((weights, fits), (others, again))
        )
        assert np.abs(straight - repeated).mean() < 0.02


class TestHypotheses:
    def test_each_has_a_fit_and_their_posterior_sums_to_one(self):
        y = np.arange(60) % 3
        rows, fits, weights = fit_label_model(sharp(y, 3), y, SideInformation(np.arange(60) % 4))
        assert [fit.params.hypothesis for fit in fits] == list(HYPOTHESES)
        assert weights.sum() == pytest.approx(1)
        assert rows.n == 60
        assert len(EM_STARTS) == 3

    def test_who_is_like_nobody_is_not_the_majority(self):
        """Seven of ten give other labels than predictions say: they define what is usual."""
        rng = np.random.default_rng(2)
        truth, who = rng.integers(0, 3, 600), rng.integers(0, 10, 600)
        y = np.where(who < 7, (truth + 1) % 3, truth)
        found = types(flat(600, 3), y, SideInformation(who))
        assert found[:, 2].mean() < 0.5


class TestLabels:
    def test_nothing_wrong_is_believed_whole(self):
        rng = np.random.default_rng(0)
        truth = rng.integers(0, 3, 300)
        believed = p_correct(
            noisy_predictions(truth, 3, 0.9, rng), truth, SideInformation(rng.integers(0, 10, 300))
        )
        assert (believed < 0.5).sum() == 0

    def test_labels_that_follow_flat_predictions_are_ambiguous_not_wrong(self):
        rng = np.random.default_rng(1)
        chance = special.expit(rng.normal(size=600))
        y = (rng.uniform(size=600) < chance).astype(int)
        assert (p_correct(np.log(np.c_[1 - chance, chance]), y, SideInformation()) >= 0.5).all()

    def test_the_other_labels_of_an_item_count(self):
        made = crowd([0.85] * 5, classes=2, seed=5)
        believed = p_correct(flat(1000, 2), made.y, made.side)
        assert ((believed >= 0.5) == (made.y == made.truth)).mean() > 0.95

    def test_credentials_are_learned_in_either_direction(self):
        rng = np.random.default_rng(9)
        truth = rng.integers(0, 2, 600)
        bad = rng.uniform(size=600) < 0.3
        y = np.where(bad, 1 - truth, truth)
        log_p = noisy_predictions(truth, 2, 0.8, rng)
        alone = p_correct(log_p, y, SideInformation())
        for low, high in ((0.2, 0.8), (0.8, 0.2)):
            credentials = np.clip(np.where(bad, low, high) + rng.normal(0, 0.1, 600), 0, 1)[:, None]
            told = p_correct(log_p, y, SideInformation(credentials=credentials))
            assert ((told >= 0.5) == ~bad).mean() > ((alone >= 0.5) == ~bad).mean() + 0.02

    def test_nobody_confirms_himself(self):
        """The first labels every item twice, always wrongly; the second once, rightly: one voice each."""
        truth = np.repeat(np.random.default_rng(6).integers(0, 2, 100), 3)
        item, who = np.repeat(np.arange(100), 3), np.tile([0, 0, 1], 100)
        y = np.where(who == 0, 1 - truth, truth)
        rows = make_label_data(flat(300, 2), y, SideInformation(who, items=item))
        table = InMemoryTable(rows)
        run_em({"a": initial_params(rows, "even", 1.0, 2.5)}, table, 1)
        assert (np.exp(table.found["a"].seen)[np.arange(300), y] < 0.5).all()

    def test_a_confusion_that_everybody_shares_convicts_nobody_and_is_seen(self):
        rng = np.random.default_rng(4)
        truth, who = rng.integers(0, 6, 1500), rng.integers(0, 12, 1500)
        slips = (truth % 2 == 0) & (rng.uniform(size=1500) < 0.3)
        y = np.where(slips, truth + 1, truth)
        log_p = sharp(truth, 6, 0.97)
        assert types(log_p, y, SideInformation(who))[:, 0].min() > 0.5
        believed = p_correct(log_p, y, SideInformation(who))
        assert (believed[slips] < 0.5).mean() > 0.95
        assert (believed[~slips] < 0.5).mean() < 0.01

    def test_habits_of_ones_own_leave_most_labels_right(self):
        """Everybody takes another class for the next a third of the time."""
        rng = np.random.default_rng(0)
        truth = np.repeat(rng.integers(0, 4, 150), 6)
        who, item = np.tile(np.arange(6), 150), np.repeat(np.arange(150), 6)
        slips = (truth == who % 4) & (rng.uniform(size=900) < 0.35)
        y = np.where(slips, (truth + 1) % 4, truth)
        _, fits, weights = fit_label_model(flat(900, 4), y, SideInformation(who, items=item))
        assert (
            average_over_hypotheses(weights, [fit.truth for fit in fits]).argmax(axis=1) == truth
        ).mean() > 0.99


class TestKnown:
    def test_truth_is_believed_and_tells_of_its_contributor(self):
        rng = np.random.default_rng(7)
        truth, who = rng.integers(0, 2, 400), rng.integers(0, 4, 400)
        y = np.where(who == 0, 1 - truth, truth)
        known = np.where(rng.uniform(size=400) < 0.3, truth, -1)
        believed = p_correct(flat(400, 2), y, SideInformation(who, truth=known))
        assert (believed[(known >= 0) & (y == truth)] > 0.99).all()
        assert (believed[(known >= 0) & (y != truth)] < 0.01).all()
        # What is known of some of its rows is believed of the others.
        assert believed[(known < 0) & (who == 0)].max() < 0.5 < believed[(known < 0) & (who != 0)].min()

    @pytest.mark.parametrize("sure", [0.9, 1 - 1e-9])
    def test_a_label_known_to_be_wrong_is_wrong_however_sure_predictions_are(self, sure):
        truth = np.arange(60) % 2
        p = p_correct(sharp(truth, 2, sure), truth, SideInformation(wrong=np.arange(60) < 3))
        assert p[:3].max() < 0.01
        assert p[3:].min() > 0.5


class TestContributors:
    @pytest.mark.parametrize("lie", ["flip", "always", "random"])
    def test_the_labels_of_a_liar_are_not_believed(self, lie):
        rng = np.random.default_rng(2)
        truth, who = rng.integers(0, 3, 600), rng.integers(0, 10, 600)
        wrong = {"flip": (truth + 1) % 3, "always": np.zeros(600, int), "random": rng.integers(0, 3, 600)}
        y, log_p = np.where(who == 4, wrong[lie], truth), noisy_predictions(truth, 3, 0.9, rng)
        believed = p_correct(log_p, y, SideInformation(who))
        assert (believed[y != truth] < 0.5).mean() > 0.85
        assert (believed[y == truth] > 0.5).mean() > 0.95
        assert types(log_p, y, SideInformation(who))[np.arange(10) != 4, 0].min() > 0.5

    def test_who_always_says_the_same_answers_without_looking(self):
        rng = np.random.default_rng(2)
        truth, who = rng.integers(0, 3, 600), rng.integers(0, 10, 600)
        y = np.where(who == 4, 0, truth)
        assert types(noisy_predictions(truth, 3, 0.9, rng), y, SideInformation(who))[4, 1] > 0.9

    def test_a_specialist_is_no_spammer(self):
        rng = np.random.default_rng(3)
        truth = rng.integers(0, 4, 800)
        who = np.where(truth == 2, 0, rng.integers(1, 10, 800))
        assert types(noisy_predictions(truth, 4, 0.9, rng), truth, SideInformation(who))[:, 0].min() > 0.5

    def test_skill_is_continuous_and_nobody_strange_for_it(self):
        made = crowd(np.linspace(0.6, 1.0, 12), classes=4, items=400, per_item=5, seed=1)
        assert types(flat(len(made.y), 4), made.y, made.side)[:, 0].min() > 0.5


class TestLaws:
    @settings(max_examples=8)
    @given(st.integers(0, 10_000))
    def test_rows_may_come_in_any_order(self, seed):
        rng = np.random.default_rng(seed)
        truth, who = rng.integers(0, 3, 120), rng.integers(0, 5, 120)
        y = np.where((who == 0) & (rng.uniform(size=120) < 0.7), (truth + 1) % 3, truth)
        log_p, order = noisy_predictions(truth, 3, 0.85, rng), rng.permutation(120)
        straight = p_correct(log_p, y, SideInformation(who))
        other = p_correct(log_p[order], y[order], SideInformation(who[order]))
        np.testing.assert_allclose(other, straight[order], atol=1e-5)

    @settings(max_examples=8)
    @given(st.integers(0, 10_000))
    def test_names_of_contributors_and_classes_do_not_matter(self, seed):
        rng = np.random.default_rng(seed)
        truth, who = rng.integers(0, 3, 150), rng.integers(0, 5, 150)
        y = np.where(who == 1, (truth + 1) % 3, truth)
        log_p = noisy_predictions(truth, 3, 0.85, rng)
        straight = p_correct(log_p, y, SideInformation(who))
        renamed, relabelled = rng.permutation(5), rng.permutation(3)
        other = p_correct(log_p[:, np.argsort(relabelled)], relabelled[y], SideInformation(renamed[who]))
        np.testing.assert_allclose(other, straight, atol=1e-5)

    @pytest.mark.parametrize("rows", [1, 2, 3])
    def test_hardly_any_rows(self, rows):
        y = np.arange(rows) % 2
        assert np.isfinite(p_correct(flat(rows, 2), y, SideInformation(np.zeros(rows, dtype=int)))).all()

    def test_one_class_only(self):
        y = np.zeros(20, dtype=int)
        assert (p_correct(np.zeros((20, 1)), y, SideInformation(np.arange(20) % 3)) > 0.5).all()


class TestCredentials:
    """Credentials of rows, which have to tell wrong labels apart however many rows a contributor has."""

    @staticmethod
    def vouched(people, seed, tells=True):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 4, 600)
        wrong = rng.uniform(size=600) < 0.25
        y = np.where(wrong, (truth + rng.integers(1, 4, 600)) % 4, truth)
        v = np.clip(np.where(wrong & tells, 0.35, 0.75) + rng.normal(0, 0.12, 600), 0, 1)
        who = None if people == 0 else rng.integers(0, people, 600)
        return noisy_predictions(truth, 4, 0.6, rng), y, wrong, SideInformation(who, v[:, None])

    @pytest.mark.parametrize("people", [0, 1, 3, 30])
    def test_wrong_labels_that_are_vouched_for_less_are_found(self, people):
        log_p, y, wrong, side = self.vouched(people, 0)
        without = p_correct(log_p, y, side._replace(credentials=None))
        found = p_correct(log_p, y, side)
        assert auroc(found, ~wrong) > max(0.95, auroc(without, ~wrong))
        assert found[wrong].mean() < 0.25

    @pytest.mark.parametrize("people", [0, 3, 30])
    def test_credentials_that_tell_nothing_change_little(self, people):
        log_p, y, wrong, side = self.vouched(people, 1, tells=False)
        without = p_correct(log_p, y, side._replace(credentials=None))
        assert auroc(p_correct(log_p, y, side), ~wrong) > auroc(without, ~wrong) - 0.02

    def test_reading_them_the_other_way_round_makes_no_difference(self):
        log_p, y, _, side = self.vouched(3, 2)
        turned = side._replace(credentials=1 - side.credentials)
        np.testing.assert_allclose(p_correct(log_p, y, side), p_correct(log_p, y, turned), atol=1e-6)

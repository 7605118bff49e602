"""The annotator model: worked cases, laws of its sums, and crowds whose contributors are known."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from anml.annotators.population import (
    ACCURACY,
    OWN_SHARES,
    PopulationParams,
    e_step,
    log_evidence,
    log_normalise,
    log_sum,
    m_step,
    settings,
    type_posteriors,
)
from anml.annotators.population_fit import LABEL_STARTS, STARTS, EMStart, InMemoryLabels, fit, initial, run
from anml.annotators.population_judge import by_class, evidence, judge, predictive, shortest_interval
from anml.annotators.rows import LabelData, SideInformation, make_label_data
from anml.annotators.words import CONTRADICTS, FLAGGED, GUESSING, INCONCLUSIVE, RELIABLE
from tests.annotators.people_cases import Crowd, crowd, flat, sharp


def rows_of(made: Crowd, classes: int = 3, **known) -> LabelData:
    return make_label_data(flat(len(made.y), classes), made.y, made.side._replace(**known))


def fitted(rows: LabelData) -> PopulationParams:
    return fit(InMemoryLabels(rows), LABEL_STARTS)


def verdicts(rows: LabelData, params: PopulationParams) -> list[str]:
    result, _ = e_step(params, rows)
    people = judge(params, evidence(params, rows, result)).people
    assert people is not None
    return people.verdict


class TestArithmetic:
    def test_logs_sum_to_one(self):
        logs = np.log(np.array([[1.0, 3.0], [2.0, 2.0]]))
        np.testing.assert_allclose(log_sum(logs), np.log(4.0))
        np.testing.assert_allclose(np.exp(log_normalise(logs)), [[0.25, 0.75], [0.5, 0.5]])

    def test_an_interval_of_equal_probabilities_leaves_a_twentieth_out(self):
        low, high = shortest_interval(np.full((1, len(ACCURACY)), 1 / len(ACCURACY)))
        assert high[0] - low[0] == pytest.approx(0.95, abs=0.011)

    @given(st.integers(2, 60), st.floats(0.05, 0.95))
    def test_of_few_rows_the_share_varies_more_than_the_accuracy(self, n, accuracy):
        sure = np.eye(len(ACCURACY))[[int(np.argmin(np.abs(ACCURACY - accuracy)))]]
        share = predictive(sure, np.array([float(n)]))
        assert share.sum() == pytest.approx(1.0)
        variance = share @ ACCURACY**2 - (share @ ACCURACY) ** 2
        assert variance[0] == pytest.approx(accuracy * (1 - accuracy) / n, rel=0.2, abs=2e-3)


class TestPasses:
    """PassSums and beliefs of one pass, from its parameters alone."""

    MADE = crowd([0.9, 0.8, 0.6, 0.4], items=60, per_item=3)

    def after(self, passes: int) -> tuple[LabelData, PopulationParams]:
        rows = rows_of(self.MADE)
        return rows, run(InMemoryLabels(rows), initial(rows.about, EMStart(1.0, 0.9)), passes)

    @pytest.mark.parametrize("passes", [1, 4, 10])
    def test_sums_of_slices_add_up(self, passes):
        rows, params = self.after(passes)
        whole = e_step(params, rows, tune=True)[1]
        first = rows.item < 30
        some = (rows.some(np.flatnonzero(selected)) for selected in (first, ~first))
        parts = [e_step(params, each, tune=True)[1] for each in some]
        for name, both, one, two in zip(whole._fields, whole, *parts, strict=True):
            np.testing.assert_allclose(one + two, both, atol=1e-8, err_msg=name)

    def test_every_label_is_counted_once(self):
        rows, params = self.after(10)
        result, sums = e_step(params, rows)
        assert sums.counts.sum() == pytest.approx(rows.n)
        assert sums.hist.sum() == pytest.approx(rows.n)
        np.testing.assert_allclose(result.item.sum(axis=1), 1.0)

    def test_rows_of_an_item_have_one_posterior(self):
        rows, params = self.after(10)
        result, _ = e_step(params, rows)
        for item in range(3):
            mine = result.item[rows.item == item]
            np.testing.assert_allclose(mine, np.tile(mine[0], (len(mine), 1)), atol=1e-12)

    def test_a_label_has_no_part_in_what_judges_it(self):
        rows, params = self.after(10)
        turned = LabelData(
            rows.log_p, np.where(np.arange(rows.n) == 0, (rows.y + 1) % 3, rows.y), rows.who, rows.count,
            None, rows.item, rows.voice,
        )  # fmt: skip
        given = params.given + 1  # every contributor and label occurs, so that both tables have one number
        wide = initial(rows.about._replace(given=given), EMStart(1.0, 0.9))
        before, after = (e_step(wide, each)[0].others[0] for each in (rows, turned))
        np.testing.assert_allclose(before, after, atol=1e-12)

    def test_a_known_class_is_certain_for_its_item(self):
        rows = rows_of(self.MADE, truth=np.where(self.MADE.item == 0, 2, -1))
        params = run(InMemoryLabels(rows), initial(rows.about, EMStart(1.0, 0.9)), 4)
        result, _ = e_step(params, rows)
        assert by_class(params, result.item)[rows.item == 0, 2].min() > 1 - 1e-9

    def test_a_class_known_to_be_wrong_has_no_probability(self):
        wrong = np.arange(len(self.MADE.y)) == 0
        rows = rows_of(self.MADE, wrong=wrong)
        params = run(InMemoryLabels(rows), initial(rows.about, EMStart(1.0, 0.9)), 4)
        result, _ = e_step(params, rows)
        assert by_class(params, result.item)[0, rows.y[0]] < 1e-9

    def test_settings_differ_from_those_in_use_by_one_name(self):
        _, params = self.after(4)
        assert settings(params)[0] == {}
        assert all(len(option) == 1 for option in settings(params)[1:])
        # Class shares of a contributor's own need predictions: labels alone do not separate them from errors.
        assert not any("own" in option or "temperature" in option for option in settings(params))

    def test_with_predictions_shares_and_temperature_are_settings(self):
        made = self.MADE
        rows = make_label_data(sharp(made.truth, 3), made.y, made.side)
        options = settings(initial(rows.about, STARTS[1]))
        assert {option["own"] for option in options if "own" in option} == set(OWN_SHARES) - {0.0}
        assert sum("temperature" in option for option in options) == 2


class TestTypes:
    def test_those_who_are_right_are_regular_and_those_who_guess_are_not(self):
        rows = rows_of(crowd([0.9] * 6 + [1 / 3], items=300, per_item=4))
        types = type_posteriors(fitted(rows))
        assert types[:6, 0].min() > 0.9
        assert types[6, 0] < 0.05

    def test_a_single_contributor_is_regular(self):
        made = crowd([0.9], items=40, per_item=1)
        rows = make_label_data(sharp(made.truth, 3), made.y, SideInformation())
        np.testing.assert_array_equal(type_posteriors(fit(InMemoryLabels(rows))), [[1.0, 0.0, 0.0]])

    def test_the_better_start_wins(self):
        rows = rows_of(crowd([0.9] * 6, items=100, per_item=4))
        each = [run(InMemoryLabels(rows), initial(rows.about, start), 40) for start in LABEL_STARTS]
        assert log_evidence(fitted(rows)) >= max(map(log_evidence, each)) - 1e-6


class TestAccuracy:
    def test_labels_that_predictions_confirm_are_right(self):
        made = crowd([1.0] * 5, items=200, per_item=1)
        rows = make_label_data(sharp(made.truth, 3, 0.8), made.y, SideInformation(made.who))
        params = fit(InMemoryLabels(rows))
        assert params.accuracy > 0.98
        result, _ = e_step(params, rows)
        assert by_class(params, result.item)[np.arange(rows.n), rows.y].min() > 0.5

    def test_estimated_accuracies_are_near_the_true_ones(self):
        accuracy = [0.95, 0.9, 0.85, 0.8, 0.75, 0.7]
        made = crowd(accuracy, items=500, per_item=4)
        rows = rows_of(made)
        params = fitted(rows)
        result, _ = e_step(params, rows)
        people = judge(params, evidence(params, rows, result)).people
        assert people is not None
        true = np.bincount(made.who, made.y == made.truth) / np.bincount(made.who)
        assert np.corrcoef(people.quality, true)[0, 1] > 0.95
        assert ((people.low <= true) & (true <= people.high)).all()

    def test_one_pass_from_the_sums_of_certain_items_gives_their_counts(self):
        made = crowd([1.0, 1.0], items=50, per_item=2)
        rows = rows_of(made, truth=made.truth)
        params = initial(rows.about, EMStart(1.0, 0.9))
        after = m_step(params, e_step(params, rows)[1])
        right = np.bincount(made.truth, minlength=3).astype(float)
        np.testing.assert_allclose(np.sort(after.class_shares), np.sort(right / right.sum()), atol=1e-6)


class TestVerdicts:
    def test_a_side_of_two_contradicts_the_others(self):
        made = crowd([0.95] * 8, classes=2, items=150, per_item=6)
        rows = rows_of(made._replace(y=np.where(made.who < 2, 1 - made.y, made.y)), 2)
        assert verdicts(rows, fitted(rows)) == [CONTRADICTS] * 2 + [RELIABLE] * 6

    def test_spammers_guess(self):
        rows = rows_of(crowd([0.9] * 8 + [1 / 3, 1 / 3], items=300, per_item=6))
        assert verdicts(rows, fitted(rows)) == [RELIABLE] * 8 + [GUESSING] * 2

    def test_a_constant_label_is_guessing(self):
        made = crowd([0.9] * 8, items=300, per_item=5)
        rows = rows_of(made._replace(y=np.where(made.who == 3, 0, made.y)))
        result = verdicts(rows, fitted(rows))
        assert result.pop(3) == GUESSING
        assert set(result) == {RELIABLE}

    @pytest.mark.parametrize("seed", range(4))
    def test_the_spammer_of_two_is_inconclusive(self, seed):
        rows = rows_of(crowd([0.9, 1 / 3], items=200, per_item=2, seed=seed))
        assert verdicts(rows, fitted(rows)) == [INCONCLUSIVE] * 2

    @pytest.mark.parametrize("rows", [1, 5, 9])
    def test_few_rows_are_not_flagged(self, rows):
        made = crowd([0.9] * 7, items=120, per_item=5)
        chosen = np.flatnonzero(np.r_[True, np.diff(made.item) > 0])[:rows]
        more = made._replace(
            item=np.r_[made.item, made.item[chosen]], who=np.r_[made.who, np.full(rows, 7)],
            y=np.r_[made.y, (made.truth[chosen] + 1) % 3], truth=np.r_[made.truth, made.truth[chosen]],
        )  # fmt: skip
        table = rows_of(more)
        result = verdicts(table, fitted(table))
        assert result.pop() not in FLAGGED
        assert set(result) == {RELIABLE}

    def test_ten_known_rows_settle_what_two_people_cannot(self):
        made = crowd([0.9, 1 / 3], items=200, per_item=2)
        rows = rows_of(made, truth=np.where(made.item < 60, made.truth, -1))
        result = verdicts(rows, fitted(rows))
        assert result[0] == RELIABLE
        assert result[1] in FLAGGED


def test_a_posterior_that_is_tempered_less_is_surer():
    """Errors that all make flatten the posterior; without items that several label there are none."""
    made = crowd([0.8] * 6, items=200, per_item=4)
    rows = rows_of(made)
    params = fitted(rows)
    result, _ = e_step(params, rows)
    crowd_error = judge(params, evidence(params, rows, result)).crowd
    posterior = by_class(params, result.item)
    assert crowd_error.truth(posterior).max(axis=1).mean() < posterior.max(axis=1).mean()
    np.testing.assert_allclose(crowd_error.truth(posterior).sum(axis=1), 1.0)
    assert special.entr(crowd_error.weight).sum() >= 0

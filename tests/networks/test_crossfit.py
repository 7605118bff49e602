"""Cross-fitting: folds, what is held out, where it stops, and units."""

import numpy as np
import pytest

from anml.core.profile import PredictorTraining
from anml.networks.crossfit import cross_fit, network_folds, scale_targets

SHORT = PredictorTraining(hidden=(8,), max_epochs=60, folds=3, lr=0.02)


def table(n=90, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    x = rng.normal(size=(n, 4))
    x[np.arange(n), y] += 3
    return x, y


def fitted(x, y, task="classification", training=SHORT, seed=0, **more):
    return cross_fit(x, scale_targets(y, task)[0], task, 3, more.pop("groups", None), training, seed, **more)


class TestStandard:
    def test_numbers_come_back_in_their_own_unit(self):
        y = np.array([10.0, 30.0, 50.0])
        targets, back = scale_targets(y, "regression")
        np.testing.assert_allclose(back(targets), y, rtol=1e-12)
        np.testing.assert_allclose(targets.std(), 1, rtol=1e-12)

    def test_equal_numbers_are_no_error(self):
        targets, back = scale_targets(np.full(3, 7.0), "regression")
        assert targets.tolist() == [0, 0, 0]
        np.testing.assert_array_equal(back(targets), 7.0)

    def test_classes_stay_codes(self):
        targets, _ = scale_targets(np.array([2, 0, 1]), "classification")
        assert targets.dtype == np.int64
        assert targets.tolist() == [2, 0, 1]


class TestFolds:
    @pytest.mark.parametrize(
        ("n", "asked", "result"), [(90, 5, 5), (3, 5, 3), (2, 5, 2), (1, 5, 1), (10_001, 5, 3)]
    )
    def test_as_many_as_asked_for_fewer_where_there_is_less(self, n, asked, result):
        folds = network_folds(np.arange(n) % 2, "classification", None, PredictorTraining(folds=asked), n, 0)
        assert len(np.unique(folds)) == result

    def test_rows_of_an_item_share_a_fold_in_either_task(self):
        groups = np.arange(30) // 3
        for task in ("classification", "regression"):
            folds = network_folds(np.arange(30) % 2, task, groups, PredictorTraining(), 30, 0)
            assert all(len(set(folds[groups == g])) == 1 for g in range(10))

    def test_one_item_is_one_fold(self):
        assert set(network_folds(np.arange(4), "regression", np.zeros(4), PredictorTraining(), 4, 0)) == {0}


class TestFit:
    def test_clear_classes_are_told_by_networks_that_did_not_see_them(self):
        x, y = table()
        result = fitted(x, y)
        assert result.held_out.shape == (90, 3)
        assert (result.held_out.argmax(1) == y).mean() > 0.9
        assert len(result.folds.flat) == 3
        assert len(result.full.flat) == 1

    def test_random_labels_cannot_be_told(self):
        """Each row has a label of its own making: held out, they are chance."""
        x, _ = table(150)
        y = np.random.default_rng(1).integers(0, 3, 150)
        assert (fitted(x, y).held_out.argmax(1) == y).mean() < 0.5

    def test_training_stops_before_the_most_epochs(self):
        x, _ = table(150)
        y = np.random.default_rng(1).integers(0, 3, 150)
        long = PredictorTraining(hidden=(8,), max_epochs=400, folds=3, lr=0.02)
        assert fitted(x, y, training=long).epochs < 200

    def test_the_same_seed_gives_the_same_networks(self):
        x, y = table()
        one, two, other = (fitted(x, y, seed=seed) for seed in (4, 4, 5))
        np.testing.assert_array_equal(one.held_out, two.held_out)
        assert (one.held_out != other.held_out).any()

    def test_rows_of_no_weight_teach_nothing_and_decide_nothing(self):
        x, y = table(120)
        wrong = np.arange(120) % 4 == 0
        spoilt = np.where(wrong, (y + 1) % 3, y)
        weight = np.where(wrong, 0.0, 1.0)
        result = fitted(x, spoilt, weight=weight).held_out.argmax(1)
        assert (result == y).mean() > 0.9

    def test_going_on_begins_where_the_others_stopped(self):
        x, y = table()
        first = fitted(x, y)
        short = PredictorTraining(hidden=(8,), max_epochs=1, folds=3, lr=0.0)
        again = fitted(x, y, training=short, start=first.folds)
        np.testing.assert_allclose(again.held_out, first.held_out, rtol=1e-4, atol=1e-4)

    def test_numbers_are_predicted_too(self):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(120, 3))
        y = x @ [2.0, -1.0, 0.5]
        targets, back = scale_targets(y, "regression")
        result = cross_fit(x, targets, "regression", 1, None, SHORT, 0)
        assert np.corrcoef(back(result.held_out[:, 0]), y)[0, 1] > 0.9

    def test_progress_counts_epochs(self):
        messages = []
        fitted(*table(30), progress=lambda *what: messages.append(what))
        assert messages[0] == ("early stopping", 1, 60)
        assert [done for _, done, _ in messages] == list(range(1, len(messages) + 1))

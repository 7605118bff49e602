"""Arguments of fit other than X and y: aligned, of equal length, and named in errors."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression, Ridge

import anml
from anml import AnmlClassifier, AnmlRegressor
from anml.assessment.assess import SampleInfo
from anml.core.errors import InputError, UnsupportedError
from anml.sklearn.validation import CONTRIBUTED, sample_info

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


class TestKnown:
    def fit(self, true_label, y=None, model=AnmlClassifier, **more):
        X, classes = load_wine(return_X_y=True)
        y = np.array(["red", "white", "blue"])[classes] if y is None else y
        learner = LogisticRegression(solver="newton-cholesky") if model is AnmlClassifier else Ridge()
        made = model(learner, recipe="uniform", random_state=0)
        return made.fit(X, y, true_label=true_label, **more), y

    def test_right_labels(self, inputs):
        _, y = self.fit(["red", "blue", "pink"] + [None] * 175)
        _, codes, known = inputs[0]
        assert y[0] == "red"
        assert known.truth.tolist()[:4] == [1, 0, -1, -1]
        assert known.wrong.tolist()[:4] == [False, True, True, False]
        assert known.verification[:4].tolist() == [0.92, 0.07, 0.07, 0.25]
        assert codes[0] == 1

    @pytest.mark.parametrize("gap", [None, np.nan, pd.NA])
    def test_gaps_of_any_kind(self, gap, inputs):
        self.fit(pd.Series(["red", gap] + [gap] * 176, dtype=object))
        assert inputs[0][2].truth.tolist() == [1] + [-1] * 177

    def test_marks(self, inputs):
        mark = np.arange(178) < 100
        self.fit(mark)
        _, codes, known = inputs[0]
        assert known.truth.tolist() == np.where(mark, codes, -1).tolist()
        assert (known.wrong == ~mark).all()
        self.fit([True, False] + [None] * 176)
        assert inputs[1][2].wrong.sum() == 1

    def test_numbered_classes_as_floats_with_gaps(self, inputs):
        y = load_wine().target
        self.fit(np.r_[y[:3].astype(float), [np.nan] * 175], y)
        assert inputs[0][2].truth.tolist()[:4] == [0, 0, 0, -1]

    def test_numbers(self, inputs):
        y = np.arange(178.0)
        self.fit([0.0, 5.0] + [None] * 176, y, AnmlRegressor)
        np.testing.assert_array_equal(inputs[0][2].truth[:3], [0.0, 5.0, np.nan])
        self.fit([True, False] + [None] * 176, y, AnmlRegressor)
        assert inputs[1][2].wrong.tolist()[:3] == [False, True, False]

    def test_an_item_has_one_right_label_and_v_that_was_given_stays(self, inputs):
        self.fit(["red"] + [None] * 177, item=np.arange(178) // 2, verification=[0.5] * 178)
        assert inputs[0][2].truth.tolist()[:3] == [1, 1, -1]
        assert set(inputs[0][2].verification) == {0.5}

    @pytest.mark.parametrize(
        ("known", "message"),
        [
            (["red"], "true_label must be one value per sample: 178 expected, got 1"),
            (
                ["pink"] * 178,
                r"true_label must hold labels \('blue', 'red', 'white'\), or true and false, got 'pink'",
            ),
        ],
    )
    def test_bad_values(self, known, message):
        with pytest.raises(InputError, match=message):
            self.fit(known)

    def test_bad_numbers(self):
        with pytest.raises(InputError, match="true_label must be numbers"):
            self.fit(["x"] + [None] * 177, np.arange(178.0), AnmlRegressor)


CODES, CLASSES = np.array([0, 1, 0]), np.array(["a", "b"])


def known(**given):
    return sample_info(CODES, "classification", CLASSES, **given)


class TestDoor:
    @pytest.mark.parametrize("name", CONTRIBUTED)
    def test_every_column_has_one_value_for_each_sample(self, name):
        with pytest.raises(InputError, match=f"{name} must be one value per sample: 3 expected, got 2"):
            known(**{name: [1, 2]})

    @pytest.mark.parametrize("name", CONTRIBUTED)
    def test_what_is_not_given_is_not_known(self, name):
        assert known(**{name: None}) == SampleInfo()

    def test_levels_may_mix_names_and_numbers(self):
        assert known(verification=["flagged", 0.5, "0.7"]).verification == ["flagged", 0.5, "0.7"]

    def test_parents_may_differ_in_number(self):
        assert known(derived_from=[[], [0], (0, np.int64(1))]).parents == [[], [0], [0, 1]]

    @pytest.mark.parametrize("parents", ["x", 1, None, 0.5])
    def test_parents_that_are_no_list_are_shown(self, parents):
        with pytest.raises(InputError, match="must be a list of positions for each sample, got"):
            known(derived_from=[[], [], parents])

    def test_positions_are_whole_numbers(self):
        with pytest.raises(InputError, match=r"a position in derived_from must be a whole number, got 0\.5"):
            known(derived_from=[[], [], [0.5]])


class TestAnswers:
    def test_right_labels_and_what_nobody_gave(self):
        result = known(true_label=["a", "a", "z"])
        assert result.truth.tolist() == [0, 0, -1]
        assert result.wrong.tolist() == [False, True, True]

    @pytest.mark.parametrize("true", [True, np.True_])
    def test_marks_of_either_kind(self, true):
        result = known(true_label=[true, not true, None])
        assert result.truth.tolist() == [0, -1, -1]
        assert result.wrong.tolist() == [False, True, False]

    def test_where_labels_are_true_and_false_themselves_they_are_labels(self):
        result = sample_info(
            CODES, "classification", np.array([False, True]), true_label=[False, False, None]
        )
        assert result.truth.tolist() == [0, 0, -1]

    def test_nothing_said_is_nothing_known(self):
        result = known(true_label=[None, np.nan, None])
        assert not result.wrong.any()
        assert result.verification is None

    def test_v_is_earned_unless_it_was_given(self):
        assert known(true_label=["a", None, None]).verification is not None
        assert known(true_label=["a", None, None], verification=[1, 1, 1]).verification == [1, 1, 1]


@pytest.mark.parametrize("make", [anml.AnmlClassifier, anml.AnmlRegressor])
def test_weights_of_the_callers_own_are_refused_in_a_sentence(make):
    x, y = np.arange(20.0).reshape(10, 2), np.arange(10) % 2
    with pytest.raises(UnsupportedError, match="estimates the weights of samples and takes no sample_weight"):
        make().fit(x, y, sample_weight=np.ones(10))

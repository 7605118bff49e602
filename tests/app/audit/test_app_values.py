"""Results hold what the table held; frames beside it go by its index, or are refused."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anml
from anml.app.audit.weights_for import by_index, typed
from anml.core.errors import InputError
from anml.intake.columns import Columns
from anml.intake.tables import read_table


def table(n=90):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    y = 10 * (x[:, 0] > 0).astype(int)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "label": y, "who": rng.integers(100, 104, n)})


@pytest.fixture(scope="module")
def audit():
    return anml.audit(table(), label="label", contributor="who", compare=False)


def test_labels_and_contributors_are_of_the_kind_they_came_in(audit):
    frame = table()
    assert audit.samples["label"].dtype == np.int64
    assert (audit.samples["label"] == frame["label"]).all()
    assert (audit.samples["contributor"] == frame["who"]).all()
    assert (frame.label != audit.samples.suggested).sum() < 10
    assert set(audit.contributors["contributor"]) == {100, 101, 102, 103}


def test_the_record_keeps_text(audit):
    assert audit.result.samples["label"].dtype == pl.String


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False, True], pl.Boolean),
        ([3, 1, 3], pl.Int64),
        ([0.5, 1.0, 0.5], pl.Float64),
        (["x", "y", "x"], pl.String),
    ],
)
def test_every_kind_comes_back(values, kind):
    given = read_table(pl.DataFrame({"label": values, "f": [1.0, 2.0, 3.0]}))
    text = [str(each).lower() if isinstance(each, bool) else str(each) for each in values]
    found = typed(pl.DataFrame({"label": text}), given, Columns("label"))
    assert found["label"].dtype == kind
    assert found["label"].to_list() == values


def test_a_name_that_is_no_value_leaves_text():
    given = read_table(pl.DataFrame({"label": [1, 2], "who": [5, 6]}))
    found = typed(pl.DataFrame({"contributor": ["(all)", "5"]}), given, Columns("label", contributor="who"))
    assert found["contributor"].to_list() == ["(all)", "5"]


class TestIndex:
    data = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 8, 9])

    def test_rows_are_found_by_it(self):
        beside = pd.DataFrame({"p": [0.9, 0.7, 0.8]}, index=[9, 7, 8])
        assert by_index("predictions", beside, self.data)["p"].tolist() == [0.7, 0.8, 0.9]
        assert by_index("predictions", beside["p"], self.data).tolist() == [0.7, 0.8, 0.9]

    def test_one_that_only_counts_says_nothing(self):
        beside = pd.DataFrame({"p": [0.9, 0.7, 0.8]})
        assert by_index("predictions", beside, self.data) is beside
        # But where the data are numbered so too, and shuffled, it could be meant either way.
        for order, refused in (([0, 1, 2], False), ([2, 0, 1], True)):
            data = self.data.set_axis(order, axis=0)
            if not refused:
                assert by_index("predictions", beside, data) is beside
                continue
            with pytest.raises(InputError, match="the predictions count their rows from 0"):
                by_index("predictions", beside, data)

    def test_rows_that_are_missing_are_named(self):
        beside = pd.DataFrame({"p": [0.9, 0.7, 0.8]}, index=[9, 7, 1])
        with pytest.raises(InputError, match="the predictions have no row of index '8'"):
            by_index("predictions", beside, self.data)
        twice = pd.DataFrame({"p": [0.9, 0.7, 0.8]}, index=[9, 9, 8])
        with pytest.raises(InputError, match="one names rows twice"):
            by_index("embeddings", twice, self.data)


def test_shuffled_embeddings_find_their_rows():
    frame = table().set_index(pd.Index(np.arange(90) + 500))
    vectors = frame[["a", "b"]].rename(columns={"a": "e0", "b": "e1"})
    order = np.random.default_rng(1).permutation(90)
    rest = frame.drop(columns=["a", "b"])
    one, two = (
        anml.audit(rest, label="label", contributor="who", embeddings=each, compare=False).samples[
            "p_correct"
        ]
        for each in (vectors, vectors.iloc[order])
    )
    np.testing.assert_allclose(one, two)


def test_predictions_at_odds_with_the_labels_say_so():
    frame = table()
    right = np.where(frame["label"].to_numpy()[:, None] == [0, 10], 0.9, 0.1)
    for given, said in ((right, False), (1 - right, True), (np.roll(right, 1, axis=0), True)):
        audit = anml.audit(frame, label="label", contributor="who", predictions=given, compare=False)
        assert any("are their rows in another order" in warning for warning in audit.result.warnings) == said

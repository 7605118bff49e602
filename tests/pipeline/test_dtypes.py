"""Results hold what the table held; frames beside it go by its index, or are refused."""

from datetime import UTC, date, datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anml
from anml.core.errors import InputError
from anml.io.columns import Columns
from anml.io.plain import as_text
from anml.io.tables import read_table
from anml.pipeline.dtypes import align_by_index, column_types, restore_types, to_text
from anml.pipeline.request import Request
from anml.pipeline.train import predict_table, train_table
from engine_tables import crowd, written

MOMENT = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)


def table(n=90):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    y = 10 * (x[:, 0] > 0).astype(int)
    return pd.DataFrame({"a": x[:, 0], "b": x[:, 1], "label": y, "who": rng.integers(100, 104, n)})


@pytest.fixture(scope="module")
def audit():
    return anml.audit(table(), label="label", contributor="who", evaluate=False)


def test_labels_and_contributors_are_of_the_kind_they_came_in(audit):
    frame = table()
    assert audit.samples["label"].dtype == np.int64
    assert (audit.samples["label"] == frame["label"]).all()
    assert (audit.samples["contributor"] == frame["who"]).all()
    assert (frame.label != audit.samples.suggested_label).sum() < 10
    assert set(audit.contributors["contributor"]) == {100, 101, 102, 103}


def test_the_record_keeps_text(audit):
    assert audit._result.samples["label"].dtype == pl.String


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([True, False, True], pl.Boolean),
        ([3, 1, 3], pl.Int64),
        ([0.5, 1.0, 0.5], pl.Float64),
        (["x", "y", "x"], pl.String),
        ([date(2025, 1, 2), date(2024, 3, 4), date(2025, 1, 2)], pl.Date),
        ([MOMENT, MOMENT.replace(microsecond=7), MOMENT], pl.Datetime("us", "UTC")),
        ([7.0, 8.0, 7.0], pl.Float64),
    ],
)
def test_every_kind_comes_back(values, kind):
    given = read_table(pl.DataFrame({"label": values, "f": [1.0, 2.0, 3.0]})).frame
    text = pl.DataFrame(
        {"label": as_text(given["label"]), "suggested_label": as_text(given["label"])[[0, 0, 0]]}
    )
    result = restore_types(text, column_types(given, Columns("label")))
    assert result.schema == {"label": kind, "suggested_label": kind}
    assert result["label"].to_list() == values
    assert to_text(result).equals(text)


def test_a_name_that_is_no_value_leaves_text():
    given = read_table(pl.DataFrame({"label": [1, 2], "who": [5, 6]})).frame
    kinds = column_types(given, Columns("label", contributor="who"))
    result = restore_types(pl.DataFrame({"contributor": ["(all)", "5"]}), kinds)
    assert result["contributor"].to_list() == ["(all)", "5"]


NUMBERS = {"label": pl.Int64, "contributor": pl.Int64, "task": pl.Int64}
OTHERS = {"label": pl.Boolean, "contributor": pl.Float64, "task": pl.Date}


@pytest.mark.parametrize("kinds", [NUMBERS, OTHERS], ids=["numbers", "other kinds"])
def test_an_engine_keeps_the_kinds_that_memory_keeps(kinds, tmp_path):
    """In memory, in the files of both, and in the lists of what to look at."""
    frame = crowd(items=60)[0].select("task", "label", "contributor")
    numbers = {name: pl.col(name).str.slice(1).cast(pl.Int64) for name in kinds}
    ways = {
        pl.Int64: lambda each: each, pl.Float64: lambda each: each.cast(pl.Float64),
        pl.Boolean: lambda each: each > 0, pl.Date: lambda each: each.cast(pl.Int32).cast(pl.Date),
    }  # fmt: skip
    frame = frame.with_columns(**{name: ways[kind](numbers[name]) for name, kind in kinds.items()})
    names = {"label": "label", "contributor": "contributor", "item": "task"}
    written(frame, tmp_path / "data", 70)
    memory = anml.audit(frame, **names, evaluate=False)
    memory.save(tmp_path / "memory")
    engine = anml.audit(tmp_path / "data", **names, engine=anml.engines.Local(tmp_path / "engine"))
    samples = engine.samples.collect().sort("row")
    wanted = {"label": kinds["label"], "suggested_label": kinds["label"], "contributor": kinds["contributor"]}
    wanted |= {"item": kinds["task"]}
    for entry in (memory.samples, samples, pl.read_parquet(tmp_path / "memory" / "samples.parquet")):
        assert {name: entry.schema[name] for name in wanted} == wanted
        assert entry["label"].to_list() == frame["label"].drop_nulls().to_list()
        assert entry["item"].to_list() == frame["task"].gather(entry["row"]).to_list()
    assert samples.select(memory.samples.columns).schema == memory.samples.schema
    assert engine.contributors.schema == memory.contributors.schema
    assert set(engine.contributors["contributor"]) == set(frame["contributor"])
    assert engine.consensus.schema == memory.consensus.schema
    for folder in ("memory", "engine"):
        listed = pl.read_parquet(tmp_path / folder / "consensus.parquet")
        assert listed.schema == memory.consensus.schema
        queue = anml.load_run(tmp_path / folder).review_queue()
        assert queue.schema == memory.review_queue().schema
        assert queue["label"].dtype == kinds["label"]
        assert queue.height


def test_a_model_predicts_in_the_kind_of_its_labels(tmp_path):
    frame = table()
    train_table(frame, Request(label="label", contributor="who", evaluate=False), model="logistic").save(
        tmp_path
    )
    result = predict_table(tmp_path, frame)["label"]
    assert result.dtype == pl.Int64
    assert (result.to_numpy() == frame["label"]).mean() > 0.9


def test_the_items_column_comes_once():
    """Another column of that name, which is an identifier, is a key."""
    frame = crowd(items=40)[0].select("task", "label", "contributor").drop_nulls()
    numbers = frame.with_columns(item=pl.col("task").str.slice(1).cast(pl.Int64)).drop("task")
    result = anml.audit(
        numbers, label="label", contributor="contributor", item="item", evaluate=False
    ).samples
    assert result["item"].dtype == pl.Int64
    assert "key_item" not in result.columns
    named = frame.with_columns(item=pl.int_range(pl.len()) + 1000)
    names = {"label": "label", "contributor": "contributor", "item": "task"}
    result = anml.audit(named, **names, schema={"key": "item"}, evaluate=False).samples
    assert result["key_item"].to_list() == named["item"].to_list()
    assert result["item"].to_list() == named["task"].to_list()


class TestIndex:
    data = pd.DataFrame({"a": [1.0, 2.0, 3.0]}, index=[7, 8, 9])

    def test_rows_are_found_by_it(self):
        extra = pd.DataFrame({"p": [0.9, 0.7, 0.8]}, index=[9, 7, 8])
        assert align_by_index("predictions", extra, self.data)["p"].tolist() == [0.7, 0.8, 0.9]
        assert align_by_index("predictions", extra["p"], self.data).tolist() == [0.7, 0.8, 0.9]

    def test_one_that_only_counts_says_nothing(self):
        extra = pd.DataFrame({"p": [0.9, 0.7, 0.8]})
        assert align_by_index("predictions", extra, self.data) is extra
        # But where the data are numbered so too, and shuffled, it could be meant either way.
        for order, refused in (([0, 1, 2], False), ([2, 0, 1], True)):
            data = self.data.set_axis(order, axis=0)
            if not refused:
                assert align_by_index("predictions", extra, data) is extra
                continue
            with pytest.raises(InputError, match="the predictions are numbered from 0"):
                align_by_index("predictions", extra, data)

    def test_data_without_one_cannot_be_aligned_by_it(self):
        data, extra = pl.from_pandas(self.data), pd.DataFrame({"p": [0.9, 0.7, 0.8]})
        for order, refused in (([0, 1, 2], False), ([2, 0, 1], True), (["x", "y", "z"], True)):
            given = extra.set_axis(order, axis=0)
            if not refused:
                assert align_by_index("predictions", given, data) is given
                continue
            for each in (data, "labels.csv"):
                with pytest.raises(InputError, match="the predictions have an index and the data have none"):
                    align_by_index("predictions", given, each)

    def test_rows_that_are_missing_are_named(self):
        extra = pd.DataFrame({"p": [0.9, 0.7, 0.8]}, index=[9, 7, 1])
        with pytest.raises(InputError, match="the predictions have no row of index '8'"):
            align_by_index("predictions", extra, self.data)
        twice = pd.DataFrame({"p": [0.9, 0.7, 0.8]}, index=[9, 9, 8])
        with pytest.raises(InputError, match="one has duplicates"):
            align_by_index("embeddings", twice, self.data)


def test_shuffled_embeddings_find_their_rows():
    frame = table().set_index(pd.Index(np.arange(90) + 500))
    vectors = frame[["a", "b"]].rename(columns={"a": "e0", "b": "e1"})
    order = np.random.default_rng(1).permutation(90)
    rest = frame.drop(columns=["a", "b"])
    one, two = (
        anml.audit(rest, label="label", contributor="who", embeddings=each, evaluate=False).samples[
            "p_correct"
        ]
        for each in (vectors, vectors.iloc[order])
    )
    np.testing.assert_allclose(one, two)


def test_predictions_at_odds_with_the_labels_are_refused():
    frame = table()
    right = np.where(frame["label"].to_numpy()[:, None] == [0, 10], 0.9, 0.1)
    anml.audit(frame, label="label", contributor="who", predictions=right, evaluate=False)
    for given in (1 - right, np.roll(right, 1, axis=0)):
        with pytest.raises(InputError, match="the predictions seem to be of other rows"):
            anml.audit(frame, label="label", contributor="who", predictions=given, evaluate=False)

"""Weights of an audit for a dataset: of the same rows, whatever their order, or an error."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import torch
from torch.utils.data import DataLoader, Subset, TensorDataset

import anml
from anml.core.errors import InputError
from engine_tables import written


def frame(n=120):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 2))
    y = (x[:, 0] > 0).astype(int)
    contributor = rng.integers(0, 6, n)
    y = np.where(contributor == 5, 1 - y, y)
    labels = [None if at == 7 else int(label) for at, label in enumerate(y)]
    return pl.DataFrame({
        "id": [f"r{at}" for at in range(n)], "a": x[:, 0], "b": x[:, 1], "label": labels, "who": contributor,
        "prompt": [f"question {at}" for at in range(n)],
    })  # fmt: skip


TABLE = frame()


class HuggingFace:
    """Stand-in for `datasets.Dataset`."""

    def __init__(self, columns):
        self.columns_, self.column_names = columns, list(columns)

    def __len__(self):
        return len(next(iter(self.columns_.values())))

    def __getitem__(self, at):
        return self.columns_[at] if isinstance(at, str) else {k: v[at] for k, v in self.columns_.items()}


@pytest.fixture(scope="module")
def audit():
    return anml.audit(
        TABLE,
        label="label",
        contributor="who",
        features=["a", "b"],
        evaluate=False,
        schema={"ignore": ["prompt"], "key": "id"},
    )


@pytest.fixture(scope="module")
def wanted(audit):
    """Weight of each row of the table, by hand."""
    w = np.zeros(TABLE.height)
    w[audit.samples["row"].to_numpy()] = audit.samples["weight"].to_numpy() * audit.samples["kept"].to_numpy()
    assert w[7] == 0
    assert 0 < (w > 0).sum() < TABLE.height
    return w


ORDER = np.random.default_rng(1).permutation(120)


@pytest.mark.parametrize(
    "make",
    [
        lambda: TABLE[ORDER],
        lambda: TABLE[ORDER].lazy(),
        lambda: TABLE[ORDER].to_pandas(),
        lambda: TABLE[ORDER].to_arrow(),
        lambda: HuggingFace(TABLE[ORDER].select("id", "prompt").to_dict(as_series=False)),
        lambda: [{"id": f"r{at}", "x": 1.0} for at in ORDER],
        lambda: DataLoader([{"id": f"r{at}", "x": 1.0} for at in ORDER], batch_size=4, shuffle=True),
    ],
    ids=["polars", "lazy", "pandas", "arrow", "hugging face", "examples", "loader"],
)
def test_a_key_finds_rows_in_any_order(make, audit, wanted):
    result = audit.weights_for(make(), key="id")
    assert result.rows[0] == "id"
    assert [str(each) for each in result.rows[1]] == [f"r{at}" for at in ORDER]
    np.testing.assert_array_equal(result.w * result.kept, wanted[ORDER])


def test_preferences_of_trl_keep_their_key(audit, wanted):
    rows = TABLE[ORDER][:50]
    chosen, rejected = ["yes"] * 50, ["no"] * 50
    pairs = HuggingFace({**rows.select("id", "prompt").to_dict(as_series=False), "chosen": chosen,
                         "rejected": rejected})  # fmt: skip
    result = audit.weights_for(pairs, key="id")
    np.testing.assert_array_equal(result.w * result.kept, wanted[ORDER[:50]])


def test_the_same_order_needs_no_key(audit, wanted):
    data = HuggingFace({"prompt": TABLE["prompt"].to_list(), "chosen": ["a"] * 120, "rejected": ["b"] * 120})
    for given in (TABLE, data, TABLE.select("a").to_dicts()):
        result = audit.weights_for(given)
        np.testing.assert_array_equal(result.w * result.kept, wanted)


def test_a_subset_of_torch_knows_its_rows(audit, wanted):
    subset = Subset(TABLE.select("prompt").to_dicts(), ORDER[:30].tolist())
    result = audit.weights_for(DataLoader(subset, batch_size=7))
    np.testing.assert_array_equal(result.w * result.kept, wanted[ORDER[:30]])


def test_a_pandas_index_finds_rows():
    shuffled = TABLE.to_pandas().set_index(pd.Index(ORDER + 500)).drop(columns=["id", "prompt"])
    audit = anml.audit(shuffled, label="label", contributor="who", evaluate=False)
    half = shuffled.sort_index()[:60]
    result = audit.weights_for(half)
    by_index = audit.samples["weight"].where(audit.samples["kept"], 0.0).reindex(half.index, fill_value=0.0)
    np.testing.assert_array_equal(result.w * result.kept, by_index.to_numpy())


@pytest.mark.parametrize(
    ("data", "key", "says"),
    [
        (TABLE[ORDER], None, "the rows or their order differ; name a key"),
        (TABLE[:50], None, "the data have 50 rows and the audited table 120"),
        (TABLE, "colour", "the audited table has no key column 'colour'"),
        (TABLE.drop("id"), "id", "the dataset has no key column 'id'"),
        ([{"id": "r500"}], "id", "the audited table has no row whose 'id' is 'r500'"),
        (TABLE, "who", "key 'who' must be unique in the audited table"),
        ([{"id": "r7"}], "id", "the audit kept none of the rows of this dataset"),
        (iter([]), None, "has no length; name a shared column"),
        (
            TensorDataset(torch.zeros(120, 2)),
            None,
            "share no column, so rows cannot be matched",
        ),
        (TABLE.select(z="a").to_dicts(), None, "share no column"),
    ],
)
def test_rows_that_cannot_be_proved_are_refused(data, key, says, audit):
    with pytest.raises(InputError, match=says):
        audit.weights_for(data, key=key)


def test_weights_go_into_a_sampler_and_a_learner(audit):
    from anml.torch import WeightedSampler

    weighting = audit.weights_for(TABLE)
    assert set(WeightedSampler(weighting, num_samples=500)) <= set(np.flatnonzero(weighting.kept).tolist())
    assert weighting.sample_weight()[weighting.kept].mean() == pytest.approx(1.0)


@pytest.fixture(scope="module")
def sliced(tmp_path_factory):
    """The same table in three files, judged by an engine."""
    folder = tmp_path_factory.mktemp("engine")
    place = written(TABLE, folder / "data", 50)
    return anml.audit(
        place,
        "label",
        "who",
        features=["a", "b"],
        engine=anml.engines.Local(folder / "run"),
        recipe={"profile": "quick"},
    )


def test_a_run_of_an_engine_gives_weights_by_key_and_by_place(sliced):
    samples = sliced.samples.collect().sort("row")
    wanted = np.zeros(TABLE.height)
    wanted[samples["row"].to_numpy()] = samples["weight"].to_numpy()
    order = np.random.default_rng(3).permutation(TABLE.height)
    assert sliced.weights_for(TABLE[order], key="id").w == pytest.approx(wanted[order])
    assert sliced.weights_for(TABLE).w == pytest.approx(wanted)
    assert sliced.weights_for(
        HuggingFace(TABLE.select("prompt").to_dict(as_series=False))
    ).w == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("data", "key", "says"),
    [
        (TABLE.reverse(), None, "row 0 of the data has"),
        (TABLE.head(3), None, "the data have 3 rows and the audited table 120"),
        (TABLE, "nothing", "the audited table has no key column 'nothing'"),
    ],
)
def test_other_rows_are_refused_of_an_engine_as_well(sliced, data, key, says):
    with pytest.raises(InputError, match=says):
        sliced.weights_for(data, key=key)


def test_a_label_that_changed_since_the_audit_has_no_weight(audit, wanted):
    changed = TABLE.with_columns(
        label=pl.when(pl.col("id") == "r3").then(1 - pl.col("label")).otherwise("label")
    )
    with pytest.raises(InputError, match=r"row 3 of the data has .* as 'label'.*audit the data with the new"):
        audit.weights_for(changed, key="id")
    names = TABLE.with_columns(label=pl.col("label").replace_strict({0: "ham", 1: "spam"}))
    assert audit.weights_for(names, key="id").w == pytest.approx(wanted)

"""One label for each item and suggested labels, from a table to the files."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import anml
from anml.annotators.consensus import unweighted_posterior
from anml.pipeline.audit import audit_table
from anml.pipeline.consensus_table import _exclude_rejected, item_frame, suggestions
from anml.pipeline.request import Request
from anml.pipeline.write import write_run
from made_up import consortium

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

WORKERS = {"ann": 0.9, "bob": 0.9, "cat": 0.85, "dan": 0.3, "eve": 0.8}


def crowd(items: int = 80, seed: int = 0) -> pl.DataFrame:
    """Labels alone: five workers label every item, one of them badly."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, items)
    rows = []
    for worker, skill in WORKERS.items():
        wrong = (truth + rng.integers(1, 3, items)) % 3
        given = np.where(rng.uniform(size=items) < skill, truth, wrong)
        rows += [(f"t{i:03}", worker, "xyz"[label], "xyz"[truth[i]]) for i, label in enumerate(given)]
    return pl.DataFrame(rows, schema=["item", "contributor", "label", "truth"], orient="row")


@pytest.fixture(scope="module")
def frame():
    return crowd()


@pytest.fixture(scope="module")
def result(frame):
    return audit_table(frame.drop("truth"), Request(item="item", evaluate=False))[0]


def test_items_have_one_label_with_its_probability(result, frame):
    items = result.consensus
    assert items.columns == ["item", "n_labels", "consensus_label", "p_consensus", "annotator_agreement"]
    assert (items.height, items["n_labels"].unique().to_list()) == (80, [5])
    assert items["p_consensus"].is_sorted()
    assert items["p_consensus"].is_between(1 / 3, 1).all()
    truth = frame.select("item", "truth").unique()
    right = (
        (items.join(truth, on="item").select(pl.col("consensus_label") == pl.col("truth"))).to_series().mean()
    )
    assert right > 0.9


def test_agree_is_the_share_of_labels_that_equal_the_consensus(result, frame):
    joined = frame.join(result.consensus, on="item")
    share = joined.group_by("item").agg(share=(pl.col("label") == pl.col("consensus_label")).mean())
    both = result.consensus.join(share, on="item")
    assert both["annotator_agreement"].to_list() == pytest.approx(both["share"].to_list())


def test_consensus_is_written_and_not_hashed(result, tmp_path):
    files = write_run(tmp_path / "run", result, "audit", lambda folder: None)
    assert {"consensus.parquet", "consensus.csv"} <= set(files)
    table = pl.read_csv(tmp_path / "run" / "consensus.csv")
    assert table.columns == result.consensus.columns
    assert table["consensus_label"].to_list() == result.consensus["consensus_label"].to_list()
    assert pl.read_parquet(tmp_path / "run" / "consensus.parquet").equals(result.consensus)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert "consensus.parquet" not in record["files"]
    assert record["n_items"] == 80


def test_items_with_one_label_have_no_consensus(tmp_path):
    rows = consortium(40).with_columns(item=pl.int_range(pl.len()).cast(pl.String))
    for frame, item in ((consortium(40), None), (rows, "item")):
        result = audit_table(frame, Request(item=item, evaluate=False))[0]
        assert result.consensus is None
        assert "consensus.parquet" not in write_run(tmp_path / "run", result, "audit", lambda folder: None)


def test_python_gives_the_kind_of_frame_that_came_in(frame):
    audit = anml.audit(frame.drop("truth").to_pandas(), item="item", evaluate=False)
    assert isinstance(audit.consensus, pd.DataFrame)
    assert len(audit.consensus) == 80
    assert anml.audit(consortium(40), evaluate=False).consensus is None


def test_suggestions_go_with_p_correct(result):
    samples = result.samples
    assert samples["uncorroborated"].dtype == pl.Boolean
    same = samples.filter(pl.col("suggested_label") == pl.col("label"))
    assert same["p_suggested_label"].to_list() == pytest.approx(same["p_correct"].to_list(), abs=1e-9)
    other = samples.filter(pl.col("suggested_label") != pl.col("label"))
    assert other.height
    assert (other["p_suggested_label"] >= other["p_correct"]).all()


def test_where_nothing_tells_who_is_right_every_label_is_one_voice(frame):
    result, prepared, output = audit_table(frame.drop("truth"), Request(item="item", evaluate=False))
    flat = np.full(len(prepared.y), 0.6)
    doubt = replace(output, belief=replace(output.belief, mirrored=0.6, p_correct=flat))
    items = item_frame(prepared, doubt)
    names, codes = np.unique(prepared.item, return_inverse=True)
    votes = unweighted_posterior(prepared.y, codes, 3, 0.6)
    by_name = dict(zip(items["item"], items["p_consensus"], strict=True))
    assert [by_name[name] for name in names] == pytest.approx(votes.max(axis=1))
    gold = suggestions(prepared, doubt)
    assert gold["suggested_label"].null_count() == 0
    single = replace(prepared, item=None)
    assert suggestions(single, doubt)["suggested_label"].null_count() == len(prepared.y)
    assert result.consensus is not None


def test_a_label_that_is_known_to_be_wrong_is_not_suggested_again():
    wrong = np.array([True, False, False, True])
    gold = SimpleNamespace(wrong=wrong)
    # Item 0 was labelled 0 (rejected) and 1, item 1 with 2 and, rejected, 1.
    prepared = SimpleNamespace(known=gold, y=np.array([0, 1, 2, 1]))
    codes = np.array([0, 0, 1, 1])
    posterior = np.array([[0.7, 0.2, 0.1], [0.1, 0.5, 0.4]])
    result = _exclude_rejected(posterior, prepared, codes)
    assert result.round(6).tolist() == [[0.0, 0.666667, 0.333333], [0.2, 0.0, 0.8]]
    by_row = _exclude_rejected(posterior[codes], prepared, codes, codes)
    assert by_row.argmax(axis=1).tolist() == [1, 1, 2, 2]
    # Where every label is said to be wrong, nothing is left to choose by.
    every = SimpleNamespace(known=SimpleNamespace(wrong=np.ones(3, dtype=bool)), y=np.arange(3))
    same = _exclude_rejected(posterior[:1], every, np.zeros(3, dtype=np.int64))
    assert same.round(6).tolist() == [[0.7, 0.2, 0.1]]

"""Judgements of work by source, on tables worked out by hand."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.contributions import Contributions
from anml.ledger.contributors.scores import (
    MIN_PEERS,
    SCHEMA,
    agreement,
    gold_judgements,
    gold_quality,
    judge_batch,
    judge_run,
)

ROW = {"item": pl.String, "contributor": pl.String, "label": pl.String, "truth": pl.String, "time": pl.String}
SAID = {"item": pl.String, "contributor": pl.String, "kind": pl.String, "issuer": pl.String, "at": pl.String}


def export(rows: list[tuple], said: list[tuple] = ()) -> Contributions:
    found = [(*row, None) if len(row) == 3 else row for row in rows]
    labels = pl.DataFrame([(*row, None) for row in found], schema=ROW, orient="row")
    evidence = pl.DataFrame(list(said), schema=SAID, orient="row")
    empty = dict.fromkeys(Contributions._fields)
    return Contributions(**{**empty, "rows": labels, "evidence": evidence, "source": "x", "warnings": []})


def judged(rows, said=(), reviewers=(), peers=()) -> list[tuple]:
    return judge_batch(export(rows, said), reviewers, peers).rows()


def test_gold_by_hand():
    rows = [
        ("1", "ann", "cat", "cat"),
        ("2", "ann", "dog", "cat"),
        ("3", "ann", "cat"),
        ("1", "ben", "dog", "cat"),
    ]
    assert judged(rows) == [
        ("ann", "gold", "1", 1.0), ("ann", "gold", "2", 0.0), ("ben", "gold", "1", 0.0),
    ]  # fmt: skip
    assert gold_quality(judge_batch(export(rows), (), ())) == {"ann": 0.5, "ben": 0.0}
    assert gold_judgements(export(rows).rows).height == 3


def test_several_labels_of_one_item_are_one_judgement():
    rows = [("1", "ann", "cat", "cat"), ("1", "ann", "dog", "cat")]
    assert judged(rows) == [("ann", "gold", "1", 0.5)]


DAY = "2026-01-01"
REVIEWS = [
    ("1", "ann", "review-accepted", "rex", DAY),
    ("1", "ann", "review-rejected", "rex", "2026-01-02"),
    ("2", "ann", "fixed", "rex", DAY),
    ("3", "ann", "review-accepted", "rex", DAY),
    ("4", "ann", "review-accepted", "ann", DAY),
    ("5", "ann", "review-accepted", "new", DAY),
    ("6", "ann", "publication", "rex", DAY),
]


def test_the_last_review_counts_and_what_had_to_be_fixed_was_not_right():
    """Nobody reviews themselves, and whose word does not count is not heard."""
    assert judged([], REVIEWS, reviewers=["rex", "ann"]) == [
        ("ann", "review", "1", 0.0), ("ann", "review", "2", 0.0), ("ann", "review", "3", 1.0),
    ]  # fmt: skip
    assert judged([], REVIEWS) == []


THREE = [("1", "ann", "cat"), ("1", "ben", "cat"), ("1", "cat", "cat"), ("1", "dan", "dog")]


def test_consensus_is_of_peers_among_the_others():
    """Of ann's three others two say cat: she is right; dan's three others all say otherwise."""
    peers = ["ann", "ben", "cat", "dan"]
    assert judged(THREE, peers=peers) == [
        ("ann", "consensus", "1", 1.0), ("ben", "consensus", "1", 1.0), ("cat", "consensus", "1", 1.0),
        ("dan", "consensus", "1", 0.0),
    ]  # fmt: skip
    # With ann and ben alone as peers, only cat and dan have two others to be held against.
    assert judged(THREE, peers=["ann", "ben"]) == [
        ("cat", "consensus", "1", 1.0), ("dan", "consensus", "1", 0.0),
    ]  # fmt: skip
    assert judged(THREE, peers=["ann"]) == judged(THREE) == []


def test_a_tie_among_others_says_nothing():
    rows = [("1", "ann", "cat"), ("1", "ben", "cat"), ("1", "cat", "dog")]
    assert judged(rows, peers=["ann", "ben", "cat"]) == [("cat", "consensus", "1", 0.0)]


def test_agreement_needs_two_others_and_nobody_who_disagrees():
    same = [("1", who, "cat") for who in ("ann", "ben", "cat")]
    assert agreement(export(same).rows).rows() == [("1", "ann"), ("1", "ben"), ("1", "cat")]
    assert agreement(export(THREE).rows).rows() == []
    assert agreement(export(same[:2]).rows).rows() == []
    assert MIN_PEERS == 2


labels = st.lists(
    st.tuples(st.sampled_from("12"), st.sampled_from(["ann", "ben", "cat", "dan"]), st.sampled_from("xyz")),
    max_size=10, unique_by=lambda row: row[:2],
)  # fmt: skip


@settings(max_examples=40)
@given(labels)
def test_consensus_is_what_counting_by_hand_says(rows):
    peers = ["ann", "ben", "cat"]
    expected = set()
    for item, who, label in rows:
        others = [said for at, one, said in rows if at == item and one != who and one in peers]
        most = max((others.count(said) for said in set(others) - {label}), default=0)
        if len(others) >= 2 and 2 * others.count(label) > len(others):
            expected.add((who, "consensus", item, 1.0))
        elif len(others) >= 2 and 2 * most > len(others):
            expected.add((who, "consensus", item, 0.0))
    assert set(judged(rows, peers=peers)) == expected


@settings(max_examples=20)
@given(labels, st.randoms())
def test_the_order_of_rows_leaves_no_trace(rows, random):
    mixed = list(rows)
    random.shuffle(mixed)
    assert judged(rows, peers=["ann", "ben"]) == judged(mixed, peers=["ann", "ben"])


# --- of a run
def samples(**columns) -> pl.DataFrame:
    return pl.DataFrame({"contributor": ["ann", "ann", "ben"], **columns})


NAMES = pl.Series(["1", "2", "3"])


def test_a_run_is_judged_by_what_its_model_had_not_seen():
    found = judge_run(samples(self_confidence=[0.5, None, 1.0]), NAMES)
    assert found.sort("item").rows() == [("ann", "held-out", "1", 0.5), ("ben", "held-out", "3", 1.0)]
    assert dict(found.schema) == SCHEMA


def test_what_was_learned_is_taken_before_confidence_and_little_says_nothing():
    learned = pl.DataFrame({"contributor": ["ann", "ben"], "good": [1.5, 0.5], "bad": [0.5, 0.25]})
    found = judge_run(samples(self_confidence=[0.1, 0.1, 0.1]), NAMES, learned)
    assert found.sort("item").rows() == [("ann", "held-out", "1", 0.75), ("ann", "held-out", "2", 0.75)]


def test_figures_that_know_v_and_r_are_never_used():
    """A reputation that is fed by its own effect feeds itself."""
    for name in ("p_correct", "weight"):
        with pytest.raises(InputError, match="the run has no held-out predictions"):
            judge_run(samples(**{name: [0.9, 0.9, 0.9]}), NAMES)
    with pytest.raises(InputError, match="no held-out predictions"):
        judge_run(samples(self_confidence=[None, None, None]), NAMES)

"""From judgements to scores: the mean of what nobody counted yet, by contributor and source."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.ledger.contributors.scores import SCHEMA, new_scores
from anml.ledger.standing import item_hash
from anml.settlement.allocate import UNIT


class Tx:
    """A writer as far as judgements ask it."""

    def __init__(self, *counted: tuple[str, str, str]) -> None:
        self.state = self
        self.judged = [(pid, (source, item_hash("p", item))) for pid, source, item in counted]

    def judged_before(self, pid: str) -> set[tuple[str, str]]:
        return {judged for one, judged in self.judged if one == pid}


PIDS = {"ann": "c1", "ben": "c2", "ann again": "c1"}
WHEN = {"ann": "2026-01-01", "ben": "2026-01-02", "ann again": "2026-01-03"}


def made(rows, *counted):
    judged = pl.DataFrame(rows, schema=SCHEMA, orient="row")
    return new_scores(Tx(*counted), judged, PIDS, "batch", "p", "domain", WHEN)


def test_by_hand():
    """Two of three right for ann, of whom two accounts are one person; ben's only one is wrong."""
    rows = [
        ("ann", "gold", "1", 1.0),
        ("ann", "gold", "2", 0.0),
        ("ann again", "gold", "3", 1.0),
        ("ben", "gold", "1", 0.0),
    ]
    ann, ben = made(rows)
    assert (ann.pid, ann.source, ann.quality, ann.of) == ("c1", "gold", round(UNIT * 2 / 3), 3)
    assert (ben.pid, ben.quality, ben.at) == ("c2", 0, "2026-01-02")
    # The time of a person's work is the latest of their accounts'.
    assert ann.at == "2026-01-03"
    assert set(ann.items) == {item_hash("p", item) for item in "123"}


def test_what_was_counted_before_counts_no_more_and_little_that_is_new_counts_little():
    rows = [("ann", "gold", "1", 0.0), ("ann", "gold", "2", 1.0)]
    (score,) = made(rows, ("c1", "gold", "1"))
    assert (score.quality, score.of, len(score.items)) == (UNIT, 2, 1)
    assert made(rows, ("c1", "gold", "1"), ("c1", "gold", "2")) == []
    # By another source it is another judgement.
    assert made(rows, ("c1", "review", "1"))[0].items == made(rows)[0].items


def test_sources_are_scored_apart():
    rows = [("ann", "gold", "1", 1.0), ("ann", "review", "1", 0.0)]
    assert {score.source: score.quality for score in made(rows)} == {"gold": UNIT, "review": 0}


@settings(max_examples=40)
@given(
    st.lists(
        st.tuples(
            st.sampled_from(["ann", "ben"]),
            st.just("gold"),
            st.text("ab", min_size=1, max_size=3),
            st.floats(0, 1),
        ),
        max_size=8,
    )
)
def test_a_quality_is_a_mean_and_lies_between_0_and_1(rows):
    found = made(rows)
    for score in found:
        own = {item: right for who, _, item, right in rows if PIDS[who] == score.pid}
        assert score.quality == pytest.approx(UNIT * sum(own.values()) / len(own), abs=1)
        assert 0 <= score.quality <= UNIT
        assert score.of == len(own)
    assert len({(score.pid, score.source) for score in found}) == len(found)

"""The order in which somebody ticked tags is no label."""

import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from anml.io.labels import equivalent_sets, match_set_spelling, normalise_sets


def test_orders_of_a_set_are_one_and_it_is_said():
    frame = pl.DataFrame({"tags": ["a;b", "b;a", "c", None], "known": ["b; a", None, "c", None]})
    ordered, (note,) = normalise_sets(frame, "tags", "known")
    assert ordered["tags"].to_list() == ["a;b", "a;b", "c", None]
    assert ordered["known"].to_list() == ["a;b", None, "c", None]
    assert note == "labels that are the same set are one: 'b;a' is taken as 'a;b'"


def test_where_sets_are_written_alike_nothing_changes():
    frame = pl.DataFrame({"label": ["Paris, France", "b;c", "b"], "n": [1, 2, 3]})
    for label in ("label", "n"):
        ordered, notes = normalise_sets(frame, label, None)
        assert ordered.equals(frame)
        assert notes == []


def test_marks_between_parts_are_told_apart():
    assert equivalent_sets(["a|b", "b;a"]) == {}
    assert match_set_spelling(["a|b"], ["b;a"]) == {}


@given(st.lists(st.sampled_from("abcd"), min_size=2, max_size=4, unique=True), st.randoms())
def test_every_order_becomes_the_same(parts, random):
    other = random.sample(parts, len(parts))
    result = equivalent_sets([";".join(parts), ";".join(other)])
    names = {result.get(text, text) for text in (";".join(parts), ";".join(other))}
    assert len(names) == 1

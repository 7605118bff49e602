"""Counts and lists as people write them."""

from anml.core.text import join_names, pluralise


def test_a_number_with_its_noun():
    assert pluralise(1, "row") == "1 row"
    assert pluralise(2_000, "row") == "2,000 rows"
    assert pluralise(0, "class", "classes") == "0 classes"


def test_names_beyond_the_most_are_counted():
    assert join_names(["ann"]) == "ann"
    assert join_names(["ann", "bob", "eve"]) == "ann, bob and eve"
    assert join_names(["ann", "bob", "eve"], limit=1) == "ann and 2 more"

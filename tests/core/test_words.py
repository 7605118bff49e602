"""Counts and lists as people write them."""

from anml.core.words import counted, listed


def test_a_number_with_its_noun():
    assert counted(1, "row") == "1 row"
    assert counted(2_000, "row") == "2,000 rows"
    assert counted(0, "class", "classes") == "0 classes"


def test_names_beyond_the_most_are_counted():
    assert listed(["ann"]) == "ann"
    assert listed(["ann", "bob", "eve"]) == "ann, bob and eve"
    assert listed(["ann", "bob", "eve"], most=1) == "ann and 2 more"

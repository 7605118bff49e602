"""The five verdicts."""

from anml.annotators.words import FLAGGED, SEVERITY_ORDER, VERDICTS


def test_the_strings_are_exactly_these_five():
    assert VERDICTS == (
        "reliable",
        "less reliable",
        "no better than guessing",
        "contradicts the others",
        "inconclusive",
    )


def test_two_of_them_are_flags_and_come_first():
    assert FLAGGED == ("no better than guessing", "contradicts the others")
    assert set(SEVERITY_ORDER) == set(VERDICTS)
    assert {word for word, rank in SEVERITY_ORDER.items() if rank == 0} == set(FLAGGED)

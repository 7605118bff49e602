"""Five words, and what was said before there were five."""

from anml.core.people.words import ACCUSED, CONCERN, FORMER, VERDICTS


def test_the_strings_are_exactly_these_five():
    assert VERDICTS == (
        "reliable",
        "less reliable",
        "no better than guessing",
        "contradicts the others",
        "cannot tell",
    )


def test_two_of_them_accuse_and_come_first():
    assert ACCUSED == ("no better than guessing", "contradicts the others")
    assert set(CONCERN) == set(VERDICTS)
    assert {word for word, rank in CONCERN.items() if rank == 0} == set(ACCUSED)


def test_former_words_are_read_as_new_ones():
    assert set(FORMER.values()) <= set(VERDICTS)
    assert not set(FORMER) & set(VERDICTS)

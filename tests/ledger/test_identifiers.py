"""One spelling for one name: what is folded together, what is refused, and what looks alike."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.ledger.identifiers import confusable_names, confusable_skeletons, key_owner_id, source_id, staff_id

good = st.from_regex(r"\A[a-z0-9][a-z0-9._-]{0,30}\Z")


class TestStaff:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("alice", "alice"),
            ("Alice", "alice"),
            ("  alice ", "alice"),
            ("alice\tb\n", "alice-b"),
            ("Ａｌｉｃｅ", "alice"),
            ("a.b-c_d", "a.b-c_d"),
            ("ⅷ", "viii"),
            ("x" * 63, "x" * 63),
        ],
    )
    def test_spellings_of_one_person(self, text, expected):
        assert staff_id(text) == expected

    @given(good)
    def test_a_good_name_stays_as_it_is(self, name):
        assert staff_id(name) == name

    @given(good, st.sampled_from([" {}", "{} ", "\u3000{}"]))
    def test_blanks_around_a_name_make_no_second_person(self, name, shape):
        assert staff_id(shape.format(name.upper())) == name

    @given(st.text(max_size=12))
    def test_what_passes_passes_unchanged_the_second_time(self, text):
        try:
            name = staff_id(text)
        except InputError:
            return
        assert staff_id(name) == name
        assert name.isascii()

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ("ann@lab.example", "not an address"),
            ("al\u200bice", r"invisible letter \(U\+200B\)"),
            ("\u202ealice", r"U\+202E"),
            ("аlice", "CYRILLIC SMALL LETTER A"),
            ("zoë", "LATIN SMALL LETTER E WITH DIAERESIS"),
            ("a/b", "SOLIDUS"),
            ("", "1 to 63 letters or digits"),
            ("   ", "1 to 63 letters or digits"),
            (".alice", "1 to 63"),
            ("-", "1 to 63"),
            ("x" * 64, "1 to 63"),
        ],
    )
    def test_what_is_wrong_is_named(self, text, says):
        with pytest.raises(InputError, match=says):
            staff_id(text)

    @pytest.mark.parametrize("category", ["Cf", "Co", "Cn", "Cs"])
    def test_every_kind_of_invisible_letter_is_refused(self, category):
        letter = next(chr(c) for c in range(0x80, 0x110000) if unicodedata.category(chr(c)) == category)
        with pytest.raises(InputError, match="invisible"):
            staff_id(f"ali{letter}ce")


class TestOwner:
    @pytest.mark.parametrize("text", ["https://lab.example/qa", "lab", "did:web:lab.example", "a" * 200])
    def test_addresses_and_names_pass(self, text):
        assert key_owner_id(f" {text}\n") == text

    @pytest.mark.parametrize("text", ["", " ", "qa@lab.example", "two words", "läb", "a" * 201, "a\x00b"])
    def test_others_are_refused_and_shown(self, text):
        with pytest.raises(InputError, match="the owner of a key is an address on the web"):
            key_owner_id(text)

    def test_full_width_letters_are_the_plain_ones(self):
        assert key_owner_id("ｌａｂ") == "lab"


class TestPlace:
    @pytest.mark.parametrize("text", ["mturk", "Label Studio", "Клиника", "a" * 100])
    def test_names_of_places_pass(self, text):
        assert source_id(f"  {text} ") == text

    @pytest.mark.parametrize(
        "text", ["", "  ", "ann@lab.example", "a" * 101, "a\nb", "a\u200bb", "a\u3164b", "a\u2800"]
    )
    def test_others_are_refused_and_shown(self, text):
        with pytest.raises(InputError, match="a source is the name of a place"):
            source_id(text)


class TestLookAlike:
    @pytest.mark.parametrize(
        "other",
        [
            "ANN",
            " ann",
            "a\u200bnn",
            "a\u034fnn",
            "аnn",
            "ａｎｎ",
            "an n",
            "ann\u202c",
            "ann\u3164",
            "\u2800ann",
        ],
    )
    def test_the_eye_sees_one_name(self, other):
        assert confusable_skeletons(other) & confusable_skeletons("ann")
        assert confusable_names(["ann", other, "ben"]) == [sorted(["ann", other])]

    @pytest.mark.parametrize("other", ["anna", "amn", "bnn", "4nn"])
    def test_different_names_stay_apart(self, other):
        assert confusable_names(["ann", other]) == []

    @given(st.text(max_size=10))
    def test_a_skeleton_has_no_blanks_and_ignores_case(self, text):
        bare = confusable_skeletons(text)
        assert not any(letter.isspace() for each in bare for letter in each)
        assert confusable_skeletons(f" {text} ") == bare

    @pytest.mark.parametrize(
        "pair",
        [
            "modern rnodern",
            "Ian lan",
            "ian Ian",
            "bob1 bobl",
            "o0 oO",
            "ѕаm sam",
            "ԁan dan",
            "αnn ann",
            "jοe joe",
            "𝐚nn ann",
            "ⅼee lee",
            "paul| paull",
        ],
    )
    def test_pairs_of_confusables_txt_are_seen(self, pair):
        one, other = pair.split()
        assert confusable_names([one, other, "zoe"]) == [sorted([one, other])]

    @given(st.lists(st.sampled_from(["ann", "Ann", "ben", "Вen", "cat"]), max_size=8), st.randoms())
    def test_neither_order_nor_repetition_matters(self, names, random):
        assert confusable_names(random.sample(names, len(names)) + names) == confusable_names(names)

    def test_groups_partition_the_names_that_clash(self):
        groups = confusable_names(["ann", "Ann", "ben", "ВEN", "cat"])
        assert groups == [["Ann", "ann"], ["ben", "ВEN"]]

"""Words of the project: no excluded opening of a docstring, and no more excluded words than committed."""

import ast
import json

import pytest

from words import PHRASES, ROOT, TABLE, counts, files, of_page, of_prose, of_python, openings, replacement_of


def words_in(text: str) -> list[str]:
    """Return the excluded words of a text."""
    return [word for _, word in of_prose(text)]


def test_no_docstring_begins_with_an_excluded_word():
    modules = [path for _, path in files() if path.suffix == ".py"]
    assert len(modules) > 600
    found = {str(path.relative_to(ROOT)): openings(path) for path in modules}
    assert {name: each for name, each in found.items() if each} == {}


def test_counts_do_not_rise():
    committed, now = json.loads(TABLE.read_text(encoding="utf-8")), counts()
    risen = [
        f"{folder}: {each[kind]} in {kind}, {committed.get(folder, {}).get(kind, 0)} committed"
        for folder, each in now.items()
        for kind in each
        if each[kind] > committed.get(folder, {}).get(kind, 0)
    ]
    assert not risen, f"see `python tests/words.py FOLDER`: {'; '.join(risen)}"


def test_the_table_has_no_other_folders():
    assert json.loads(TABLE.read_text(encoding="utf-8")).keys() == {folder for folder, _ in files()}


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Nobody is flagged.", ["nobody"]),
        ("What is believed of a label.", ["what is believed", "what"]),
        ("What does it cost?", []),
        ("A column `nobody` is kept.", []),
        ("Return the doors of the data.", []),
        ("Check values at the door.", ["at the door"]),
        ("There is no contributor column, and it is no longer used.", []),
        ("The file is no table.", ["is no table"]),
        (">>> is_flag('nobody')", []),
        ("Verdict: no better than guessing.", []),
    ],
)
def test_excluded_words_are_found_in_prose(text, wanted):
    assert words_in(text) == wanted


def test_data_is_not_prose():
    assert of_python("m.py", 'LABELS = ["nobody", "the door", "door"]\n') == []
    hits = of_python("m.py", 'raise ValueError(f"{n} rows of nobody")  # as far as it goes\n')
    assert [(hit.line, hit.word) for hit in hits] == [(1, "nobody"), (1, "as far as")]


def test_names_of_parameters_variables_and_tests_are_counted():
    text = "def test_nobody_is_flagged(who):\n    told = who\n    return told\n"
    assert [hit.word for hit in of_python("m.py", text) if hit.kind == "names"] == ["who", "told"]
    assert [hit.word for hit in of_python("m.py", text, tests=True)] == ["nobody", "who", "told"]


def test_lines_of_a_page_are_those_of_its_file():
    assert [hit.line for hit in of_page("p.md", "# Title\n```\nnobody\n```\nNobody reads.\n")] == [5]


def test_an_opening_is_found_in_every_docstring(tmp_path):
    path = tmp_path / "m.py"
    path.write_text(
        '"""What it is."""\n\ndef f():\n    """Return one.\n\n    Who reads."""\n', encoding="utf-8"
    )
    assert ast.parse(path.read_text(encoding="utf-8"))
    assert openings(path) == ["1: What it is."]


@pytest.mark.parametrize("phrase", PHRASES)
def test_every_phrase_has_a_replacement(phrase):
    assert PHRASES[phrase]
    assert replacement_of("nobody") == "no contributor, or the defined set"

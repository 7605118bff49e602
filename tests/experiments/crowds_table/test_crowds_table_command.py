"""The page of made-up folders by the command, against accuracies worked out by hand."""

import json
import sys

import pytest

from experiments.cli import main

LABELS, TRUTH = "item,contributor,label\na,p,0\na,q,1\nb,p,1\n", "item,truth\na,0\nb,1\n"


def typed(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["experiments", "crowds-table", *map(str, words)])
    try:
        main()
    except SystemExit as stopped:
        return stopped.code or 0
    return 0


def cells(page, title):
    """The first table under a heading: lines by the name of the set, cells by column."""
    lines = page.partition(f"## {title}\n")[2].splitlines()
    table = [
        line.strip("| ").split("|") for line in lines[: lines.index("", _first(lines))] if line[:1] == "|"
    ]
    header, _, *body = [[cell.strip(" *") for cell in line] for line in table]
    return {line[0]: dict(zip(header, line, strict=True)) for line in body}


def _first(lines):
    return next(at for at, line in enumerate(lines) if line.startswith("|"))


@pytest.mark.slow
def test_the_command_makes_the_page_of_any_folder(folder, tmp_path, monkeypatch, capsys):
    page, rows = tmp_path / "page.md", tmp_path / "rows"
    assert typed(monkeypatch, folder, "--out", page, "--rows", rows) == 0
    text = page.read_text()
    accuracy = cells(text, "Accuracy of the consensus")
    # 20.5 of 41 and 41 of 41; 15 of 20.
    assert (accuracy["spammers"]["MV"], accuracy["spammers"]["DS"]) == ("50.0", "100.0")
    assert (accuracy["agreed"]["MV"], accuracy["agreed"]["DS"]) == ("75.0", "75.0")
    assert (accuracy["mean"]["MV"], accuracy["mean"]["DS"]) == ("62.5", "87.5")
    # The constant contributors of the first set are independent of the item: 40 labels each, kappa 0.
    people = cells(text, "Verdicts on contributors")
    assert (people["spammers"]["judged"], people["spammers"]["bad"]) == ("5", "3")
    assert "<!-- " not in text.replace("<!-- not run", "").replace("<!-- Generated", "")
    assert str(tmp_path) not in text
    sets = json.loads((rows / "rows.json").read_text())["sets"]
    assert [(each["name"], each["items"], each["contributors"]) for each in sets] == [
        ("agreed", 20, 3), ("spammers", 41, 5),
    ]  # fmt: skip
    assert sets[1]["accuracy"]["MV"] == 0.5
    capsys.readouterr()
    # Rows in place of the folder make the same page again.
    assert typed(monkeypatch, rows / "rows.json") == 0
    assert capsys.readouterr().out == text + "\n"


@pytest.mark.parametrize(
    ("files", "says"),
    [
        ({}, "has no file NAME_labels.csv or NAME_labels.csv.gz"),
        (
            {"crowd_x_labels.csv": LABELS},
            "crowd_x_labels.csv has no true labels beside it: crowd_x_truth.csv",
        ),
        ({"x_truth.csv": TRUTH}, "x_truth.csv has no file x_labels.csv beside it"),
        ({"x_labels.csv": "item,label\na,0\n", "x_truth.csv": TRUTH}, "has no column for contributor"),
        (
            {"x_labels.csv": LABELS, "x_truth.csv": "item,colour\na,0\n"},
            "x_truth.csv has no column for truth",
        ),
        (
            {"x_labels.csv": LABELS + "c,p,\n", "x_truth.csv": TRUTH},
            "column 'label' (label) is empty in 1 row",
        ),
        ({"x_labels.csv": LABELS + "c,p,0.5\n", "x_truth.csv": TRUTH}, "has numbers with decimals"),
        ({"x_labels.csv": LABELS, "x_truth.csv": TRUTH + "a,1\n"}, "has several true labels for item 'a'"),
        ({"x_labels.csv": LABELS, "x_truth.csv": "item,truth\nz,0\n"}, "for none of the labelled items"),
        (
            {"x_labels.csv": LABELS, "x_truth.csv": "item,truth\na,no\n"},
            "contributors gave other labels: 0, 1",
        ),
        ({"x_labels.csv": b"\x89PNG\xff\x00", "x_truth.csv": TRUTH}, "is not UTF-8 text"),
        ({"x_labels.csv": LABELS, "x_labels.csv.gz": LABELS, "x_truth.csv": TRUTH}, "keep one of them"),
    ],
)
def test_an_odd_folder_is_one_sentence(files, says, tmp_path, monkeypatch, capsys):
    for name, text in files.items():
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    assert typed(monkeypatch, tmp_path, "--out", tmp_path / "page.md") == 2
    message = capsys.readouterr().err
    assert says in message
    assert message.startswith("error: ")
    assert message.count("\n") == 1
    assert not (tmp_path / "page.md").exists()


def test_other_paths_are_one_sentence(tmp_path, monkeypatch, capsys):
    (tmp_path / "some.json").write_text("[]")
    for path, says in (("missing", "is not a folder"), ("some.json", "neither a folder nor rows.json")):
        assert typed(monkeypatch, tmp_path / path) == 2
        assert says in capsys.readouterr().err
    (tmp_path / "x_labels.csv").write_text(LABELS)
    (tmp_path / "x_truth.csv").write_text(TRUTH)
    assert typed(monkeypatch, tmp_path, "--ordinal", "y") == 2
    assert "unknown set 'y'" in capsys.readouterr().err

"""Attacks as somebody would type them at the program, each with what it must leave untouched.

Those on the database itself are in `tests/ledger/test_insiders.py`, `test_reading.py` and
`test_further_attacks.py`.
"""

import gzip
import io
import json
import zipfile
from pathlib import Path

import polars as pl
import pytest

from anml.core.canonical import sha256
from workbooks import workbook

ROWS = "item,annotator,label\n" + "".join(
    f"i{i},{who},{'cat' if (i + (who == 'cy' and i % 3 == 0)) % 2 else 'dog'}\n"
    for i in range(24)
    for who in ("ana", "ben", "cy")
)


@pytest.fixture
def office(anml, anml_ledger, tmp_path, monkeypatch):
    """Ada founded a ledger and Bob works in it; each has a folder of keys, and nobody has both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ANML_LEDGER", str(tmp_path / "books.db"))
    monkeypatch.delenv("ANML_BY", raising=False)

    def act(who: str, *words: str, code: int = 0):
        monkeypatch.setenv("ANML_STAFF_KEYS", str(tmp_path / f"{who}-machine"))
        done = (anml if words[0] in ("audit", "relabel") else anml_ledger)(*words)
        assert done.code == code, done.out + done.err
        return done

    act("ada", "init", "--origin", "office", "--by", "ada", "--payee-wait-days", "0")
    public = act("bob", "key", "bob", "--json").out
    act("ada", "import", json.loads(public)["public_key"], "--staff", "bob")
    (tmp_path / "labels.csv").write_text(ROWS)
    return act


def drafted(office, *more: str, code: int = 0):
    words = ("settle", "run", "--pool", "100", "--currency", "EUR", "--source", "tool")
    return office("ada", *words, *more, code=code)


# --- keys of people
def test_the_folder_that_every_writer_needs_holds_nobodys_key(office, tmp_path):
    assert sorted(path.name for path in (tmp_path / "books.db.keys").rglob("*")) == [
        "log.pem", "log.pub", "master.key",
    ]  # fmt: skip
    for path in (tmp_path / "ada-machine" / "ada.pem", tmp_path / "books.db.keys" / "log.pem"):
        assert path.stat().st_mode & 0o077 == 0
    office("ada", "audit", "labels.csv", "--out", "run")
    # Bob has the ledger's keys and his own; that does not make him Ada, by name or by silence.
    words = ("settle", "run", "--pool", "1", "--currency", "EUR", "--source", "tool")
    assert "the key of 'ada' is not at hand" in office("bob", *words, "--by", "ada", code=2).err
    assert json.loads(office("bob", *words, "--json", "--dry-run").out)["state"] == "rehearsed"


def test_who_could_sign_as_two_says_as_whom(office, tmp_path):
    (tmp_path / "bob-machine" / "ada.pem").write_bytes((tmp_path / "ada-machine" / "ada.pem").read_bytes())
    said = office("bob", "import", "labels.csv", "--source", "tool", code=2).err
    assert "the keys of ada and bob are" in said


# --- what is signed is named
@pytest.mark.parametrize("word", ["latest", "all"])
@pytest.mark.parametrize("words", [["release"], ["pay", "--failed"]])
def test_nothing_is_signed_by_latest_or_all(office, words, word):
    more = ["--contributor", "ana"] if words[0] == "pay" else []
    assert "never" in office("bob", *words, word, *more, code=2).err


def test_confirm_takes_no_all_and_no_number_without_end(office):
    for word in ("all", "9" * 5_000, "١", "-1", "1e3"):
        assert "a proposal is named by its number" in office("bob", "confirm", "--", word, code=2).err


# --- runs that were changed together with their hashes
def test_a_run_that_was_changed_with_its_hashes_is_not_drafted(office, tmp_path):
    office("ada", "audit", "labels.csv", "--out", "run")
    folder = tmp_path / "run"
    told = sha256((folder / "run.json").read_bytes())
    frame = pl.read_parquet(folder / "samples.parquet")
    mine = pl.col("contributor") == "cy"
    frame.with_columns(p_correct=pl.when(mine).then(1.0).otherwise(0.001), kept=True).write_parquet(
        folder / "samples.parquet"
    )
    info = json.loads((folder / "run.json").read_text())
    info["files"]["samples.parquet"] = sha256((folder / "samples.parquet").read_bytes())
    (folder / "run.json").write_text(json.dumps(info))
    said = drafted(office, code=2).err
    assert told[:16] in said
    assert "but the run that was written here has" in said
    assert "is not the run" in drafted(office, "--digest", told, code=2).err
    office("ada", "audit", "labels.csv", "--out", "run")
    drafted(office)


# --- text that would be a formula, or an address
def test_headers_are_no_formulas(office, tmp_path):
    lines = ROWS.splitlines()
    text = "\n".join([f"{lines[0]},=x", *(f"{line},{place}" for place, line in enumerate(lines[1:]))])
    (tmp_path / "labels.csv").write_text(text)
    office("ada", "import", "labels.csv", "--source", "tool", "--out", "rows.csv")
    assert ",'=x" in (tmp_path / "rows.csv").read_text().splitlines()[0]
    office("ada", "audit", "labels.csv", "--out", "run")
    office("ada", "relabel", "run", "--out", "queue.csv")
    assert ",'=x" in (tmp_path / "queue.csv").read_text().splitlines()[0]


def test_no_address_becomes_a_name_for_good(office):
    said = office("ada", "import", "labels.csv", "--source", "cy@lab.example", code=2).err
    assert "not an address of a person" in said


# --- files of others
@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["verify", "--out", "planted"], "planted"),
        (["export", "decisions", "--out", "planted.csv"], "planted.csv"),
        (["import", "labels.csv", "--source", "tool", "--out", "planted.csv"], "planted.csv"),
    ],
)
def test_nothing_is_written_through_a_link_that_somebody_planted(office, tmp_path, words, name):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    (tmp_path / name).symlink_to(victim)
    office("ada", *words)
    assert victim.read_text() == "precious"
    assert not (tmp_path / name).is_symlink()


def test_a_watch_whose_folder_is_gone_fails(office):
    assert "there is no folder gone" in office("ada", "verify", "--keep", "gone", code=2).err


# --- bombs
def far_out(place: str) -> bytes:
    """A workbook of which a single cell lies far from all others."""
    made = io.BytesIO()
    book = io.BytesIO(workbook([["item", "annotator", "label"], ["i", "a", "x"]]))
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(made, "w") as new:
        for part in old.namelist():
            new.writestr(part, old.read(part).replace(b'r="C2"', f'r="{place}"'.encode()))
    return made.getvalue()


def padded() -> bytes:
    made = io.BytesIO(workbook([["item", "annotator", "label"], ["i", "a", "x"]]))
    with zipfile.ZipFile(made, "a", zipfile.ZIP_DEFLATED) as book:
        book.writestr("xl/media/nothing.bin", bytes(80 * 2**20))
    return made.getvalue()


BOMBS = {
    "far.xlsx": (lambda: far_out("XFD1048576"), "cells up to row 1,048,576 and column 16,384"),
    "pad.xlsx": (padded, "unpacks to far more than a workbook does"),
    "rows.csv.gz": (lambda: gzip.compress(b"item,annotator,label\n" + b"a,b,c\n" * 12_000_000),
                    "unpacks to more than 64 MiB"),
    "ids.json": (lambda: b'[{"id":' + b"9" * 5_000 + b',"annotations":[]}]', "thousands of digits"),
}  # fmt: skip


@pytest.mark.parametrize("name", BOMBS)
def test_what_would_fill_the_memory_is_one_sentence(office, tmp_path, name):
    make, said = BOMBS[name]
    (tmp_path / name).write_bytes(make())
    words = ["import", name, "--source", "tool"] if name.endswith("json") else ["audit", name]
    assert said in office("ada", *words, code=2).err


@pytest.mark.parametrize("words", [["import", "text.parquet", "--source", "tool"], ["audit", "text.parquet"]])
def test_a_long_text_in_every_row_is_refused_before_it_is_copied(office, tmp_path, words):
    """A file of one megabyte repeats one text in 300,000 rows: 56 GiB."""
    rows = 300_000
    frame = pl.DataFrame({
        "item": [f"i{row // 3}" for row in range(rows)], "annotator": ["ana", "ben", "cy"] * (rows // 3),
        "label": ["cat"] * rows,
    }).with_columns(text=pl.lit("x" * 200_000).cast(pl.Categorical))  # fmt: skip
    frame.write_parquet(tmp_path / "text.parquet")
    assert (tmp_path / "text.parquet").stat().st_size < 4 * 2**20
    said = office("ada", *words, code=2).err
    assert "column 'text' has 56 GiB of text, more than 8 GiB" in said


# --- paths that leave their folder
def test_a_table_shows_no_picture_beyond_its_folder(office, tmp_path):
    """Its rows to check first would show what lies elsewhere on this machine."""
    from PIL import Image

    Image.new("RGB", (8, 8)).save(tmp_path / "secret.png")
    folder = tmp_path / "given"
    folder.mkdir()
    Image.new("RGB", (8, 8)).save(folder / "own.png")
    for path in ("../secret.png", str(tmp_path / "secret.png"), "sub/../../secret.png"):
        rows = "".join(f"{path if i == 7 else 'own.png'},p{i % 3},{'xy'[i % 2]}\n" for i in range(12))
        (folder / "t.csv").write_text("picture,annotator,label\n" + rows)
        done = office("ada", "audit", "given/t.csv", "--out", "run", code=2)
        assert "of row 7 is not in given; --set encoder.column=NAME" in done.err
        assert not Path("run").exists()

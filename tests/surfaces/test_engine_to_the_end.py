"""A run that an engine made, to the end: relabelled, compared, read for reputation, settled, stated."""

import io
import json
import os
import re
import shutil
import sys
from contextlib import redirect_stderr, redirect_stdout

import polars as pl
import pytest

from anml.surfaces import cli
from engine_tables import SHAPED, crowd, written


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data in parts, and a run of it by an engine."""
    folder = tmp_path_factory.mktemp("engine")
    written(crowd()[0].drop("verification", "reputation", "when"), folder / "data", 450)
    anml(folder, "audit", "data", "--item", "task", "--known", "truth", "--engine", "local", "--out", "run")
    return folder


def anml(folder, *arguments, code=0) -> str:
    """Run a command in this process, as if it had been typed in that folder; returns all that it printed."""
    said = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(said), redirect_stderr(said):
        for name in [name for name in os.environ if name.startswith("ANML_")]:
            patch.delenv(name)
        patch.setenv("ANML_STAFF_KEYS", "staff")
        patch.setenv("COLUMNS", "200")
        if arguments[0] in ("ledger", "reputation", "settle", "statement"):
            patch.setenv("ANML_LEDGER", "books.db")
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["anml", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    assert int(stopped.value.code or 0) == code, said.getvalue()
    return said.getvalue()


@pytest.fixture(scope="module")
def books(place):
    """A ledger beside the run."""
    anml(place, "ledger", "init", "--origin", "books", "--by", "ada", "--appeals", "x@example.org",
         "--single-person")  # fmt: skip


def test_the_run_has_what_any_run_has(place):
    record = json.loads((place / "run" / "run.json").read_text())
    assert record["data"]["path"] == "../data"
    assert record["items"] == pl.read_parquet(place / "run" / "items.parquet").height == 200
    people = pl.read_csv(place / "run" / "contributors.csv")
    assert people.filter(pl.col("contributor") == "p00")["verdict"].item() == "contradicts the others"
    assert (place / "run" / "report.html").stat().st_size > 10_000


def test_it_is_relabelled_and_compared(place):
    said = anml(place, "relabel", "run", "--out", "look.csv")
    assert re.search(r"\d+ items? to look at", said)
    listed = pl.read_csv(place / "look.csv")
    data = pl.concat([pl.read_parquet(path) for path in sorted((place / "data").glob("*.parquet"))])
    # Rows are counted through all parts.
    assert data["task"][listed["row"].to_numpy()].to_list() == listed["item"].to_list()
    listed.head(5).with_columns(new_label=pl.col("suggested")).write_csv(place / "back.csv")
    anml(place, "relabel", "run", "--apply", "back.csv", "--out", "next")
    assert "labels that both runs have" in anml(place, "changes", "run", "next")


def test_it_is_settled_and_stated(place, books):
    anml(place, "reputation", "add", "run", "--source", "table", "--by", "ada")
    assert "p05" in anml(place, "reputation", "show")
    terms = ("--pool", "100", "--currency", "EUR", "--source", "table", "--window-days", "0", "--by", "ada")
    sid = json.loads(anml(place, "settle", "run", *terms, "--json"))["settlement"]
    shown = json.loads(anml(place, "settle", "--approve", sid, "--by", "ada", "--json", code=3))
    anml(place, "settle", "--approve", sid, "--by", "ada", "--yes", shown["digest"])
    said = anml(place, "statement", sid, "--out", "statements", "--by", "ada")
    assert "Wrote 12 statements" in said


def test_samples_that_were_changed_or_taken_away_are_found(place, tmp_path):
    shutil.copytree(place / "run", tmp_path / "run")
    part = sorted((tmp_path / "run" / "samples").glob("*.parquet"))[0]
    frame = pl.read_parquet(part)
    frame.with_columns(p_correct=pl.lit(1.0)).write_parquet(part)
    assert "was changed after the run was written" in anml(tmp_path, "relabel", "run", code=2)
    part.unlink()
    assert "part-000000.parquet" in anml(tmp_path, "relabel", "run", code=2)


def test_places_of_a_folder_are_relabelled_and_settled(place, books):
    written(SHAPED["spans"](), place / "marks", 300)
    anml(place, "audit", "marks", "--task", "spans", "--out", "marked")
    said = anml(place, "relabel", "marked", "--out", "places.csv", "--top", "5")
    assert re.search(r"\d+ items? to look at", said)
    listed = pl.read_csv(place / "places.csv")
    listed.with_columns(new_label=pl.col("suggested")).write_csv(place / "seen.csv")
    anml(place, "relabel", "marked", "--apply", "seen.csv", "--out", "mended")
    assert "labels that both runs have" in anml(place, "changes", "marked", "mended")
    terms = ("--pool", "100", "--currency", "EUR", "--source", "table", "--window-days", "0", "--by", "ada")
    assert json.loads(anml(place, "settle", "marked", *terms, "--json"))["settlement"]

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

from anml.cli import main as cli
from anml.ledger.cli import main as ledger_cli
from engine_tables import SHAPED, crowd, written

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with data in parts, and a run of it by an engine."""
    folder = tmp_path_factory.mktemp("engine")
    written(crowd()[0].drop("verification", "reputation", "when"), folder / "data", 450)
    anml(
        folder,
        "audit",
        "data",
        "--item",
        "task",
        "--column",
        "true_label=truth",
        "--engine",
        "local",
        "--out",
        "run",
    )
    return folder


def anml(folder, *arguments, code=0) -> str:
    """Run a command of `anml` in that folder."""
    return typed(cli, folder, *arguments, code=code)


def ledger(folder, *arguments, code=0) -> str:
    """Run a command of `anml-ledger` in that folder."""
    return typed(ledger_cli, folder, *arguments, code=code)


def typed(program, folder, *arguments, code=0) -> str:
    """Run a command in this process, as if it had been typed in that folder; returns all that it printed."""
    message = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(message), redirect_stderr(message):
        for name in [name for name in os.environ if name.startswith("ANML_")]:
            patch.delenv(name)
        patch.setenv("ANML_STAFF_KEYS", "staff")
        patch.setenv("COLUMNS", "200")
        patch.setenv("ANML_LEDGER", "books.db")
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["program", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            program.main()
    assert int(stopped.value.code or 0) == code, message.getvalue()
    return message.getvalue()


@pytest.fixture(scope="module")
def books(place):
    """A ledger beside the run."""
    ledger(place, "init", "--origin", "books", "--by", "ada", "--appeals", "x@example.org",
         "--single-person")  # fmt: skip


def test_the_run_has_what_any_run_has(place):
    record = json.loads((place / "run" / "run.json").read_text())
    assert record["data"]["path"] == "../data"
    assert record["n_items"] == pl.read_parquet(place / "run" / "consensus.parquet").height == 200
    people = pl.read_csv(place / "run" / "contributors.csv")
    assert people.filter(pl.col("contributor") == "p00")["verdict"].item() == "contradicts the others"
    assert (place / "run" / "report.html").stat().st_size > 10_000


def test_it_is_relabelled_and_compared(place):
    message = anml(place, "relabel", "run", "--out", "look.csv")
    listed = pl.read_csv(place / "look.csv")
    assert re.match(
        rf"{listed.height} items below 90% confidence; about \d+ wrong labels are expected", message
    )
    data = pl.concat([pl.read_parquet(path) for path in sorted((place / "data").glob("*.parquet"))])
    # Rows are counted through all parts.
    assert data["task"][listed["row"].to_numpy()].to_list() == listed["item"].to_list()
    listed.head(5).with_columns(new_label=pl.col("suggested_label")).write_csv(place / "back.csv")
    anml(place, "apply", "run", "back.csv", "--out", "next")
    compared = anml(place, "compare", "run", "next")
    assert re.search(r"^\d+ of the [\d,]+ shared labels (was|were) corrected; ", compared, re.MULTILINE)


def test_it_is_settled_and_stated(place, books):
    ledger(place, "import", "run", "--source", "table", "--by", "ada")
    assert "p05" in ledger(place, "show", "contributors")
    terms = ("--pool", "100", "--currency", "EUR", "--source", "table", "--by", "ada")
    sid = json.loads(ledger(place, "settle", "run", *terms, "--json"))["settlement"]
    shown = json.loads(ledger(place, "confirm", sid, "--by", "ada", "--json", code=3))
    ledger(place, "confirm", sid, "--by", "ada", "--yes", shown["digest"])
    message = ledger(place, "statement", sid, "--out", "statements", "--by", "ada")
    assert "Wrote 12 statements" in message


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
    message = anml(place, "relabel", "marked", "--out", "places.csv", "--top", "5")
    assert re.match(r"5 of the \d+ items below 90% confidence; about \d+ wrong labels are expected", message)
    listed = pl.read_csv(place / "places.csv")
    assert listed.height == 5
    listed.with_columns(new_label=pl.col("suggested_label")).write_csv(place / "seen.csv")
    anml(place, "apply", "marked", "seen.csv", "--out", "mended")
    compared = anml(place, "compare", "marked", "mended")
    assert re.search(r"^\d+ of the [\d,]+ shared labels (was|were) corrected; ", compared, re.MULTILINE)
    terms = ("--pool", "100", "--currency", "EUR", "--source", "table", "--by", "ada")
    assert json.loads(ledger(place, "settle", "marked", *terms, "--json"))["settlement"]

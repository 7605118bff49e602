"""`anml trace` from a folder of Hugging Face, and from a function."""

import json
from itertools import chain

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import anml
from anml.cli.main import app
from language_world import SOURCES, fine_tuned


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return fine_tuned(tmp_path_factory.mktemp("lm"))


def test_the_command_checks_itself_and_writes_a_folder(trained, tmp_path):
    command = [
        "trace", str(trained / "model"), "--train", str(trained / "train.jsonl"), "--contributor", "author",
        "--query", str(trained / "q.jsonl"), "--checkpoints", str(trained / "ckpt"), "--check", "5",
        "--period", "2026-01-01:2026-01-31", "--amount", "250", "--currency", "EUR",
        "--out", str(tmp_path / "trace"),
    ]  # fmt: skip
    ran = CliRunner().invoke(app, command, catch_exceptions=False)
    assert ran.exit_code == 0, ran.output
    assert "Checked by 5 retrainings" in ran.output
    names = {path.name for path in (tmp_path / "trace").iterdir()}
    assert names == {
        "check.json", "contributors.csv", "queries.parquet", "report.html", "rows.csv", "usage.json",
    }  # fmt: skip
    frame = pl.read_csv(tmp_path / "trace" / "contributors.csv")
    queries = pl.read_parquet(tmp_path / "trace" / "queries.parquet")
    assert {"share", "low", "high", "certain", "influence", "similarity", "query"} <= {
        *frame.columns, *queries.columns,
    }  # fmt: skip
    assert frame["share"].sum() == pytest.approx(1)
    assert set(frame["contributor"]) == set(SOURCES)
    usage = json.loads((tmp_path / "trace" / "usage.json").read_text())
    assert usage["check"]["status"] == "checked"
    assert usage["usage"] == {"queries": 10, "amount": 250.0, "currency": "EUR"}
    assert sum(line["share"] for line in usage["contributors"]) == pytest.approx(1)
    page = (tmp_path / "trace" / "report.html").read_text()
    assert "Checked by 5 retrainings" in page
    assert "Rows behind the first contributors" in page
    # A folder that holds something else is not touched.
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("x")
    again = CliRunner().invoke(app, [*command[:-1], str(tmp_path / "mine")])
    assert again.exit_code != 0


def test_json_and_no_folder(trained):
    ran = CliRunner().invoke(
        app,
        ["trace", str(trained / "model"), "--train", str(trained / "train.jsonl"), "--contributor", "author",
         "--query", str(trained / "q.jsonl"), "--json"],
        catch_exceptions=False,
    )  # fmt: skip
    result = json.loads(ran.stdout)
    assert result["check"]["status"] == "not checked"
    assert {line["contributor"] for line in result["contributors"]} == set(SOURCES)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"--contributor": "writer"}, "no column 'writer'"),
        ({"--query": "q.txt"}, "must be one of"),
        ({"--query": "none.jsonl"}, "cannot be read"),
        ({"MODEL": "nowhere"}, "a folder or module:function"),
        ({"MODEL": "nowhere:at_all"}, "cannot be loaded"),
        ({"--period": "January"}, "FROM:TO"),
    ],
)
def test_what_does_not_fit_is_one_sentence(trained, change, message):
    options = {
        "--train": str(trained / "train.jsonl"), "--contributor": "author",
        "--query": str(trained / "q.jsonl"),
    } | change  # fmt: skip
    model = options.pop("MODEL", str(trained / "model"))
    ran = CliRunner().invoke(app, ["trace", model, *chain(*options.items())])
    assert isinstance(ran.exception, anml.AnmlError)
    assert message in str(ran.exception)


def test_a_function_gives_a_model_of_any_kind(trained, tmp_path, monkeypatch):
    (tmp_path / "mymodel.py").write_text(
        "import torch\n"
        "from torch import nn\n"
        "def load(rows, queries):\n"
        "    def of(frame):\n"
        "        x = torch.tensor(frame[['a', 'b']].to_numpy()).float()\n"
        "        return x, torch.tensor(frame['y'].to_numpy())\n"
        "    torch.manual_seed(0)\n"
        "    return {'model': nn.Linear(2, 2), 'train': of(rows), 'queries': of(queries)}\n"
    )
    rng = np.random.default_rng(0)
    people = list("vwxyz") * 4
    x = rng.normal(size=(2, 20))
    table = pl.DataFrame({"a": x[0], "b": x[1], "y": [0, 1] * 10, "contributor": people})
    table.write_csv(tmp_path / "train.csv")
    monkeypatch.chdir(tmp_path)
    ran = CliRunner().invoke(
        app, ["trace", "mymodel:load", "--train", "train.csv", "--query", "train.csv"], catch_exceptions=False
    )
    assert ran.exit_code == 0
    assert "Not checked" in ran.output
    assert "No files were written" in ran.output

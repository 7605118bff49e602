"""Real contributors: peers on labels made up by hand, the sets themselves, and the whole command."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anml.core.errors import AnmlError
from experiments import cells
from experiments.cli import main
from experiments.data import CONTRIBUTED, DataMissingError, load_contributed
from experiments.kinds import run_block
from experiments.measures import Outcome
from experiments.real import measures
from experiments.runner import blocks_of, run
from experiments.spec import list_experiments
from experiments.store import finished_trials, known_rows
from experiments.summary import describe, load_results
from experiments.tables import tables

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("shared_results")]

ROOT = Path(__file__).parents[2]
needs_data = pytest.mark.skipif(
    not os.environ.get("ANML_DATA"), reason="needs the folder of data sets named by ANML_DATA"
)
SMALL = ("music_genre", "heart_disease-cleveland")


def test_measures_by_hand(crowd):
    right, quality = crowd.right, np.array([1.0, 1.0, 2 / 3, 0.5])
    answer = Outcome(predicted=crowd.truth.y_test, quality=quality, p_correct=right * 1.0)
    result = measures(crowd, answer)
    assert (result["accuracy"], result["calibration"], result["ranking"]) == (100, 0, 1)
    assert result["correlation"] > 0.99
    assert result["count_9"] == right.sum()
    unknown = replace(crowd, truth=replace(crowd.truth, y=None))
    assert measures(unknown, answer) == {"accuracy": 100}


def test_sets_that_are_not_there_are_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ANML_DATA", str(tmp_path))
    with pytest.raises(DataMissingError, match="is not in the folder named by ANML_DATA"):
        load_contributed("music_genre", np.random.default_rng(0))
    with pytest.raises(AnmlError, match="did you mean 'music_genre'"):
        load_contributed("music_genres", np.random.default_rng(0))
    real = list_experiments("beyond")["real"]
    assert run([real], tmp_path / "out") == {"real": list(CONTRIBUTED)}
    monkeypatch.setattr(sys, "argv", ["experiments", "run", "real", "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "set ANML_DATA to their folder): music_genre, cifar10n" in capsys.readouterr().err


@needs_data
def test_the_experiment_end_to_end(tmp_path, monkeypatch):
    pytest.importorskip("crowdkit", reason="needs crowd-kit")
    whole = list_experiments("beyond")["real"]
    methods = {name: whole.methods[name] for name in ("uniform", "evidence")}
    real = replace(whole, trials=1, vary={"dataset": list(SMALL)}, methods=methods)
    assert run([real], tmp_path) == {}
    entry = describe(load_results(real, tmp_path))
    lines = tables({**entry, "rows": [row for row in entry["rows"] if row["metric"] == "accuracy"]})
    assert [line.split("|")[1].strip() for line in lines[2:]] == list(SMALL)
    result = {(*row["key"].values(), row["metric"]): row["ours"] for row in entry["rows"]}
    music = "music_genre"
    assert result[music, "evidence", "accuracy"] > result[music, "uniform", "accuracy"] + 3
    assert result[music, "evidence", "correlation"] > 0.95
    # What does not apply has no row: hospitals have one label for each patient.
    assert ("heart_disease-cleveland", "majority vote", "accuracy") not in result
    assert len(entry["claims"]) + len(entry["unchecked"]) == len(whole.claims)
    # Nor is it asked again; and a new version of one peer runs alone.
    calls = []
    run([real], tmp_path, progress=lambda what, done, total: calls.append((done, total)))
    assert calls == [(2, 2)]
    monkeypatch.setitem(cells.VERSIONS["peer"], "truth", 2)
    [music_only] = [
        block
        for block in blocks_of(real, finished_trials(known_rows(real, tmp_path)))
        if block.dataset == music
    ]
    [row] = run_block(real, [0], music, cells=music_only.cells)
    assert (row["method"], row["accuracy"]) == ("truth", pytest.approx(result[music, "truth", "accuracy"]))
    heart = "heart_disease-cleveland"
    of_evidence = [cell for cell, _, _, method in cells.cells_of(real, heart) if method == "evidence"]
    [again] = run_block(real, [0], heart, cells=of_evidence)
    assert again["accuracy"] == pytest.approx(result[heart, "evidence", "accuracy"])

"""Real contributors: peers on labels made up by hand, the sets themselves, and the whole command."""

import os
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from anml.core.errors import AnmlError, InputError, UnsupportedError
from anml.lab import cells, peers
from anml.lab.contributed import CONTRIBUTED, Contributed, load_contributed
from anml.lab.data import DataMissingError
from anml.lab.real import measures, run_block
from anml.lab.runner import blocks_of, run
from anml.lab.spec import catalogue
from anml.lab.store import done, known_rows
from anml.lab.summary import describe, load_results
from anml.lab.tables import fill_page, filled, tables
from anml.surfaces.cli import main

ROOT = Path(__file__).parents[2]
needs_data = pytest.mark.skipif(
    not os.environ.get("ANML_DATA"), reason="needs the folder of data sets named by ANML_DATA"
)
SMALL = ("music_genre", "heart_disease-cleveland")


@pytest.fixture
def crowd() -> Contributed:
    """Sixty things, two classes; ann and bob are right, cat is wrong on every third thing, dan guesses."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3))
    truth = np.where(x[:, 0] > 0, "up", "down")
    other = np.where(truth == "up", "down", "up")
    said = {
        "ann": truth,
        "bob": truth,
        "cat": np.where(np.arange(60) % 3 == 0, other, truth),
        "dan": rng.choice(["up", "down"], 60),
    }
    return Contributed(
        x=np.tile(x, (4, 1)), label=np.concatenate(list(said.values())),
        contributor=np.repeat(list(said), 60), item=np.tile(np.arange(60), 4), x_test=x, y_test=truth,
        truth=np.tile(truth, 4), best=np.tile(truth, 4),
    )  # fmt: skip


def test_votes_by_hand():
    data = Contributed(
        x=np.array([[1.0], [1.0], [2.0]]), label=np.array(["a", "b", "b"]),
        contributor=np.array(["ann", "bob", "ann"]), item=np.array([7, 7, 9]),
        x_test=np.zeros((0, 1)), y_test=np.array([]),
    )  # fmt: skip
    votes = peers.votes_of(data, data.item)
    assert votes.counts.tolist() == [[1, 1], [0, 1]]
    assert votes.x.tolist() == [[1.0], [2.0]]
    assert votes.share_agreeing(np.array([0, 1]), data.contributor) == {"ann": 1.0, "bob": 0.0}


def test_ties_are_broken_by_chance_and_only_ties():
    decided = [
        peers.decide(np.array([[1, 1, 0]] * 4 + [[2, 1, 0]]), np.random.default_rng(s)) for s in range(20)
    ]
    assert {int(value) for row in decided for value in row[:4]} == {0, 1}
    assert {int(row[4]) for row in decided} == {0}


@pytest.mark.parametrize("name", list(peers.PEERS))
def test_every_peer_learns_from_a_good_crowd(name, crowd):
    if name == "Dawid-Skene":
        pytest.importorskip("crowdkit", reason="needs crowd-kit")
    answer = peers.PEERS[name](crowd, 0)
    found = measures(crowd, answer)
    assert found["accuracy"] > 90
    if answer.quality is not None:
        assert set(answer.quality) == {"ann", "bob", "cat", "dan"}
        assert answer.quality["ann"] > answer.quality["cat"] > answer.quality["dan"]
        assert found["correlation"] > 0.9


@pytest.mark.parametrize("name", list(peers.PEERS))
def test_where_labels_do_not_overlap_votes_do_not_apply(name, crowd):
    alone = replace(crowd, item=None, best=None, truth=None)
    answer = peers.PEERS[name](alone, 0)
    assert (answer is None) == (name != "cleanlab")


def test_a_package_that_is_not_there_is_named(crowd, monkeypatch):
    monkeypatch.setitem(sys.modules, "cleanlab.multiannotator", None)
    with pytest.raises(UnsupportedError, match=r"cleanlab is not installed; .*\[peers\]"):
        peers.cleanlab(crowd, 0)


def test_measures_by_hand(crowd):
    right = crowd.label == crowd.truth
    answer = peers.Answer(crowd.y_test, {"ann": 1.0, "bob": 1.0, "cat": 2 / 3, "dan": 0.5}, right * 1.0)
    found = measures(crowd, answer)
    assert (found["accuracy"], found["calibration"], found["ranking"]) == (100, 0, 1)
    assert found["correlation"] > 0.99
    assert found["count_9"] == right.sum()
    nothing = measures(replace(crowd, truth=None), answer)
    assert np.isnan(nothing["correlation"])
    assert nothing["accuracy"] == 100


def test_sets_that_are_not_there_are_left_out(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("ANML_DATA", str(tmp_path))
    with pytest.raises(DataMissingError, match="is not in the folder named by ANML_DATA"):
        load_contributed("music_genre", np.random.default_rng(0))
    with pytest.raises(AnmlError, match="did you mean 'music_genre'"):
        load_contributed("music_genres", np.random.default_rng(0))
    real = catalogue("beyond")["real"]
    assert run([real], tmp_path / "out") == {"real": list(CONTRIBUTED)}
    monkeypatch.setattr(sys, "argv", ["anml", "lab", "run", "real", "--out", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 2
    assert "set ANML_DATA to their folder): music_genre, cifar10n" in capsys.readouterr().err


@needs_data
def test_shapes_of_the_sets():
    rng = np.random.default_rng(0)
    music = load_contributed("music_genre", rng)
    assert music.x.shape == (2945, 124)
    assert len(music.y_test) == 300
    assert float((music.label == music.truth).mean()) == pytest.approx(0.560, abs=0.001)
    weather = load_contributed("weather_sentiment", rng)
    assert (len(weather.label), len(np.unique(weather.contributor))) == (20_000, 102)
    images = load_contributed("cifar10n", rng)
    assert images.x.shape == (50_000, 256)
    assert float((images.best == images.truth).mean()) == pytest.approx(0.910, abs=0.001)
    heart = load_contributed("heart_disease-va", rng)
    assert (len(heart.label), len(heart.y_test)) == (720, 200)
    assert np.isfinite(heart.x).all()
    assert "va" not in heart.contributor


@needs_data
def test_the_labels_drawn_differ_by_trial_and_nothing_else():
    first, again, other = (load_contributed("cifar10n", np.random.default_rng(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first.label, again.label)
    assert (first.label != other.label).any()
    np.testing.assert_array_equal(first.truth, other.truth)


@needs_data
def test_the_experiment_end_to_end(tmp_path, monkeypatch):
    pytest.importorskip("crowdkit", reason="needs crowd-kit")
    whole = catalogue("beyond")["real"]
    methods = {name: whole.methods[name] for name in ("uniform", "evidence")}
    real = replace(whole, trials=1, vary={"dataset": list(SMALL)}, methods=methods)
    assert run([real], tmp_path) == {}
    entry = describe(load_results(real, tmp_path))
    lines = tables(entry, ["accuracy"])
    assert [line.split("|")[1].strip() for line in lines[2:]] == list(SMALL)
    found = {(*row["key"].values(), row["metric"]): row["ours"] for row in entry["rows"]}
    music = "music_genre"
    assert found[music, "evidence", "accuracy"] > found[music, "uniform", "accuracy"] + 3
    assert found[music, "evidence", "correlation"] > 0.95
    # What does not apply has no row: hospitals have one label for each patient.
    assert ("heart_disease-cleveland", "majority vote", "accuracy") not in found
    assert len(entry["claims"]) + len(entry["unchecked"]) == len(whole.claims)
    # Nor is it asked again; and a new version of one peer runs alone.
    seen = []
    run([real], tmp_path, progress=lambda what, done, of: seen.append((done, of)))
    assert seen == [(2, 2)]
    monkeypatch.setitem(cells.VERSIONS["peer"], "truth", 2)
    [music_only] = [
        block for block in blocks_of(real, done(known_rows(real, tmp_path))) if block.dataset == music
    ]
    [row] = run_block(real, [0], music, cells=music_only.cells)
    assert (row["method"], row["accuracy"]) == ("truth", pytest.approx(found[music, "truth", "accuracy"]))
    again = run_block(real, [0], "heart_disease-cleveland")
    assert again[1]["accuracy"] == pytest.approx(found["heart_disease-cleveland", "evidence", "accuracy"])


@pytest.mark.parametrize(
    ("page", "place"),
    [
        ("README.md", "<!-- figure: real evidence.accuracy music_genre -->"),
    ],
)
def test_pages_show_the_committed_rows(page, place):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert place in text
    assert filled(text, ROOT / "results" / "beyond") == text


def test_a_page_without_place_or_rows_is_said(tmp_path):
    page = tmp_path / "page.md"
    with pytest.raises(InputError, match="there is no page"):
        fill_page(page, tmp_path)
    page.write_text("# Nothing\n")
    with pytest.raises(InputError, match="has no place for tables"):
        fill_page(page, tmp_path)
    page.write_text("<!-- rows: real accuracy -->\n<!-- end -->\n")
    with pytest.raises(InputError, match="no rows of 'real'"):
        fill_page(page, tmp_path)


def test_a_metric_that_is_not_there_is_said():
    entry = {"name": "real", "rows": [{"key": {"method": "krum"}, "metric": "error", "ours": 1.0}]}
    with pytest.raises(InputError, match="has no metric 'errors'; it has error"):
        tables(entry, ["errors"])

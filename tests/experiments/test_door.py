"""An experiment of one's own is checked before anything runs: bad files as much as good ones."""

import json
import sys
from dataclasses import fields

import polars as pl
import pytest

from anml.core.errors import AnmlError, InputError
from experiments.cli import main
from experiments.data import DATASETS, DataMissingError, load_dataset
from experiments.door import NUMERIC, check_experiment
from experiments.kinds import MEANING, metrics_of
from experiments.runner import run, run_part
from experiments.spec import EXPERIMENT, SETTING, Experiment, Setting, list_experiments, load, parse

pytestmark = pytest.mark.slow

TWO = {"methods": ["uniform", "krum"], "vary": {"bad": [0.0, 0.3]}}


def door(table):
    experiment = parse("mine", {"title": "Mine", **table})
    check_experiment(experiment)
    return experiment


def claim(**parts):
    return {**TWO, "claims": [{"text": "so", **parts}]}


def derived(expression):
    return {**TWO, "derived": {"d": expression}}


@pytest.mark.parametrize(
    ("table", "says"),
    [
        # single values
        ({"title": 3}, "title must be a text, got 3"),
        ({"title": " "}, "title must be a text, got ' '"),
        ({"about": 3}, "about must be a text, got 3"),
        ({"trials": "a"}, "trials must be a whole number, got 'a'"),
        ({"trials": -1}, "trials must be at least 1, got -1"),
        ({"trials": 0}, "trials must be at least 1, got 0"),
        ({"trials": 2.5}, "trials must be a whole number, got 2.5"),
        ({"trials": True}, "trials must be a whole number, got True"),
        ({"trials": 10**30}, "trials must be at most 100000, got 1000"),
        ({"chunk": 0}, "chunk must be at least 1"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"timed": 1}, "timed must be true or false, got 1"),
        ({"tabled": "yes"}, "tabled must be true or false, got 'yes'"),
        ({"notes": "one"}, "notes must be a list, got 'one'"),
        ({"notes": [3]}, r"notes\[0\] must be a text, got 3"),
        ({"setting": 3}, "setting must be a table, got 3"),
        ({"vary": [1]}, r"vary must be a table, got \[1\]"),
        ({"trails": 3}, "unknown key 'trails' \\(did you mean 'trials'"),
        # settings
        ({"setting": {"bad": 1.5}}, r"setting.bad must lie in \[0, 1\], got 1.5"),
        ({"setting": {"bad": -0.1}}, r"setting.bad must lie in \[0, 1\], got -0.1"),
        ({"setting": {"bad": "0.3"}}, "setting.bad must be a number, got '0.3'"),
        ({"setting": {"bad": float("nan")}}, r"setting.bad must lie in \[0, 1\], got nan"),
        ({"setting": {"bad": 10**400}}, "setting.bad must be a number, got one of 401 digits"),
        ({"setting": {"fraction": 0}}, r"setting.fraction must lie in \(0, 1\], got 0"),
        ({"setting": {"correlation": 2}}, r"setting.correlation must lie in \[-1, 1\], got 2"),
        ({"setting": {"epochs": 2.5}}, "setting.epochs must be a whole number, got 2.5"),
        ({"setting": {"epochs": -1}}, "setting.epochs must be at least 0"),
        ({"setting": {"batch": 0}}, "setting.batch must be at least 1"),
        ({"setting": {"contributors": "ten"}}, "setting.contributors must be a whole number, got 'ten'"),
        ({"setting": {"contributors": -3}}, "setting.contributors must be at least 0"),
        ({"setting": {"labels": 0}}, "setting.labels must be at least 1"),
        ({"setting": {"sybils": 0}}, "setting.sybils must be at least 1"),
        ({"setting": {"periods": 0}}, "setting.periods must be at least 1"),
        ({"setting": {"scatter": -1}}, r"setting.scatter must lie in \[0, inf\), got -1"),
        ({"setting": {"hidden": 64}}, "setting.hidden must be a list, got 64"),
        ({"setting": {"hidden": []}}, "setting.hidden is an empty list"),
        ({"setting": {"hidden": [0]}}, r"setting.hidden\[0\] must be at least 1"),
        ({"setting": {"drift": "lable"}}, "unknown setting.drift 'lable' \\(did you mean 'label'"),
        ({"setting": {"dataset": 3}}, "setting.dataset must be a text, got 3"),
        ({"setting": {"dataset": "wein"}}, "setting: unknown data set 'wein' \\(did you mean 'wine'"),
        ({"setting": {"attack": "flipp"}}, "unknown attack 'flipp' \\(did you mean 'flip'"),
        ({"setting": {"scenario": "hi"}}, "unknown scenario 'hi'"),
        ({"setting": {"profile": "papr"}}, "unknown profile 'papr' \\(did you mean 'paper'"),
        ({"setting": {"labels": 3, "contributors": 2}}, "3 labels of one thing need as many contributors"),
        ({"setting": {"scatter": 0.3}}, "classes cannot scatter"),
        ({"setting": {"dataset": "diabetes"}}, "the attack 'flip' is on classes, and diabetes has numbers"),
        ({"setting": {"attack": "bias"}}, "the attack 'bias' is on numbers, and wine has classes"),
        ({"setting": {"drift": "label", "drift_rate": 2}}, r"drift_rate of label drift must lie in \[0, 1\]"),
        (
            {"setting": {"dataset": "diabetes", "attack": "bias", "drift": "label"}},
            "label drift needs classes, and diabetes has numbers",
        ),
        # axes
        ({"vary": {"bad": 3}}, "vary.bad must be a list, got 3"),
        ({"vary": {"bad": []}}, "vary.bad is an empty list"),
        ({"vary": {"bad": [0.1, "a"]}}, "vary.bad must be a number, got 'a'"),
        ({"vary": {"bad": [0.1, 3]}}, r"vary.bad must lie in \[0, 1\], got 3"),
        ({"vary": {"badd": [0.1]}}, "did you mean 'bad'"),
        ({"vary": {"bad": [0, 0.0]}}, "labels must differ, but it has '0' more than once"),
        ({"vary": {"a": [{"label": "x"}, {"label": "x", "bad": 0.1}]}}, "'x' more than once"),
        ({"vary": {"a": [{"label": True}]}}, "label in vary.a must be a text, got True"),
        ({"vary": {"a": [{"label": "x", "bad": 2}]}}, r"vary.a.bad must lie in \[0, 1\], got 2"),
        ({"vary": {"dataset": ["wine", "wein"]}}, "at dataset wein: unknown data set 'wein'"),
        ({"vary": {"method": [{"label": "x"}]}}, "an axis must have a name .* got 'method'"),
        ({"vary": {"error": [{"label": "x"}]}}, "an axis must have a name .* got 'error'"),
        # methods
        ({"methods": 3}, "methods must be a list of recipes or a table of methods, got 3"),
        ({"methods": []}, "there is no method"),
        ({"methods": [3]}, r"methods\[0\] must be a text, got 3"),
        ({"methods": ["krum", "krum"]}, "methods has 'krum' more than once"),
        ({"methods": {"krum": 3}}, "methods.krum must be a table such as .* got 3"),
        ({"methods": {"a": {"like": 3}}}, "methods.a: like must be a text, got 3"),
        ({"methods": {"a": {"like": "krumm"}}}, "methods.a: unknown recipe 'krumm' \\(did you mean 'krum'"),
        ({"methods": {"a": {"alpha": 3}}}, r"methods.a: alpha must lie in \[0, 1\], got 3"),
        ({"methods": {"a": {"alpha": "x"}}}, "methods.a: alpha must be a number, got 'x'"),
        ({"methods": {"a": {"combine": "sofmax"}}}, "methods.a: unknown combine 'sofmax'"),
        ({"methods": {"a": {"use": "q"}}}, "methods.a: use must be a list, got 'q'"),
        ({"methods": {"a": {"use": ["z"]}}}, "methods.a: unknown signal 'z'"),
        ({"methods": {"a": {"level": ["x"]}}}, "methods.a: level must be a text"),
        ({"methods": {"a.b": {}}}, "without '.', '@' and '\\*', got 'a.b'"),
        ({"methods": {"a": {"level": "contributor"}}}, "'a' is at contributor level and needs contributors"),
        ({"kind": "cited"}, "the kind 'cited' is about contributors, got 0"),
        # kinds, peers, metrics
        ({"kind": "reel"}, "unknown kind 'reel' \\(did you mean 'real'"),
        ({"kind": "real"}, "unknown data set 'wine'; allowed: music_genre"),
        ({"kind": "calibration"}, "needs a method like 'evidence'"),
        ({"peers": ["truth"]}, "it has peers, which the kind 'simulated' does not run"),
        ({"peers": ["nobody"]}, "unknown peer 'nobody'"),
        ({"kind": "real", "peers": ["zdrop"]}, "unknown peer 'zdrop'"),
        ({"kind": "bank"}, "unknown data set 'wine'; allowed: clean_moons"),
        ({"metrics": "error"}, "metrics must be a list, got 'error'"),
        ({"metrics": []}, "metrics is an empty list"),
        ({"metrics": ["eror"]}, "unknown metric 'eror' \\(did you mean 'error'"),
        ({"metrics": ["kept_expert"]}, "unknown metric 'kept_expert'"),
        ({"metrics": ["train_s"]}, "unknown metric 'train_s'"),
        ({"closeness": "error"}, "unknown key 'closeness'"),
        # derived figures
        ({"derived": 3}, "derived must be a table, got 3"),
        (derived("krum.error"), "derived.d: it must be a table such as"),
        (derived({}), "derived.d: an expression has one operator, got none"),
        (derived({"minus": ["krum.error", 1], "plus": [1]}), "has one operator, got minus, plus"),
        (derived({"minsu": ["krum.error", 1]}), "unknown operator 'minsu' \\(did you mean 'minus'"),
        (derived({"minus": "krum.error"}), "minus must be a list, got 'krum.error'"),
        (derived({"minus": ["krum.error"]}), "minus has 2 terms, got 1"),
        (derived({"plus": []}), "plus has one term or more, got none"),
        (derived({"minus": ["krumm.error", 1]}), "'krumm.error': unknown method 'krumm'"),
        (derived({"minus": ["krum.eror", 1]}), "'krum.eror': unknown metric 'eror'"),
        (derived({"minus": ["krum", 1]}), "'krum': a reference is written method.metric"),
        (derived({"minus": ["krum.error@badd=0.3", 1]}), "unknown axis 'badd' \\(did you mean 'bad'"),
        (derived({"minus": ["krum.error@bad=0.4", 1]}), "unknown value of bad '0.4' .*; allowed: 0, 0.3"),
        (derived({"minus": [True, 1]}), "must be a number, got True"),
        (derived({"mean": ["krum.error"]}), "mean goes along an axis; say which with over, one of bad"),
        (derived({"mean": ["krum.error"], "over": "bed"}), "unknown axis in over 'bed'"),
        (derived({"minus": [1, 2], "over": "bad"}), "unknown operator along an axis 'minus'"),
        (derived({"shapiro": [3]}), "shapiro takes metrics of methods such as 'krum.error', got 3"),
        (
            {"derived": {"d": {"shapiro": ["krum.e"]}, "e": {"plus": ["krum.error"]}}},
            "shapiro takes metrics of methods",
        ),
        (derived({"minus": ["*.error", 1], "methods": ["krumm"]}), "unknown method 'krumm'"),
        (derived({"minus": ["*.error", 1], "methods": 3}), "methods must be a list, got 3"),
        (derived({"minus": ["*.error", 1], "once": True}), "stands for a row's own method"),
        (derived({"minus": ["*.error", 1], "once": "x"}), "once must be true or false"),
        (derived({"minus": ["*.d", 1]}), "derived.d is defined by itself: d -> d"),
        ({"derived": {"error": {"plus": [1]}}}, "must not have the name of a metric"),
        # claims
        ({"claims": 3}, "claims must be a list, got 3"),
        ({"claims": [3]}, r"claims\[0\] must be a table, got 3"),
        ({"claims": [{"better": ["krum.error", 1]}]}, "claim 1: a claim has a text and one of better"),
        (claim(), "a claim has a text and one of better"),
        (claim(bettre=["krum.error", 1]), "unknown key 'bettre' \\(did you mean 'better'"),
        (claim(better="krum.error"), "better must be a list, got 'krum.error'"),
        (claim(better=["krum.error"]), "better has 2 or more terms"),
        (claim(better=["krum.error", "softmax.error"]), "unknown method 'softmax'"),
        (claim(better=["*.error", 1]), "name a method"),
        (claim(equal=["krum.error", 1, 2], margin=1, limit="paper"), "equal has 2 terms"),
        (claim(between=["krum.error", 1], limit="paper"), "between has 3 terms"),
        (claim(at_most=["krum.error", "who"], limit="paper"), r"at_most\[1\] must be a number, got 'who'"),
        (claim(better=["krum.error", 1], p=2), r"p must lie in \(0, 1\], got 2"),
        (claim(no_worse=["krum.error", 1]), "no_worse needs a margin"),
        (claim(at_most=["krum.error", 1]), "at_most has a limit; say where it comes from"),
        (claim(better=["krum.error", 1], over="bad"), "over must be a table, got 'bad'"),
        (claim(better=["krum.error", 1], over={"bed": "*"}), "unknown axis in over 'bed'"),
        (claim(better=["krum.error", 1], over={"bad": 0.3}), "over.bad must be a list of values or"),
        (claim(better=["krum.error", 1], over={"bad": []}), "over.bad is an empty list"),
        (claim(better=["krum.error", 1], over={"bad": [0.5]}), "unknown value in over.bad '0.5'"),
        (claim(better=["krum.error", 1], where={"bad": 0.5}), "unknown value in where.bad '0.5'"),
        (claim(better=["krum.error", 1], where={"bad": {"x": 1}}), "unknown value in where.bad"),
        # the paper's numbers
        ({"paper": [{"method": "krumm", "error": 3}]}, "paper 1: unknown method 'krumm'"),
        ({"paper": [{"method": "krum", "eror": 3}]}, "paper 1: unknown key 'eror'"),
        ({"paper": [{"method": "krum", "error": "3"}]}, "paper 1: error must be a number, got '3'"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_sentence(table, says):
    with pytest.raises(AnmlError, match=says) as known:
        door(table)
    assert str(known.value).startswith("experiment 'mine': ")
    assert "\n" not in str(known.value)


@pytest.mark.parametrize(
    "table",
    [
        {},
        {"trials": 1, "chunk": 1, "seed": 2**40, "notes": [], "about": ""},
        {"setting": {"bad": 0, "epochs": 0, "contributors": 0}},
        {"setting": {"bad": 1, "hidden": [8], "labels": 2, "contributors": 2}},
        {"setting": {"dataset": "diabetes", "attack": "bias", "scatter": 0.3}},
        {"setting": {"attack": "bias", "bad": 0.0}},
        {"vary": {"bad": [0, 0.5], "hidden": [[8], [8, 8]]}},
        {"vary": {"whose": [{"label": 1}, {"label": "two", "contributors": 5, "sybils": 2}]}},
        {"methods": {"a b": {"use": []}, "c": {"like": "evidence", "select": "weight"}}},
        {"methods": ["evidence"], "metrics": ["calibration"]},
        {"setting": {"scenario": "tiers"}, "metrics": ["kept_expert"]},
        {"timed": True, "metrics": ["train_s"]},
        {"kind": "real", "setting": {"dataset": "music_genre"}, "peers": ["truth"], "methods": []},
        {"kind": "calibration", "methods": ["evidence"], "metrics": ["gap", "count_0"]},
        {"kind": "bank", "setting": {"dataset": "lazy_bal4"}, "peers": ["oracle"], "methods": ["krum"]},
        derived({"minus": ["*.error@ bad = 0.3,", 1], "methods": ["krum"]}),
        derived({"minus": [{"mean": "krum.error", "over": "bad"}, 1], "once": True}),
        derived({"pearson": ["krum.error", "uniform.error"], "over": "bad"}),
        derived({"p_value": ["*.error", "krum.error"]}),
        {**derived({"plus": ["*.e", 1, 2]}), "derived": {"d": {"plus": ["*.e"]}, "e": {"plus": [1]}}},
        claim(better=["krum.error", "uniform.error"], p=0.05, over={"bad": "*"}, apart="ours"),
        claim(between=[{"ratio": ["krum.error", 2]}, -1, 1.5], where={"bad": 0}, why="so", limit="paper"),
        {**TWO, "paper": [{"method": "krum", "bad": 0.0, "error": 3, "implied": True}]},
    ],
)
def test_what_is_right_is_taken(table):
    """As it was written: what is named in the file is what will run."""
    taken = door(table)
    assert taken.title == table.get("title", "Mine")
    assert list(taken.vary) == list(table.get("vary", {}))
    assert set(table.get("methods", ())) <= set(taken.methods)
    assert len(taken.claims) == len(table.get("claims", ()))


@pytest.mark.parametrize("room", ["paper", "beyond"])
def test_every_experiment_of_ours_is_right(room):
    for experiment in list_experiments(room).values():
        check_experiment(experiment)
        assert set(experiment.metrics) <= set(MEANING)


def test_every_key_is_checked():
    assert list(SETTING) == [field.name for field in fields(Setting)]
    assert list(EXPERIMENT) == [field.name for field in fields(Experiment) if field.name != "name"]


def test_data_sets_of_numbers_are_known():
    for name in DATASETS:
        try:
            classes = load_dataset(name).classes
        except DataMissingError:
            continue
        assert (classes == 1) == (name in NUMERIC)


@pytest.mark.parametrize(
    "table",
    [
        {"methods": ["krum"], "timed": True},
        {"methods": ["evidence"], "setting": {"epochs": 1, "scenario": "tiers", "size": 60}},
        {"kind": "calibration", "methods": ["evidence"], "setting": {"size": 60}},
        {"kind": "real", "methods": ["uniform"], "setting": {"dataset": "heart_disease-cleveland"}},
        {"kind": "bank", "methods": ["uniform"], "setting": {"dataset": "clean_xor"}},
    ],
    ids=["timed", "tiers", "calibration", "real", "bank"],
)  # fmt: skip
def test_metrics_are_those_of_the_rows(table, tmp_path):
    from experiments.runner import _missing, blocks_of

    setting = {"epochs": 1, **table.get("setting", {})}
    experiment = parse("x", {"title": "x", "trials": 1, **table, "setting": setting})
    if _missing(experiment):
        pytest.skip("the data set is not here")
    [block] = blocks_of(experiment)
    run_part(block, tmp_path, "cpu")
    [file] = (tmp_path / ".parts" / "x").glob("*.parquet")
    columns = set(pl.read_parquet(file).columns) - {"trial", "method", "cell", "absent"}
    measured = set(metrics_of(experiment))
    if experiment.kind == "real":  # bins are of methods that say P(right)
        measured = {name for name in measured if not name[-1].isdigit()}
    assert columns == measured


def test_a_file_that_is_no_text_or_no_file(tmp_path):
    (tmp_path / "bad.toml").write_bytes(b"title = '\xff\xfe'")
    with pytest.raises(InputError, match="is not TOML: it is not text in UTF-8"):
        load(tmp_path / "bad.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(InputError, match=r"folder.toml cannot be read: Is a directory"):
        load(tmp_path / "folder.toml")
    (tmp_path / "deep.toml").write_text("title = " + "[" * 5_000)
    with pytest.raises(InputError, match=r"deep.toml is (not TOML|nested too deeply)"):
        load(tmp_path / "deep.toml")


@pytest.mark.parametrize("part", [{"size": 5}, {"fraction": 0.01}], ids=["size", "fraction"])
def test_too_few_rows_are_seen_before_the_run(part, tmp_path):
    mine = parse("mine", {"title": "Mine", "setting": part})
    with pytest.raises(InputError, match="experiment 'mine': wine has too few rows to be split at size"):
        run([mine], tmp_path / "out")
    assert not (tmp_path / "out").exists()


SMALL = 'title = "Mine"\ntrials = 1\nmethods = ["krum"]\n[setting]\nepochs = 1\n'


def said(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["experiments", *arguments])
    with pytest.raises(SystemExit) as stopped:
        main()
    known = capsys.readouterr()
    assert stopped.value.code == 2
    assert known.err.startswith("error: ")
    assert known.err.count("\n") == 1
    assert not known.out
    return known.err


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text(SMALL)
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["mine.toml", "--trials", "0"], "the number of trials must be at least 1"),
        (["mine.toml", "--jobs", "-1"], "--jobs must be 0 (one per core) or more, got -1"),
        (["mine.toml", "--device", "gpu"], "unknown device 'gpu'"),
        (["mine"], "or a file of your own that ends in .toml"),
        (["mine.toml", "mine.toml"], "two experiments are called 'mine'"),
        (["mine.toml", "--out", "mine.toml"], "the folder of results mine.toml is a file"),
        (["mine.toml", "--out", "mine.toml/out"], "mine.toml/out cannot be made"),
    ],
    ids=["trials", "jobs", "device", "name", "twice", "a file", "below a file"],
)  # fmt: skip
def test_wrong_options(arguments, says, folder, monkeypatch, capsys):
    assert says in said(monkeypatch, capsys, "run", *arguments)
    assert [path.name for path in folder.iterdir()] == ["mine.toml"]


def test_a_folder_without_rights(folder, monkeypatch, capsys):
    monkeypatch.setattr("experiments.store.os.access", lambda path, mode: False)
    assert "the folder of results out cannot be written to" in said(
        monkeypatch, capsys, "run", "mine.toml", "--out", "out"
    )


@pytest.mark.parametrize("name", ["mine", "attack"])
@pytest.mark.parametrize("content", [b"", b"PAR1 cut", b"a,b\n1,2\n"], ids=["empty", "cut", "csv"])
def test_rows_that_cannot_be_read(name, content, folder, monkeypatch, capsys):
    (folder / "out" / "rows").mkdir(parents=True)
    (folder / "out" / "rows" / f"{name}.parquet").write_bytes(content)
    says = f"the rows out/rows/{name}.parquet are not a whole Parquet file; remove it"
    assert says in said(monkeypatch, capsys, "run", "mine.toml", "--out", "out")
    assert not (folder / "out" / "run.json").exists()


def test_a_fresh_run_throws_away_rows_that_cannot_be_read(folder):
    (folder / "out" / "rows").mkdir(parents=True)
    (folder / "out" / "rows" / "mine.parquet").write_bytes(b"PAR1 cut")
    run([load(folder / "mine.toml")], folder / "out", fresh=True)
    assert len(pl.read_parquet(folder / "out" / "rows" / "mine.parquet")) == 1


def test_rows_without_cells_are_made_anew(folder):
    (folder / "out" / "rows").mkdir(parents=True)
    pl.DataFrame({"cell": [1], "trial": ["a"]}).write_parquet(folder / "out" / "rows" / "mine.parquet")
    run([load(folder / "mine.toml")], folder / "out")
    assert len(pl.read_parquet(folder / "out" / "rows" / "mine.parquet")) == 1


@pytest.mark.parametrize(
    "content",
    [
        b"{",
        b"\xff",
        b"[]",
        json.dumps({"experiments": [], "runs": []}).encode(),
        json.dumps({"experiments": {"mine": 3}, "runs": []}).encode(),
        json.dumps({"experiments": {}, "runs": [{"command": ""}]}).encode(),
    ],
    ids=["cut", "no text", "a list", "no table", "no entry", "no run"],
)
@pytest.mark.parametrize("fresh", [[], ["--fresh"]], ids=["again", "fresh"])
def test_a_record_that_is_none(content, fresh, folder, monkeypatch, capsys):
    (folder / "out").mkdir()
    (folder / "out" / "run.json").write_bytes(content)
    says = "out/run.json is not the record of a run of the lab; move it away"
    assert says in said(monkeypatch, capsys, "run", "mine.toml", "--out", "out", *fresh)
    assert (folder / "out" / "run.json").read_bytes() == content


def test_a_wrong_file_leaves_nothing_behind(folder, monkeypatch, capsys):
    (folder / "mine.toml").write_text(
        SMALL.replace("trials = 1", "trials = 10")
        + '[[claims]]\ntext = "x"\nbetter = ["krum.error", "krm.error"]\n'
    )
    known = said(monkeypatch, capsys, "run", "mine.toml", "--out", "out")
    assert "claim 1: 'krm.error': unknown method 'krm' (did you mean 'krum'?); allowed: krum" in known
    assert [path.name for path in folder.iterdir()] == ["mine.toml"]

"""The command line as people use it: in a process of its own, and what it leaves behind."""

import hashlib
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

from anml.weighting.weigh import RECIPES
from made_up import consortium

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

COMMANDS = ("audit", "train", "predict", "demo", "compare")
TYPED = [
    *(("anml.cli.main", words) for words in ([], *([name] for name in COMMANDS))),
    *(("anml.ledger.cli.main", words) for words in ([], ["settle"], ["import"])),
    *(("experiments.cli", words) for words in ([], ["run"])),
]
FILES = {"contributors.csv", "report.html", "run.json", "samples.parquet"}
HEAVY = {"torch", "sklearn", "polars", "matplotlib", "scipy", "rich.progress"}
# Experiments are no part of the package that is installed: they run from the checkout.
ROOT = Path(__file__).parents[2]
SCRIPT = Path(sys.executable).with_name("anml")


class Process(NamedTuple):
    code: int
    out: str
    err: str
    seconds: float


def anml_process(*arguments: object) -> Process:
    """Run the installed command in a process of its own; seconds are its own, whatever else runs."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [str(SCRIPT), *map(str, arguments)], capture_output=True, text=True, env=environment, check=False
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Process(ran.returncode, ran.stdout, ran.stderr, seconds)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def names(folder):
    return {path.name for path in folder.iterdir()}


def test_help_is_quick():
    helped = [anml_process("--help") for _ in range(3)]
    assert helped[0].code == 0
    assert all(command in helped[0].out for command in COMMANDS)
    assert min(ran.seconds for ran in helped) < 0.3


@pytest.mark.parametrize(("module", "command"), TYPED)
def test_help_imports_nothing_heavy(module, command):
    code = (
        f"import sys; from {module} import main; sys.argv = ['program', *sys.argv[1:], '--help']\n"
        "try: main()\n"
        "except SystemExit: print('loaded:', *sorted(sys.modules))"
    )
    words = [sys.executable, "-c", code, *command]
    ran = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    helped, loaded = ran.stdout.split("loaded:")
    assert "Usage: " in helped
    assert not HEAVY & set(loaded.split())


@pytest.mark.slow
def test_audit_twice_in_processes_of_their_own(tmp_path):
    """For programs and for people, with the same seed: the same bytes, and nothing else touched.

    A pipeline stops at the second, and has its files.
    """
    data = tmp_path / "data.csv"
    consortium().write_csv(data)
    before = digest(data)
    for_programs = anml_process("audit", data, "--seed", 3, "--json", "--out", tmp_path / "first")
    # Quiet, for on a busy machine a line of progress would be due.
    options = ["--seed", 3, "--quiet", "--fail-if", "accuracy<0.6", "--out", tmp_path / "second"]
    for_people = anml_process("audit", data, *options)
    assert (for_programs.code, for_programs.err) == (0, "")
    assert for_people.code == 1, for_people.err
    assert re.fullmatch(r"failed \(accuracy<0\.6\): accuracy of dan is 0\..*\n", for_people.err)
    assert digest(data) == before
    assert names(tmp_path) == {"data.csv", "first", "second"}
    _check_json(for_programs.out)
    assert "\x1b" not in for_people.out
    assert for_people.out.startswith("Contributors to review: dan ")
    assert "Recommended actions: Review examples with dan before assigning new items." in for_people.out
    assert "Effect on the model: " in for_people.out
    assert "Expected false flags: less than 0.01 of 1 (FDR ≤ 1%)." in for_people.out
    assert "Contributors, sorted by verdict severity, then accuracy:" in for_people.out
    assert "note: using column 'label' as label (guessed from its name)" in for_people.out
    assert f"Report: {tmp_path / 'second' / 'report.html'}" in for_people.out
    assert (
        f"list what to relabel first with `anml relabel {tmp_path / 'second'} --out FILE`" in for_people.out
    )
    assert names(tmp_path / "first") == FILES
    for name in FILES:
        assert digest(tmp_path / "first" / name) == digest(tmp_path / "second" / name), name


def _check_json(text):
    result = json.loads(text)
    assert text.startswith("{")
    assert text.endswith("}\n")
    assert result["rows"] == 120
    assert 0 < result["kept"] <= 120
    assert result["recipe"]["name"] in RECIPES
    assert {"branch", "rho_c"} <= result["gate"].keys()
    assert result["contributors"][0]["contributor"] == "dan"
    for row in result["contributors"]:
        assert {"contributor", "rows", "kept", "accuracy", "weight_share"} <= row.keys()
    assert sum(row["rows"] for row in result["contributors"]) == 120
    assert sum(row["kept"] for row in result["contributors"]) == result["kept"]
    assert sum(row["weight_share"] for row in result["contributors"]) == pytest.approx(1)


def test_bad_input_in_a_process_of_its_own(tmp_path):
    """One sentence, before anything heavy is loaded."""
    ran = subprocess.run(
        [sys.executable, "-X", "importtime", SCRIPT, "audit", "no.csv", "--out", "out"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (ran.returncode, ran.stdout) == (2, "")
    messages = [line for line in ran.stderr.splitlines() if not line.startswith("import time:")]
    assert messages == ["error: data file 'no.csv' does not exist in folder '.'"]
    loaded = {line.rpartition("|")[2].strip() for line in ran.stderr.splitlines()}
    assert "polars" in loaded
    assert not (HEAVY - {"polars", "rich.progress"}) & loaded
    assert names(tmp_path) == set()


@pytest.mark.slow
def test_demo_finds_the_bad_contributors_and_its_model_predicts(anml, tmp_path):
    demo, run = tmp_path / "demo", tmp_path / "demo" / "run"
    ran = anml_process("demo", "--out", demo)
    assert (ran.code, ran.err) == (0, "")
    assert ran.seconds < 30
    assert f"Report: {run / 'report.html'}" in ran.out
    assert f"Next: list what to relabel first with `anml relabel {run} --out FILE`" in ran.out
    assert anml("relabel", run, "--top", 5, "--out", tmp_path / "look.csv").code == 0
    assert names(demo) == {"contributed.csv", "test.csv", "run"}
    assert names(run) == FILES | {"model"}
    worst = pl.read_csv(run / "contributors.csv").head(3)["contributor"].to_list()
    assert sorted(worst) == ["click-farm-1", "click-farm-2", "vendor-beta"]
    weightings = json.loads((run / "run.json").read_text())["evaluation"]["weightings"]
    errors = {each["name"]: each["error"]["mean"] for each in weightings}
    assert errors["chosen"] < 0.75 * errors["uniform"]
    predicted = pl.read_csv(anml("predict", run, demo / "test.csv").out.encode())
    right = pl.read_csv(demo / "test.csv")["label"]
    assert predicted.columns == ["row", "label", "probability"]
    assert predicted["row"].to_list() == list(range(len(right)))
    assert (predicted["label"] == right).mean() > 0.75


# What follows runs in this process.


def test_demo_runs_again_over_itself_and_over_nothing_else(anml, tmp_path, monkeypatch):
    monkeypatch.setattr(
        "anml.cli.audit.train_and_show", lambda *arguments, **chosen: (tmp_path / "d" / "run").mkdir()
    )
    assert anml("demo", "--out", tmp_path / "d").code == 0
    assert anml("demo", "--out", tmp_path / "d").code == 2
    (tmp_path / "d" / "run" / "run.json").write_text("{}")
    monkeypatch.setattr("anml.cli.audit.train_and_show", lambda *arguments, **chosen: None)
    assert anml("demo", "--out", tmp_path / "d").code == 0


def test_demo_that_fails_leaves_no_tables(anml, tmp_path, monkeypatch):
    def fail(*arguments, **chosen):
        raise KeyboardInterrupt

    monkeypatch.setattr("anml.cli.audit.train_and_show", fail)
    assert anml("demo", "--out", tmp_path / "d").code == 130
    assert list((tmp_path / "d").iterdir()) == []


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "data.csv"
    consortium().write_csv(path)
    return path


def test_train_then_predict_with_each_model_and_format(anml, data, tmp_path):
    for model in ("mlp", "logistic"):
        run = tmp_path / model
        ran = anml("train", data, "--model", model, "--set", "evaluate=false", "--test", data, "--out", run)
        assert ran.code == 0
        assert f"Test error of the trained {model} model: " in ran.out
        assert {path.name for path in (run / "model").iterdir()} == {
            "model.json", "model.safetensors", "preparation.json", "preparation.safetensors",
        }  # fmt: skip
        for name in ("p.csv", "p.parquet"):
            assert anml("predict", run, data, "--out", run / name).out == ""
        assert (
            pl.read_csv(run / "p.csv")["label"].to_list()
            == pl.read_parquet(run / "p.parquet")["label"].to_list()
        )
        assert {path.name for path in run.iterdir()} == FILES | {"model", "p.csv", "p.parquet"}


def test_folder_says_what_was_run_on_what(anml, data, tmp_path):
    assert anml("audit", data, "--set", "evaluate=false", "--seed", "3", "--out", tmp_path / "out").code == 0
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    assert record["data"] == {
        "name": "data.csv", "sha256": digest(data), "rows": 120, "format": "table", "path": "../data.csv",
    }  # fmt: skip
    assert record["schema_given"] == {}
    assert record["config"]["evaluate"] is False
    assert record["random_state"] == 3
    assert {"python", "anml", "numpy"} <= record["versions"].keys()
    samples = pl.read_parquet(tmp_path / "out" / "samples.parquet")
    assert samples["row"].to_list() == list(range(120))
    assert {"contributor", "label", "q", "q_raw", "v", "r", "t", "weight", "kept"} <= set(samples.columns)
    page = (tmp_path / "out" / "report.html").read_text()
    assert len(page) < 3_000_000
    assert page.count("<script") == 1


def test_run_replaces_a_run_and_keeps_nothing_of_it(anml, data, tmp_path):
    out = tmp_path / "out"
    anml("train", data, "--set", "evaluate=false", "--model", "logistic", "--out", out)
    assert (out / "model").is_dir()
    assert anml("audit", data, "--set", "evaluate=false", "--out", out).code == 0
    assert {path.name for path in out.iterdir()} == FILES


def test_report_that_fails_half_way_leaves_the_earlier_run_as_it_was(anml, data, tmp_path, monkeypatch):
    out = tmp_path / "out"
    anml("audit", data, "--set", "evaluate=false", "--out", out)
    before = {path: digest(path) for path in out.iterdir()}

    def fail(result, folder):
        (folder / "report.html").write_text("half of a rep")
        raise RuntimeError("the pen broke")

    monkeypatch.setattr("anml.report.html.write_report", fail)
    for target in (out, tmp_path / "new"):
        with pytest.raises(RuntimeError, match="the pen broke"):
            anml("audit", data, "--set", "evaluate=false", "--seed", "9", "--out", target)
    assert {path: digest(path) for path in out.iterdir()} == before
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "out"}


def test_disk_that_is_full_is_one_sentence(anml, data, tmp_path, monkeypatch):
    def fail(result, folder):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("anml.report.html.write_report", fail)
    ran = anml("audit", data, "--set", "evaluate=false", "--out", tmp_path / "out")
    assert ran.code == 2
    assert ran.err.endswith("cannot be written: No space left on device\n")
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv"}


def test_output_into_the_current_folder(anml, tmp_path, monkeypatch):
    inside = tmp_path / "inside"
    inside.mkdir()
    consortium().write_csv(tmp_path / "data.csv")
    monkeypatch.chdir(inside)
    for _ in range(2):
        assert anml("audit", "../data.csv", "--set", "evaluate=false", "--out", ".").code == 0
        assert {path.name for path in Path().iterdir()} == FILES
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv", "inside"}


def test_nothing_is_written_without_out(anml, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ran = anml("audit", data, "--set", "evaluate=false")
    assert "No files were written; --out DIR" in ran.out
    assert {path.name for path in tmp_path.iterdir()} == {"data.csv"}


def test_recipe_keeps_its_name_when_the_share_is_given(anml, data):
    result = json.loads(
        anml(
            "audit", data, "--set", "evaluate=false", "--json", "--recipe", "krum", "--set", "recipe.keep=0.5"
        ).out
    )
    assert (result["recipe"]["name"], result["recipe"]["keep"]) == ("krum", 0.5)
    assert result["kept"] == 60


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_runs(recipe, anml, data):
    ran = anml("audit", data, "--set", "evaluate=false", "--json", "--recipe", recipe)
    assert ran.code == 0
    assert json.loads(ran.out)["recipe"]["name"] == recipe


@pytest.mark.parametrize(
    "options",
    [
        "--set recipe.profile=paper",
        "--set recipe.profile.method=loss",
        "--set recipe.half_life=news",
        "--set recipe.r_min=0.2 --set recipe.newcomer_rows=3",
    ],
)
def test_options_reach_the_record(options, anml, data):
    result = json.loads(anml("audit", data, "--set", "evaluate=false", "--json", *options.split()).out)
    recipe = result["recipe"]
    values = {
        "recipe.profile": recipe["profile"]["epochs"] == 200,
        "recipe.profile.method": recipe["profile"]["method"] == "loss",
        "recipe.half_life": recipe["half_life"] == "news",
        "recipe.r_min": (recipe["r_min"], recipe["newcomer_rows"]) == (0.2, 3),
    }
    assert values[options.split()[1].partition("=")[0]]


def test_names_that_look_like_markup_or_formulas_are_shown_as_they_are(anml, tmp_path):
    hostile = "=cmd|'[bold]<script>alert(1)</script>"
    frame = consortium().with_columns(pl.col("contributor").replace({"dan": hostile}))
    frame.write_csv(tmp_path / "data.csv")
    ran = anml("audit", tmp_path / "data.csv", "--set", "evaluate=false", "--out", tmp_path / "o")
    assert ran.code == 0
    assert "=cmd|'[bold]<script>" in ran.out
    assert (tmp_path / "o" / "report.html").read_text().count("<script") == 1
    assert pl.read_csv(tmp_path / "o" / "contributors.csv")["contributor"][0] == "'" + hostile


@pytest.mark.parametrize("width", [80, 100, 120, 200])
def test_figures_of_contributors_are_never_cut(width, anml, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    names = {name: f"c{name}{'0123456789abcdef' * 2}"[:33] for name in ("ann", "bob", "cat", "dan")}
    frame = consortium().with_columns(pl.col("contributor").replace(names))
    frame.write_csv(tmp_path / "data.csv")
    out = anml("audit", tmp_path / "data.csv", "--set", "evaluate=false", "--recipe", "krum").out
    lines = out.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("contributor "))
    header, *people = [re.split(r"  +", line) for line in lines[first : first + 5]]
    assert header == ["contributor", "verdict", "kappa", "rows", "kept", "accuracy"]
    assert all(
        re.fullmatch(r"0\.\d\d \[0\.\d\d-[01]\.\d\d\]", row[header.index("accuracy")]) for row in people
    )
    assert not any("…" in cell for row in people for cell in row[1:])
    assert all(row[0].removesuffix("…") in "".join(names.values()) for row in people)
    assert max(map(len, lines[first : first + 5])) <= width

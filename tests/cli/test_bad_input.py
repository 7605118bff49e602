"""Bad input: one clear sentence, exit code 2, the file untouched, nothing written."""

import hashlib
import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from made_up import consortium, measurements

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

ROW = pl.int_range(pl.len())
FIRST = ROW < 5


def snapshot(folder):
    """Every file below a folder with the hash of its bytes, and every folder."""
    return {
        path.relative_to(folder): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None
        for path in folder.rglob("*")
    }


@pytest.fixture
def refused(anml, tmp_path):
    """Run a command that must be refused, and return its one sentence."""

    def run(*arguments):
        before = snapshot(tmp_path)
        ran = anml(*arguments)
        assert ran.code == 2, ran
        assert ran.out == ""
        assert ran.err.startswith("error: ")
        assert ran.err.count("\n") == 1
        assert ran.err.endswith("\n")
        assert snapshot(tmp_path) == before
        return ran.err.removeprefix("error: ").rstrip("\n")

    return run


@pytest.fixture
def table(tmp_path):
    """Write a table, by default the made-up consortium, and return its path."""

    def write(frame=None, name="data.csv"):
        path = tmp_path / name
        frame = consortium() if frame is None else frame
        if path.suffix == ".parquet":
            frame.write_parquet(path)
        else:
            frame.write_csv(path)
        return path

    return write


BAD_FILES = {
    "missing.csv": (None, "data file 'missing.csv' does not exist in folder"),
    "folder": ("folder", "is a folder"),
    "empty.csv": (b"", "is empty"),
    "blank.csv": (b"\n \n", "is empty"),
    "header.csv": (b"size,label\n", "has a header but no rows"),
    "ragged.csv": (b"a,label\n1,x\n2,y,3,4\n", "line 3 has 4 fields where the header has 2"),
    "twice.csv": (b"a,a,label\n1,2,x\n", "column names that occur more than once: 'a'"),
    "latin.csv": ("a,label\n1,é\n".encode("latin-1"), "is not UTF-8 text"),
    "binary.csv": (b"a,label\n\x00\x01,x\n", "is not a text file"),
    "broken.csv.gz": (b"\x1f\x8bnot gzip", "damaged or truncated gzip"),
    "words.parquet": (b"not parquet at all", "is not a Parquet file"),
    "short.parquet": (b"PAR1\x00\x00", "is a truncated Parquet file"),
    "damaged.parquet": (b"PAR1" + b"\x07" * 40 + b"\x10\x00\x00\x00PAR1", "is a damaged Parquet file"),
    "empty.parquet": (b"", "is empty"),
    "notes.docx": (b"hello", "has an unknown ending; allowed: .csv"),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_file_that_cannot_be_read(name, refused, tmp_path):
    content, message = BAD_FILES[name]
    if content == "folder":
        (tmp_path / name).mkdir()
    elif content is not None:
        (tmp_path / name).write_bytes(content)
    assert message in refused("audit", tmp_path / name, "--out", tmp_path / "out")


def test_current_folder_as_the_table(refused, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    message = refused("audit", ".")
    assert message.startswith("data file '.' is a folder; a CSV, TSV or Parquet file is needed")


BAD_TABLES = {
    "one class": (pl.lit("yes").alias("label"), [], "one class only, 'yes'; two"),
    "no labels": (pl.lit(None, pl.String).alias("label"), [], "'label' (label) is empty in all 120 rows"),
    "no labels, named": (
        pl.lit(None, pl.String).alias("label"), ["--label", "label"], "is empty in all 120 rows",
    ),
    "more classes than rows": (
        pl.format("c{}", pl.int_range(pl.len())).alias("label"), [],
        "120 classes in 120 rows, more than one class per two rows",
    ),
    "contributor missing": (
        pl.when(FIRST).then(None).otherwise("contributor").alias("contributor"), [],
        "'contributor' (contributor) is empty in 5 of 120 rows",
    ),
    "item missing": (
        pl.when(FIRST).then(None).otherwise(pl.int_range(pl.len())).alias("item"), [],
        "'item' (item) is empty in 5 of 120 rows",
    ),
    "one item": (pl.lit("x").alias("item"), ["--item", "item"], "item is 'x' in every row"),
    "signal above 1": (
        pl.lit(1.5).alias("verification"), ["--column", "verification=verification"],
        "verification must be a level or lie in [0, 1], got 1.5",
    ),
    "signal below 0": (
        pl.lit(-0.1).alias("reputation"), ["--column", "reputation=reputation"],
        "reputation must be a level or lie in [0, 1], got -0.1",
    ),
    "unknown level": (
        pl.lit("peer-revewed").alias("verification"), ["--column", "verification=verification"],
        "'peer-reviewed'?); allowed: flagged, self-attested, institution, peer-reviewed, reproduced",
    ),
    "a misspelt level among right ones, not named": (
        pl.when(FIRST).then(pl.lit("tpo")).otherwise("reputation").alias("reputation"), [],
        "unknown reputation level 'tpo' (did you mean 'top'?); allowed: poor, new, established, top",
    ),
    "a time that is none": (
        pl.when(FIRST).then(pl.lit("soon")).otherwise("labeled_at").alias("labeled_at"),
        ["--column", "time=labeled_at"], "5 values that are not times, the first 'soon'",
    ),
    "words for a quantity": (pl.col("label"), ["--task", "regression"], "is not a number"),
    "parent that is not there": (
        [pl.int_range(pl.len()).alias("item"), pl.lit("nobody").alias("derived_from")], [],
        "not in column 'item', the first 'nobody'",
    ),
    "parents in a circle": (
        [ROW.alias("item"), ((ROW + 1) % pl.len()).alias("derived_from")], [],
        "is derived from itself",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD_TABLES)
def test_table_that_cannot_be_used(case, refused, table, tmp_path):
    change, options, message = BAD_TABLES[case]
    path = table(consortium().with_columns(change))
    assert message in refused("audit", path, "--out", tmp_path / "out", *options)


BAD_OPTIONS = {
    "--label labl": "no column 'labl' (did you mean 'label' or 'labeled_at'?); columns: width, height",
    "--contributor who": "there is no column 'who'; columns: width",
    "--set features=wdth": "did you mean 'width' or",
    "--set schema.ignore=nothing": "there is no column 'nothing'",
    "--set features=label --label label": "named as label and as feature; it can be one of them",
    "--task sorting": "unknown task 'sorting'; allowed: auto, classification, regression",
    "--recipe krumm": "unknown recipe 'krumm' (did you mean 'krum'?); allowed: ",
    "--set recipe.profile=papr": "unknown profile 'papr' (did you mean 'paper'?); allowed: default, paper",
    "--set recipe.profile.method=distance": "unknown score 'distance'; allowed: krum, norm, loss, confidence",
    "--set recipe.half_life=math": "unknown domain 'math'; allowed: mathematics, science, machine-learning",
    "--set recipe.half_life=7q": "unknown unit of time 'q'; allowed: s, min, h, d, w, mo, y",
    "--set recipe.half_life=7days": "unknown unit of time 'days'",
    "--set recipe.half_life=0y": "half-life must lie in (0, inf]",
    "--set recipe.keep=0": "keep must lie in (0, 1], got 0",
    "--set recipe.keep=1.5": "keep must lie in (0, 1], got 1.5",
    "--set recipe.keep=nan": "keep must lie in (0, 1], got nan",
    "--set recipe.reference_time=yesterday": "reference_time must be a date or time such as 2026-01-31",
    "--seed -1": "seed must be a whole number from 0 to 4294967295, got -1",
    "--seed 99999999999999999999": "seed must be a whole number from 0 to 4294967295",
    "--label label --column derived_from=contributor": "refers to items; there is no item column",
    "--set recipe.r_min=1.5": "r_min must lie in [0, 1], got 1.5",
    "--set recipe.newcomer_rows=-1": "newcomer_rows must be at least 0, got -1",
    "--test nowhere.csv": "test data file 'nowhere.csv' does not exist",
}


@pytest.mark.parametrize("options", BAD_OPTIONS)
def test_option_that_is_not_allowed(options, refused, table, tmp_path):
    message = refused("audit", table(), "--out", tmp_path / "out", *options.split())
    assert BAD_OPTIONS[options] in message


@pytest.mark.parametrize("options", [["--seed", "x"], ["--bogus"]])
def test_option_that_cannot_be_parsed_is_a_usage_error(options, anml, table, tmp_path):
    before = snapshot(table().parent)
    ran = anml("audit", tmp_path / "data.csv", "--out", tmp_path / "out", *options)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage: anml audit" in ran.err
    assert options[0] in ran.err
    assert snapshot(tmp_path) == before


@pytest.mark.parametrize("arguments", [[], ["bogus"], ["audit"]])
def test_command_that_is_not_complete_is_a_usage_error(arguments, anml):
    ran = anml(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert "Usage: anml" in ran.err


def test_output_that_is_a_file_or_lies_in_one(refused, table, tmp_path):
    path = table()
    for out in (path, path / "deeper"):
        assert "data.csv is a file" in refused("audit", path, "--out", out)
        assert "data.csv is a file" in refused("demo", "--out", out)


def test_output_folder_with_other_files_in_it(refused, table, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.txt").write_text("precious")
    for command in (["audit", table()], ["train", table()], ["demo"]):
        assert "has files and no earlier run" in refused(*command, "--out", tmp_path / "out")


def test_model_for_the_wrong_task_is_refused_before_the_work(refused, table, tmp_path, monkeypatch):
    monkeypatch.setattr("anml.pipeline.audit.assess", None)
    out = ["--out", tmp_path / "out"]
    assert refused("train", table(), "--model", "ridge", *out) == (
        "unknown model for classification 'ridge'; allowed: mlp, logistic"
    )
    numbers = table(measurements(), "numbers.csv")
    message = refused("train", numbers, "--label", "dose", "--model", "logistic", *out)
    assert message == "unknown model for regression 'logistic'; allowed: mlp, ridge"
    assert "unknown model 'forest'; allowed: logistic, mlp, ridge" in refused(
        "train", table(), "--model", "forest", *out
    )


def test_a_folder_that_no_disk_takes(refused, table):
    assert "cannot be made: File name too long" in refused("audit", table(), "--out", "x" * 300)


def test_labels_too_large_to_tell_a_spread(refused, table):
    numbers = measurements().with_columns(dose=pl.when(FIRST).then(-1e308).otherwise("dose"))
    message = refused("audit", table(numbers), "--label", "dose")
    assert message == "column 'dose' has labels beyond 1e+150, as -1e+308; scale them"


BAD_TESTS = {
    "no label": (pl.exclude("label"), "the test data has no label column 'label'"),
    "no labels": (
        [pl.exclude("label"), pl.lit(None).alias("label")],
        "the test data has no row with a label",
    ),
    "no feature": (pl.exclude("width"), "the table lacks 1 columns that the model was trained on: 'width'"),
    "words for numbers": (
        [pl.exclude("width"), pl.lit("wide").alias("width")],
        "column 'width' must hold numbers as in the table learned from, got 'wide'",
    ),
}


@pytest.mark.parametrize("case", BAD_TESTS)
def test_test_data_that_does_not_match(case, refused, table, tmp_path):
    change, message = BAD_TESTS[case]
    test = table(consortium().select(change), "test.csv")
    assert message in refused("audit", table(), "--test", test, "--out", tmp_path / "out")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder of `anml train`, made once."""
    from anml.pipeline.request import Request
    from anml.pipeline.train import train_table
    from anml.pipeline.write import write_run

    folder = tmp_path_factory.mktemp("trained") / "run"
    result = train_table(consortium(), Request(evaluate=False), model="logistic")
    write_run(folder, result.audited, "train", lambda draft: result.save(draft / "model"))
    return folder


def test_predict_without_a_model(refused, table, tmp_path):
    path = table()
    assert "model.json is missing" in refused("predict", tmp_path / "nothing", path)
    assert "it is a file, not a folder" in refused("predict", path, path)


@pytest.mark.parametrize("content", [None, b"", b"{}", b"[1]", b"\xff\xfe junk"])
@pytest.mark.parametrize(
    "name", ["model.json", "model.safetensors", "preparation.json", "preparation.safetensors"]
)
def test_predict_with_a_corrupt_model(name, content, trained, refused, table, tmp_path):
    run = shutil.copytree(trained, tmp_path / "run")
    broken = run / "model" / name
    broken.unlink()
    if content is not None:
        broken.write_bytes(content)
    message = refused("predict", run, table(), "--out", tmp_path / "predicted.csv")
    assert "cannot be read" in message if content is not None else f"{name} is missing" in message


def test_predict_on_a_table_that_does_not_match(trained, refused, table):
    assert "lacks 1 columns that the model was trained on: 'depth'" in refused(
        "predict", trained, table(consortium().drop("depth"))
    )
    assert "does not exist" in refused("predict", trained, Path("nowhere.csv"))


def test_predict_into_a_place_that_cannot_be_written(trained, refused, table, tmp_path):
    path = table()
    assert "must end in .csv or .parquet" in refused("predict", trained, path, "--out", tmp_path / "x.txt")
    (tmp_path / "x.csv").mkdir()
    assert "it is a folder" in refused("predict", trained, path, "--out", tmp_path / "x.csv")


WORKS_AND_SAYS = {
    "labels partly missing": (
        pl.when(FIRST).then(None).otherwise("label").alias("label"), [],
        "column 'label' (label) is missing in 5 rows, which are left out",
    ),
    "one contributor": (
        pl.lit("ann").alias("contributor"), [],
        "column 'contributor' names one contributor only, who cannot be compared",
    ),
    "signal missing": (
        pl.when(FIRST).then(None).otherwise("verification").alias("verification"), [],
        "5 of 120 labels have no review",
    ),
    "signal NaN": (
        pl.when(FIRST).then(float("nan")).otherwise(0.5).alias("reputation"), [],
        "5 of 120 labels have no reputation",
    ),
    "future dates": (
        pl.lit("2023-01-01").alias("other"),
        ["--column", "time=labeled_at", "--set", "recipe.reference_time=2024-01-01"],
        "column 'labeled_at' (time) lies after 2024-01-01 00:00:00 in 40 rows, which count as new",
    ),
    "item and contributor twice": (
        (pl.int_range(pl.len()) // 8).alias("item"), [],
        "60 rows repeat a pair of 'item' and 'contributor'; all are kept, --set schema.answers=last keeps "
        "the last, --column batch=NAME names the batch of an item",
    ),
    "infinite features": (
        pl.when(FIRST).then(float("inf")).otherwise("width").alias("width"), [],
        "column 'width' has 5 infinite values, which count as missing",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", WORKS_AND_SAYS)
def test_input_that_works_is_counted_and_said(case, anml, table):
    change, options, message = WORKS_AND_SAYS[case]
    path = table(consortium().with_columns(change), "data.parquet")
    ran = anml("audit", path, "--set", "evaluate=false", "--json", *options)
    assert (ran.code, ran.err) == (0, "")
    result = json.loads(ran.out)
    assert result["warnings"] == [message]
    assert result["rows"] == (115 if case == "labels partly missing" else 120)


def test_future_dates_have_no_age(anml, table, tmp_path):
    ages = ["--column", "time=labeled_at", "--set", "recipe.reference_time=2024-01-01"]
    ages += ["--set", "recipe.half_life=7y"]
    assert anml("audit", table(), "--set", "evaluate=false", *ages, "--out", tmp_path / "o").code == 0
    samples = pl.read_parquet(tmp_path / "o" / "samples.parquet")
    late = consortium()["labeled_at"] > "2024-01-01"
    assert late.sum() == 40
    assert samples.filter(late).select(pl.col("age_years", "t").unique()).row(0) == (0.0, 1.0)
    assert (samples.filter(~late)["t"] < 1).all()


def test_one_contributor_makes_a_report_that_says_so(anml, table, tmp_path):
    path = table(consortium().with_columns(contributor=pl.lit("ann")))
    assert anml("audit", path, "--set", "evaluate=false", "--out", tmp_path / "o").code == 0
    assert "who cannot be compared" in (tmp_path / "o" / "report.html").read_text()


def test_no_contributor_at_all_still_weighs_rows(anml, table):
    path = table(consortium().select("width", "height", "depth", "label"))
    ran = anml("audit", path, "--set", "evaluate=false", "--json")
    result = json.loads(ran.out)
    assert ran.code == 0
    assert result["contributors"] == []
    assert result["signals_used"] == ["q"]


def test_one_row_of_test_data_has_no_interval_and_still_works(anml, table, tmp_path):
    numbers = measurements()
    paths = table(numbers, "numbers.csv"), table(numbers.head(1), "test.csv")
    ran = anml("train", paths[0], "--label", "dose", "--test", paths[1], "--out", tmp_path / "o", "--json")
    assert ran.code == 0
    assert json.loads(ran.out)["test_error"].keys() == {"mean", "low", "high"}
    assert json.loads(ran.out)["test_error"]["low"] is None
    assert "inf" not in (tmp_path / "o" / "run.json").read_text()

"""A finished run read back: what was changed is found out, and columns hold what the arithmetic needs."""

import json

import polars as pl
import pytest

from anml.annotators.words import VERDICTS
from anml.core.canonical import sha256
from anml.core.errors import AnmlError, InputError, IntegrityError
from anml.core.types import SIGNALS
from anml.pipeline.read import Run, dispute_reason, read_learned, read_run, read_verdicts
from anml.weighting.combine import DISPUTE_REASON
from ledger.ledger_world import hash_run, simple_rows, write_run


@pytest.fixture
def folder(tmp_path):
    write_run(tmp_path / "run", simple_rows({"ann": 2, "ben": 1}))
    return tmp_path / "run"


def test_a_run_reads_back_with_the_hash_of_its_samples(folder):
    run = read_run(folder)
    assert run.samples["contributor"].to_list() == ["ann", "ann", "ben"]
    assert run.sha256 == sha256((folder / "samples.parquet").read_bytes())
    assert (run.combine, run.verdicts) == ("guarded", None)


@pytest.mark.parametrize("name", ["samples.parquet", "run.json"])
def test_a_folder_without_one_of_its_files_is_no_run(folder, name):
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"is not a run folder: it has no {name}"):
        read_run(folder)


def test_any_changed_byte_of_the_samples_is_found(folder):
    path = folder / "samples.parquet"
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(AnmlError, match=r"was changed after the run was written|is damaged or truncated"):
        read_run(folder)


def test_samples_that_are_no_table_are_said(folder):
    (folder / "samples.parquet").write_bytes(b"PAR1")
    with pytest.raises(InputError, match="is damaged or truncated; write the run again"):
        read_run(folder)


def spoilt(folder, **columns) -> None:
    rows = simple_rows({"ann": 2, "ben": 1}).with_columns(**columns)
    write_run(folder, rows.with_columns(kept=pl.lit(True)) if "kept" not in columns else rows)


@pytest.mark.parametrize("name", [*SIGNALS, "p_correct", "weight", "self_confidence"])
@pytest.mark.parametrize("value", [1.5, -0.1, float("nan"), float("inf")])
def test_every_figure_lies_between_0_and_1(folder, name, value):
    spoilt(folder, **{name: pl.lit(value)})
    with pytest.raises(
        InputError, match=f"column '{name}' of samples.parquet is not between 0 and 1 in 3 rows"
    ):
        read_run(folder)


@pytest.mark.parametrize("name", [*SIGNALS, "p_correct", "weight", "self_confidence"])
def test_a_figure_that_is_text_is_refused(folder, name):
    spoilt(folder, **{name: pl.lit("much")})
    with pytest.raises(InputError, match=f"column '{name}' of samples.parquet cannot hold String"):
        read_run(folder)


@pytest.mark.parametrize("name", ["contributor", "kept"])
def test_columns_that_every_run_has(folder, name):
    rows = simple_rows({"ann": 1}).drop(name)
    rows.write_parquet(folder / "samples.parquet")
    hash_run(folder, {"recipe": {}})
    with pytest.raises(InputError, match=f"samples.parquet has no column '{name}'"):
        read_run(folder)


def test_nobody_and_nothing_cannot_be_settled(folder):
    write_run(folder, simple_rows({"ann": 1}).clear())
    with pytest.raises(InputError, match=r"samples.parquet has no rows"):
        read_run(folder)
    spoilt(folder, contributor=pl.lit(None, pl.String))
    with pytest.raises(InputError, match="contributor is missing in 3 rows of the run"):
        read_run(folder)


@pytest.mark.parametrize("text", ["", "[]", "7", '{"recipe": 7}', "[" * 100_000])
def test_a_record_of_another_shape_is_one_sentence(folder, text):
    (folder / "run.json").write_text(text)
    with pytest.raises(AnmlError, match=r"is not JSON|is not the record of a run|nested too deeply"):
        read_run(folder)


@pytest.mark.parametrize("files", [None, {}, [], {"samples.parquet": None}])
def test_a_run_that_keeps_no_hash_may_have_been_changed(folder, files):
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "files": files}))
    with pytest.raises(IntegrityError, match=r"keeps no hash of .*samples.parquet: it may have been changed"):
        read_run(folder)


@pytest.mark.parametrize("version", [None, 1, 3, "2"])
def test_only_the_present_version_is_read(folder, version):
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({**info, "schema_version": version}))
    with pytest.raises(InputError, match=f"has schema_version {version}, expected 2; run the audit again"):
        read_run(folder)


# --- disputes
def run(**info) -> Run:
    return Run(pl.DataFrame(), info, "")


@pytest.mark.parametrize(
    ("info", "weight", "why"),
    [
        ({}, "product", None),
        ({"gate": {"branch": "blend"}}, "product", None),
        ({"gate": {"branch": "disputed", "reason": "two camps"}}, "product", "two camps"),
        ({"gate": {"branch": "disputed"}}, "equal", DISPUTE_REASON),
        ({"disputed_share": 0.4}, "p_correct", DISPUTE_REASON),
        # Pay by another weight does not use p_correct.
        ({"disputed_share": 0.4}, "product", None),
        ({"gate": "blend"}, "product", None),
    ],
)
def test_whether_a_run_may_be_relied_on(info, weight, why):
    assert dispute_reason(run(**info), weight) == why


# --- verdicts
def test_verdicts_are_read_by_name(folder):
    assert read_verdicts(folder, read_run(folder)) is None
    given = {"ann": VERDICTS[0], "ben": VERDICTS[1]}
    write_run(folder, simple_rows({"ann": 2, "ben": 1}), verdicts=given)
    assert read_verdicts(folder, read_run(folder)) == given


@pytest.mark.parametrize(
    "given", [{"ann": VERDICTS[0]}, {"ann": VERDICTS[0], "ben": "bad"}, {"zoe": VERDICTS[0]}]
)
def test_verdicts_that_do_not_fit_the_run(folder, given):
    write_run(folder, simple_rows({"ann": 2, "ben": 1}), verdicts=given)
    with pytest.raises(InputError, match=r"needs exactly one verdict \(.*\) for contributor"):
        read_verdicts(folder, read_run(folder))


def test_a_changed_table_of_contributors_is_found(folder):
    write_run(folder, simple_rows({"ann": 1}), verdicts={"ann": VERDICTS[0]})
    result = read_run(folder)
    path = folder / "contributors.csv"
    path.write_text(path.read_text().replace(VERDICTS[0], VERDICTS[1]))
    with pytest.raises(IntegrityError, match=r"contributors.csv was changed after the run was written"):
        read_verdicts(folder, result)


# --- what was learned of contributors
def learned(folder, text: str):
    write_run(folder, simple_rows({"ann": 2, "=ben": 1}))
    (folder / "contributors.csv").write_text(text)
    hash_run(folder, json.loads((folder / "run.json").read_text()))
    return read_learned(folder, read_run(folder))


def test_learned_counts_are_read_under_the_names_of_the_samples(folder):
    """In the file a name that a spreadsheet would run has a quote before it."""
    result = learned(
        folder,
        "contributor,learned_reputation_n_correct,learned_reputation_n_wrong\nann,1.5,0.5\n'=ben,0.25,0\n",
    )
    assert sorted(result.rows()) == [("=ben", 0.25, 0.0), ("ann", 1.5, 0.5)]
    assert learned(folder, "contributor,rows\nann,2\n'=ben,1\n") is None


@pytest.mark.parametrize(
    "rows",
    [
        "ann,3,0\n'=ben,0,0",
        "ann,-1,0\n'=ben,0,0",
        "ann,x,0\n'=ben,0,0",
        "ann,1,0",
        "ann,1,0\n'=ben,0,0\nzoe,0,0",
    ],
)
def test_evidence_of_more_labels_than_there_are_or_of_nobody(folder, rows):
    with pytest.raises(InputError, match="does not match the samples of the run: see contributor"):
        learned(folder, f"contributor,learned_reputation_n_correct,learned_reputation_n_wrong\n{rows}\n")

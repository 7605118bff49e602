"""The Python surface: any kind of frame in, the same kind out."""

from datetime import date, datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import anml
from anml.core.errors import AnmlError, InputError
from made_up import consortium

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

KINDS = {"polars": pl.DataFrame, "pandas": pd.DataFrame, "arrow": pa.Table, "path": pl.DataFrame}


def table(kind, folder):
    frame = consortium(60)
    if kind == "path":
        frame.write_csv(folder / "data.csv")
        return str(folder / "data.csv")
    return {"polars": frame, "pandas": frame.to_pandas(), "arrow": frame.to_arrow()}[kind]


@pytest.fixture(scope="module")
def plain():
    return anml.audit(consortium(60), label="label", contributor="contributor", evaluate=False)


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_of_the_kind_that_came_in(kind, plain, tmp_path):
    audit = anml.audit(table(kind, tmp_path), label="label", contributor="contributor", evaluate=False)
    assert isinstance(audit.samples, KINDS[kind])
    assert isinstance(audit.contributors, KINDS[kind])
    assert audit.gate == plain.gate
    assert audit._result.samples.equals(plain._result.samples)


def test_frame_is_not_changed():
    frame = consortium(60).to_pandas()
    before = frame.copy(deep=True)
    anml.audit(frame, evaluate=False)
    pd.testing.assert_frame_equal(frame, before)


@pytest.mark.usefixtures("made_anew")
def test_report_is_one_page_and_the_same_each_time(plain, tmp_path):
    path = plain.report(tmp_path / "report.html")
    page = path.read_text()
    assert path == tmp_path / "report.html"
    assert page.startswith("<!DOCTYPE html>")
    assert plain.report(tmp_path / "again.html").read_text() == page


def test_save_writes_a_run_and_refuses_to_overwrite_other_files(plain, tmp_path):
    files = plain.save(tmp_path / "run")
    assert files == ["contributors.csv", "report.html", "run.json", "samples.parquet"]
    assert plain.save(tmp_path / "run") == files
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "mine.txt").touch()
    with pytest.raises(InputError, match="has files and no earlier run"):
        plain.save(tmp_path / "other")


def test_shown_in_a_terminal_and_in_a_notebook(plain):
    assert repr(plain).startswith("Contributors to review: ")
    assert "rows (80%) are used for training" in repr(plain)
    html = plain._repr_html_()
    assert html.startswith("<div")
    assert "Recommended actions" in html
    assert "dan" in html


def test_names_are_escaped_in_a_notebook():
    frame = consortium(40).with_columns(contributor=pl.lit("<b>ann</b>"))
    audit = anml.audit(frame, evaluate=False)
    assert "<b>ann</b>" not in audit._repr_html_()
    assert "warning: column 'contributor' names one contributor only" in repr(audit)


def test_inferred_columns_are_in_the_notes_and_printed(plain):
    note = "using column 'verification' as verification (guessed from its name)"
    assert note in plain.notes
    assert f"note: {note}" in repr(plain)


def test_settings_may_be_objects_names_or_dicts():
    frame = consortium(60)
    named = anml.audit(frame, evaluate=False, recipe="krum")._result
    assert named.samples.equals(
        anml.audit(frame, evaluate=False, recipe=anml.RECIPES["krum"])._result.samples
    )
    as_dict = {"combine": "multiplicative", "use": ["q"], "keep": 0.7}
    assert named.samples.equals(anml.audit(frame, evaluate=False, recipe=as_dict)._result.samples)
    assert anml.audit(frame, evaluate=False, recipe={"profile": {"epochs": 3}})._result.scoring_epochs == 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"recipe": "krumm"}, "did you mean 'krum'"),
        ({"recipe": {"taus": 1}}, "unknown recipe setting 'taus'"),
        ({"recipe": 3}, "must be a name, a dict or a Recipe"),
        ({"recipe": {"profile": {"epoch": 3}}}, "unknown profile setting 'epoch' .did you mean 'epochs'"),
        ({"recipe": {"profile": 3}}, "profile must be a name, a dict or a Profile, got 3"),
        ({"label": "nothing"}, "there is no column 'nothing'"),
        ({"recipe": {"half_life": -1.0}}, "half-life must lie in"),
        ({"random_state": -1}, "seed must be a whole number from 0"),
        ({"evaluate": 5}, "test data must be a path or a pandas, polars or Arrow table, got int"),
    ],
)
def test_wrong_settings_are_one_sentence(wrong, message):
    with pytest.raises(anml.AnmlError, match=message):
        anml.audit(consortium(40), **wrong)


@pytest.mark.parametrize("q", [[0.5, float("nan")], [0.5, 1.5], [0.5, -0.1], [], [[0.1]], ["a"]])
def test_signals_that_are_none_are_refused(q):
    with pytest.raises(anml.AnmlError, match="q "):
        anml.weigh(q)


BAD_ARGUMENTS = {
    "random_state": ([1.5, "x", None, True, -1], "seed must be a whole number"),
    "recipe.newcomer_rows": ([1.5, float("nan"), True], "newcomer_rows must be a whole number"),
    "recipe.r_min": (["low", None, [1]], "r_min must be a number, got"),
    "recipe.half_life": ([[1], True], "half-life must be a number, got"),
    "recipe.reference_time": (["soon", 3, []], "reference_time must be a date or time such as 2026-01-31"),
    "recipe.keep": (["half"], "keep must be a number, got 'half'"),
    "recipe.profile": (
        [{"epochs": "many"}, {"folds": 2.5}, {"hidden": [8.0]}],
        "must be a whole number, got",
    ),
    "schema.format": (["toloka"], "the format of a frame must be auto or table, got 'toloka'"),
    "schema.tiem": (["x"], "unknown key of Schema 'tiem' (did you mean 'time'?)"),
    "schema": ([3, "time"], "schema must be a Schema or a dict of its fields, got"),
    "engine": (["local"], "engine must be one of local, ray of anml.engines, got 'local'"),
}


@pytest.mark.parametrize("name", BAD_ARGUMENTS)
def test_an_argument_of_the_wrong_kind_is_one_sentence(name):
    values, message = BAD_ARGUMENTS[name]
    for value in values:
        outer, _, inner = name.partition(".")
        given = {outer: {inner: value} if inner else value}
        with pytest.raises(AnmlError) as refused:
            anml.audit(consortium(), evaluate=False, **given)
        assert message in str(refused.value)
        assert "\n" not in str(refused.value)


def test_now_as_a_date_or_text_is_that_moment():
    ages = [
        anml.audit(
            consortium(),
            evaluate=False,
            schema={"time": "labeled_at"},
            recipe={"name": "uniform", "reference_time": now},
        ).samples["age_years"]
        for now in (datetime(2026, 1, 31), date(2026, 1, 31), "2026-01-31")
    ]
    assert ages[0].to_list() == ages[1].to_list() == ages[2].to_list()


def test_one_column_may_be_named_without_a_list():
    one = anml.audit(consortium(), features="width", evaluate=False, recipe="uniform")
    assert one._result.columns.features == ("width",)
    rest = anml.audit(consortium(), evaluate=False, schema={"ignore": "width"}, recipe="uniform")
    assert "width" not in rest._result.columns.features


def test_a_report_that_cannot_be_written_says_where(tmp_path):
    audit = anml.audit(consortium(), evaluate=False, recipe="uniform")
    with pytest.raises(InputError, match="cannot be written: it is a folder"):
        audit.report(tmp_path)
    assert audit.report(tmp_path / "new" / "report.html").is_file()

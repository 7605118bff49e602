"""Audits slice by slice: which engine, which files, and what is refused before anything runs."""

import polars as pl
import pytest

import anml
from anml.core.errors import AnmlError, InputError
from anml.engines.options import ENGINES, Local, audit_in_slices, holds_parquet
from anml.pipeline.request import Request

pytestmark = pytest.mark.slow


def test_a_folder_of_parquet_files_is_recognised(tmp_path):
    assert not holds_parquet(tmp_path)
    assert not holds_parquet(pl.DataFrame())
    (tmp_path / "a").mkdir()
    pl.DataFrame({"x": [1]}).write_parquet(tmp_path / "a" / "x.parquet")
    assert holds_parquet(tmp_path)
    assert holds_parquet(str(tmp_path))
    assert not holds_parquet(tmp_path / "a" / "x.parquet")


def unwritten(result, folder) -> None:
    raise AssertionError("nothing was judged")


def refused(data, tmp_path) -> str:
    with pytest.raises(AnmlError) as error:
        audit_in_slices(data, Request(), Local(tmp_path / "out"), None, write_report=unwritten)
    assert not (tmp_path / "out").exists()
    return str(error.value)


def test_what_an_engine_cannot_read_is_said(tmp_path):
    (tmp_path / "x.csv").write_text("a\n1\n")
    assert refused(tmp_path / "x.csv", tmp_path).startswith(
        "an engine reads a Parquet file or a folder of them"
    )
    assert (
        refused(pl.DataFrame(), tmp_path) == "an engine reads Parquet files; give their path, got DataFrame"
    )


def test_engines_by_name(tmp_path):
    assert list(ENGINES) == ["local", "ray"]
    assert anml.engines.Local is ENGINES["local"]
    with pytest.raises(InputError, match="rows_per_slice"):
        anml.engines.Local(tmp_path, rows_per_slice=0)


def test_a_folder_of_parquet_files_needs_an_engine(tmp_path):
    pl.DataFrame({"label": ["a", "b"], "who": ["x", "y"]}).write_parquet(tmp_path / "x.parquet")
    with pytest.raises(InputError, match="audited by an engine"):
        anml.audit(tmp_path, "label", "who")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"evaluate": pl.DataFrame({"label": ["a"]})}, "a test table needs all rows in memory"),
        ({"embeddings": anml.Encoder(model="torchvision:resnet18")}, "an encoder needs all rows in memory"),
        ({"task": "spans"}, "spans needs all rows in memory"),
    ],
)
def test_an_engine_refuses_options_that_need_all_rows(tmp_path, options, said):
    (tmp_path / "data").mkdir()
    pl.DataFrame({"label": ["a"], "who": ["x"]}).write_parquet(tmp_path / "data" / "x.parquet")
    with pytest.raises(AnmlError, match=said):
        anml.audit(tmp_path / "data", "label", "who", engine=Local(tmp_path / "out"), **options)

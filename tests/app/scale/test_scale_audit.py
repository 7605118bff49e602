"""Audits slice by slice: which engine, which files, and what is refused before anything runs."""

import polars as pl
import pytest

from anml.app.audit.request import Request
from anml.app.scale.audit import ENGINES, audit_in_slices, holds_parquet
from anml.core.errors import AnmlError, InputError


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


def refused(data, tmp_path, engine="local", address=None) -> str:
    with pytest.raises(AnmlError) as error:
        audit_in_slices(data, Request(), engine, address, tmp_path / "out", None, write_report=unwritten)
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
    assert refused(tmp_path, tmp_path, "spark") == "unknown engine 'spark'; allowed: local, ray"
    assert (
        refused(tmp_path, tmp_path, "local", "ray://x")
        == "an address is for the engine ray, got engine 'local'"
    )
    assert ENGINES[0] == "local"
    with pytest.raises(InputError):
        audit_in_slices(tmp_path, Request(), "local", None, tmp_path / "out", None, write_report=unwritten)

"""Fixtures for the command line, and a run to export."""

import polars as pl
import pytest

import anml as package
from made_up import consortium
from terminal import anml, anml_ledger, plain_terminal

__all__ = ["anml", "anml_ledger", "plain_terminal"]


@pytest.fixture(scope="session")
def exported_run(tmp_path_factory):
    place = tmp_path_factory.mktemp("export")
    rows = consortium(120).with_columns(
        terms=pl.lit("CC0"), height=pl.when(pl.col("contributor") != "dan").then("height")
    )
    rows.write_csv(place / "data|x.csv")
    schema = {"time": "labeled_at", "licence": "terms"}
    package.audit(place / "data|x.csv", schema=schema, evaluate=False).save(place / "run")
    return place / "run"

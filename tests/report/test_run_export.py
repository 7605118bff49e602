"""Exports of a run have no name of a contributor unless asked."""

import re

import polars as pl
import pytest

from anml.report.export import write_export
from made_up import WRONG

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


@pytest.mark.parametrize("to", ["croissant", "datasheet", "prov"])
def test_no_name_of_a_contributor_is_exported_unless_asked(exported_run, tmp_path, to):
    named = re.compile("|".join(rf"\b{name}\b" for name in WRONG))
    for names in (False, True):
        files = write_export(exported_run, to, tmp_path / f"out{names}", names=names)
        texts = [
            pl.read_parquet(file).write_csv() if file.suffix == ".parquet" else file.read_text()
            for file in files
        ]
        assert bool(named.search("\n".join(texts))) is names

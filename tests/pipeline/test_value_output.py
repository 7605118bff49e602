"""The folder of values: files that settlement reads again, and nothing else in their way."""

import json

import polars as pl
import pytest

from anml.core.errors import InputError
from anml.ledger.pay.multipliers import read_multipliers
from anml.pipeline.contributor_values import write_value
from anml.settlement.allocate import UNIT


class Valued:
    """Stand-in for a valuation with the fields that are written."""

    record = {"method": "shapley", "seed": 0}  # noqa: RUF012
    contributors = pl.DataFrame({"contributor": ["ann", "=ben"], "value": [0.5, 0.25]})

    def multipliers(self) -> pl.DataFrame:
        return self.contributors.select("contributor", "value")


def test_values_are_written_and_feed_settlement(tmp_path):
    names = write_value(tmp_path / "v", Valued())
    assert names == ["multipliers.csv", "value.json", "values.csv"]
    assert json.loads((tmp_path / "v" / "value.json").read_text()) == Valued.record
    # What a spreadsheet would run has a quote before it in the file.
    assert read_multipliers(tmp_path / "v" / "multipliers.csv") == {"ann": UNIT, "'=ben": UNIT // 2}


def test_values_replace_values_and_nothing_else(tmp_path):
    write_value(tmp_path / "v", Valued())
    write_value(tmp_path / "v", Valued())
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "notes.txt").write_text("keep me")
    with pytest.raises(InputError, match="has files and no earlier run; choose a new folder"):
        write_value(tmp_path / "other", Valued())

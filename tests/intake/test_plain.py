"""Plain columns: six kinds after the door, whatever library a frame comes from."""

import polars as pl
import pytest

from anml.intake.tables import read_table


def test_polars_kinds_become_plain() -> None:
    frame = pl.DataFrame(
        {
            "small": pl.Series([1, 2], dtype=pl.UInt8),
            "huge": pl.Series([2**64 - 1, 1], dtype=pl.UInt64),
            "price": pl.Series(["1.50", "2.25"]).cast(pl.Decimal(10, 2)),
            "nan": [float("nan"), 1.0],
            "level": pl.Series(["u", ""], dtype=pl.Categorical),
            "wait": pl.Series([1500, None], dtype=pl.Duration("ms")),
            "none": [None, None],
            "list": [[1], [2]],
        }
    )
    read = read_table(frame).frame
    assert read.row(0)[:7] == (1, float(2**64), 1.5, None, "u", 1.5, None)
    assert read["level"].to_list() == ["u", None]
    assert read.dtypes[:7] == [pl.Int64, *[pl.Float64] * 3, pl.String, pl.Float64, pl.String]


@pytest.mark.parametrize("change", ["value", "name", "order", "gap"])
def test_any_change_changes_the_hash(change: str) -> None:
    frame = pl.DataFrame({"a": [1, 2], "b": ["xy", "z"]})
    changed = {
        "value": frame.with_columns(b=pl.Series(["x", "yz"])),
        "name": frame.rename({"a": "c"}),
        "order": frame.reverse(),
        "gap": frame.with_columns(a=pl.Series([None, 2])),
    }[change]
    assert read_table(frame).sha256 != read_table(changed).sha256
    # What lies under a missing value, and how a column is cut in chunks, does not count.
    assert read_table(pl.concat([frame[:1], frame[1:]])).sha256 == read_table(frame).sha256


@pytest.mark.parametrize("first", [2**63 + 5, 2**64 + 5, 10**30], ids=["unsigned", "65 bits", "30 digits"])
def test_identifiers_too_large_for_a_number_stay_different(first, tmp_path):
    path = tmp_path / "t.csv"
    path.write_text(f"who,label\n{first},a\n{first + 1},b\n")
    assert read_table(path).frame["who"].to_list() == [str(first), str(first + 1)]
    made = pl.Series("who", [first, first + 1], dtype=pl.Int128).to_frame()
    assert read_table(made).frame["who"].to_list() == [str(first), str(first + 1)]

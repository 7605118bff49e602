"""Plain columns: six kinds after the door, whatever library a frame comes from."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.io.plain import as_text, codes_in, fingerprint, is_nested, normalise_types, text_array
from anml.io.tables import read_table


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


values = st.lists(st.sampled_from(["a", "b", "", "7", "é", None]), min_size=1, max_size=20)


class TestText:
    @pytest.mark.parametrize(
        ("series", "expected"),
        [
            (pl.Series([7.0, None, -0.0]), ["7", None, "0"]),
            (pl.Series([7.5, 8.0]), ["7.5", "8.0"]),
            (pl.Series([True, None]), ["true", None]),
            (pl.Series([2**62]), [str(2**62)]),
            (pl.Series(["x", None]), ["x", None]),
        ],
    )
    def test_identifiers_of_every_kind(self, series, expected):
        assert as_text(series).to_list() == expected

    @pytest.mark.parametrize(
        "series", [pl.Series("c", [[1]]), pl.Series("c", [b"x"]), pl.Series("c", [{"a": 1}])]
    )
    def test_lists_records_and_bytes_are_no_identifiers(self, series):
        with pytest.raises(InputError, match=r"column 'c' holds .*, which is no identifier and no label"):
            as_text(series)

    @given(values)
    def test_text_passes_unchanged(self, texts):
        series = pl.Series(texts, dtype=pl.String)
        assert as_text(as_text(series)).to_list() == texts


class TestCodes:
    @given(values)
    def test_levels_at_codes_give_back_the_values(self, texts):
        levels = sorted({text for text in texts if text is not None})
        codes = codes_in(pl.Series(texts, dtype=pl.String), levels)
        assert [levels[code] if code >= 0 else None for code in codes] == texts
        assert codes.dtype == np.int64

    def test_what_is_not_among_them_is_minus_one(self):
        assert codes_in(pl.Series(["a", "z", None]), ["a"]).tolist() == [0, -1, -1]
        assert codes_in(pl.Series(["a"]), []).tolist() == [-1]

    @given(st.lists(st.text(max_size=4), min_size=1, max_size=15))
    def test_an_array_of_text_is_the_column(self, texts):
        assert text_array(pl.Series(texts, dtype=pl.String)).tolist() == texts


class TestFingerprint:
    @given(values, st.integers(1, 5))
    @settings(max_examples=30)
    def test_equal_tables_have_equal_hashes_however_they_are_cut(self, texts, at):
        frame = pl.DataFrame({"c": pl.Series(texts, dtype=pl.String), "n": range(len(texts))})
        again = pl.concat([frame[:at], frame[at:]], rechunk=False)
        assert fingerprint(normalise_types(again)) == fingerprint(normalise_types(frame))

    @given(values, values)
    @settings(max_examples=30)
    def test_different_columns_have_different_hashes(self, one, two):
        hashes = [fingerprint(pl.DataFrame({"c": pl.Series(texts, dtype=pl.String)})) for texts in (one, two)]
        assert (hashes[0] == hashes[1]) == (one == two)

    def test_where_one_text_ends_and_the_next_begins_counts(self):
        one, two = (fingerprint(pl.DataFrame({"c": texts})) for texts in (["ab", "c"], ["a", "bc"]))
        assert one != two

    def test_a_gap_is_no_empty_text_and_no_zero(self):
        frames = [
            pl.DataFrame({"c": pl.Series(texts, dtype=pl.String)}) for texts in (["", "a"], [None, "a"])
        ]
        assert fingerprint(frames[0]) != fingerprint(frames[1])
        numbers = [pl.DataFrame({"c": pl.Series(x, dtype=pl.Int64)}) for x in ([0, 1], [None, 1])]
        assert fingerprint(numbers[0]) != fingerprint(numbers[1])

    def test_the_kind_of_a_column_counts(self):
        one, two = (
            fingerprint(pl.DataFrame({"c": pl.Series([1, 2], dtype=t)})) for t in (pl.Int64, pl.Float64)
        )
        assert one != two


class TestPlain:
    @pytest.mark.parametrize("dtype", [pl.Int8, pl.UInt16, pl.Int32, pl.UInt64, pl.Int64])
    def test_whole_numbers_are_one_kind(self, dtype):
        assert normalise_types(pl.DataFrame({"c": pl.Series([1, None], dtype=dtype)}))["c"].dtype == pl.Int64

    @pytest.mark.parametrize("dtype", [pl.Float32, pl.Float64])
    def test_nan_is_missing(self, dtype):
        result = normalise_types(pl.DataFrame({"c": pl.Series([1.5, float("nan")], dtype=dtype)}))["c"]
        assert (result.dtype, result.to_list()) == (pl.Float64, [1.5, None])

    def test_a_time_with_a_zone_is_utc_and_one_without_stays(self):
        zoned = pl.Series(["2024-07-01 12:00"]).str.to_datetime(time_zone="Europe/Paris")
        result = normalise_types(pl.DataFrame({"z": zoned, "n": zoned.dt.replace_time_zone(None)}))
        assert str(result["z"][0]) == "2024-07-01 10:00:00+00:00"
        assert str(result["n"][0]) == "2024-07-01 12:00:00"

    @given(values)
    @settings(max_examples=20)
    def test_what_is_plain_stays_as_it_is(self, texts):
        once = normalise_types(pl.DataFrame({"c": pl.Series(texts, dtype=pl.String)}))
        assert normalise_types(once).equals(once)
        assert "" not in once["c"].to_list()

    @pytest.mark.parametrize(
        ("series", "nested"),
        [
            (pl.Series([[1]]), True),
            (pl.Series([{"a": 1}]), True),
            (pl.Series([b"x"]), True),
            (pl.Series([1]), False),
            (pl.Series(["x"]), False),
            (pl.Series([True]), False),
        ],
    )
    def test_nested_columns_are_never_features(self, series, nested):
        assert is_nested(series.dtype) == nested

"""The usage file: final shares by hand, their laws, and a hash that an outsider can recompute."""

import hashlib
import json

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.attribution.tracing import Trace
from anml.attribution.usage import record_hash, reliability_of_shares, settled_shares, usage_record
from anml.core.errors import InputError

PERIOD = ("2026-01-01", "2026-01-31")


def traced(share, certain, draws=None, rows=None, p_correct=None):
    names = [f"c{at}" for at in range(len(share))]
    n = len(share)
    frame = pl.DataFrame({
        "contributor": names, "share": share, "low": share, "high": share, "certain": certain,
        "rows": rows or [10] * n, "p_correct": p_correct or [1.0] * n,
    })  # fmt: skip
    check = {"status": "checked", "lds": 0.9, "low": 0.7, "high": 0.95, "retrainings": 10, "damping": 1.0}
    about = {"model": "net", "model_sha256": "00" * 32, "queries": 7, "amount": 7.0}
    drawn = np.tile(share, (100, 1)) if draws is None else draws
    return Trace(frame, pl.DataFrame(), pl.DataFrame(), check, np.zeros((7, n)), drawn, names, about)


def shares(record):
    return {line["contributor"]: line["share"] for line in record["contributors"]}


def test_the_file_holds_what_settlement_checks():
    record = usage_record(traced([0.7, 0.3], [True, True]), period=PERIOD, currency="EUR", amount=100.0)
    assert record["format"] == "anml-usage/1"
    assert record["usage"] == {"queries": 7, "amount": 100.0, "currency": "EUR"}
    assert record["period"] == {"from": "2026-01-01", "to": "2026-01-31"}
    assert record["check"] == {"status": "checked", "lds": 0.9, "low": 0.7, "high": 0.95, "retrainings": 10}
    assert shares(record) == {"c0": 0.7, "c1": 0.3}
    rest = json.loads(json.dumps({k: v for k, v in record.items() if k != "sha256"}))
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"))
    assert record["sha256"] == hashlib.sha256(text.encode()).hexdigest() == record_hash(record)


def test_a_written_file_has_the_hash_of_what_is_read(tmp_path):
    traced([0.6, 0.4], [True, True]).usage(tmp_path / "usage.json", period=PERIOD)
    read = json.loads((tmp_path / "usage.json").read_text())
    assert record_hash(read) == read["sha256"]
    assert record_hash(read | {"model": "another"}) != read["sha256"]


def test_contributors_who_are_not_certain_get_at_most_the_prior():
    # The prior is 1/4 each. c1 is cut from .4 to .25; the others get .75 in the ratio of .4 to .1 and .1.
    share, certain = np.array([0.4, 0.4, 0.1, 0.1]), np.array([True, False, True, True])
    result = settled_shares(share, np.full(4, 0.25), certain, 1.0)
    assert result == pytest.approx([0.5, 0.25, 0.125, 0.125])
    halves = settled_shares(np.array([0.9, 0.1]), np.array([0.5, 0.5]), np.zeros(2, bool), 1.0)
    assert halves.tolist() == [0.5, 0.5]


def test_few_queries_pay_by_the_prior():
    rng = np.random.default_rng(0)
    share, prior = np.array([0.5, 0.3, 0.2]), np.full(3, 1 / 3)
    noisy = rng.dirichlet(np.array([0.5, 0.3, 0.2]), 500)
    steady = rng.dirichlet(10_000 * np.array([0.5, 0.3, 0.2]), 500)
    assert reliability_of_shares(share, prior, noisy) == 0
    assert reliability_of_shares(share, prior, steady) > 0.99
    record = usage_record(traced(share, [True] * 3, noisy, rows=[10, 10, 20]), period=PERIOD)
    assert shares(record) == pytest.approx({"c0": 0.25, "c1": 0.25, "c2": 0.5})


def test_the_prior_counts_rows_by_their_reliability():
    record = usage_record(
        traced([0.5, 0.5], [False, False], rows=[30, 10], p_correct=[0.5, 1.0]), period=PERIOD
    )
    assert shares(record) == pytest.approx({"c0": 0.6, "c1": 0.4})


def test_a_part_passes_up_chains_of_derivation():
    # c2's work is derived from c1's, and c1's from c0's: half passes on at each step.
    record = usage_record(
        traced([0.0, 0.2, 0.8], [True] * 3), period=PERIOD, passed_up=0.5,
        derived_from={"c2": ["c1"], "c1": ["c0"]},
    )  # fmt: skip
    assert shares(record) == pytest.approx({"c0": 0.3, "c1": 0.3, "c2": 0.4})


@given(st.lists(st.floats(0.01, 1), min_size=2, max_size=6), st.data())
def test_shares_sum_to_one_and_are_not_negative(raw, data):
    share = np.array(raw) / sum(raw)
    certain = data.draw(st.lists(st.booleans(), min_size=len(raw), max_size=len(raw)))
    up = data.draw(st.floats(0, 1))
    record = usage_record(traced(share, certain), period=PERIOD, derived_from={"c1": ["c0"]}, passed_up=up)
    values = shares(record).values()
    assert sum(values) == pytest.approx(1)
    assert min(values) >= 0
    assert all(line["low"] <= line["share"] <= line["high"] for line in record["contributors"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"period": ("2026-02-01", "2026-01-01")}, "must not end before it begins"),
        ({"period": ("January", "2026-01-01")}, "must be YYYY-MM-DD, got 'January'"),
        ({"passed_up": 2}, "passed_up must lie in"),
        ({"derived_from": {"c0": ["x"]}}, "names 'x'"),
        ({"derived_from": {"c0": ["c1"], "c1": ["c0"]}, "passed_up": 0.5}, "circle"),
    ],
)
def test_what_does_not_fit_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        usage_record(traced([0.5, 0.5], [True, True]), **({"period": PERIOD} | settings))

"""The record of a run: versions that decide the numbers, and plain values only."""

import json
import platform
from importlib.metadata import version

import pytest

from anml.app.audit.audit import audit_table
from anml.app.audit.request import Request
from anml.app.audit.result import run_record, versions
from made_up import consortium


@pytest.fixture(scope="module")
def audited():
    return audit_table(consortium(40), Request(recipe="uniform", compare=False, seed=3))[0]


def test_versions_are_those_that_are_installed():
    found = versions()
    assert found["python"] == platform.python_version()
    assert found["numpy"] == version("numpy")
    assert found["anml"] == version("attribution-native-ml")


def test_a_record_is_plain_json_and_says_how_to_repeat_the_run(audited):
    record = run_record(audited, "anml audit x.csv")
    written = json.loads(json.dumps(record, allow_nan=False))
    assert written.keys() == record.keys()
    assert written["profile"]["hidden"] == list(record["profile"]["hidden"])
    assert (record["command"], record["seed"]) == ("anml audit x.csv", 3)
    assert record["recipe"]["name"] == "uniform"
    assert record["columns"]["label"] == "label"
    assert (record["comparison"], record["ledger"], record["gold"]) == (None, None, None)


def test_counts_are_those_of_the_samples(audited):
    record = run_record(audited, "")
    assert record["rows"] == audited.samples.height == 40
    assert record["kept"] == audited.kept == int(audited.samples["kept"].sum())
    assert record["noise"] == audited.wrong.mean

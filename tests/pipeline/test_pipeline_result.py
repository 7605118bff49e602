"""The record of a run: versions that decide the numbers, and plain values only."""

import json
import platform
from importlib.metadata import version

import pytest

from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.result import run_metadata, versions
from made_up import consortium


@pytest.fixture(scope="module")
def audited():
    return audit_table(consortium(40), Request(evaluate=False, seed=3, recipe="uniform"))[0]


def test_versions_are_those_that_are_installed():
    result = versions()
    assert result["python"] == platform.python_version()
    assert result["numpy"] == version("numpy")
    assert result["anml"] == version("attribution-native-ml")


def test_a_record_is_plain_json_and_says_how_to_repeat_the_run(audited):
    record = run_metadata(audited, "anml audit x.csv")
    written = json.loads(json.dumps(record, allow_nan=False))
    assert written.keys() == record.keys()
    assert written["recipe"]["profile"]["hidden"] == list(record["recipe"]["profile"]["hidden"])
    assert record["schema_version"] == 2
    assert (record["command"], record["random_state"]) == ("anml audit x.csv", 3)
    assert record["recipe"]["name"] == "uniform"
    assert record["schema"]["label"] == "label"
    assert (record["evaluation"], record["test_label_check"]) == (None, None)


def test_counts_are_those_of_the_samples(audited):
    record = run_metadata(audited, "")
    assert record["rows"] == audited.samples.height == 40
    assert record["kept"] == audited.kept == int(audited.samples["kept"].sum())
    assert record["label_error_rate"] == audited.label_error_rate.to_dict()

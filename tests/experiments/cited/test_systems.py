"""The cited systems: all of them are there, each with its reference and what it needs."""

import pytest

from experiments.cited.rules import RULES
from experiments.cited.systems import BOUNDS, PEERS, REFERENCES, required_inputs
from experiments.cited.values import CONTRIBUTORS
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

CITED = list_experiments("field")["cited"]


def test_all_twenty_are_there_and_said_what_they_need():
    cited = [name for name, reference in REFERENCES.items() if reference[-4:].isdigit()]
    assert len([name for name in cited if name != "FedAvg"]) == 22
    assert set(CITED.peers) == set(PEERS)
    assert all(required_inputs(name) for name in CITED.compared)


def test_every_name_has_something_that_runs_it():
    assert len(set(PEERS)) == len(PEERS)


@pytest.mark.parametrize("name", PEERS)
def test_needs_are_told_truthfully(name):
    """Systems declare the contributor ids, credentials, clean set or numbers that they receive."""
    known = required_inputs(name)
    if name in BOUNDS:
        assert known == "the truth"
        return
    assert "truth" not in known
    by_contributor = name in RULES or name in CONTRIBUTORS or name.endswith("contributors")
    assert ("ids" in known) == by_contributor
    assert ("v, r" in known) == name.startswith("ours")
    no_root = (
        "EigenTrust",
        "spectral",
        "clusters",
        "DivideMix",
        "FedAvg",
        "Krum",
        "Multi",
        "median",
        "trimmed",
        "Bulyan",
        "ours",
        "REC",
    )
    assert ("clean set" in known) == (not name.startswith(no_root) and name != "FLTrust, own set")


def test_recipes_say_what_they_need():
    assert [required_inputs(name) for name in ("uniform", "krum", "evidence")] == [
        "nothing", "a share to keep", "ids, v, r",
    ]  # fmt: skip

"""The cited systems: all of them are there, each with its reference and what it needs."""

import pytest

from anml.lab.cited.rules import RULES
from anml.lab.cited.systems import BOUNDS, PEERS, REFERENCES, needs
from anml.lab.cited.values import CONTRIBUTORS
from anml.lab.spec import catalogue

CITED = catalogue("field")["cited"]


def test_all_twenty_are_there_and_said_what_they_need():
    cited = [name for name, reference in REFERENCES.items() if reference[-4:].isdigit()]
    assert len([name for name in cited if name != "FedAvg"]) == 22
    assert set(CITED.peers) == set(PEERS)
    assert all(needs(name) for name in CITED.compared)


def test_every_name_has_something_that_runs_it():
    assert len(set(PEERS)) == len(PEERS)


@pytest.mark.parametrize("name", PEERS)
def test_needs_are_told_truthfully(name):
    """Who is handed contributors' ids, credentials, the server's set or a number says so."""
    told = needs(name)
    if name in BOUNDS:
        assert told == "the truth"
        return
    assert "truth" not in told
    by_contributor = name in RULES or name in CONTRIBUTORS or name.endswith("contributors")
    assert ("ids" in told) == by_contributor
    assert ("v, r" in told) == name.startswith("ours")
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
    assert ("clean set" in told) == (not name.startswith(no_root) and name != "FLTrust, own set")


def test_recipes_say_what_they_need():
    assert [needs(name) for name in ("uniform", "krum", "evidence")] == [
        "nothing", "a share to keep", "ids, v, r",
    ]  # fmt: skip

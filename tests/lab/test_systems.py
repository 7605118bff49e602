"""The cited systems: all of them are there, each with its reference and what it needs."""

import pytest

from anml.lab.cited import names
from anml.lab.cited.page import NEEDS
from anml.lab.cited.systems import BOUNDS, PEERS, SYSTEMS, needs
from anml.lab.spec import catalogue

FIELD = catalogue("field")
CITED = 19


def test_all_nineteen_are_there_and_said_what_they_need():
    cited = [name for name, system in SYSTEMS.items() if system.reference[-4:].isdigit()]
    assert len([name for name in cited if name != "FedAvg"]) == CITED
    assert (*SYSTEMS, *BOUNDS) == names.PEERS
    assert set(FIELD["cited"].compared) <= set(NEEDS)
    assert set(FIELD["cited"].peers) == set(names.PEERS)
    assert len(FIELD["cited"].claims) >= 40


@pytest.mark.parametrize("name", SYSTEMS)
def test_every_system_has_a_kind_a_reference_and_says_what_it_needs(name):
    system = SYSTEMS[name]
    groups = {"aggregation": names.AGGREGATION, "value": names.VALUE, "training": names.TRAINING}
    assert name in groups[system.kind]
    assert system.reference
    assert needs(name) == system.needs != ""


@pytest.mark.parametrize("name", SYSTEMS)
def test_what_a_system_needs_stands_on_the_page_in_the_same_words(name):
    """Said twice, so compared: the page shortens 'a clean server set' and names what helps."""
    seen, shown = SYSTEMS[name].needs, NEEDS[name]
    for word in ("f", "ids", "votes"):
        assert (word in seen.replace(",", "").split()) == (word in shown.replace(",", "").split())
    assert ("clean" in seen) == ("clean" in shown)


def test_bounds_are_told_the_truth_and_nobody_else_is():
    assert (*SYSTEMS, *BOUNDS) == PEERS
    assert {needs(name) for name in BOUNDS} == {"the truth"}
    assert all("truth" not in SYSTEMS[name].needs for name in SYSTEMS)
    assert needs("krum") == "ids and credentials where there are any"

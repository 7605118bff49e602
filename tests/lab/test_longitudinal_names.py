"""Names of scenarios, rules and measures over time."""

from anml.lab.kinds import DATA, METRICS, PEERS
from anml.lab.longitudinal import names
from anml.lab.longitudinal.people import SCENARIO


def test_the_kind_runs_and_measures_these():
    assert tuple(DATA["longitudinal"]) == names.SCENARIOS == tuple(SCENARIO)
    assert PEERS["longitudinal"] == names.RULES
    assert METRICS["longitudinal"] == names.MEASURES

"""Names of scenarios, rules and measures over time."""

from anml.lab.kinds import DATA, METRICS, PEERS
from anml.lab.longitudinal import names
from anml.lab.longitudinal.people import SCENARIO


def test_the_kind_runs_and_measures_these():
    assert tuple(DATA["longitudinal"]) == names.SCENARIOS == tuple(SCENARIO)
    assert PEERS["longitudinal"] == names.RULES
    assert METRICS["longitudinal"] == names.MEASURES


def test_a_series_has_a_figure_for_each_group_and_each_shown_round():
    assert len(names.SERIES) == len(names.GROUPS) * len(names.SHOWN)
    assert set(names.SERIES) < set(names.MEASURES)
    assert names.SHOWN[0] == 0
    assert max(names.SHOWN) < names.ROUNDS

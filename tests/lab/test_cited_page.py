"""The page of the cited systems, from an entry made up by hand."""

import pytest

from anml.lab.cited.names import PEERS
from anml.lab.cited.page import HOW, NEEDS, by_system


def row(method: str, error: float, half: float = 0.0, place=("wine", "flip"), metric: str = "error"):
    key = {"dataset": place[0], "attack": place[1], "method": method}
    low, high = (error - half, error + half) if half else (None, None)
    return {"key": key, "metric": metric, "ours": error, "low": low, "high": high}


ENTRY = {
    "rows": [
        row("uniform", 20.0, 1.0), row("Krum", 6.0, 1.0), row("Data Shapley", 5.0, 1.5), row("L2RW", 9.0),
        row("evidence", 4.0, 0.5), row("oracle", 3.0), row("federated oracle", 5.5),
        row("Krum", 0.9, metric="ranked"), row("Krum", 12.0, metric="seconds"),
    ]
}  # fmt: skip


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_who_wins_by_hand():
    """evidence is best at 4.0 ± 0.5; Data Shapley's interval reaches from 3.5: level with it."""
    lines = by_system(ENTRY)
    assert cells(lines[2]) == [
        "wine, flip", "evidence 4.0 ± 0.5", "1", "Krum 6.0", "Data Shapley 5.0", "L2RW 9.0", "evidence 4.0",
        "20.0 ± 1.0", "3.0 ± 0.0",
    ]  # fmt: skip


def test_rules_are_compared_with_the_federated_oracle_and_others_with_the_oracle():
    lines = {cells(line)[0]: cells(line)[1:] for line in by_system(ENTRY) if line.startswith("|")}
    # Krum stands in both later tables; the last one has its rank, its time and its needs.
    assert lines["Krum"] == ["0", "0.90", "", "", "12.0", "f"]
    distances = next(cells(line) for line in by_system(ENTRY) if line.startswith("| Krum "))
    assert distances == ["Krum", "+0.5"]
    assert next(cells(x) for x in by_system(ENTRY) if x.startswith("| Data Shapley "))[1] == "+2.0"


def test_without_rows_there_is_no_page():
    assert by_system({"rows": []}) == []


@pytest.mark.parametrize("name", PEERS)
def test_every_system_says_on_the_page_what_it_needs(name):
    assert NEEDS[name]


def test_the_reading_is_explained():
    assert "95% interval" in HOW

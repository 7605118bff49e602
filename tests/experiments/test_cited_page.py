"""The page of the cited systems, from an entry made up by hand."""

import pytest

from experiments.layouts import HOW_TO_READ, by_system

pytestmark = pytest.mark.slow


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
    lines = by_system(ENTRY)
    assert cells(lines[2]) == [
        "wine, flip", "evidence 4.0", "1", "Krum 6.0", "Data Shapley 5.0", "L2RW 9.0", "evidence 4.0",
        "20.0", "3.0",
    ]  # fmt: skip


def test_ties_are_shown_as_ties():
    rows = [row(name, 4.02) for name in ("krum", "softmax", "Krum")]
    tied = by_system({"rows": [*ENTRY["rows"][:6], *rows]})
    assert cells(tied[2])[1] == "Krum = evidence and 2 more 4.0"
    assert cells(tied[2])[6] == "evidence = krum and 1 more 4.0"


def test_rules_are_compared_with_the_federated_oracle_and_others_with_the_oracle():
    own = row("Data Shapley", 4.5, metric="error_natural")
    lines = {cells(line)[0]: cells(line)[1:] for line in by_system({"rows": [*ENTRY["rows"], own]})[3:]}
    assert lines["Krum"] == ["+0.5", "", "0.90", "", "", "12.0", "ids, f"]
    assert lines["Data Shapley"][:2] == ["+2.0", "+1.5"]


def test_along_one_axis_there_is_one_table():
    rows = [{**each, "key": {"subtle": "0.5", "method": each["key"]["method"]}} for each in ENTRY["rows"]]
    lines = by_system({"rows": rows})
    assert cells(lines[0])[:2] == ["points above the oracle", "0.5"]
    assert cells(lines[2])[:2] == ["uniform", "+17.0"]


def test_without_rows_there_is_no_page():
    assert by_system({"rows": []}) == []


def test_the_reading_is_explained():
    assert "ties" in HOW_TO_READ["cited"]

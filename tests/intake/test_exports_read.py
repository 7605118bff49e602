"""Readers of exports, on small made-up files of the real shape."""

import json
from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.intake.argilla import NO_STATUS, read_argilla
from anml.intake.contributions import utc_text
from anml.intake.croissant import read_croissant
from anml.intake.crowd import read_crowd
from anml.intake.file import File
from anml.intake.label_studio import read_label_studio
from anml.intake.mapped import read_mapped
from anml.intake.retractions import match_retractions, read_retractions

DATA = Path(__file__).parents[1] / "data"


def rows(found, *names):
    return found.rows.select(*names).rows()


def test_label_studio_people_labels_and_truth():
    found = read_label_studio(DATA / "label_studio.json")
    assert rows(found, "item", "contributor", "label", "truth") == [
        ("1", "10", "good", None),
        ("1", "ann@lab.example", "good", "good"),
        ("1", "12", "bad", "good"),
        ("2", "ann@lab.example", "bad", None),
        ("2", "13", "bad", None),
        ("3", "ann@lab.example", "good", None),
    ]
    assert found.rows["time"][1] == "2026-01-09T10:00:00.000000Z"
    assert found.rows["length"].to_list() == [28, 28, 28, 24, 24, 11]
    assert "lead_time" not in found.rows.columns
    assert found.warnings == [
        "1 cancelled annotations were left out",
        "1 empty annotations were left out",
    ]


def test_label_studio_reviews():
    found = read_label_studio(DATA / "label_studio.json")
    assert found.evidence.select("item", "contributor", "kind", "issuer").rows() == [
        ("1", "ann@lab.example", "review-accepted", "10"),
        ("1", "12", "review-rejected", "10"),
        ("2", "ann@lab.example", "review-accepted", "10"),
        ("2", "13", "review-accepted", "13"),
        ("3", "ann@lab.example", "fixed", "unknown reviewer"),
    ]


def test_label_studio_says_what_is_wrong(tmp_path):
    file = tmp_path / "x.json"
    for text, message in [
        ("[1]", "list of tasks"),
        ('[{"id": 1, "choice": "a"}]', "not JSON-MIN"),
        ('[{"id": 1, "annotations": []}]', "no finished label-studio label"),
        ("{", "neither JSON nor lines"),
    ]:
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            read_label_studio(file)
    two = [{"from_name": n, "type": "choices", "value": {"choices": [n]}} for n in ("tone", "topic")]
    file.write_text(json.dumps([{"id": 1, "annotations": [{"completed_by": 1, "result": two}]}]))
    with pytest.raises(InputError, match="several questions \\(tone, topic\\)"):
        read_label_studio(file)
    assert read_label_studio(file, "topic").rows["label"].to_list() == ["topic"]


def test_label_studio_warns_when_one_account_holds_most_rows(tmp_path):
    def annotation(who):
        result = [{"from_name": "t", "type": "rating", "value": {"rating": 4}}]
        return {"completed_by": who, "result": result}

    tasks = [{"id": i, "annotations": [annotation(1 if i < 6 else 2)]} for i in range(10)]
    file = tmp_path / "x.json"
    file.write_text("\n".join(json.dumps(task) for task in tasks))
    found = read_label_studio(file)
    assert found.rows["label"].to_list() == ["4"] * 10
    assert "'1', holds 60% of the rows" in found.warnings[0]


def test_argilla_nested_loses_the_status_and_says_so():
    found = read_argilla(DATA / "argilla_nested.json", time="when")
    assert rows(found, "item", "contributor", "label", "text") == [
        ("r1", "5a1b", "pos", "a fine day"),
        ("r1", "77cc", "neg", "a fine day"),
        ("r2", "5a1b", "neg", "rain again"),
    ]
    assert found.rows["time"][0] == "2026-02-01T10:00:00.000000Z"
    assert NO_STATUS in found.warnings


def test_argilla_flattened_keeps_only_what_was_submitted():
    found = read_argilla(DATA / "argilla_flat.json")
    assert rows(found, "item", "contributor", "label") == [("r1", "5a1b", "pos"), ("r2", "77cc", "neg")]
    assert NO_STATUS not in found.warnings
    assert "2 responses that were not submitted were left out" in found.warnings
    with pytest.raises(InputError, match="no question 'topic'; this export has: tone"):
        read_argilla(DATA / "argilla_flat.json", "topic")


def test_crowd_long_and_wide():
    long = read_crowd(DATA / "crowd_long.csv", "crowd-long")
    assert rows(long, "item", "contributor", "label")[:2] == [("t1", "w1", "cat"), ("t1", "w2", "cat")]
    wide = read_crowd(DATA / "crowd_wide.csv", "crowd-wide")
    assert rows(wide, "item", "contributor", "label") == [
        ("0", "ann", "1"),
        ("0", "ben", "0"),
        ("1", "ann", "0"),
        ("1", "007", "0"),
        ("2", "ann", "1"),
        ("2", "ben", "1"),
        ("2", "007", "1"),
    ]
    with pytest.raises(InputError, match="no column for the contributor"):
        read_crowd(DATA / "papers.csv", "crowd-long", item="sample")


def test_toloka_golden_and_status():
    found = read_crowd(DATA / "toloka.tsv", "toloka")
    assert rows(found, "item", "contributor", "label", "truth", "text") == [
        ("k1", "wA", "yes", "yes", "red fox"),
        ("k2", "wA", "no", "yes", "blue fox"),
        ("k3", "wB", "yes", None, "green fox"),
    ]
    assert found.evidence.select("item", "kind", "issuer").rows() == [
        ("k1", "review-accepted", "toloka requester"),
        ("k2", "review-rejected", "toloka requester"),
    ]


def test_mturk_approval_by_the_clock_proves_nothing():
    found = read_crowd(DATA / "mturk.csv", "mturk")
    assert found.rows.height == 4
    assert found.rows["time"][0] == "2026-03-10T05:16:08.000000Z"
    assert found.evidence.select("item", "contributor", "kind").rows() == [
        ("3AA", "A1X", "review-accepted"),
        ("3BB", "A2Y", "review-rejected"),
    ]
    assert "1 approvals were made by the clock and prove nothing" in found.warnings


def test_tables_by_common_names_or_by_hand(tmp_path):
    file = tmp_path / "t.csv"
    file.write_text(
        "item,Worker-ID,label,review,reviewer,size\n1,007,a,accepted,z,3.5\n1,b,a,,,1\n2,b,c,rejected,b,2\n"
    )
    found = read_mapped(file)
    assert rows(found, "item", "contributor", "label", "size") == [
        ("1", "007", "a", 3.5),
        ("1", "b", "a", 1.0),
        ("2", "b", "c", 2.0),
    ]
    assert found.evidence.select("contributor", "kind", "issuer").rows() == [
        ("007", "review-accepted", "z"),
        ("b", "review-rejected", "b"),
    ]
    by_hand = read_mapped(file, {"contributor": "reviewer", "label": "size"})
    assert by_hand.rows["contributor"].to_list() == ["z", "b"]
    assert "1 of 3 rows do not say who" in by_hand.warnings[0]
    with pytest.raises(InputError, match="no column 'nobody' for the contributor"):
        read_mapped(file, {"contributor": "nobody"})


def test_croissant_maps_columns_even_from_annotations():
    found = read_croissant(DATA / "croissant.json")
    assert found.columns == {"item": "sample", "label": "verdict", "contributor": "lab", "time": "measured"}
    assert found.file == "papers.csv"
    read = read_mapped(DATA / found.file, found.columns)
    assert rows(read, "item", "contributor", "label")[0] == ("p1", "lab-a", "up")


def test_croissant_without_a_contributor_is_an_error(tmp_path):
    file = tmp_path / "c.json"
    file.write_text('{"recordSet": []}')
    with pytest.raises(InputError, match="prov:wasAttributedTo"):
        read_croissant(file)


def test_retractions_match_by_doi_however_it_is_spelt():
    table = read_mapped(DATA / "papers.csv", {"item": "sample", "label": "verdict", "contributor": "lab"})
    notices = read_retractions(DATA / "retractions.csv")
    assert notices.height == 5
    assert match_retractions(table.rows, notices).select("item", "contributor", "kind").rows() == [
        ("p1", "lab-a", "retracted"),
        ("p2", "lab-a", "concern"),
        ("p3", "lab-b", "correction"),
        ("p4", "lab-b", "retracted"),
        ("p4", "lab-b", "reinstated"),
    ]


def test_unknown_retraction_natures_are_an_error(tmp_path):
    file = tmp_path / "r.csv"
    file.write_text("OriginalPaperDOI,RetractionNature,RetractionDate\n10.1/x,Rumour,1/1/2025 0:00\n")
    with pytest.raises(InputError, match="unknown RetractionNature 'Rumour'"):
        read_retractions(file)


def test_times_and_json_at_the_door(tmp_path):
    assert utc_text("2026-01-01T00:00:00+02:00") == "2025-12-31T22:00:00.000000Z"
    assert utc_text(None) is None
    with pytest.raises(InputError, match="there is no file"):
        File(tmp_path / "none.json").json  # noqa: B018

"""Tables of crowd platforms: long, wide, Toloka, MTurk; what every preset promises."""

from pathlib import Path

import pytest

from anml.core.errors import InputError
from anml.io.crowd import PRESETS
from anml.io.file import InputFile

DATA = Path(__file__).parents[1] / "data"


def read_crowd(path, preset, **columns):
    return PRESETS[preset](InputFile(path), columns)


def rows(result, *names):
    return result.rows.select(*names).rows()


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
    result = read_crowd(DATA / "toloka.tsv", "toloka")
    assert rows(result, "item", "contributor", "label", "truth", "text") == [
        ("k1", "wA", "yes", "yes", "red fox"),
        ("k2", "wA", "no", "yes", "blue fox"),
        ("k3", "wB", "yes", None, "green fox"),
    ]
    assert result.evidence.select("item", "kind", "issuer").rows() == [
        ("k1", "review-accepted", "toloka requester"),
        ("k2", "review-rejected", "toloka requester"),
    ]


def test_mturk_approval_by_the_clock_proves_nothing():
    result = read_crowd(DATA / "mturk.csv", "mturk")
    assert result.rows.height == 4
    assert result.rows["time"][0] == "2026-03-10T05:16:08.000000Z"
    assert result.evidence.select("item", "contributor", "kind").rows() == [
        ("3AA", "A1X", "review-accepted"),
        ("3BB", "A2Y", "review-rejected"),
    ]
    assert "1 approval was made by the clock, which proves nothing" in result.warnings


OF_PRESET = {
    "crowd-long": "task,worker,label\n1,7,a\n1,8,b\n2,7,\n",
    "crowd-wide": "7,8\na,b\n,a\n",
    "toloka": "OUTPUT:x\tASSIGNMENT:worker_id\tASSIGNMENT:task_id\na\t7\t1\nb\t8\t1\n\t7\t2\n",
    "mturk": "HITId,WorkerId,AssignmentStatus,Answer.x\n1,7,Submitted,a\n1,8,Submitted,b\n2,7,Submitted,\n",
}


def written(tmp_path, preset, text=None):
    file = tmp_path / ("t.tsv" if preset == "toloka" else "t.csv")
    file.write_text(OF_PRESET[preset] if text is None else text)
    return file


def test_every_preset_has_a_file():
    assert set(OF_PRESET) == set(PRESETS)


@pytest.mark.parametrize("preset", PRESETS)
class TestEveryPreset:
    def test_empty_answers_are_left_out_and_people_are_text(self, preset, tmp_path):
        result = read_crowd(written(tmp_path, preset), preset).rows
        assert result["label"].to_list()[:2] == ["a", "b"]
        assert result["contributor"].to_list()[:2] == ["7", "8"]
        assert result["label"].null_count() == 0

    def test_rows_may_come_in_any_order(self, preset, tmp_path):
        lines = OF_PRESET[preset].splitlines()
        one = read_crowd(written(tmp_path, preset), preset).rows
        two = read_crowd(written(tmp_path, preset, "\n".join([lines[0], *lines[:0:-1]]) + "\n"), preset).rows
        if preset == "crowd-wide":
            one, two = one.drop("item"), two.drop("item")
        assert sorted(one.rows()) == sorted(two.rows())

    def test_a_file_without_its_columns_says_which(self, preset, tmp_path):
        if preset == "crowd-wide":
            return  # every column is an annotator
        with pytest.raises(InputError, match=r"column|name the answer"):
            read_crowd(
                written(tmp_path, preset, "x\ty\n1\t2\n" if preset == "toloka" else "x,y\n1,2\n"), preset
            )


@pytest.mark.parametrize("item", ["task", "index", "item", "example", "id"])
@pytest.mark.parametrize("contributor", ["worker", "annotator", "performer", "contributor"])
@pytest.mark.parametrize("label", ["label", "output", "answer"])
def test_long_tables_go_by_every_usual_name(item, contributor, label, tmp_path):
    file = written(tmp_path, "crowd-long", f"{item},{contributor},{label}\n1,ann,a\n1,bob,b\n")
    assert rows(read_crowd(file, "crowd-long"), "item", "contributor", "label") == [
        ("1", "ann", "a"), ("1", "bob", "b"),
    ]  # fmt: skip


def test_a_label_of_no_item_is_refused(tmp_path):
    file = written(tmp_path, "crowd-long", "task,worker,label\n,ann,a\n2,bob,b\n")
    with pytest.raises(InputError, match=r"column 'task' \(item\) is empty in 1 row;"):
        read_crowd(file, "crowd-long")


def test_a_wide_table_may_name_its_items(tmp_path):
    file = written(tmp_path, "crowd-wide", "picture,ann,bob\np1,a,b\np2,,a\n")
    result = read_crowd(file, "crowd-wide", item="picture")
    assert rows(result, "item", "contributor", "label") == [
        ("p1", "ann", "a"), ("p1", "bob", "b"), ("p2", "bob", "a"),
    ]  # fmt: skip


def test_several_answers_are_told_apart_by_name(tmp_path):
    text = "OUTPUT:a\tOUTPUT:b\tASSIGNMENT:worker_id\n1\t2\tw\n"
    with pytest.raises(InputError, match="name the answer to use; this file has: a, b"):
        read_crowd(written(tmp_path, "toloka", text), "toloka")
    assert read_crowd(written(tmp_path, "toloka", text), "toloka", label="b").rows["label"].to_list() == ["2"]


def test_yes_and_no_of_a_platform_meet_their_golden_answers(tmp_path):
    text = "OUTPUT:x\tGOLDEN:x\tASSIGNMENT:worker_id\tINPUT:text\ntrue\ttrue\tw\ta\nfalse\t\tw\tb\n"
    result = read_crowd(written(tmp_path, "toloka", text), "toloka")
    assert rows(result, "item", "label", "truth") == [("a", "true", "true"), ("b", "false", None)]


def test_tasks_without_an_id_go_by_what_was_shown(tmp_path):
    text = "INPUT:text\tINPUT:n\tOUTPUT:x\tASSIGNMENT:worker_id\nfox\t1\ta\tw\nfox\t2\tb\tw\n"
    assert read_crowd(written(tmp_path, "toloka", text), "toloka").rows["item"].to_list() == [
        "fox|1",
        "fox|2",
    ]


MTURK = "HITId,WorkerId,AssignmentStatus,ApprovalTime,AutoApprovalTime,Answer.x\n"


@pytest.mark.parametrize(
    ("approved", "limit", "counts"),
    [
        ("Mon Mar 09 10:00:00 PST 2026", "Mon Mar 09 12:00:00 PST 2026", True),
        ("Mon Mar 09 12:00:00 PST 2026", "Mon Mar 09 12:00:00 PST 2026", False),
        # Ten o'clock in the one zone is before eleven in the other, and not after.
        ("Mon Mar 09 10:00:00 PDT 2026", "Mon Mar 09 18:00:00 UTC 2026", True),
        ("Mon Mar 09 10:00:00 PST 2026", "Mon Mar 09 18:00:00 GMT 2026", False),
        ("", "Mon Mar 09 12:00:00 PST 2026", False),
        ("Mon Mar 09 10:00:00 PST 2026", "", False),
    ],
)
def test_an_approval_counts_only_before_the_clock_runs_out(approved, limit, counts, tmp_path):
    text = MTURK + f"h,w,Approved,{approved},{limit},a\n"
    result = read_crowd(written(tmp_path, "mturk", text), "mturk")
    assert (result.evidence.height == 1) == counts
    assert bool(result.warnings) != counts

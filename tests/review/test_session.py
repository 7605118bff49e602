"""A review in progress: each item to one reviewer, every answer on the disk, and what is refused."""

import json
import re
import shutil

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import anml as package
import made_up
from anml.core.errors import AnmlError
from anml.pipeline.read import read_run
from anml.review.answers import read_log
from anml.review.session import RESERVED_S, ReviewSession

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def folder(audited_table, tmp_path):
    shutil.copytree(audited_table, tmp_path, dirs_exist_ok=True)
    return tmp_path / "run"


def session(folder, clock=None, **more):
    return ReviewSession(folder, clock or Clock(), **more)


def test_items_come_in_the_order_of_the_queue_and_expected_errors_fall(folder):
    review, queue = session(folder), package.load_run(folder).review_queue()
    before = review.progress()["expected_wrong_left"]
    for row in queue.iter_rows(named=True):
        item = review.next_item("ana")
        assert item["row"] == row["row"]
        assert item["choices"] == ["no", "yes"]
        assert item["labels"] == [{"by": row["contributor"], "label": row["label"]}]
        assert item["fields"]["note"] == "<b onclick=alert(1)>seen</b>"
        review.answer("ana", item["row"], item["suggested"], 2.5, "clear")
        now = review.progress()["expected_wrong_left"]
        assert now == pytest.approx(before - row["p_label_wrong"])
        before = now
    assert review.next_item("ana") is None
    now_shown = review.progress()
    assert (now_shown["answered"], now_shown["items"]) == (queue.height, queue.height)
    assert now_shown["seconds"] == pytest.approx(2.5 * queue.height)
    assert now_shown["changed"] == queue.filter(pl.col("suggested_label") != pl.col("label")).height


def test_two_reviewers_never_see_the_same_item_until_it_was_left(folder):
    clock = Clock()
    review = session(folder, clock)
    first = review.next_item("ana")["row"]
    assert review.next_item("ana")["row"] == first
    second = review.next_item("ben")["row"]
    assert second != first
    clock.now = RESERVED_S + 1
    assert review.next_item("ben")["row"] == first
    review.answer("ben", first, "yes")
    with pytest.raises(AnmlError, match="ben answered this item in the meantime"):
        review.answer("ana", first, "no")
    assert review.next_item("ana")["row"] == second


@given(
    steps=st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["yes", "skip", "undo"])), max_size=60)
)
@settings(max_examples=25)
def test_a_session_opened_again_has_the_same_answers(audited_table, steps):
    file = audited_table / "run" / "review.jsonl"
    file.unlink(missing_ok=True)
    review, answers, skipped, done = session(audited_table / "run"), {}, set(), {"a": [], "b": []}
    for by, step in steps:
        if step == "undo":
            if done[by]:
                review.undo(by)
                row = done[by].pop()
                answers.pop(row, None)
                skipped.discard(row)
        elif (item := review.next_item(by)) is not None:
            row = item["row"]
            assert row not in answers
            assert row not in skipped
            review.answer(by, row, None if step == "skip" else "yes")
            done[by].append(row)
            skipped |= {row} if step == "skip" else set()
            answers |= {} if step == "skip" else {row: "yes"}
    for each in (review, session(audited_table / "run")):
        now_shown = each.progress()
        assert (now_shown["answered"], now_shown["skipped"]) == (len(answers), len(skipped))
    last = {entry["row"]: entry["label"] for entry in read_log(file)}
    assert {row: label for row, label in last.items() if label is not None} == answers
    file.unlink(missing_ok=True)


@pytest.mark.parametrize("cut", [1, 7, 30])
def test_a_line_that_was_cut_off_costs_that_answer_only(folder, cut):
    review = session(folder)
    rows = []
    for label in ("yes", "no", "yes"):
        rows.append(review.next_item("ana")["row"])
        review.answer("ana", rows[-1], label)
    file = folder / "review.jsonl"
    file.write_bytes(file.read_bytes()[:-cut])
    again = session(folder)
    kept = rows[: 3 if cut == 1 else 2]
    assert again.progress()["answered"] == len(kept)
    again.answer("ana", rows[2], "no")
    last = {entry["row"]: entry["label"] for entry in read_log(file)}
    assert last == dict(zip(rows, ("yes", "no", "no"), strict=True))


def test_skipped_items_are_offered_again_when_asked(folder):
    review = session(folder, top=2)
    for label in (None, "yes"):
        review.answer("ana", review.next_item("ana")["row"], label)
    assert review.next_item("ben") is None
    review.offer_skipped("ben")
    assert review.next_item("ben")["row"] == review.order[0]
    assert review.progress()["skipped"] == 0


def test_answers_are_labels_of_the_table_unless_others_are_allowed(folder):
    review = session(folder)
    row = review.next_item("ana")["row"]
    with pytest.raises(
        AnmlError, match=r"answers that are not labels of this table: 'Yes' \(did you mean 'yes'"
    ):
        review.answer("ana", row, "Yes")
    with pytest.raises(AnmlError, match="row 9999 is not in the review queue"):
        review.answer("ana", 9999, "yes")
    with pytest.raises(AnmlError, match="there is no answer to undo"):
        review.undo("ana")
    session(folder, new_labels=True).answer("ana", row, "perhaps")


def test_hidden_names_stand_nowhere(folder):
    review = session(folder, names=False)
    for _ in range(3):
        item = review.next_item("ana")
        assert item["labels"][0]["by"] == "annotator 1"
        assert not re.search(r"\b(ann|bob|cat|dan)\b", json.dumps(item))
        assert "width" in item["fields"]
        review.answer("ana", item["row"], None)


def test_apply_without_a_file_takes_the_answers_of_the_review(anml, folder, tmp_path):
    refused = anml("apply", folder)
    assert refused.code == 2
    assert "has no answers of `anml review`; pass a file with the answers" in refused.err
    review = session(folder, top=6)
    while item := review.next_item("ana"):
        review.answer("ana", item["row"], item["suggested"])
    assert anml("relabel", folder, "--top", 6, "--out", tmp_path / "look.csv").code == 0
    rows = pl.read_csv(tmp_path / "look.csv")
    rows.with_columns(new_label="suggested_label", answered_by=pl.lit("ana")).write_csv(tmp_path / "back.csv")
    assert anml("apply", folder, "--out", tmp_path / "one").code == 0
    assert anml("apply", folder, tmp_path / "back.csv", "--out", tmp_path / "two").code == 0
    one, two = (read_run(tmp_path / name) for name in ("one", "two"))
    assert one.samples.equals(two.samples)
    assert (tmp_path / "one" / "answers.json").read_text() == (tmp_path / "two" / "answers.json").read_text()
    kept = anml("audit", tmp_path / "data.csv", "--out", folder)
    assert kept.code == 2
    assert "has answers of a review; choose a new folder" in kept.err


def test_images_are_shown_and_the_next_round_reads_them_again(anml, tmp_path):
    pytest.importorskip("torch")
    frame, _ = made_up.pictures(tmp_path, count=120)
    frame.write_csv(tmp_path / "data.csv")
    package.audit(tmp_path / "data.csv", evaluate=False).save(tmp_path / "run")
    review = session(tmp_path / "run")
    item = review.next_item("ana")
    assert item["image"] == f"image/{item['row']}"
    data, ending = review.image(item["row"])
    assert (data, ending) == ((tmp_path / frame["image"][item["row"]]).read_bytes(), ".png")
    review.answer("ana", item["row"], item["suggested"])
    done = anml("apply", tmp_path / "run", "--out", tmp_path / "next")
    assert done.code == 0, done.err
    after = read_run(tmp_path / "next")
    assert after.info["data"]["computed"] == read_run(tmp_path / "run").info["data"]["computed"]
    assert not [warning for warning in after.info["warnings"] if "not read" in warning]


def test_numbers_are_typed(tmp_path):
    made_up.measurements(120).write_csv(tmp_path / "data.csv")
    package.audit(tmp_path / "data.csv", label="dose", evaluate=False).save(tmp_path / "run")
    review = session(tmp_path / "run")
    item = review.next_item("ana")
    assert review.choices == item["choices"] == []
    with pytest.raises(AnmlError, match="labels of this table are numbers, got the answer 'much'"):
        review.answer("ana", item["row"], "much")
    review.answer("ana", item["row"], "1.5")
    assert review.progress()["answered"] == 1

"""Sets of tags as yes and no; what holds sets is recognised, what is no set is refused."""

import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io.tasks.read import infer_task_type
from anml.io.tasks.tags import argilla_tags, is_tag_column, label_studio_tags, read_tags


def table(tags, **more):
    return pl.DataFrame(
        {"item": ["i1", "i1", "i2", "i2"], "annotator": ["ann", "bob"] * 2, "tags": tags, **more}
    )


def said(frame):
    return {(row["item"], row["contributor"]): row["label"] for row in read_tags(frame, {}).rows.to_dicts()}


# All tags are asked of all who saw an item, also where nobody ticked them.
EXPECTED = {(f"i{k} · {tag}", who): "no" for k in (1, 2) for tag in "abc" for who in ("ann", "bob")} | {
    ("i1 · a", "ann"): "yes", ("i1 · a", "bob"): "yes", ("i1 · b", "ann"): "yes", ("i2 · c", "bob"): "yes",
}  # fmt: skip


@pytest.mark.parametrize(
    "tags",
    [
        ["a;b", "a", None, "c"],
        ["b|a", "a", None, "c"],
        ['["a", "b"]', '["a"]', "[]", '["c"]'],
        [["a", "b"], ["a"], [], ["c"]],
        ["b; a;a", "a", "", "c"],
    ],
)
def test_sets_in_all_their_forms(tags):
    assert said(table(tags)) == EXPECTED


def test_an_empty_set_is_said_to_be_one():
    assert read_tags(table(["a;b", "a", None, "c"]), {}).warnings == ["1 row says that no tag fits"]


def test_sets_are_recognised_only_where_their_parts_stand_alone():
    assert is_tag_column(pl.Series([["a"], ["b"]]))
    assert is_tag_column(pl.Series(["a;b", "a", "b"]))
    assert not is_tag_column(pl.Series(["a;b", "c", "d"]))
    assert not is_tag_column(pl.Series(["a", "b"]))
    assert not is_tag_column(pl.Series([1, 2]))


def test_only_a_table_with_items_and_people_holds_tags():
    frame = table(["a;b", "a", "b", "a"])
    assert infer_task_type(frame, {}) == "tags"
    assert infer_task_type(frame.drop("item"), {}) is None
    assert infer_task_type(frame.drop("annotator"), {}) is None


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (table([None] * 4), "has no tag in any row"),
        (table(["a", "a", "b", "b"]), "there is nothing to compare"),
        (table(["[1", "[a]", "[]", "[]"]), "begins like a list of tags and is none"),
        (
            table(['{"a": 1}', "[]", "[]", "[]"]).with_columns(tags=pl.lit('[{"a": 1}]')),
            "is not a list of tags",
        ),
        (table(["a;b", "a", "b", "a"]).with_columns(item=pl.lit(None, pl.String)), "have no 'item'"),
    ],
)
def test_what_is_no_set_is_refused(frame, message):
    with pytest.raises(InputError, match=message):
        read_tags(frame, {})


def test_choices_of_label_studio():
    def chosen(contributor, *choices):
        result = (
            [{"type": "choices", "from_name": "t", "value": {"choices": list(choices)}}] if choices else []
        )
        return {"completed_by": contributor, "result": result}

    tasks = [{"id": 1, "data": {}, "annotations": [chosen(1, "a", "b"), chosen(2)]}]
    frame, message = label_studio_tags(tasks, {})
    assert message == []
    assert frame.select("item", "contributor", "tags").rows() == [("1", "1", ["a", "b"]), ("1", "2", [])]
    two = [*chosen(1, "a")["result"], {"type": "choices", "from_name": "u", "value": {"choices": ["x"]}}]
    with pytest.raises(InputError, match="several questions"):
        label_studio_tags([{"id": 1, "annotations": [{"completed_by": 1, "result": two}]}], {})


def test_answers_of_argilla():
    entry = {"id": "r", "responses": {"topics": [{"value": ["a", "b"], "user_id": "ann"}]}}
    assert argilla_tags([entry], {})[0].rows() == [("r", "ann", ["a", "b"])]
    with pytest.raises(InputError, match="no finished answer"):
        argilla_tags([{"id": "r", "responses": {"topics": [{"value": ["a"]}]}}], {})


def ticks(made):
    return sorted(made.rows.select("thing", "contributor", "tag", "label").rows())


def test_several_columns_are_one_set():
    sets = pl.DataFrame({"item": ["1", "1", "2", "2"], "annotator": ["ann", "bob"] * 2,
                         "tags": ["a;b", "a", "", "b"]})  # fmt: skip
    wide = sets.select(
        "item", "annotator", a=pl.Series([1, 1, 0, 0]), b=pl.Series([True, False, False, True])
    )
    names = sets.select("item", "annotator", one=pl.Series(["b", "a", None, None]),
                        two=pl.Series(["a", None, None, "b"]))  # fmt: skip
    plain = ticks(read_tags(sets, {}))
    assert ticks(read_tags(wide, {})) == plain
    assert ticks(read_tags(wide, {"label": "a, b"})) == plain
    assert ticks(read_tags(names, {"label": "one,two"})) == plain
    with pytest.raises(InputError, match="'a' and 'c' are not both yes and no"):
        read_tags(wide.with_columns(c=pl.lit("x")), {"label": "a,c"})
    with pytest.raises(InputError, match="there is no column 'z' for label"):
        read_tags(wide, {"label": "a,z"})


def test_commas_and_rows_of_one_tag_each():
    sets = table(["a;b", "a", "b", "a"])
    assert ticks(read_tags(table(["a, b", "a", "b", "a"]), {})) == ticks(read_tags(sets, {}))
    long = sets.with_columns(pl.col("tags").str.split(";")).explode("tags").rename({"tags": "tag"})
    made = read_tags(long, {})
    assert ticks(made) == ticks(read_tags(sets, {}))
    assert any("one set" in note for note in made.notes)


def test_nothing_in_a_list_is_no_tag():
    frame = table(["a", "b", "a", "b"]).with_columns(tags=pl.Series([["a", None], ["b"], ["a"], [None]]))
    assert set(read_tags(frame, {}).rows["tag"]) == {"a", "b"}


def test_known_sets_and_what_stands_beside():
    frame = table(["a", "b", "a;b", "b"]).with_columns(
        truth=pl.Series(["a;c", "a;c", None, None]), verified=pl.Series([0.1, 0.2, 0.3, 0.4])
    )
    made = read_tags(frame, {"true_label": "truth"}).rows
    first, second = sorted(set(made["thing"]))
    known = dict(made.filter(pl.col("thing") == first).select("tag", "truth").rows())
    assert known == {"a": "yes", "b": "no", "c": "yes"}
    assert made.filter(pl.col("thing") == second)["truth"].null_count() == 6
    assert set(made["verified"]) == {0.1, 0.2, 0.3, 0.4}
    right = read_tags(
        frame.with_columns(truth=pl.Series([True, False, None, True])), {"true_label": "truth"}
    ).rows
    assert right.filter(pl.col("truth") != pl.col("label")).is_empty()
    assert right["truth"].null_count() == right.filter(pl.col("verified").is_in([0.2, 0.3])).height


def test_somebody_who_comes_back_to_a_task_is_counted_once():
    def chosen(contributor, number, *choices, **more):
        value = [{"type": "choices", "from_name": "t", "value": {"choices": list(choices)}}]
        return {"id": number, "completed_by": contributor, "result": value, **more}

    task = {"id": 1, "data": {}, "annotations": [chosen(1, 1, "a"), chosen(1, 2, "b"), chosen(2, 3, "a"),
            chosen(3, 4, "a", was_cancelled=True)]}  # fmt: skip
    frame, left = label_studio_tags([task], {})
    assert frame.select("contributor", "tags").rows() == [("1", ["b"]), ("2", ["a"])]
    assert left == [
        "1 annotation cancelled, or by nobody, left out",
        "1 annotation left out: the same person annotated the task again later",
    ]


def test_of_very_many_tags_those_are_asked_that_anybody_ticked(monkeypatch):
    monkeypatch.setattr("anml.io.tasks.tags.MAX_PAIRS", 3)
    made = read_tags(table(["a;b", "a", None, "c"]), {})
    assert set(made.rows["item"]) == {"i1 · a", "i1 · b", "i2 · c"}
    assert "that anybody ticked" in made.notes[0]

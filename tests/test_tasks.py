"""Tasks by name with their options, and as objects."""

import pytest

from anml.core.errors import AnmlError
from anml.tasks import TASKS, Ordinal, Spans, task_of


def test_a_task_by_its_name_and_as_an_object():
    assert {name: type(task_of(name)) for name in TASKS} == TASKS
    spans = Spans(start="first", end="last")
    assert task_of(spans) is spans
    assert task_of("spans", {"start": "first", "end": "last"}) == spans
    assert spans.options() == {"start": "first", "end": "last", "assignments": None, "nested": False}


def test_the_order_of_grades_may_be_one_text():
    assert Ordinal(order="low, middle, high").order == ("low", "middle", "high")


@pytest.mark.parametrize(
    ("task", "options", "message"),
    [
        ("span", None, "unknown task 'span'.*did you mean 'spans'"),
        ("tags", {"order": "a, b"}, "unknown key of Tags 'order'"),
        (3, None, "task must be a name or one of anml.tasks, got 3"),
    ],
)
def test_an_unknown_task_is_one_sentence(task, options, message):
    with pytest.raises(AnmlError, match=message):
        task_of(task, options)

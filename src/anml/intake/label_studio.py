"""Label Studio's JSON export: tasks with annotations, reviews and ground truth."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from anml.core.errors import InputError
from anml.core.words import counted
from anml.intake.contributions import (
    ANNOTATION,
    IS_TRUTH,
    SPENT,
    UNKNOWN_REVIEWER,
    Chosen,
    Contributions,
    entries,
    gather,
    label_text,
    record,
    records,
    scalars,
    utc_text,
)
from anml.intake.file import File
from anml.intake.unread import refuse_places

# What the last action on an annotation says where the list of reviews is not exported.
_ACTIONS = {"accepted": "review-accepted", "fixed_and_accepted": "fixed", "rejected": "review-rejected"}


def annotations_of(
    tasks: list[dict[str, Any]], where: str = ""
) -> Iterator[tuple[str, dict[str, Any], str, dict[str, Any]]]:
    """Every annotation: its task's name, the task, its own name (or place in the task), and itself."""
    for number, task in enumerate(tasks):
        item = str(task.get("id", number))
        listed = task.get("annotations") or task.get("completions")
        for place, annotation in enumerate(records(listed, f"annotations of task {item}{where}")):
            yield item, task, str(annotation.get("id", f"{item}/{place}")), annotation


def read_label_studio(file: File, columns: Chosen) -> Contributions:
    """Read an export; the label names the control tag (`from_name`) where a task has several."""
    tasks, where, question = entries(file), f" in {file.path.name}", columns.get("label")
    if not any("annotations" in task or "completions" in task for task in tasks):
        raise InputError(f"{file.path.name} has no annotations; export as JSON, not JSON-MIN")
    rows: list[dict[str, Any]] = []
    evidence: list[dict[str, Any]] = []
    skipped = {"cancelled": 0, "empty": 0}
    # The right label of each task: its first annotation that is the ground truth.
    truths: dict[str, str | None] = {}
    for item, _, _, annotation in annotations_of(tasks, where):
        if annotation.get("ground_truth") and not annotation.get("was_cancelled") and item not in truths:
            truths[item] = annotation_label(annotation, question)
    for item, task, name, annotation in annotations_of(tasks):
        if annotation.get("was_cancelled"):
            skipped["cancelled"] += 1
            continue
        if (label := annotation_label(annotation, question)) is None:
            skipped["empty"] += 1
            continue
        who, about = account(annotation.get("completed_by")), _about(annotation)
        row = {"item": item, "contributor": who, "label": label, **about, ANNOTATION: name}
        # The ground truth itself is not scored against itself.
        row |= {IS_TRUTH: True} if row.pop(IS_TRUTH) else {"truth": truths.get(item)}
        rows.append(row | scalars(record(task.get("data"), f"data of task {item}{where}")))
        evidence += _reviews(item, who, annotation)
    left = {name: (f"{name} annotation was", f"{name} annotations were") for name in skipped}
    warnings = [f"{counted(count, *left[name])} left out" for name, count in skipped.items() if count]
    return gather("label-studio", rows, evidence, warnings)


class Finished(NamedTuple):
    """The last finished annotation of somebody in a task, and what stands beside its labels."""

    item: str
    task: dict[str, Any]
    name: str
    who: str
    annotation: dict[str, Any]
    beside: dict[str, Any]

    def results(self, question: str | None = None) -> list[dict[str, Any]]:
        """What was answered, to a question where one is named."""
        found = records(self.annotation.get("result"), "the result of an annotation")
        return [each for each in found if question in (None, each.get("from_name"))]


def finished(tasks: list[dict[str, Any]]) -> tuple[list[Finished], list[str]]:
    """One annotation of each person in each task, the last; what was left out is said."""
    last: dict[tuple[str, str], Finished] = {}
    left = again = 0
    texts: dict[str, Any] = {}
    for item, task, name, annotation in annotations_of(tasks):
        if texts.setdefault(item, task.get("data")) != task.get("data"):
            raise InputError(f"two tasks with other data are called {item}; give every task an id of its own")
        who = account(annotation.get("completed_by"))
        if annotation.get("was_cancelled") or who is None:
            left += 1
            continue
        again += (item, who) in last
        last[item, who] = Finished(item, task, name, who, annotation, _about(annotation))
    said = [f"{counted(left, 'annotation')} cancelled, or by nobody, left out"] if left else []
    twice = counted(again, "annotation")
    said += [f"{twice} left out: the same person annotated the task again later"] if again else []
    return [*last.values()], said


def _about(annotation: dict[str, Any]) -> dict[str, Any]:
    """When somebody annotated, whether that is the ground truth, and how long it took, where it is told."""
    about = {"time": utc_text(annotation.get("created_at")), IS_TRUTH: bool(annotation.get("ground_truth"))}
    spent = annotation.get(SPENT)
    return about | ({SPENT: float(spent)} if isinstance(spent, int | float) else {})


def account(value: Any) -> str | None:
    """Who: an integer in some exports, a record with an e-mail address in others."""
    if isinstance(value, dict):
        value = value.get("email") or value.get("username") or value.get("id")
    return None if value is None or value == "" else str(value)


def annotation_label(annotation: dict[str, Any], question: str | None) -> str | None:
    """What an annotation answers to a question, as text; None where it says nothing."""
    results = records(annotation.get("result"), "the result of an annotation")
    results = [r for r in results if isinstance(r.get("value"), dict)]
    tags = sorted({str(r.get("from_name", "")) for r in results})
    if question is not None:
        results = [r for r in results if r.get("from_name") == question]
    elif len(tags) > 1:
        raise InputError(f"tasks have several questions ({', '.join(tags)}); name one of them")
    found = [_answer(r) for r in results]
    return label_text(found[0] if len(found) == 1 else [answer for answer in found if answer is not None])


def _answer(result: dict[str, Any]) -> Any:
    """What a result says: the value named after its type, else whatever there is."""
    value, kind = result["value"], result.get("type")
    refuse_places(value, f" to {result.get('from_name')!r}")
    if isinstance(kind, str) and kind in value:
        return value[kind]
    return next(iter(value.values())) if len(value) == 1 else (value or None)


def _reviews(item: str, who: str | None, annotation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """What others said of an annotation: its reviews, else the last action on it."""
    said = []
    for review in records(annotation.get("reviews"), "the reviews of an annotation"):
        kind = "review-accepted" if review.get("accepted") else "review-rejected"
        if kind == "review-accepted" and (review.get("fixed_annotation_history") or review.get("fixed")):
            kind = "fixed"
        said.append((kind, review.get("created_by"), review.get("created_at")))
    if not said and (action := _ACTIONS.get(str(annotation.get("last_action")))):
        said = [(action, annotation.get("updated_by"), annotation.get("updated_at"))]
    for kind, by, at in said if who is not None else ():
        issuer = account(by) or UNKNOWN_REVIEWER
        yield {"item": item, "contributor": who, "kind": kind, "issuer": issuer, "at": utc_text(at)}

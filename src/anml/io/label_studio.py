"""Label Studio's JSON export: tasks with annotations, reviews and ground truth."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from anml.core.errors import InputError
from anml.core.text import pluralise
from anml.io.contributions import (
    ANNOTATION,
    IS_TRUTH,
    TIME_SPENT_COLUMN,
    UNKNOWN_REVIEWER,
    Chosen,
    Contributions,
    as_object,
    as_object_list,
    assemble,
    export_records,
    label_text,
    scalar_fields,
    utc_text,
)
from anml.io.file import InputFile
from anml.io.unsupported import reject_span_answers

# Reviews by the last action on an annotation, where the list of reviews is not exported.
_ACTIONS = {"accepted": "review-accepted", "fixed_and_accepted": "fixed", "rejected": "review-rejected"}


def annotations_of(
    tasks: list[dict[str, Any]], where: str = ""
) -> Iterator[tuple[str, dict[str, Any], str, dict[str, Any]]]:
    """Every annotation: its task's name, the task, its own name (or place in the task), and itself."""
    for number, task in enumerate(tasks):
        item = str(task.get("id", number))
        listed = task.get("annotations") or task.get("completions")
        for place, annotation in enumerate(as_object_list(listed, f"annotations of task {item}{where}")):
            yield item, task, str(annotation.get("id", f"{item}/{place}")), annotation


def read_label_studio(file: InputFile, columns: Chosen) -> Contributions:
    """Read an export; the label names the control tag (`from_name`) where a task has several."""
    tasks, where, question = export_records(file), f" in {file.path.name}", columns.get("label")
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
        annotator, about = annotator_id(annotation.get("completed_by")), _annotation_metadata(annotation)
        row = {"item": item, "contributor": annotator, "label": label, **about, ANNOTATION: name}
        # The ground truth itself is not scored against itself.
        row |= {IS_TRUTH: True} if row.pop(IS_TRUTH) else {"truth": truths.get(item)}
        rows.append(row | scalar_fields(as_object(task.get("data"), f"data of task {item}{where}")))
        evidence += _reviews(item, annotator, annotation)
    left = {name: (f"{name} annotation was", f"{name} annotations were") for name in skipped}
    warnings = [f"{pluralise(count, *left[name])} left out" for name, count in skipped.items() if count]
    return assemble("label-studio", rows, evidence, warnings)


class FinishedAnnotation(NamedTuple):
    """The last finished annotation of an annotator in a task, with the `details` beside its labels."""

    item: str
    task: dict[str, Any]
    name: str
    annotator: str
    annotation: dict[str, Any]
    details: dict[str, Any]

    def results(self, question: str | None = None) -> list[dict[str, Any]]:
        """Return the results of the annotation, or those of one question."""
        entries = as_object_list(self.annotation.get("result"), "the result of an annotation")
        return [each for each in entries if question in (None, each.get("from_name"))]


def last_annotations(tasks: list[dict[str, Any]]) -> tuple[list[FinishedAnnotation], list[str]]:
    """Return the last annotation of each annotator in each task, and notes about the excluded ones."""
    last: dict[tuple[str, str], FinishedAnnotation] = {}
    left = again = 0
    texts: dict[str, Any] = {}
    for item, task, name, annotation in annotations_of(tasks):
        if texts.setdefault(item, task.get("data")) != task.get("data"):
            raise InputError(f"two tasks with other data are called {item}; give every task an id of its own")
        annotator = annotator_id(annotation.get("completed_by"))
        if annotation.get("was_cancelled") or annotator is None:
            left += 1
            continue
        again += (item, annotator) in last
        last[item, annotator] = FinishedAnnotation(
            item, task, name, annotator, annotation, _annotation_metadata(annotation)
        )
    notes = [f"{pluralise(left, 'annotation')} cancelled, or by nobody, left out"] if left else []
    twice = pluralise(again, "annotation")
    notes += [f"{twice} left out: the same person annotated the task again later"] if again else []
    return [*last.values()], notes


def _annotation_metadata(annotation: dict[str, Any]) -> dict[str, Any]:
    """Return the time of an annotation, its ground-truth mark, and the time spent, if recorded."""
    about = {"time": utc_text(annotation.get("created_at")), IS_TRUTH: bool(annotation.get("ground_truth"))}
    spent = annotation.get(TIME_SPENT_COLUMN)
    return about | ({TIME_SPENT_COLUMN: float(spent)} if isinstance(spent, int | float) else {})


def annotator_id(value: Any) -> str | None:
    """Return the annotator's identifier: an integer in some exports, a record with e-mail in others."""
    if isinstance(value, dict):
        value = value.get("email") or value.get("username") or value.get("id")
    return None if value is None or value == "" else str(value)


def annotation_label(annotation: dict[str, Any], question: str | None) -> str | None:
    """Return the label of an annotation for a question, as text; None without an answer."""
    results = as_object_list(annotation.get("result"), "the result of an annotation")
    results = [r for r in results if isinstance(r.get("value"), dict)]
    tags = sorted({str(r.get("from_name", "")) for r in results})
    if question is not None:
        results = [r for r in results if r.get("from_name") == question]
    elif len(tags) > 1:
        raise InputError(f"tasks have several questions ({', '.join(tags)}); name one of them")
    values = [_answer(r) for r in results]
    return label_text(values[0] if len(values) == 1 else [answer for answer in values if answer is not None])


def _answer(result: dict[str, Any]) -> Any:
    """Return the value of a result: the one named after its type, else its only value."""
    value, kind = result["value"], result.get("type")
    reject_span_answers(value, f" to {result.get('from_name')!r}")
    if isinstance(kind, str) and kind in value:
        return value[kind]
    return next(iter(value.values())) if len(value) == 1 else (value or None)


def _reviews(item: str, contributor: str | None, annotation: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the attestations about an annotation: its reviews, else the last action on it."""
    reviews = []
    for review in as_object_list(annotation.get("reviews"), "the reviews of an annotation"):
        kind = "review-accepted" if review.get("accepted") else "review-rejected"
        if kind == "review-accepted" and (review.get("fixed_annotation_history") or review.get("fixed")):
            kind = "fixed"
        reviews.append((kind, review.get("created_by"), review.get("created_at")))
    if not reviews and (action := _ACTIONS.get(str(annotation.get("last_action")))):
        reviews = [(action, annotation.get("updated_by"), annotation.get("updated_at"))]
    for kind, by, at in reviews if contributor is not None else ():
        issuer = annotator_id(by) or UNKNOWN_REVIEWER
        yield {"item": item, "contributor": contributor, "kind": kind, "issuer": issuer, "at": utc_text(at)}

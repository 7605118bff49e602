"""Exports of labelling tools in JSON: tasks of Label Studio, and records of Argilla, nested or flattened."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from anml.core.errors import InputError
from anml.core.words import counted
from anml.intake.contributions import (
    ANNOTATION,
    IS_TRUTH,
    SPENT,
    UNKNOWN_REVIEWER,
    Contributions,
    entries,
    gather,
    label_text,
    record,
    records,
    scalars,
    utc_text,
)
from anml.intake.file import File, as_file
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


def read_label_studio(source: Path | File, question: str | None = None) -> Contributions:
    """Read an export; `question` is the control tag (`from_name`) where a task has several."""
    file = as_file(source)
    tasks, where = entries(file), f" in {file.path.name}"
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
        label = annotation_label(annotation, question)
        if label is None:
            skipped["empty"] += 1
            continue
        is_truth, spent = bool(annotation.get("ground_truth")), annotation.get(SPENT)
        row: dict[str, Any] = {
            "item": item,
            "contributor": account(annotation.get("completed_by")),
            "label": label,
            "time": utc_text(annotation.get("created_at")),
            # The ground truth itself is not scored against itself.
            "truth": None if is_truth else truths.get(item),
            **({IS_TRUTH: True} if is_truth else {}),
            **({SPENT: float(spent)} if isinstance(spent, int | float) else {}),
            ANNOTATION: name,
        }
        rows.append(row | scalars(record(task.get("data"), f"data of task {item}{where}")))
        evidence += _reviews(item, row["contributor"], annotation)
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
        about: dict[str, Any] = {
            "time": utc_text(annotation.get("created_at")),
            IS_TRUTH: bool(annotation.get("ground_truth")),
        }
        spent = annotation.get(SPENT)
        about |= {SPENT: float(spent)} if isinstance(spent, int | float) else {}
        again += (item, who) in last
        last[item, who] = Finished(item, task, name, who, annotation, about)
    said = [f"{counted(left, 'annotation')} cancelled, or by nobody, left out"] if left else []
    twice = counted(again, "annotation")
    said += [f"{twice} left out: the same person annotated the task again later"] if again else []
    return [*last.values()], said


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
    if who is None:
        return
    base = {"item": item, "contributor": who}
    reviews = records(annotation.get("reviews"), "the reviews of an annotation")
    for review in reviews:
        kind = "review-accepted" if review.get("accepted") else "review-rejected"
        fixed = review.get("fixed_annotation_history") or review.get("fixed")
        issuer = account(review.get("created_by")) or UNKNOWN_REVIEWER
        yield base | {
            "kind": "fixed" if kind == "review-accepted" and fixed else kind,
            "issuer": issuer,
            "at": utc_text(review.get("created_at")),
        }
    action = _ACTIONS.get(str(annotation.get("last_action")))
    if action and not reviews:
        issuer = account(annotation.get("updated_by")) or UNKNOWN_REVIEWER
        yield base | {
            "kind": action,
            "issuer": issuer,
            "at": utc_text(annotation.get("updated_at")),
        }


# What counts of what was answered; an export without statuses says of none that it is a draft.
SUBMITTED = (None, "submitted")
NO_STATUS = (
    "this export does not say which responses are drafts or discarded, so they count as submitted; "
    "export flattened records to keep the status"
)


def read_argilla(source: Path | File, question: str | None = None, time: str | None = None) -> Contributions:
    """Read an export; `question` names one of several, `time` a metadata field with the time."""
    file = as_file(source)
    found = entries(file)
    name = question_of(found, question)
    rows: list[dict[str, Any]] = []
    statuses: list[str | None] = []
    for item, entry, value, user, status in answers_to(found, name):
        meta = record(entry.get("metadata"), f"metadata of record {item} in {file.path.name}")
        when = meta.get(time, entry.get(f"metadata.{time}", entry.get(time))) if time else None
        statuses.append(status)
        if status not in SUBMITTED:
            continue
        refuse_places(value, f" to {name!r}")
        label = label_text(value)
        if label is not None:
            row = {"item": item, "contributor": user, "label": label, "time": utc_text(when)}
            rows.append(row | fields_of(entry))
    dropped = sum(status not in SUBMITTED for status in statuses)
    warnings = [NO_STATUS] if None in statuses else []
    left = counted(dropped, "response that was not submitted was", "responses that were not submitted were")
    warnings += [f"{left} left out"] if dropped else []
    if time is None:
        warnings.append("Argilla keeps no time for each response; name a metadata field that has one")
    return gather("argilla", rows, (), warnings)


def answers_to(
    found: list[dict[str, Any]], name: str
) -> Iterator[tuple[str, dict[str, Any], Any, str | None, str | None]]:
    """Every response to a question: its record's name, the record, value, user and status."""
    for number, entry in enumerate(found):
        for value, user, status in responses_to(entry, name):
            yield record_name(entry, number), entry, value, user, status


def record_name(entry: dict[str, Any], number: int) -> str:
    """What a record is called: by its own name, that of the server, or its place."""
    return str(entry.get("id") or entry.get("_server_id") or number)


def question_of(found: list[dict[str, Any]], wanted: str | None) -> str:
    """The question that is asked, by name; the one there is where none is wanted."""
    nested = {name for entry in found for name in record(entry.get("responses"), "responses of a record")}
    flat = {key.removesuffix(".responses") for entry in found for key in entry if key.endswith(".responses")}
    names = sorted(nested | flat)
    if wanted is not None:
        if wanted not in names:
            raise InputError(f"there is no question {wanted!r}; this export has: {', '.join(names)}")
        return wanted
    if len(names) != 1:
        raise InputError(f"name one question of this export; it has: {', '.join(names) or 'none'}")
    return names[0]


def responses_to(entry: dict[str, Any], name: str) -> Iterator[tuple[Any, str | None, str | None]]:
    """Value, user and status of each response to a question."""
    for response in records(record(entry.get("responses"), "responses").get(name), f"responses to {name}"):
        user = response.get("user_id")
        yield response.get("value"), None if user is None else str(user), response.get("status")
    columns = [_listed(entry, f"{name}.responses{part}") for part in ("", ".users", ".status")]
    values, users, statuses = (column or [None] * len(columns[0]) for column in columns)
    if not len(values) == len(users) == len(statuses):
        raise InputError(f"{name}.responses, users and status of a record differ in length")
    for value, user, status in zip(values, users, statuses, strict=True):
        yield value, None if user is None else str(user), status


def _listed(entry: dict[str, Any], key: str) -> list[Any]:
    found = entry.get(key)
    if found is not None and not isinstance(found, list):
        raise InputError(f"{key} must be a list, got {str(found)[:40]!r}")
    return found or []


def fields_of(entry: dict[str, Any]) -> dict[str, Any]:
    """What a record shows: the plain values of its fields."""
    nested = entry.get("fields")
    if isinstance(nested, dict):
        return scalars(nested)
    own = ("id", "status", "_server_id")
    return scalars({name: value for name, value in entry.items() if "." not in name and name not in own})

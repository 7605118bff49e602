"""Apply the answers of a review: repeat the audit of a run with the answers."""

import difflib
import math
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from anml.annotators.words import FLAGGED
from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.errors import InputError, UnsupportedError
from anml.core.progress import Progress
from anml.core.text import join_names
from anml.io.labels import match_set_spelling
from anml.io.plain import as_text
from anml.io.source import Source
from anml.io.tasks.preferences import normalise_choice
from anml.io.tasks.types import ORDINAL, PREFERENCE
from anml.pipeline.media import audit_media
from anml.pipeline.read import Run, read_run
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult
from anml.pipeline.review_queue import TRUE_LABEL, QueueInput, build_queue, queue_input_from_run
from anml.pipeline.rounds import (
    ANSWER_KINDS,
    ANSWERED,
    AS_GOLD,
    ROLES,
    NewLabel,
    Roles,
    Round,
    apply_answers_to_table,
    read_rounds,
    rounds_file,
    source_of,
)
from anml.pipeline.sources import folder_of
from anml.pipeline.tasks.dispatch import audit_shape
from anml.pipeline.write import REVIEW_FILE
from anml.review.answers import read_answers
from anml.review.assign import Prices, parse_number
from anml.schema import Encoder, options_from


@dataclass(frozen=True)
class RelabelResult:
    """The run before and after, all review rounds, and the text of all answers.

    A round has `n_answers`, `n_changed` (labels), `expected_changed` (of the items in the queue),
    `expected_wrong_before` and `expected_wrong_after` (wrong labels among items without an answer), `cost`.
    """

    before: dict[str, Any]
    after: AuditResult
    flagged_before: list[str]
    rounds: list[dict[str, Any]]
    file: str


def apply_answers(
    folder: Path, file: Path | None = None, *, data: Path | None = None, test: Any = None,
    kind: str = AS_GOLD, new_labels: bool = False, prices: Prices | None = None,
    progress: Progress | None = None,
) -> RelabelResult:  # fmt: skip
    """Repeat the audit of a run with the answers of a file, or of `anml review`."""
    one_of("as", kind, ANSWER_KINDS)
    run, file = read_run(folder), file or folder / REVIEW_FILE
    inputs = queue_input_from_run(folder, run)
    source = source_of(inputs, folder, data)
    shape = None if source.shape is None else source.shape.kind
    exported = (None, ORDINAL) if source.format != "label-studio" else (None, ORDINAL, PREFERENCE)
    if shape not in exported and file.suffix.lower() != ".csv" and file.name != REVIEW_FILE:
        why = f"answers to {shape} in {file.name} cannot be applied"
        raise UnsupportedError(f"{why}; audit the new export, or fill in a table (relabel --out FILE.csv)")
    request = request_from_run(run)
    answers = read_answers(file, source, inputs.samples, kind)
    if shape == PREFERENCE:
        answers = {row: each._replace(label=normalise_choice(each.label)) for row, each in answers.items()}
    answers = validate_answers(answers, inputs, request.label_type, new_labels)
    before: Roles = {role: getattr(request, role) for role in ROLES} | {
        "numbers": request.label_type == "regression"
    }
    table, roles = apply_answers_to_table(source.table, before, answers, kind)
    named = {role: roles[role] for role in ROLES if roles[role] is not None}
    if source.shape is not None:
        result = audit_shape(source._replace(table=table), replace(request, **named), progress)
    else:
        encoder, place = encoder_from_run(run), folder_of(source.path)
        result = audit_media(table, replace(request, **named), encoder, place, test=test, progress=progress)
    digest = inputs.data.get("answers_sha256")
    earlier: list[Round] = [] if digest is None else read_rounds(folder, digest)
    text = rounds_file([*earlier, (kind, answers)])
    this = _new_round(inputs, answers, kind, prices or Prices())
    result = _record_location(_fill_answered(result, table.frame), inputs, source, text, before)
    this["expected_wrong_after"] = result.queue.expected
    rounds = [*inputs.data.get("rounds", []), this]
    # The settings of the first run are those of all rounds.
    config = run.info.get("config", {})
    result = replace(result, data={**result.data, "rounds": rounds}, config=config)
    flagged = [name for name, verdict in inputs.verdicts.items() if verdict in FLAGGED]
    return RelabelResult(run.info, result, sorted(flagged), rounds, text)


def _fill_answered(result: AuditResult, frame: pl.DataFrame) -> AuditResult:
    """Set the answers as suggested labels of the result, including new labels."""
    if result.task != "classification" or ANSWERED not in frame.columns:
        return result
    answer = frame[ANSWERED][result.samples["row"].to_numpy()]
    samples = result.samples.with_columns(answer.alias("_told"))
    is_answered = pl.col("_told").is_not_null()
    samples = samples.with_columns(
        pl.coalesce("_told", TRUE_LABEL).alias(TRUE_LABEL),
        suggested_label=pl.coalesce("_told", "suggested_label"),
        p_suggested_label=pl.when(is_answered).then(1.0).otherwise("p_suggested_label"),
    )
    return replace(result, samples=samples.drop("_told"))


def _record_location(
    result: AuditResult, inputs: QueueInput, source: Source, text: str, roles: Roles
) -> AuditResult:
    """Add the path of the data and the hash of the answers to the result, for the next round."""
    about = inputs.data
    kept = {name: about[name] for name in ("named", "format") if name in about}
    assert source.path is not None
    kept |= {"path": str(source.path.absolute()), "roles": about.get("roles") or roles}
    digests = {
        "source_sha256": about.get("source_sha256", about.get("sha256")),
        "answers_sha256": sha256(text.encode()),
    }
    return replace(result, data={**result.data, **kept, **digests})


def _new_round(inputs: QueueInput, answers: dict[int, NewLabel], kind: str, prices: Prices) -> dict[str, Any]:
    queue = build_queue(inputs)
    listed = queue.rows.filter(pl.col("row").is_in(list(answers)))
    given = dict(inputs.samples.select("row", as_text(inputs.samples["label"]).alias("label")).iter_rows())
    now = dict(queue.rows.select("row", "consensus_label").drop_nulls().iter_rows())
    changed = sum(now.get(row, given[row]) != answer.label for row, answer in answers.items())
    costs = [prices.of(answer.by) for answer in answers.values()]
    return {
        "as": kind,
        "n_answers": len(answers),
        "n_changed": changed,
        "expected_changed": (float(listed["p_label_wrong"].sum()) if listed.height == len(answers) else None),
        "expected_wrong_before": queue.expected,
        "cost": None if None in costs else sum(cost or 0.0 for cost in costs),
    }


def validate_answers(
    answers: dict[int, NewLabel], inputs: QueueInput, task: str, new_labels: bool
) -> dict[int, NewLabel]:
    """Raise if an answer is not a label of the table; return tags in the order of the table."""
    if task == "regression":
        for answer in answers.values():
            if (number := parse_number(answer.label)) is None or not math.isfinite(number):
                raise InputError(f"labels of this table are numbers, got the answer {answer.label!r}")
        return answers
    labels = known_labels(inputs)
    spelled = match_set_spelling({answer.label for answer in answers.values()}, labels)
    answers = {row: each._replace(label=spelled.get(each.label, each.label)) for row, each in answers.items()}
    new = sorted({answer.label for answer in answers.values()} - labels)
    if not new or new_labels:
        return answers
    names = {name.lower(): name for name in labels}
    close = {label: difflib.get_close_matches(label.lower(), names, n=1) for label in new}
    hints = {label: f" (did you mean {names[near[0]]!r}?)" for label, near in close.items() if near}
    shown = join_names([f"{label!r}{hints.get(label, '')}" for label in new])
    why = f"answers that are not labels of this table: {shown}"
    raise InputError(f"{why}; correct them, or allow them with --allow-new-labels")


def known_labels(inputs: QueueInput) -> set[str]:
    """Labels that the data of a run have, as given or as true labels."""
    columns = [name for name in ("label", TRUE_LABEL) if name in inputs.samples.columns]
    return {label for name in columns for label in as_text(inputs.samples[name].drop_nulls().unique())}


def encoder_from_run(run: Run) -> Encoder:
    """Return the encoder of images or texts of a run from its record; a function is not in it."""
    settings = run.info.get("config", {}).get("encoder", {})
    if not isinstance(settings.get("model", ""), str):
        raise UnsupportedError("a run with a function as encoder cannot be repeated from its record")
    encoder: Encoder = options_from(Encoder, settings)
    return encoder


def request_from_run(run: Run) -> Request:
    """Return the request of a run from its record."""
    info = run.info
    about = info.get("data") or {}
    given = ({"predictions", "embeddings"} & about.keys()).difference(about.get("computed", ()))
    if (given and run.kind is None) or "candidates" in about:
        why = "a run with predictions or embeddings cannot be repeated from its record"
        raise UnsupportedError(f"{why}; audit the new labels with the options of that run")
    roles = dict(info.get("schema") or {})
    recipe = dict(info.get("recipe") or {})
    try:
        features, named = roles.pop("features"), info["config"].get("schema", {})
        if "time" not in named and recipe["half_life"] is None:
            # An inferred time column was not used; a named one would be.
            roles.pop("time", None)
        return Request(
            **roles, features=features, task="classification" if run.kind else run.task or "auto",
            recipe=recipe, seed=info["random_state"], evaluate=info.get("evaluation") is not None,
        )  # fmt: skip
    except (KeyError, TypeError):
        raise InputError("run.json does not have the settings of the run; write the run again") from None

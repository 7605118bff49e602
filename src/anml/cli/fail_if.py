"""`--fail-if`: a condition on contributors or on the run that sets the exit code."""

import operator
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from anml.annotators.words import FLAGGED
from anml.core.errors import InputError, UnknownNameError, UnsupportedError
from anml.report.printable import join_display_names

if TYPE_CHECKING:
    from anml.pipeline.result import AuditResult

# Metrics of a contributor, metrics of the run, and conditions without a metric.
CONTRIBUTOR_METRICS = (
    "accuracy", "accuracy_low", "accuracy_high", "kappa", "kappa_low", "kappa_high",
    "model_agreement", "mean_q", "rows", "kept", "kept_share", "row_share", "weight_share",
)  # fmt: skip
RUN_METRICS: dict[str, Callable[["AuditResult"], float | None]] = {
    "label_error_rate": lambda result: result.label_error_rate.mean,
    "error": lambda result: None if result.evaluation is None else result.evaluation.results[-1].error.mean,
}
BOOLEAN_CONDITIONS = ("flagged", "disputed")
OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip


class Check(NamedTuple):
    """One condition; `flagged` and `disputed` have no sign and no limit."""

    name: str
    sign: str = ""
    limit: float = 0.0


def parse_condition(text: str | None) -> list[Check]:
    """Read a condition such as `accuracy<0.6` or `label_error_rate>10% or flagged`."""
    return [] if text is None else [_part(each.strip(), text) for each in re.split(r"\bor\b", text)]


def _part(text: str, whole: str) -> Check:
    if text in BOOLEAN_CONDITIONS:
        return Check(text)
    match = re.fullmatch(r"([a-z_]+)\s*(<=|>=|<|>)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)(%?)", text)
    name, sign, limit, percent = match.groups() if match else ("", "", "", "")
    try:
        value = float(limit) / (100 if percent else 1)
    except ValueError:
        allowed = "accuracy<0.6, label_error_rate>10%, flagged or disputed"
        why = f"--fail-if takes conditions such as {allowed}, joined by or"
        raise InputError(f"{why}, got {whole!r}") from None
    if name not in (*CONTRIBUTOR_METRICS, *RUN_METRICS):
        raise UnknownNameError(
            "metric in --fail-if", name, (*CONTRIBUTOR_METRICS, *RUN_METRICS, *BOOLEAN_CONDITIONS)
        )
    if name in ("rows", "kept") and 0 < value < 1:
        raise InputError(
            f"{name} in --fail-if is a number of rows, got {whole!r}; kept_share is the kept share"
        )
    return Check(name, sign, value)


def evaluate_condition(condition: list[Check], result: "AuditResult") -> list[str]:
    """Return a sentence for each part of the condition that holds."""
    return [failure for part in condition if (failure := _failure(part, result))]


def _failure(part: Check, result: "AuditResult") -> str:
    if part.name == "disputed":
        from anml.report.summary import dispute_text

        return (
            f"the result is disputed: {dispute_text(result.disputed_share)}" if result.disputed_share else ""
        )
    people = result.contributors
    if part.name == "flagged":
        flagged = people if people.is_empty() else people.filter(people["verdict"].is_in(FLAGGED))
        return f"flagged: {join_display_names(flagged['contributor'].to_list())}" if flagged.height else ""
    holds = OPERATORS[part.sign]
    if part.name in RUN_METRICS:
        if (figure := RUN_METRICS[part.name](result)) is None:
            raise UnsupportedError(f"the run has no {part.name}, since the evaluation was switched off")
        return f"{part.name} is {figure:.3g}" if holds(figure, part.limit) else ""
    if part.name not in people.columns:
        raise UnsupportedError(f"--fail-if {part.name} needs a contributor column")
    pairs = people.select("contributor", part.name).iter_rows()
    bad = [(str(name), figure) for name, figure in pairs if figure is not None and holds(figure, part.limit)]
    return (
        f"{part.name} of {join_display_names([f'{name} is {figure:.3g}' for name, figure in bad])}"
        if bad
        else ""
    )


def fail(condition: list[Check], text: str | None, result: "AuditResult") -> None:
    """Stop with exit code 1 if the condition holds, with the reason on the error stream."""
    if failures := evaluate_condition(condition, result):
        print(f"failed ({text}): {'; '.join(failures)}", file=sys.stderr)
        raise SystemExit(1)

"""`--fail-if`: a condition on contributors or on the run, for pipelines that must stop."""

import operator
import re
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from anml.core.errors import InputError, UnknownNameError, UnsupportedError
from anml.core.people.words import ACCUSED
from anml.surfaces.names import names_listed

if TYPE_CHECKING:
    from anml.app.audit.result import Audited

# What a condition may be about: figures of a contributor, figures of the run, and plain facts.
OF_CONTRIBUTORS = (
    "quality", "quality_low", "quality_high", "reliability", "reliability_low", "reliability_high",
    "agreement", "q", "rows", "kept", "row_share", "weight_share",
)  # fmt: skip
OF_RUN: dict[str, Callable[["Audited"], float | None]] = {
    "wrong": lambda result: result.wrong.mean,
    "error": lambda result: None if result.comparison is None else result.comparison.ways[-1].error.mean,
}
FACTS = ("accused", "doubtful")
SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le, ">=": operator.ge, "<": operator.lt, ">": operator.gt,
}  # fmt: skip


class Check(NamedTuple):
    """One comparison; a fact has neither sign nor limit."""

    name: str
    sign: str = ""
    limit: float = 0.0


def condition_of(text: str | None) -> list[Check]:
    """Read a condition such as `quality<0.6` or `wrong>0.1 or accused`: comparisons of which one suffices."""
    return [] if text is None else [_part(each.strip(), text) for each in re.split(r"\bor\b", text)]


def _part(text: str, whole: str) -> Check:
    if text in FACTS:
        return Check(text)
    found = re.fullmatch(r"([a-z_]+)\s*(<=|>=|<|>)\s*([-+]?[\d.]+(?:[eE][-+]?\d+)?)(%?)", text)
    name, sign, limit, percent = found.groups() if found else ("", "", "", "")
    try:
        value = float(limit) / (100 if percent else 1)
    except ValueError:
        why = "--fail-if takes conditions such as quality<0.6, wrong>10%, accused or doubtful, joined by or"
        raise InputError(f"{why}, got {whole!r}") from None
    if name not in (*OF_CONTRIBUTORS, *OF_RUN):
        raise UnknownNameError("figure in --fail-if", name, (*OF_CONTRIBUTORS, *OF_RUN, *FACTS))
    return Check(name, sign, value)


def failures(condition: list[Check], result: "Audited") -> list[str]:
    """What fails, one sentence for each part of the condition that holds."""
    return [said for part in condition if (said := _failure(part, result))]


def _failure(part: Check, result: "Audited") -> str:
    if part.name == "doubtful":
        from anml.surfaces.summary import reason_for_doubt

        return f"the result is doubtful: {reason_for_doubt(result.doubtful)}" if result.doubtful else ""
    people = result.contributors
    if part.name == "accused":
        found = people if people.is_empty() else people.filter(people["verdict"].is_in(ACCUSED))
        return f"accused: {names_listed(found['contributor'].to_list())}" if found.height else ""
    held = SIGNS[part.sign]
    if part.name in OF_RUN:
        if (figure := OF_RUN[part.name](result)) is None:
            raise UnsupportedError(f"{part.name} was not measured; leave --no-compare out")
        return f"{part.name} is {figure:.3g}" if held(figure, part.limit) else ""
    if part.name not in people.columns:
        raise UnsupportedError(f"--fail-if asks for {part.name}, and no contributors are known in this run")
    pairs = people.select("contributor", part.name).iter_rows()
    bad = [(str(who), figure) for who, figure in pairs if figure is not None and held(figure, part.limit)]
    return f"{part.name} of {names_listed([f'{who} is {figure:.3g}' for who, figure in bad])}" if bad else ""


def fail(condition: list[Check], text: str | None, result: "Audited") -> None:
    """Stop with exit code 1 where the condition holds, saying of whom; what was found has been shown."""
    if said := failures(condition, result):
        print(f"failed ({text}): {'; '.join(said)}", file=sys.stderr)
        raise SystemExit(1)

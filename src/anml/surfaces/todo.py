"""What to do next: how many rows to check first, and what that is expected to gain."""

from typing import NamedTuple

from anml.app.audit.result import Audited
from anml.core.domain import PREFERENCE
from anml.core.people.consensus import CLEAR
from anml.core.people.words import ACCUSED, LESS
from anml.core.words import counted
from anml.surfaces.accused import NAME, kind_of
from anml.surfaces.names import names_listed
from anml.surfaces.tables import queue


class Gain(NamedTuple):
    """Items in the queue, how many of their labels are expected to be wrong, and shares before and after."""

    rows: int
    wrong: float
    before: float
    after: float


def todo(result: Audited) -> list[str]:
    """What to do, most useful first, in sentences."""
    if reason_for_doubt(result):
        needed = _needed(result) or "right labels for some rows of both sides"
        return [
            f"Get {needed}: that would settle it.",
            "Until then, do not drop, relabel or pay by this result.",
        ]
    said = [*_talk(result), *_checks(result)]
    if needed := _needed(result):
        said.append(f"To judge those left open, get {needed}.")
    return said


def gain(result: Audited) -> Gain:
    """What working through the queue is expected to gain; counts are of all rows judged."""
    first = queue(result)
    # Of a run slice by slice the rows at hand are a sample.
    factor = result.data["rows"] / result.samples.height if sampled(result) else 1.0
    before, after = first.expected / first.units, (first.expected - first.gain) / first.units
    return Gain(round(first.candidates * factor), first.gain * factor, before, after)


def sampled(result: Audited) -> bool:
    """Whether the rows at hand are a sample of those that were judged."""
    return "kept" in result.data


def reason_for_doubt(result: Audited) -> str | None:
    """Why the result must not be relied on; None where it may."""
    whole = not sampled(result)
    return result.gate.reason if whole and result.gate.branch == "doubtful" else result.doubtful


def _talk(result: Audited) -> list[str]:
    """What to do about people: talk to those who are accused, then train those who are less reliable."""
    people = result.contributors
    if people.is_empty():
        return []

    def named(*verdicts: str) -> str:
        names = people.filter(people["verdict"].is_in(verdicts))["contributor"]
        return names_listed(names.to_list(), NAME) if len(names) else ""

    accused, less = named(*ACCUSED), named(LESS)
    said = f"Talk to {accused}, with examples of their rows; hold back new items until then."
    return [
        *([said] if accused else []),
        *([f"Show {less} which of their labels look wrong."] if less else []),
    ]


def _checks(result: Audited) -> list[str]:
    found = gain(result)
    what = "item" if "item" in result.samples.columns else "row"
    one = "label" if result.shape is None else "answer"
    if not found.rows:
        return [f"No {what} needs a second look: every {one} is at least {CLEAR:.0%} sure, or settled."]
    about = "about " if sampled(result) else ""
    if found.rows == 1:
        labels = f"its {one} may be wrong" if found.wrong < 0.5 else f"its {one} is likely to be wrong"
    elif found.wrong < 1:
        labels = "fewer than one is expected to be wrong"
    else:
        labels = f"about {found.wrong:,.0f} {'is' if round(found.wrong) == 1 else 'are'} expected to be wrong"
    before, after = _share(found.before), _share(found.after)
    mended = f"That cuts {what}s with a wrong {one} from {before} to {after}."
    if before == after:
        mended = f"After that {after} of the {what}s would still have a wrong {one}."
    return [f"Check {about}{counted(found.rows, what)}: {labels}. {mended}"]


def _share(share: float) -> str:
    return "under 1%" if share < 0.01 else f"about {share:.0%}"


def _needed(result: Audited) -> str:
    """How many known labels would settle what cannot be told; empty where that is not known."""
    people = result.contributors
    asked = people["settled_by"].to_list() if "settled_by" in people.columns else []
    rows, whom = sum(asked), sum(each > 0 for each in asked)
    if not whom:
        return ""
    if kind_of(result) == PREFERENCE:
        return f"about {counted(rows, 'more comparison')} by {counted(whom, 'contributor')}"
    return f"known labels for about {counted(rows, 'row')} of {counted(whom, 'contributor')}"

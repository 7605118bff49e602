"""What to do next: how many rows to check first, and what that is expected to gain."""

from typing import NamedTuple

from anml.app.result import Audited
from anml.core.verdicts import UNSURE
from anml.core.words import counted
from anml.surfaces.tables import to_look_at

# What would help where the model has nothing to say of it; others' labels are no news where there are some.
HELP = "right labels for some of their rows"
MORE_HELP = "right labels for some of their rows, or labels of the same items by others"
# How the model ends what it says of it.
SETTLES = " would settle it"


class Gain(NamedTuple):
    """Rows to check first, how many of their labels are expected to be wrong, and shares before and after."""

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
    said = _checks(result)
    if result.help or _unsure(result):
        needed = _needed(result) or (MORE_HELP if result.items is None else HELP)
        said.append(f"To judge those left open, get {needed}.")
    return said


def gain(result: Audited) -> Gain:
    """What checking the rows to look at first is expected to gain; counts are of all rows judged."""
    first, n = to_look_at(result), result.samples.height
    # Of a run slice by slice the rows at hand are a sample.
    factor = result.data["rows"] / n if sampled(result) else 1.0
    wrong = float((1 - first["p_correct"]).sum())
    before = result.wrong.mean
    return Gain(round(first.height * factor), wrong * factor, before, max(before - wrong / n, 0.0))


def sampled(result: Audited) -> bool:
    """Whether the rows at hand are a sample of those that were judged."""
    return "kept" in result.data


def reason_for_doubt(result: Audited) -> str | None:
    """Why the result must not be relied on; None where it may."""
    whole = not sampled(result)
    return result.gate.reason if whole and result.gate.branch == "doubtful" else result.doubtful


def _checks(result: Audited) -> list[str]:
    found = gain(result)
    if not found.rows or found.wrong < 0.5:
        return ["No row needs a second look: no label is likely to be wrong."]
    about = "about " if sampled(result) else ""
    rows = "1 row" if found.rows == 1 else f"{about}{found.rows:,} rows"
    labels = (
        "its label is likely to be" if found.rows == 1 else f"about {found.wrong:,.0f} are expected to be"
    )
    said = [f"Check {rows} first: {labels} wrong. {_mended(found)}"]
    if (alone := int(to_look_at(result)["alone"].sum())) > 0:
        rest = "rests" if alone == 1 else "rest"
        said.append(f"{counted(alone, 'row')} of them {rest} on one contributor alone.")
    elif not (to_look_at(result)["p_correct"] < 0.5).any():
        said.append("No single label is more likely wrong than right; these are the least sure.")
    return said


def _mended(found: Gain) -> str:
    before, after = _share(found.before), _share(found.after)
    if before == after:
        return f"About {after} of all labels would still be wrong after that."
    return f"Relabelling them cuts the wrong labels from {before} to {after} of all."


def _share(share: float) -> str:
    return "under 1%" if share < 0.01 else f"about {share:.0%}"


def _unsure(result: Audited) -> bool:
    return not result.contributors.is_empty() and bool((result.contributors["verdict"] == UNSURE).any())


def _needed(result: Audited) -> str:
    """What to get, of what the model says would help; a second label is no news where items have some."""
    needed = (result.help or "").rstrip(".").removesuffix(SETTLES).rstrip(",")
    return needed if result.items is None else needed.partition(", or a second label")[0]

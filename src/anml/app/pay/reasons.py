"""What a statement says in words: how the amount came about, why, and how to disagree."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anml.core.money import show_amount, show_money
from anml.core.people.words import UNSURE
from anml.core.settle import UNIT
from anml.core.signals.policy import EVIDENCE, Evidence, Standing
from anml.core.words import counted
from anml.ledger import people
from anml.ledger.log import Event, shown_date
from anml.ledger.money_parts import DAYS, Dispute
from anml.ledger.parts import Staff
from anml.ledger.reading import Reading
from anml.ledger.rules_money import REASONS
from anml.ledger.store import Ledger

if TYPE_CHECKING:
    from anml.app.pay.statement import Scene

# How many tasks a sentence names.
NAMED = 8
_WEIGHED = {
    "p_correct": "by the probability that each is right",
    "product": "by quality, verification, reputation and freshness",
    "blend": "by their weight in training",
    "equal": "alike",
}
_ESTIMATED = {
    "right": "An estimated {:.0%} of your labels are right ({:.0%} to {:.0%})",
    "reliability": "reliability {:.2f} ({:.2f} to {:.2f}), where 1 is always right and 0 is guessing",
}
# What is shown of a dispute as the ledger has it.
_AS_DISPUTED = ("opened", "reason", "answered", "resolved", "resolved_by", "state")


def how(made: Mapping[str, Any], line: Mapping[str, Any], share: int, gross: int) -> str:
    """How the amount came about, in one line."""
    currency, labels = made["currency"], counted(line["counted"], "label", "labels")
    amount, pool = (f"{show_money(micro, currency)} {currency}" for micro in (gross, made["pool"]))
    if made["rate"]:
        return f"{labels} at {_short(made['rate'])} {currency} each: {amount}."
    by, part = _WEIGHED[made["rules"]["weight"]], f"{share / UNIT:.4%}"
    return f"Your {labels}, weighed {by}, are {part} of all; that share of {pool} is {amount}."


def _short(micro: int) -> str:
    text = show_amount(micro).rstrip("0")
    return text + "00"[: max(0, 2 - len(text.partition(".")[2]))]


def reasons(
    scene: "Scene", line: Mapping[str, Any], standing: Standing, own: Sequence[Event], amounts: dict[str, int]
) -> list[str]:
    """Why the amount is what it is, one line for each kind of reason."""
    made = scene.manifest
    found = _about_labels(line) + _about_rows(line, made) + _decided(scene, line)
    if own[0].body["share"] >= made["rules"]["max_share"] < UNIT:
        found.append("The share is at the maximum for one contributor.")
    if line["newcomer"] and made["rules"]["newcomer_cap"] < UNIT:
        found.append("New contributors together get at most a set part of the pool while there are others.")
    if line["newcomer"] and standing.newcomer and amounts["held"]:
        found.append(f"Held because the account is new; it needs {' '.join(standing.needs)}.")
    if amounts["returned"]:
        found.append("Held as a newcomer, and released at the reputation reached since.")
    if (last := scene.asked.kept.get((scene.settlement.id, line["pid"]))) and amounts["held"]:
        words = f": {said}" if (said := scene.words.get(last.body["paper"])) else ""
        found.append(f"Held over a flag, as {last.by} decided on {last.at[:10]}{words}.")
    mine = scene.asked.of(scene.settlement.id, line["pid"])
    if mine and not mine[-1].closed:
        found.append("A dispute is open; the held amount waits.")
    elif mine and mine[-1].answer:
        found.append(f"A dispute was {mine[-1].answer.outcome}.")
    if amounts["reversed"]:
        found.append("An amount was reversed; a balance below zero is carried to later settlements.")
    if scene.state.staff.single_person:
        found.append("One person keeps this ledger: drafting and approving were not done by two.")
    return found


def _about_labels(line: Mapping[str, Any]) -> list[str]:
    """What the run found of somebody's labels: how many are right, how sure that is, and what goes wrong."""
    found = []
    for one in line.get("judged", []):
        figures = [(text, one[name]) for name, text in _ESTIMATED.items() if one.get(name)]
        said = [text.format(*(number / UNIT for number in numbers)) for text, numbers in figures]
        if said:
            found.append("; ".join(said) + ".")
        if mostly := one.get("mostly"):
            given, other, count = mostly
            found.append(f"Mostly in doubt: {given!r} where {other!r} is likelier ({count} of your labels).")
    return found


def _decided(scene: "Scene", line: Mapping[str, Any]) -> list[str]:
    """Who decided that somebody gets less than their rows alone would be paid, and why."""
    found, below = scene.settlement, scene.below
    if line["pid"] not in below:
        return []
    money = show_money(below[line["pid"]][1], found.currency)
    why, yours = f": {found.because}" if found.because else "", counted(line["rows"], "row")
    return [
        f"Your {yours} at one rate for everybody's would be {money} {found.currency}. That you get less was "
        f"decided by {found.approved_by} on {str(found.posted)[:10]}, who was shown your line{why}."
    ]


def about_evidence(records: Sequence[Evidence], tasks: Mapping[str, str]) -> list[str]:
    """What others said of the work, one line for each kind, with the tasks by their names."""
    groups: dict[tuple[str, bool], list[Evidence]] = {}
    for e in records:
        groups.setdefault((e.kind, e.vouched == "nobody"), []).append(e)
    found = []
    for (kind, nobody), each in sorted(groups.items()):
        named = sorted({tasks[e.scope] for e in each if e.scope in tasks}, key=lambda name: (len(name), name))
        shown = ", ".join(named[:NAMED]) + (f" and {len(named) - NAMED} more" if len(named) > NAMED else "")
        labels = any(e.scope.startswith("item:") for e in each)
        about = f"{len(each)} of your labels" if labels else "Your work"
        verb = "were" if labels and len(each) != 1 else "was"
        doubt = ", by somebody whose word does not count here" if nobody else ""
        found.append(f"{about} {verb} {EVIDENCE[kind].said}{doubt}{f': task {shown}' if shown else ''}.")
    return found


def task_names(ledger: Ledger, reading: Reading, pids: Sequence[str]) -> dict[str, str]:
    """The names of a contributor's tasks that somebody judged, by scope."""
    given, found = reading.held.files, dict[str, str]()
    for pid in pids:
        for _, paper in given.get(pid, ()):
            found |= people.attached_values(reading.connection, ledger.ring, pid, paper).get("tasks", {})
    return found


def disputes_shown(own: Sequence[Dispute], words: Mapping[str, str]) -> list[dict[str, Any]]:
    """What was asked, what was answered and by whom, and what it changed."""
    return [
        {
            **{name: getattr(d, name) for name in _AS_DISPUTED},
            "text": words.get(d.paper, ""),
            "answer_text": words.get(d.answer_paper, ""),
            "opened_by": d.by,
            "written_by": "" if d.key else d.written_by,
            "signed_by_contributor": bool(d.key),
            "due": shown_date(d.due),
            "outcome": d.answer and d.answer.outcome,
            "answer": d.answer and d.answer.reason,
            "answered_by": d.answer and d.answer.by,
            "correction": d.answer.correction if d.answer else 0,
        }
        for d in own
    ]


def appeal(end: float, staff: Staff, now: float) -> str:
    """How, to whom and until when to disagree; once that is over, that it is."""
    until = shown_date(end)
    if now >= end:
        return f"The time to dispute this statement ended on {until}."
    whom = f"Write to {staff.appeals}" if staff.appeals else "Write to whoever sent you this statement"
    return (
        f"{whom} before {until}, with the settlement and the contributor above, what you think is wrong in "
        f"your own words, and the reason that fits best: {', '.join(REASONS)}. A person answers within "
        f"{DAYS} days, in writing. Only your own held amount waits meanwhile, and your next statement shows "
        "the answer."
    )


def _about_rows(line: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    paid = line.get("paid", line["kept"])
    head = f"{line['kept']} of {counted(line['rows'], 'row was', 'rows were')} kept for training"
    unsure = line.get("verdicts", {}).get(UNSURE, 0)
    if not unsure:
        found = [f"{head}; rows not kept earn nothing."]
    else:
        labels = counted(unsure, "label was", "labels were")
        told = f"It cannot be told whether {labels} right or wrong: all of them are paid for."
        found = [f"{head}.", told]
        if "average_row" in made:
            found.append("Each of these counts at least as much as an average row of reliable contributors.")
    if line["counted"] < paid:
        found.append(f"{paid} paid rows are about {counted(line['counted'], 'item')}; an item counts once.")
    if flagged := line["bands"]["v"]["flagged"]:
        found.append(f"{counted(flagged, 'row was', 'rows were')} flagged or retracted.")
    return found

"""Texts of a statement: calculation of the amount, reasons, and appeal instructions."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from anml.annotators.words import INCONCLUSIVE
from anml.core.text import pluralise
from anml.ledger import personal_data as people
from anml.ledger.log import Event, shown_date
from anml.ledger.money import format_amount, format_money
from anml.ledger.reading import LedgerReader
from anml.ledger.rules_money import REASONS
from anml.ledger.state_money import ANSWER_DEADLINE_DAYS, Dispute
from anml.ledger.state_people import Staff
from anml.ledger.store import Ledger
from anml.settlement.allocate import UNIT
from anml.signals.policy import EVIDENCE, AttestationRecord, ContributorStatus

if TYPE_CHECKING:
    from anml.ledger.pay.statement import StatementContext

# How many tasks a sentence names.
MAX_TASKS_SHOWN = 8
_WEIGHED = {
    "p_correct": "by the probability that each is correct",
    "product": "by quality, verification, reputation and freshness",
    "blend": "by their weight in training",
    "equal": "alike",
}
_ESTIMATED = {
    "accuracy": "An estimated {:.0%} of your labels are correct ({:.0%} to {:.0%})",
    "kappa": "kappa {:.2f} ({:.2f} to {:.2f}), where 1 is always correct and 0 is guessing",
}
# What is shown of a dispute as the ledger has it.
_AS_DISPUTED = ("opened", "reason", "answered", "resolved", "resolved_by", "state")


def amount_explanation(made: Mapping[str, Any], line: Mapping[str, Any], share: int, gross: int) -> str:
    """Describe the calculation of the amount in one line."""
    if use := made.get("usage"):
        part, micro = f"{share / UNIT:.4%}", format_money(gross, made["currency"])
        of = f"{use['model']} from {use['from']} to {use['to']} ({use['queries']} queries)"
        return f"Your share of the use of {of} is {part}; of the pool that is {micro} {made['currency']}."
    currency, labels = made["currency"], pluralise(line["counted"], "label", "labels")
    amount, pool = (f"{format_money(micro, currency)} {currency}" for micro in (gross, made["pool"]))
    if made["rate"]:
        return f"{labels} at {_short(made['rate'])} {currency} each: {amount}."
    by, part = _WEIGHED[made["rules"]["weight"]], f"{share / UNIT:.4%}"
    return f"Your {labels}, weighed {by}, are {part} of all; that share of {pool} is {amount}."


def _short(micro: int) -> str:
    text = format_amount(micro).rstrip("0")
    return text + "00"[: max(0, 2 - len(text.partition(".")[2]))]


def reason_lines(
    scene: "StatementContext",
    line: Mapping[str, Any],
    standing: ContributorStatus,
    own: Sequence[Event],
    amounts: dict[str, int],
) -> list[str]:
    """List the reasons for the amount, one line for each kind."""
    made = scene.manifest
    found = _about_labels(line) + _about_rows(line, made) + _manual_reduction(scene, line)
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
    """Estimates of the labels of a contributor: accuracy, kappa and the most frequent probable error."""
    found = []
    for one in line.get("judged", []):
        figures = [(text, one[name]) for name, text in _ESTIMATED.items() if one.get(name)]
        said = [text.format(*(number / UNIT for number in numbers)) for text, numbers in figures]
        if said:
            found.append("; ".join(said) + ".")
        if error := one.get("most_common_error"):
            given, other, count = error
            found.append(
                f"Most frequent probable error: {given!r} instead of {other!r} ({count} of your labels)."
            )
    return found


def _manual_reduction(scene: "StatementContext", line: Mapping[str, Any]) -> list[str]:
    """Describe a manual decision to pay less than by rows alone: actor, time and reason."""
    found, below = scene.settlement, scene.below
    if line["pid"] not in below:
        return []
    money = format_money(below[line["pid"]][1], found.currency)
    why, yours = f": {found.because}" if found.because else "", pluralise(line["rows"], "row")
    return [
        f"Your {yours} at one rate for everybody's would be {money} {found.currency}. That you get less was "
        f"decided by {found.approved_by} on {str(found.posted)[:10]}, who was shown your line{why}."
    ]


def about_evidence(records: Sequence[AttestationRecord], tasks: Mapping[str, str]) -> list[str]:
    """Describe the attestations about the work, one line for each kind, with task names."""
    groups: dict[tuple[str, bool], list[AttestationRecord]] = {}
    for e in records:
        groups.setdefault((e.kind, e.vouched == "nobody"), []).append(e)
    found = []
    for (kind, nobody), each in sorted(groups.items()):
        named = sorted({tasks[e.scope] for e in each if e.scope in tasks}, key=lambda name: (len(name), name))
        shown = ", ".join(named[:MAX_TASKS_SHOWN]) + (
            f" and {len(named) - MAX_TASKS_SHOWN} more" if len(named) > MAX_TASKS_SHOWN else ""
        )
        labels = any(e.scope.startswith("item:") for e in each)
        about = f"{len(each)} of your labels" if labels else "Your work"
        verb = "were" if labels and len(each) != 1 else "was"
        doubt = ", by somebody whose word does not count here" if nobody else ""
        found.append(f"{about} {verb} {EVIDENCE[kind].said}{doubt}{f': task {shown}' if shown else ''}.")
    return found


def task_names(ledger: Ledger, reading: LedgerReader, pids: Sequence[str]) -> dict[str, str]:
    """The names of a contributor's tasks that somebody judged, by scope."""
    given, found = reading.held.files, dict[str, str]()
    for pid in pids:
        for _, paper in given.get(pid, ()):
            found |= people.read_values(reading.connection, ledger.ring, pid, paper).get("tasks", {})
    return found


def disputes_shown(own: Sequence[Dispute], words: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the disputes with their answers, actors and corrections, for display."""
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


def appeal_instructions(end: float, staff: Staff, now: float) -> str:
    """Return the instructions for an appeal, or a notice that the dispute window has ended."""
    until = shown_date(end)
    if now >= end:
        return f"The time to dispute this statement ended on {until}."
    whom = f"Write to {staff.appeals}" if staff.appeals else "Write to whoever sent you this statement"
    return (
        f"{whom} before {until}, with the settlement and the contributor above, what you think is wrong in "
        f"your own words, and the reason that fits best: {', '.join(REASONS)}. A person answers within "
        f"{ANSWER_DEADLINE_DAYS} days, in writing. Only your own held amount waits meanwhile, "
        f"and your next statement shows "
        "the answer."
    )


def _about_rows(line: Mapping[str, Any], made: Mapping[str, Any]) -> list[str]:
    if "usage" in made:
        return [
            f"The share is final and {made['usage']['check']}; the ledger divides by it and changes nothing."
        ]
    kept = line["kept"]
    found = [
        f"{kept} of {pluralise(line['rows'], 'row was', 'rows were')} kept for training; rows not kept earn "
        "nothing."
    ]
    if unsure := line.get("verdicts", {}).get(INCONCLUSIVE, 0):
        found.append(f"The verdict is inconclusive for {pluralise(unsure, 'label')}; this changes no amount.")
    if line["counted"] < kept:
        found.append(f"{kept} kept rows are about {pluralise(line['counted'], 'item')}; an item counts once.")
    if flagged := line["bands"]["v"]["flagged"]:
        found.append(f"{pluralise(flagged, 'row was', 'rows were')} flagged or retracted.")
    return found

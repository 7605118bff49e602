"""Texts of what a second person confirms: a settlement with every line, and the answer to a dispute."""

from typing import Any

from anml.annotators.words import INCONCLUSIVE
from anml.cli.text import columns
from anml.core.text import pluralise
from anml.ledger.money import format_amount, format_money
from anml.settlement.allocate import UNIT

# From here on a line is far above what its rows alone would be paid.
_UNUSUAL_RATIO = 1.25


def line_flags(line: dict[str, Any]) -> str:
    """Remarks on the line of a contributor: new, inconclusive."""
    unsure = INCONCLUSIVE in line.get("verdicts", {})
    return ", ".join([*(["new"] if line["newcomer"] else []), *([INCONCLUSIVE] if unsure else [])])


def dispute_sentences(manifest: dict[str, Any]) -> list[str]:
    """The reason of a disputed run, and its acceptance."""
    if "disputed" not in manifest:
        return []
    said = manifest["disputed"]
    return [f"The run is disputed: {said['because']}.", f"Accepted by {said['by']}: {said['accepted']}"]


def draft_shown(content: dict[str, Any]) -> list[str]:
    """All that an approval signs: who gets what, and what is unusual about it."""
    currency, before = content["currency"], content["before"]
    rate, weight = content["rate"], content["rules"]["weight"]
    how = f"at {format_amount(rate)} a label" if rate else f"by {weight}"
    lines = [
        f"{content['settlement']}: {format_money(content['pool'], currency)} {currency} {how}, drafted by "
        f"{content['drafted_by']}{' for ' + content['project'] if content['project'] else ''}; "
        f"{pluralise(content['window_days'], 'day')} for disputes.",
        f"Run {content['run'][:16]}, manifest {content['manifest'][:16]}; rules: "
        + ", ".join(f"{name} {_part(value)}" for name, value in sorted(content["rules"].items())),
    ]
    if content["supersedes"]:
        was = format_money(content["replaced"][0], content["replaced"][1])
        which = f"{content['supersedes']} of {was} {content['replaced'][1]}"
        lines.append(f"It replaces settlement {which}, which is reversed.")
        lines += [
            f"{name} got {format_money(amount, currency)} {currency} of it already, which becomes a debt."
            for name, amount in content["debts"].items()
        ]
    lines += dispute_sentences(content) if content["disputed"] else []
    lines += [f"An appeal waits for an answer for too long: {late}." for late in content["late"]]
    if below := sum(line["below"] for line in content["lines"]):
        lines.append(
            f"{pluralise(below, 'person gets', 'people get')} less than their rows alone would be paid: by "
            "signing you decide so, and their statements name you."
        )
    rows = [
        (line["name"] or line["contributor"], line["rows"], line["kept"], f"{line['share'] / UNIT:.4%}",
         f"{line['multiplier'] / UNIT:g}", format_money(line["amount"], currency),
         "" if line["before"] is None else format_money(line["amount"] - line["before"], currency),
         _unusual_entries(line))
        for line in content["lines"]
    ]  # fmt: skip
    against = f"against {before[:9]}" if before else ""
    lines += columns(("contributor", "rows", "kept", "share", "times", currency, against, ""), rows)
    return lines + [f"{name} got {format_money(amount, currency)} and is not in it." for name, amount in
                    content["gone"].items()]  # fmt: skip


def _part(value: int | str) -> str:
    """A rule's value; shares are parts of the pool."""
    return value if isinstance(value, str) else f"{value / UNIT:.6g}"


def _unusual_entries(line: dict[str, Any]) -> str:
    more = ["more than by rows"] * (line["amount"] > line["by_rows"] * _UNUSUAL_RATIO + 1)
    less = ["less than by rows"] * line["below"]
    accuracy = [f"accuracy {one['accuracy'][0] / UNIT:.0%}" for one in line["judged"] if "accuracy" in one]
    return ", ".join(filter(None, [line_flags(line), *accuracy, *more, *less]))


def resolution_shown(content: dict[str, Any]) -> list[str]:
    """All that the confirmation of an answer signs: what was asked, answered, and the correction."""
    answer = content["answer"]
    correction, held = format_amount(answer["correction"]), format_amount(content["held"])
    return [
        f"{content['name']} in {content['settlement']}: {content['reason']}, opened by {content['opened_by']}"
        f"{', written down by ' + content['written_by'] if content['written_by'] else ''}.",
        *(f"{side}: {text}" for side, text in content["words"].items() if text),
        f"{answer['outcome']} by {answer['by']} ({answer['reason']}): {correction} "
        f"{content['currency']} more, on top of {held} held.",
    ]

"""A draft as whoever approves it reads it: every line, and what is unusual about it."""

from typing import Any

from anml.core.money import show_amount, show_money
from anml.core.people.words import UNSURE
from anml.core.settle import UNIT
from anml.core.words import counted
from anml.surfaces.ledger_common import columns


def marks(line: dict[str, Any]) -> str:
    """What is to be known of a contributor's line: new, or that nothing can be told."""
    unsure = UNSURE in line.get("verdicts", {})
    return ", ".join([*(["new"] if line["newcomer"] else []), *([UNSURE] if unsure else [])])


def doubt(manifest: dict[str, Any]) -> list[str]:
    """What was accepted, where the run is doubtful."""
    if "doubtful" not in manifest:
        return []
    said = manifest["doubtful"]
    return [f"The run is doubtful: {said['because']}.", f"Accepted by {said['by']}: {said['accepted']}"]


def draft_shown(content: dict[str, Any]) -> list[str]:
    """All that an approval signs: who gets what, and what is unusual about it."""
    currency, before = content["currency"], content["before"]
    rate, weight = content["rate"], content["rules"]["weight"]
    how = f"at {show_amount(rate)} a label" if rate else f"by {weight}"
    lines = [
        f"{content['settlement']}: {show_money(content['pool'], currency)} {currency} {how}, drafted by "
        f"{content['drafted_by']}{' for ' + content['project'] if content['project'] else ''}; "
        f"{counted(content['window_days'], 'day')} for disputes.",
        f"Run {content['run'][:16]}, manifest {content['manifest'][:16]}; rules: "
        # Shares are parts of the pool.
        + ", ".join(
            f"{name} {value if isinstance(value, str) else f'{value / UNIT:.6g}'}"
            for name, value in sorted(content["rules"].items())
        ),
    ]
    if content["supersedes"]:
        was = show_money(content["replaced"][0], content["replaced"][1])
        which = f"{content['supersedes']} of {was} {content['replaced'][1]}"
        lines.append(f"It replaces settlement {which}, which is reversed.")
    lines += doubt(content) if content["doubtful"] else []
    lines += [f"An appeal waits for an answer for too long: {late}." for late in content["late"]]
    if below := sum(line["below"] for line in content["lines"]):
        lines.append(
            f"{counted(below, 'person gets', 'people get')} less than their rows alone would be paid: by "
            "signing you decide so, and their statements name you."
        )
    rows = [
        (line["name"] or line["contributor"], line["rows"], line["kept"], f"{line['share'] / UNIT:.4%}",
         f"{line['multiplier'] / UNIT:g}", show_money(line["amount"], currency),
         "" if line["before"] is None else show_money(line["amount"] - line["before"], currency),
         _unusual(line))
        for line in content["lines"]
    ]  # fmt: skip
    against = f"against {before[:9]}" if before else ""
    lines += columns(("contributor", "rows", "kept", "share", "times", currency, against, ""), rows)
    return lines + [f"{name} got {show_money(amount, currency)} and is not in it." for name, amount in
                    content["gone"].items()]  # fmt: skip


# From here on a line is far above what its rows alone would be paid.
_FAR = 1.25


def _unusual(line: dict[str, Any]) -> str:
    more = ["more than by rows"] * (line["amount"] > line["by_rows"] * _FAR + 1)
    less = ["less than by rows"] * line["below"]
    right = [f"{one['right'][0] / UNIT:.0%} right" for one in line["judged"] if "right" in one]
    return ", ".join(filter(None, [marks(line), *right, *more, *less]))

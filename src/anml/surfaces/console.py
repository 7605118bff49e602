"""What the terminal shows of a result: who, what to do, what it changes, contributors, notes and warnings."""

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from anml.app.audit.result import Audited
from anml.core.people.consensus import CLEAR
from anml.surfaces.accused import false_alarms, noun
from anml.surfaces.ledger_common import columns
from anml.surfaces.names import printable, shortened
from anml.surfaces.shape_view import sentences
from anml.surfaces.summary import decided, summary

MOST_LISTED = 30
# Letters that any name gets.
LEAST_NAME = 12


def print_audit(result: Audited) -> None:
    """Doubt, the three answers, how it was decided, contributors, notes and warnings."""
    console = Console()

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, highlight=False, markup=False)

    names = {} if result.vouched is None else result.vouched.names
    said = summary(result)
    if said.doubt:
        say(said.doubt, "bold yellow")
    for question, answer in said.lines():
        for pid, name in names.items():
            answer = answer.replace(pid, printable(name))
        console.print(Text.assemble((f"{question}: ", "bold"), answer))
    say(" ".join(decided(result)), "dim")
    if not result.contributors.is_empty():
        say("Contributors, the accused first, then by verdict and quality:", "bold")
        for line in _contributor_table(result, console.width, names):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
        if (hidden := result.contributors.height - MOST_LISTED) > 0:
            say(f"{hidden:,} more contributors; contributors.csv has all of them")
        if false := false_alarms(result):
            say(false)
    for sentence in [] if result.shape is None else sentences(result.shape):
        say(printable(sentence))
    if result.items is not None:
        one = "number" if "p" not in result.items.columns else "label" if result.shape is None else "answer"
        made = f"{result.items.height:,} items have one {one} each in items.parquet, made of all their "
        made, count = f"{made}{noun(result)}s", result.queue.candidates
        say(f"{made}; {count:,} of them need checking (less than {CLEAR:.0%} sure, and not settled).")
    if result.gold is not None:
        say(result.gold.sentence())
    for kind, all_said, style in (("note", result.notes, "dim"), ("warning", result.warnings, "yellow")):
        for sentence in all_said:
            say(f"{kind}: {sentence}", style)


# Figures of the contributor table; contributors.csv and the report have all.
_COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "verdict": lambda row: str(row["verdict"]),
    "reliability": lambda row: f"{row['reliability']:z.2f}",
    "rows": lambda row: f"{row['rows']:,}",
    "kept": lambda row: f"{row['kept'] / row['rows']:.0%}",
    "quality": lambda row: f"{row['quality']:.2f} [{row['quality_low']:.2f}-{row['quality_high']:.2f}]",
}


def _contributor_table(result: Audited, width: int, names: dict[str, str]) -> list[str]:
    """Contributors with their figures; where there is little room names are cut, and never figures."""
    people = result.contributors.head(MOST_LISTED).to_dicts()
    figures = [[make(row) for make in _COLUMNS.values()] for row in people]
    wide = sum(max(map(len, cells)) + 2 for cells in zip(_COLUMNS, *figures, strict=True))
    room = max(width - wide, LEAST_NAME)
    # Staff reads names; the files of a run hold identifiers only.
    called = [shortened(names.get(row["contributor"], row["contributor"]), room) for row in people]
    rows = [[name, *cells] for name, cells in zip(called, figures, strict=True)]
    return columns(("contributor", *_COLUMNS), rows)

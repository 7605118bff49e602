"""What the terminal shows of a result: who, what to do, what it changes, contributors, notes and warnings."""

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from anml.app.audit.result import Audited
from anml.core.people.consensus import CLEAR
from anml.surfaces.accused import false_alarms
from anml.surfaces.names import printable
from anml.surfaces.summary import summary
from anml.surfaces.tables import CREDENTIALS, queue
from anml.surfaces.verdict import decided

MOST_LISTED = 30
# Characters of a name that say enough, and those that any name gets.
FAIR_NAME, LEAST_NAME = 24, 12


def print_audit(result: Audited) -> None:
    """Doubt, the three answers, how it was decided, contributors, notes and warnings."""
    console = Console()
    names = {} if result.vouched is None else result.vouched.names
    said = summary(result)
    if said.doubt:
        console.print(said.doubt, style="bold yellow", highlight=False, markup=False)
    for question, answer in said.lines():
        for pid, name in names.items():
            answer = answer.replace(pid, printable(name))
        console.print(Text.assemble((f"{question}: ", "bold"), answer))
    console.print(" ".join(decided(result)), style="dim", highlight=False, markup=False)
    if not result.contributors.is_empty():
        console.print(_contributor_table(result, console.width, names))
        hidden = result.contributors.height - MOST_LISTED
        if hidden > 0:
            console.print(f"{hidden:,} more contributors; contributors.csv has all of them", highlight=False)
        if false := false_alarms(result):
            console.print(false, highlight=False, markup=False)
    for sentence in [] if result.shape is None else result.shape.said:
        console.print(printable(sentence), highlight=False, markup=False)
    if result.items is not None:
        console.print(_about_items(result), highlight=False, markup=False)
    if result.gold is not None:
        console.print(result.gold.sentence(), highlight=False, markup=False)
    for note in result.notes:
        console.print(f"note: {note}", style="dim", highlight=False, markup=False)
    for warning in result.warnings:
        console.print(f"warning: {warning}", style="yellow", highlight=False, markup=False)


def _about_items(result: Audited) -> str:
    assert result.items is not None
    one, count = ("label" if "p" in result.items.columns else "number"), queue(result).candidates
    made = f"{result.items.height:,} items have one {one} each in items.parquet, made of all their labels"
    return f"{made}; {count:,} of them are to check (less than {CLEAR:.0%} sure, and not settled)."


# Columns of the contributor table, and which of them go first where not all fit; those at 0 stay.
_COLUMNS: dict[str, tuple[int, Callable[[dict[str, Any]], str]]] = {
    "verdict": (0, lambda row: row["verdict"]),
    "reliability": (1, lambda row: f"{row['reliability']:z.2f}"),
    "rows": (0, lambda row: f"{row['rows']:,}"),
    "kept": (1, lambda row: f"{row['kept'] / row['rows']:.0%}"),
    "quality": (0, lambda row: f"{row['quality']:.2f} [{row['quality_low']:.2f}-{row['quality_high']:.2f}]"),
    "mean q": (3, lambda row: f"{row['q']:.2f}"),
    "v": (3, lambda row: f"{row['v']:.2f}"),
    "r": (3, lambda row: f"{row['r']:.2f}"),
    "T": (3, lambda row: f"{row['t']:.2f}"),
    "rows %": (2, lambda row: f"{row['row_share']:.1%}"),
    "weight %": (2, lambda row: f"{row['weight_share']:.1%}"),
}


def _contributor_table(result: Audited, width: int, names: dict[str, str]) -> Table:
    rows = result.contributors.head(MOST_LISTED).to_dicts()
    # Staff reads names; the files of a run hold identifiers only.
    rows = [{**row, "contributor": names.get(row["contributor"], row["contributor"])} for row in rows]
    figures = {name: [make(row) for row in rows] for name, (_, make) in _COLUMNS.items()}
    missing = {"v", "r", "T"} - {CREDENTIALS[name] for name in result.signals_given if name in CREDENTIALS}
    figures = {name: cells for name, cells in figures.items() if name not in missing}
    longest = max(len("contributor"), *(len(row["contributor"]) for row in rows))
    # Figures are never cut: columns that leave names too little room are left out, then names shortened.
    for rank in (3, 2, 1):
        if _room(figures, width) < min(longest, FAIR_NAME):
            figures = {name: cells for name, cells in figures.items() if _COLUMNS[name][0] < rank}
    room = max(min(longest, _room(figures, width)), LEAST_NAME)
    table = Table(
        title="Contributors: accused, less reliable, cannot tell, reliable; lowest quality first",
        title_justify="left",
    )
    table.add_column("contributor", no_wrap=True, width=max(room, len("contributor")))
    for name, cells in figures.items():
        side: Any = "left" if name == "verdict" else "right"
        table.add_column(name, justify=side, no_wrap=True, min_width=_width(name, cells))
    for number, row in enumerate(rows):
        table.add_row(escape(printable(row["contributor"])), *(cells[number] for cells in figures.values()))
    return table


def _width(name: str, cells: list[str]) -> int:
    return max(len(text) for text in (name, *cells))


def _room(figures: dict[str, list[str]], width: int) -> int:
    """Characters left for names beside the figures; a cell has a line and two blanks around it."""
    return width - sum(_width(name, cells) + 3 for name, cells in figures.items()) - 4

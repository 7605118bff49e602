"""Print a result: summary, contributors, notes and warnings."""

from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.text import Text

from anml.annotators.consensus import CLEAR_PROBABILITY
from anml.cli.text import columns
from anml.core.text import pluralise
from anml.pipeline.result import AuditResult
from anml.report.printable import sanitise, truncate
from anml.report.summary import summary, weighting_sentences
from anml.report.tasks import sentences
from anml.report.verdict_text import false_discovery_sentence

MAX_ROWS = 30
# Minimum width of a name.
MIN_NAME_WIDTH = 12


def print_audit(result: AuditResult) -> None:
    """Print the summary, the weighting rule, contributors, notes and warnings."""
    console = Console()

    def say(text: str, style: str | None = None) -> None:
        console.print(text, style=style, highlight=False, markup=False)

    parts = summary(result)
    if parts.dispute:
        say(parts.dispute, "bold yellow")
    for question, answer in parts.lines():
        console.print(Text.assemble((f"{question}: ", "bold"), answer))
    say(" ".join(weighting_sentences(result)), "dim")
    if not result.contributors.is_empty():
        say("Contributors, sorted by verdict severity, then accuracy:", "bold")
        for line in _contributor_table(result, console.width):
            console.print(line, soft_wrap=True, highlight=False, markup=False)
        if (hidden := result.contributors.height - MAX_ROWS) > 0:
            say(f"{hidden:,} more contributors in contributors.csv")
        if false := false_discovery_sentence(result):
            say(false)
    for sentence in [] if result.structured is None else sentences(result.structured):
        say(sanitise(sentence))
    if result.consensus is not None:
        items, queue = pluralise(result.consensus.height, "item"), result.queue.candidates
        open_ = f"{queue:,} in the review queue (p below {CLEAR_PROBABILITY:.2f} and not confirmed)"
        say(f"Consensus of {items} in consensus.csv, {open_}.")
    if result.gold is not None:
        say(result.gold.sentence())
    for kind, all_said, style in (("note", result.notes, "dim"), ("warning", result.warnings, "yellow")):
        for sentence in all_said:
            say(f"{kind}: {sentence}", style)


# Columns of the contributor table; contributors.csv has all columns.
_COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "verdict": lambda row: str(row["verdict"]),
    "kappa": lambda row: f"{row['kappa']:z.2f}",
    "rows": lambda row: f"{row['rows']:,}",
    "kept": lambda row: f"{row['kept_share']:.0%}",
    "accuracy": lambda row: f"{row['accuracy']:.2f} [{row['accuracy_low']:.2f}-{row['accuracy_high']:.2f}]",
}


def _contributor_table(result: AuditResult, width: int) -> list[str]:
    """Contributor table; on a narrow terminal names are truncated, figures are not."""
    people = result.contributors.head(MAX_ROWS).to_dicts()
    figures = [[make(row) for make in _COLUMNS.values()] for row in people]
    figures_width = sum(max(map(len, cells)) + 2 for cells in zip(_COLUMNS, *figures, strict=True))
    name_width = max(width - figures_width, MIN_NAME_WIDTH)
    names = [truncate(row["contributor"], name_width) for row in people]
    rows = [[name, *cells] for name, cells in zip(names, figures, strict=True)]
    return columns(("contributor", *_COLUMNS), rows)

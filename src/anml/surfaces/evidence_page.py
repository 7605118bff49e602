"""The evidence report: every v with the log entries it rests on, and what newcomers still need."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from anml.core.signals.policy import Evidence

if TYPE_CHECKING:
    from anml.ledger.standing import Standing

# A page that a browser still opens; the rows file has all of them.
MOST_ROWS = 5000


def evidence_page(
    rows: pl.DataFrame,
    standings: Mapping[str, "Standing"],
    records: Mapping[str, list[Evidence]],
    title: str,
) -> str:
    """One page without script or network; everything in it is escaped."""
    from jinja2 import Environment, PackageLoader, select_autoescape

    pages = Environment(loader=PackageLoader("anml.surfaces"), autoescape=select_autoescape(default=True))
    pids = sorted(set(rows["contributor"]))
    return pages.get_template("evidence.html").render(
        title=title,
        people=[_person(standings[pid], rows) for pid in pids],
        rows=[_row(row) for row in rows.head(MOST_ROWS).iter_rows(named=True)],
        hidden=max(rows.height - MOST_ROWS, 0),
        entries=sorted((_entry(e) for pid in pids for e in records.get(pid, [])), key=lambda e: int(e["id"])),
    )


def _person(standing: "Standing", rows: pl.DataFrame) -> dict[str, Any]:
    own = rows.filter(pl.col("contributor") == standing.pid)
    return {
        "pid": standing.pid,
        "rows": own.height,
        "v": f"{float(own['verification'].to_numpy().mean()):.2f}",
        "r": f"{standing.r:.2f}",
        "interval": f"{standing.track.low:.2f} to {standing.track.high:.2f}",
        "events": standing.track.events,
        "state": "flagged" if standing.flagged else "new" if standing.newcomer else "",
        "needs": " ".join(standing.needs),
    }


def _row(row: dict[str, Any]) -> dict[str, Any]:
    known = {name: row[name] for name in ("item", "contributor", "label", "level")}
    entries = row["evidence"].split(";") if row["evidence"] else []
    return known | {"v": f"{row['verification']:.2f}", "entries": entries}


def _entry(e: Evidence) -> dict[str, Any]:
    at = datetime.fromtimestamp(e.at, UTC).strftime("%Y-%m-%d %H:%M")
    until = datetime.fromtimestamp(e.until, UTC).strftime("%Y-%m-%d") if e.until else ""
    return e._asdict() | {"at": at, "until": until}

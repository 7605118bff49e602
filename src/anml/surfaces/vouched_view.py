"""What v rests on, as tables that do not grow with rows: verdicts, entries behind them, and who is new."""

from typing import Any

import polars as pl

from anml.app.audit.result import Audited
from anml.core.identifiers import is_contributor
from anml.core.signals.track_record import TrackRule
from anml.surfaces.names import shortened

# A page that a browser still opens; samples.parquet has the evidence of every row.
MOST_LINES = 400
MOST_LINKS = 1000
MOST_PEOPLE = 200


def vouched_view(result: Audited) -> dict[str, Any] | None:
    """Tables of text on what v rests on; None where no ledger was asked."""
    if result.vouched is None:
        return None
    rows, vouched = result.samples, result.vouched
    entries, at = vouched.entries, vouched.at
    names = list(dict.fromkeys([*result.contributors["contributor"], *sorted(rows["contributor"].unique())]))
    lines = _lines(rows, names)
    shown = lines[:MOST_LINES]
    anchors: dict[str, str] = {}
    for number, line in enumerate(shown):
        if line["contributor"] not in anchors:
            anchors[line["contributor"]] = line["anchor"] = f"v-{number}"
    cited = sorted({int(link["entry"]) for line in shown for link in line["links"]})
    people = [(shortened(name, 80), vouched.people.get(name)) for name in names]
    return {
        "at": f"{at[:10]} {at[11:16]} UTC",
        "lines": shown,
        "hidden": len(lines) - len(shown),
        "anchors": anchors,
        "entries": [entries[number] for number in cited],
        "other": len(entries) - len(cited),
        "people": people[:MOST_PEOPLE],
        "newcomers": {name for name, known in people if known is None or (known.newcomer and known.needs)},
        "floor": TrackRule().floor.r_min,
    }


def _lines(rows: pl.DataFrame, names: list[str]) -> list[dict[str, Any]]:
    """Rows that share contributor and verdict, contributors in the given order, best v first."""
    items = pl.col("item").cast(pl.String) if "item" in rows.columns else pl.lit("")
    groups = (
        rows.with_columns(items.alias("item"))
        .group_by("contributor", "v", "level")
        .agg(pl.len().alias("rows"), "evidence", "item")
        .join(pl.DataFrame({"contributor": names}).with_row_index("place"), on="contributor")
        .sort("place", "v", descending=[False, True])
    )
    room = MOST_LINKS
    lines = []
    for row in groups.iter_rows(named=True):
        # Each entry once, with the first item it decides; items are named where an entry is about one.
        found: dict[str, list[str]] = {}
        for entries, item in zip(row["evidence"], row["item"], strict=True):
            for entry in entries.split(";") if entries else []:
                found.setdefault(entry, []).append(item)
        links = [
            {"entry": entry, "about": f"item {shortened(of[0], 40)}" if len(of) == 1 else f"{len(of)} rows"}
            for entry, of in sorted(found.items(), key=lambda pair: int(pair[0]))
        ]
        who = {"anchor": "", "contributor": shortened(row["contributor"], 80)}
        figures = {name: row[name] for name in ("rows", "v", "level")}
        lines.append({**who, **figures, "links": links[:room], "more": max(len(links) - room, 0)})
        room = max(room - len(links), 0)
    return lines


def short_name(name: str) -> str:
    """An identifier by its first digits; other names as they are."""
    return f"{name[:11]}…" if is_contributor(name) else shortened(name, 80)

"""What v rests on, as tables that do not grow with rows: verdicts, entries behind them, and who is new."""

import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import polars as pl

from anml.app.audit.result import Audited
from anml.core.signals.track_record import TrackRule
from anml.surfaces.names import shortened

if TYPE_CHECKING:
    from anml.core.signals.policy import EvidenceEntry, Standing

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
    people = [_person(name, vouched.people.get(name)) for name in names]
    return {
        "at": f"{at[:10]} {at[11:16]} UTC",
        "lines": shown,
        "hidden": len(lines) - len(shown),
        "anchors": anchors,
        "entries": [_entry(entries[number]) for number in cited],
        "other": len(entries) - len(cited),
        "people": people[:MOST_PEOPLE],
        "newcomers": {line["contributor"] for line in people if line["needs"]},
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
        links = _links(row["evidence"], row["item"])
        lines.append(
            {
                "anchor": "",
                "contributor": shortened(row["contributor"], 80),
                "rows": f"{row['rows']:,}",
                "v": f"{row['v']:.2f}",
                "level": row["level"],
                "links": links[:room],
                "more": max(len(links) - room, 0),
            }
        )
        room = max(room - len(links), 0)
    return lines


def _links(evidence: list[str], items: list[str]) -> list[dict[str, str]]:
    """Each entry once, with the first item it decides; items are named where an entry is about one."""
    found: dict[str, list[str]] = {}
    for entries, item in zip(evidence, items, strict=True):
        for entry in entries.split(";") if entries else []:
            found.setdefault(entry, []).append(item)
    return [
        {"entry": entry, "about": f"item {shortened(seen[0], 40)}" if len(seen) == 1 else f"{len(seen)} rows"}
        for entry, seen in sorted(found.items(), key=lambda pair: int(pair[0]))
    ]


def _entry(entry: "EvidenceEntry") -> dict[str, str]:
    e = entry.record
    return {
        "id": str(e.id),
        "about": _short(e.subject),
        "about_full": e.subject,
        "kind": e.kind,
        "issuer": _short(e.issuer),
        "issuer_full": e.issuer if _short(e.issuer) != e.issuer else "",
        "at": datetime.fromtimestamp(e.at, UTC).strftime("%Y-%m-%d %H:%M"),
        "until": datetime.fromtimestamp(e.until, UTC).strftime("until %Y-%m-%d") if e.until else "no end",
        "signature": entry.signature,
        "envelope": entry.envelope,
        "scope": {"*": "all work", "b": "one file", "i": "one item"}[e.scope[0]],
    }


def _short(name: str) -> str:
    """An identifier by its first digits; other names as they are."""
    return f"{name[:11]}…" if re.fullmatch(r"c[0-9a-f]{32}", name) else shortened(name, 80)


def _person(name: str, standing: "Standing | None") -> dict[str, str]:
    who = {"contributor": shortened(name, 80)}
    if standing is None:
        nothing = {"r": "–", "interval": "", "events": "0", "state": "not on record"}
        return who | nothing | {"needs": "an entry in the ledger: anml ledger import"}
    return who | {
        "r": f"{standing.r:.2f}",
        "interval": f"{standing.track.low:.2f}–{standing.track.high:.2f}",
        "events": f"{standing.track.events:,}",
        "state": "flagged" if standing.flagged else "new" if standing.newcomer else "",
        "needs": " ".join(standing.needs) if standing.newcomer else "",
    }

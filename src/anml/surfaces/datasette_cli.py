"""`anml ledger datasette`: how Datasette should show a ledger's file."""

from pathlib import Path
from typing import Annotated, Any

import typer

from anml.app.files import write_file
from anml.surfaces.ledger_common import Desk, at_desk

# What people look at, in words; the rest is encrypted, or is the program's own.
TABLES: dict[str, dict[str, Any]] = {
    "contributors_readable": {
        "title": "Contributors",
        "description": "By their identifiers; names are encrypted, and shown by anml ledger contributors.",
        "sort_desc": "credits",
    },
    "evidence_readable": {
        "title": "Evidence",
        "description": "Who vouched for whom, with what behind it. scope * is all of a contributor's work.",
        "sort_desc": "entry",
        "facets": ["kind", "vouched"],
    },
    "scores_readable": {
        "title": "Scores",
        "description": "What track records are made of; quality lies between 0 and 1.",
        "sort_desc": "entry",
        "facets": ["source", "domain"],
    },
    "settlements_readable": {
        "title": "Settlements",
        "description": "Each with the time of its steps; the manifests lie in document.",
        "sort_desc": "drafted",
    },
    "balances": {
        "title": "Balances",
        "description": "Every account with its amount; all of one currency sum to zero.",
        "facets": ["kind", "currency"],
    },
    "postings_readable": {
        "title": "Money, line by line",
        "description": "The postings with the step that made them.",
        "sort_desc": "entry",
        "facets": ["kind", "step"],
    },
    "events_readable": {
        "title": "The log",
        "description": "Every entry, newest first.",
        "sort_desc": "seq",
        "facets": ["kind"],
    },
    "event": {
        "title": "The log as it is hashed",
        "sort_desc": "seq",
        "facets": ["kind"],
        "label_column": "kind",
    },
    "posting": {"title": "Postings as they are hashed", "description": "Amounts in micro-units."},
    "document": {"title": "Manifests by their hash"},
    **{name: {"hidden": True} for name in ("meta", "person", "person_key", "person_document", "alias")},
}
QUERIES = {
    "owed": {
        "title": "What is owed to whom",
        "sql": "select holder as contributor, currency, "
        "max(case when kind = 'held' then amount end) as held, "
        "max(case when kind = 'payable' then amount end) as payable, "
        "max(case when kind = 'paid' then amount end) as paid "
        "from balances where kind in ('held', 'payable', 'paid') group by holder, currency order by holder",
    },
    "sums": {
        "title": "Do the books sum to zero?",
        "sql": "select currency, sum(micro_units) as sum_of_all_accounts from balances group by currency",
    },
}


def metadata(database: str, origin: str) -> dict[str, Any]:
    """What Datasette's --metadata takes, for a file of this name."""
    about = f"The log, the money and the evidence of the ledger {origin}; read only."
    return {
        "title": origin,
        "description": about,
        "databases": {database: {"tables": TABLES, "queries": QUERIES}},
    }


@at_desk(every=("ledger", "json"))
def datasette(
    at: Desk,
    out: Annotated[Path | None, typer.Option(help="File for the metadata; printed without.")] = None,
) -> None:
    """Describe a ledger for Datasette. Then: datasette FILE --metadata OUT."""
    import json as jsonlib

    from anml.app.ledger.ledgers import sqlite_file

    path, origin = sqlite_file(at.place())
    made = metadata(path.stem, origin)
    if out is None:
        print(jsonlib.dumps(made, indent=2, ensure_ascii=False))
        return
    write_file(out, jsonlib.dumps(made, indent=2) + "\n")
    command = f"datasette {path} --metadata {out}"
    at.show({"metadata": str(out), "command": command}, [f"Wrote {out}. Next: {command}"])

"""Kinds of files that a ledger takes in, recognised by what they hold."""

import json
from pathlib import Path

from anml.core.errors import InputError

# Only the beginning of a file is read to recognise it.
_HEAD = 64 * 2**10


def recognise(given: str, *, is_key: bool = False) -> str:
    """Return the kind of a file: key, run, terms, attestation, a kind of CSV, or export."""
    path = Path(given) if len(given) < 4_000 and "\x00" not in given else Path()
    if is_key or given.startswith("ed25519:"):
        return "key"
    if (path / "run.json").is_file():
        return "run"
    if not path.is_file():
        return "export"
    head = path.read_bytes()[:_HEAD] if path.stat().st_size < 2**30 else b""
    if path.suffix == ".toml":
        return "terms"
    if head.startswith(b"ed25519:"):
        return "key"
    if head.lstrip().startswith(b"{") and b'"payloadType"' in head and b'"signatures"' in head:
        return "attestation"
    if path.suffix == ".csv":
        first = head.decode("utf-8-sig", errors="replace").partition("\n")[0]
        columns = {name.strip().strip('"') for name in first.split(",")}
        if {"contributor", "source", "account"} <= columns:
            return "accounts"
        if ("contributor" in columns and columns & {"iban", "bic"}) or columns == {"contributor", "name"}:
            return "bank details"
        if "reviewer" in columns and columns <= {"reviewer", "counts"}:
            return "reviewers"
    return "export"


def read_reviewers(path: Path) -> dict[str, bool]:
    """Read reviewers, and whether their reviews count: yes without a column `counts`."""
    from anml.io.contributions import read_typed  # slow to load, and only needed here

    frame = read_typed(path, ("reviewer", "counts"))
    counts = frame["counts"].to_list() if "counts" in frame.columns else ["yes"] * frame.height
    chosen = dict(zip(frame["reviewer"].to_list(), counts, strict=True))
    if None in chosen or not set(chosen.values()) <= {"yes", "no"} or len(chosen) < frame.height:
        raise InputError(f"{path.name} names each reviewer once, with counts yes or no")
    return {who: count == "yes" for who, count in chosen.items()}


def read_json(data: bytes) -> dict[str, object]:
    """Read an object; an empty one where there is none."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {}

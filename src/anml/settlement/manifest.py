"""The weight manifest as numbers: a head (rules, pool, totals) and a line for each contributor.

The head holds the Merkle root of the lines, so that the head, one line and a short path prove a share
without the lines of other contributors.
"""

import heapq
import json
from collections.abc import Mapping
from typing import Any

from anml.core.canonical import MerkleTree, canonical, leaf_hash, sha256
from anml.core.errors import InputError
from anml.settlement.allocate import (
    UNIT,
    Claims,
    PayoutRules,
    contributor_weights,
    largest_remainder_allocation,
    payout_fractions,
)

FORMAT = "anml-manifest/2"
ENTRIES_KEY = "contributors"
# Number of smallest row hashes that represent a run: runs that share rows share such hashes.
N_SKETCH_HASHES = 64


def parse_manifest(data: bytes) -> dict[str, Any]:
    """Read a manifest, and check that its head belongs to its lines and its pool to its rate."""
    try:
        manifest: dict[str, Any] = json.loads(data)
        sound = manifest.get("format") == FORMAT and canonical(manifest) == data and _is_sound(manifest)
        sound = (
            sound
            and manifest["totals"] == totals(manifest)
            and manifest["lines_root"] == entry_tree(manifest).root.hex()
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        sound = False
    if not sound:
        raise InputError(f"this is not a canonical {FORMAT} whose totals follow from its lines")
    if manifest["rate"] and manifest["pool"] != manifest["rate"] * sum(
        line["counted"] for line in manifest[ENTRIES_KEY]
    ):
        raise InputError("the pool of this manifest is not its rate times the labels that count")
    return manifest


_COUNTS = ("rows", "kept", "counted", "units", "multiplier", "r")
# Schema of a manifest: a type, a list of one shape, a list of these types, or values by name, some of which
# may be missing, or by any name.
_ENTRY_SCHEMA = {
    "pid": str, "units_sha256": str, "newcomer": bool, **dict.fromkeys(_COUNTS, int),
    "bands": {"": {"": int}}, "verdicts": {"": int},
    "judged": [
        {"accuracy": (int, int, int), "kappa": (int, int, int), "most_common_error": (str, str, int)}
    ],
}  # fmt: skip
_HEADER_SCHEMA = {
    "format": str, "totals": {"": str}, "lines_root": str, "unit": int, "pool": int, "rate": int,
    "currency": str, "rules": dict, ENTRIES_KEY: [_ENTRY_SCHEMA],
    "disputed": {"because": str, "accepted": str, "by": str}, "usage": {"": str},
    "run": {"samples_sha256": str, "rows_sha256": str, "work_sha256": str, "marks": [str],
            "record_sha256": str, "rows": int, "kept": int},
}  # fmt: skip
_MISSING = {"verdicts", "judged", "accuracy", "kappa", "most_common_error"}
_MISSING |= {"disputed", "usage", "record_sha256", "rows", "kept"}


def _is_sound(manifest: dict[str, Any]) -> bool:
    """Each contributor once, with nothing less than nothing, and no more labels that count than rows."""
    lines = manifest[ENTRIES_KEY]
    return (
        _matches_schema(manifest, _HEADER_SCHEMA)
        and manifest["unit"] == UNIT
        and len({line["pid"] for line in lines}) == len(lines)
        and all(min(line[name] for name in _COUNTS) >= 0 for line in lines)
        and all(max(line["kept"], line["counted"]) <= line["rows"] for line in lines)
        and manifest["run"].get("rows") in (None, sum(line["rows"] for line in lines))
    )


def _matches_schema(value: Any, shape: Any) -> bool:
    if isinstance(shape, type):
        return type(value) is shape
    if isinstance(shape, list):
        return type(value) is list and all(_matches_schema(one, shape[0]) for one in value)
    if isinstance(shape, tuple):
        return type(value) is list and len(value) == len(shape) and all(map(_matches_schema, value, shape))
    if type(value) is not dict or "" in shape:
        return type(value) is dict and all(_matches_schema(one, shape[""]) for one in value.values())
    named = value.keys() <= shape.keys() and shape.keys() - value.keys() <= _MISSING
    return named and all(_matches_schema(one, shape[name]) for name, one in value.items())


def row_hashes(rows: list[str], work: list[str]) -> dict[str, Any]:
    """Hashes that identify the rows of a run, from sorted rows with and without their contributor."""
    return {
        "rows_sha256": sha256("\n".join(rows).encode()),
        "work_sha256": sha256("\n".join(work).encode()),
        "marks": heapq.nsmallest(N_SKETCH_HASHES, (sha256(row.encode())[:16] for row in rows)),
    }


def add_totals(made: dict[str, Any]) -> dict[str, Any]:
    """Add to a manifest what its head says of its lines."""
    return made | {"totals": totals(made), "lines_root": entry_tree(made).root.hex()}


def header(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """All of a manifest but its lines."""
    return {name: value for name, value in manifest.items() if name != ENTRIES_KEY}


def header_digest(manifest: Mapping[str, Any]) -> str:
    """The hash of the head, which the log holds too."""
    return sha256(canonical(header(manifest)))


def entry_tree(manifest: Mapping[str, Any]) -> MerkleTree:
    """The Merkle tree over the lines, in their order."""
    return MerkleTree([leaf_hash(canonical(line)) for line in manifest[ENTRIES_KEY]])


def _claims(manifest: Mapping[str, Any]) -> Claims:
    return {line["pid"]: line for line in manifest[ENTRIES_KEY]}


def totals(manifest: Mapping[str, Any]) -> dict[str, str]:
    """Weights of all newcomers and of all others together, before their cap; text, since they are large."""
    uncapped = PayoutRules(**{**manifest["rules"], "newcomer_cap": UNIT})
    known = _claims(manifest)
    weights = contributor_weights(known, uncapped)
    new = sum(weight for name, weight in weights.items() if known[name]["newcomer"])
    return {"newcomers": str(new), "others": str(sum(weights.values()) - new)}


def contributor_amounts(manifest: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Micro-units and share (in parts of `UNIT`, rounded down) of each contributor."""
    exact = payout_fractions(_claims(manifest), PayoutRules(**manifest["rules"]))
    given = largest_remainder_allocation(manifest["pool"], exact)
    return {pid: (given[pid], share.numerator * UNIT // share.denominator) for pid, share in exact.items()}


def reduced_payouts(
    credits: Mapping[str, tuple[int, Mapping[str, Any]]], pool: int, rate: int
) -> dict[str, list[int]]:
    """Contributors paid less than by rows alone, at the rate or equally: amount, and amount by rows."""
    rows = sum(facts["rows"] for _, facts in credits.values()) or 1
    equal = {pid: rate * f["rows"] if rate else pool * f["rows"] // rows for pid, (_, f) in credits.items()}
    return {pid: [amount, equal[pid]] for pid, (amount, _) in credits.items() if amount < equal[pid]}


_FACTS = ("rows", "kept", "counted", "units", "units_sha256", "newcomer", "r")


def approval_credits(manifest: Mapping[str, Any]) -> dict[str, tuple[int, dict[str, Any]]]:
    """Credits of an approval: micro-units of each contributor, with the recorded facts."""
    given = contributor_amounts(manifest)
    by_r = manifest["rules"]["weight"] == "product"
    return {
        line["pid"]: (
            given[line["pid"]][0],
            {name: line[name] for name in _FACTS} | {"share": given[line["pid"]][1], "by_r": by_r},
        )
        for line in manifest[ENTRIES_KEY]
    }

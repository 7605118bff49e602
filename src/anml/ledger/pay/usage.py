"""Usage files: final shares of contributors in the use of a model; they are checked and divided."""

import heapq
import json
import re
from collections.abc import Mapping
from dataclasses import asdict, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

from anml.core.canonical import sha256
from anml.core.errors import InputError
from anml.core.files import read_bytes
from anml.settlement.allocate import UNIT, PayoutRules
from anml.settlement.manifest import FORMAT, N_SKETCH_HASHES, add_totals

USAGE = "anml-usage/1"
CHECKED = "checked"
LARGEST_FILE = 256 * 2**20
# Final shares add up to one, up to rounding in the file.
TOLERANCE = 1e-6
_FIELDS = {
    "": {"format", "model", "model_sha256", "period", "usage", "check", "contributors", "sha256"},
    "period": {"from", "to"}, "usage": {"queries", "amount", "currency"},
    "check": {"status", "lds", "low", "high", "retrainings"},
}  # fmt: skip
_CONTRIBUTOR = {"contributor", "share", "low", "high", "certain"}


class Usage(NamedTuple):
    """A checked usage file: what was used when, and the final share of each contributor by name."""

    model: str
    model_sha256: str
    first: date
    last: date
    queries: int
    check: Mapping[str, Any]
    shares: dict[str, float]
    sha256: str


def is_usage(path: Path) -> bool:
    """True for a JSON file, where a run would be a folder."""
    return path.suffix == ".json" and path.is_file()


def read_usage(path: Path) -> Usage:
    """Read a usage file; an error unless its hash, fields, period and shares hold."""
    data = read_bytes(path, "usage file")
    if len(data) > LARGEST_FILE:
        raise InputError(f"the usage file {path.name} is larger than 256 MiB")
    try:
        whole = json.loads(data)
        given = {name: whole[name] if name else whole for name in _FIELDS}
        right = all(set(given[name]) == fields for name, fields in _FIELDS.items())
        right &= all(set(line) == _CONTRIBUTOR for line in whole["contributors"])
        first, last = (date.fromisoformat(whole["period"][name]) for name in ("from", "to"))
    except (ValueError, KeyError, TypeError, RecursionError):
        right = False
    if not right or whole["format"] != USAGE:
        raise InputError(f"{path.name} is not a usage file of the format {USAGE}")
    body = {name: value for name, value in whole.items() if name != "sha256"}
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    if whole["sha256"] != sha256(canonical.encode()):
        raise InputError(f"the usage file {path.name} was changed: its sha256 is another one")
    if first > last:
        raise InputError(f"the period of {path.name} ends before it begins")
    if (
        not re.fullmatch(r"[0-9a-f]{64}", str(whole["model_sha256"]))
        or type(whole["usage"]["queries"]) is not int
    ):
        raise InputError(f"{path.name} needs the SHA-256 of the model and a whole number of queries")
    shares: dict[str, float] = {}
    for line in whole["contributors"]:
        name, share = line["contributor"], line["share"]
        numbers = [line[key] for key in ("low", "share", "high")]
        if not all(type(number) in (int, float) for number in numbers) or not 0 <= share <= 1:
            raise InputError(f"the share of {name!r} in {path.name} is a number from 0 to 1, got {share!r}")
        if not numbers[0] <= share <= numbers[2]:
            raise InputError(f"the share of {name!r} in {path.name} is not inside its interval")
        if not isinstance(name, str) or name in shares:
            raise InputError(f"{path.name} names a contributor twice, or not by text: {name!r}")
        shares[name] = float(share)
    if abs(sum(shares.values()) - 1) > TOLERANCE:
        raise InputError(f"the shares in {path.name} add up to {sum(shares.values()):.6f}, not to 1")
    model = str(whole["model"])[:100]
    return Usage(
        model, whole["model_sha256"], first, last, whole["usage"]["queries"], whole["check"], shares,
        whole["sha256"],
    )  # fmt: skip


def require_payable(usage: Usage, minimum: int, unchecked: bool) -> None:
    """Raise an error for a use below the minimum of the terms, or for shares that were not checked."""
    if usage.queries < minimum:
        raise InputError(f"nothing is divided: {usage.queries} queries are fewer than {minimum}, as agreed")
    if usage.check["status"] != CHECKED and not unchecked:
        status = usage.check["status"]
        raise InputError(
            f"the shares are {status!r}; unchecked ones need unchecked_usage = true in the terms"
        )


def build_usage_manifest(
    usage: Usage, rules: PayoutRules, pool: int, currency: str, pids: Mapping[str, str], newcomers: set[str]
) -> dict[str, Any]:
    """The manifest of a settlement by final shares; a line's units are its share."""
    units: dict[str, int] = {}
    for name, share in usage.shares.items():
        units[pids[name]] = units.get(pids[name], 0) + round(share * UNIT)
    lines = [
        {"pid": pid, "rows": own, "kept": own, "counted": own, "units": own, "multiplier": UNIT, "r": 0,
         "units_sha256": sha256(str(own).encode()), "bands": {"v": {"flagged": 0}},
         "newcomer": pid in newcomers}
        for pid, own in sorted(units.items())
    ]  # fmt: skip
    period = [(usage.first + timedelta(n)).isoformat() for n in range((usage.last - usage.first).days + 1)]
    days = [sha256(f"{usage.model_sha256} {day}".encode())[:16] for day in period]
    place = sha256(f"usage {usage.model_sha256} {usage.first} {usage.last}".encode())
    about = {"samples_sha256": usage.sha256, "rows_sha256": place, "work_sha256": place,
             "marks": heapq.nsmallest(N_SKETCH_HASHES, days), "rows": sum(units.values()),
             "kept": sum(units.values())}  # fmt: skip
    use = {
        "model": usage.model, "model_sha256": usage.model_sha256, "from": str(usage.first),
        "to": str(usage.last), "queries": str(usage.queries), "check": str(usage.check["status"]),
    }  # fmt: skip
    return add_totals({
        "format": FORMAT, "run": about, "usage": use, "unit": UNIT, "pool": pool, "rate": 0,
        "rules": asdict(replace(rules, weight="equal", volume="1")), "currency": currency,
        "contributors": lines,
    })  # fmt: skip

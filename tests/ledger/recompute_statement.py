"""Recompute a statement from the manifest alone: no anml code, no database, whole numbers only.

    python recompute_statement.py MANIFEST.json STATEMENT.json

Exits with 1 and says why where the statement does not follow from the manifest.
"""

import base64
import hashlib
import json
import sys
from decimal import Context, Decimal
from fractions import Fraction
from pathlib import Path


def volume_factor(rows, exponent, unit):
    power, context = Decimal(exponent) - 1, Context(prec=60)
    if power == 0 or rows <= 1:
        return unit
    return int(context.multiply(context.power(Decimal(rows), power), Decimal(unit)))


def weights_of(manifest):
    unit, rules = manifest["unit"], manifest["rules"]
    raw = {}
    for line in manifest["contributors"]:
        factor = volume_factor(line["counted"], rules["volume"], unit)
        raw[line["pid"]] = line["units"] * line["multiplier"] * factor
    new = {line["pid"] for line in manifest["contributors"] if line["newcomer"]}
    of_new, of_old = (sum(w for pid, w in raw.items() if (pid in new) == which) for which in (True, False))
    cap = Fraction(rules["newcomer_cap"], unit)
    if of_old and Fraction(of_new, of_new + of_old) > cap:
        return {
            pid: cap * Fraction(w, of_new) if pid in new else (1 - cap) * Fraction(w, of_old)
            for pid, w in raw.items()
        }, new
    return {pid: Fraction(w) for pid, w in raw.items()}, new


def bounded(live, low, high, whole):
    """Proportional shares of `whole` within bounds, found by bisection over the exact break points."""
    if high * len(live) <= whole:
        return dict.fromkeys(live, high)

    def total(scale):
        return sum(min(max(scale * w, low[pid]), high) for pid, w in live.items())

    points = sorted({bound / w for pid, w in live.items() for bound in (low[pid], high)} | {Fraction(0)})
    below, above = 0, len(points) - 1
    while above - below > 1:
        middle = (below + above) // 2
        below, above = (middle, above) if total(points[middle]) <= whole else (below, middle)
    start, end = points[below], points[above]
    first, last = total(start), total(end)
    scale = start if first == last else start + (whole - first) * (end - start) / (last - first)
    return {pid: min(max(scale * w, low[pid]), high) for pid, w in live.items()}


def shares_of(manifest):
    weights, new = weights_of(manifest)
    unit, rules = manifest["unit"], manifest["rules"]
    high, cap = Fraction(rules["max_share"], unit), Fraction(rules["newcomer_cap"], unit)
    low = {pid: Fraction(0 if pid in new else rules["min_share"], unit) for pid in weights}
    live = {pid: w for pid, w in weights.items() if w > 0}
    old = {pid: w for pid, w in live.items() if pid not in new}
    found = bounded(live, low, high, Fraction(1))
    if old and sum(share for pid, share in found.items() if pid in new) > cap:
        fresh = {pid: w for pid, w in live.items() if pid in new}
        found = bounded(old, low, high, 1 - cap) | bounded(fresh, low, high, cap)
    return {pid: found.get(pid, Fraction(0)) for pid in weights}


def amounts_of(manifest):
    shares, pool = shares_of(manifest), manifest["pool"]
    floor = {pid: int(pool * share) for pid, share in shares.items()}
    order = sorted(shares, key=lambda pid: (floor[pid] - pool * shares[pid], pid))
    spare = int(pool * sum(shares.values())) - sum(floor.values())
    return {pid: floor[pid] + (1 if pid in order[:spare] else 0) for pid in shares}, shares


def verdict_faults(manifest):
    """Check recorded verdicts against figures; an inconclusive contributor's pay is never reduced."""
    faults = []
    for line in manifest["contributors"]:
        verdicts = line.get("verdicts")
        if verdicts is None:
            continue
        if sum(verdicts.values()) != line["rows"]:
            faults.append(f"{line['pid']}: verdicts on other than {line['rows']} rows")
    return faults


def main(manifest_file, statement_file):
    data = Path(manifest_file).read_bytes()
    envelope = json.loads(Path(statement_file).read_text())
    manifest, statement = json.loads(data), json.loads(base64.b64decode(envelope["payload"]))
    amounts, shares = amounts_of(manifest)
    pid = statement["contributor"]
    checks = {
        "manifest": (hashlib.sha256(data).hexdigest(), statement["manifest"]),
        "gross": (amounts[pid], statement["amounts"]["gross"]),
        "share": (int(shares[pid] * manifest["unit"]), statement["share"]),
    }
    line = next(line for line in manifest["contributors"] if line["pid"] == pid)
    checks["verdicts"] = (line.get("verdicts"), statement.get("verdicts"))
    wrong = verdict_faults(manifest)
    wrong += [f"{name}: {mine} is not {theirs}" for name, (mine, theirs) in checks.items() if mine != theirs]
    print("\n".join(wrong) or f"{pid}: {amounts[pid]} micro-units, as stated")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:3]))

"""Usage file: final shares of a period for settlement, with intervals, the self-check, and hashes.

Signed credit of a period is summed and clipped once. Shares shrink towards the prior, the rows weighted by
reliability, by the ratio of their uncertainty to their spread: few queries pay by the prior. A contributor
who is not certain receives at most the prior. A stated part of each share passes to the contributors whose
work it is derived from.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from anml.attribution.tracing import Trace, shares_of
from anml.core.checks import Floats, in_range
from anml.core.errors import InputError
from anml.core.files import write_file

FORMAT = "anml-usage/1"
# Digits of shares in the file.
DIGITS = 12


def usage_record(
    trace: Trace, *, period: tuple[str, str], currency: str | None = None, amount: float | None = None,
    derived_from: Mapping[str, Sequence[str]] | None = None, passed_up: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """Return the usage file of a period as plain values.

    Parameters
    ----------
    period
        First and last day, as YYYY-MM-DD.
    currency, amount
        What the period's usage was worth; the sum of `count` without an amount.
    derived_from
        For a contributor the contributors whose work theirs is derived from.
    passed_up
        Part of a share that passes to those, in equal parts, and on from them.

    Examples
    --------
    >>> from anml.attribution.usage import settled_shares
    >>> settled_shares(np.array([0.9, 0.1]), np.array([0.5, 0.5]), np.array([True, True]), 1.0).tolist()
    [0.9, 0.1]
    """
    start, end = (_day(each) for each in period)
    if start > end:
        raise InputError(f"the period must not end before it begins, got {start} to {end}")
    in_range("passed_up", passed_up, 0, 1)
    frame = trace.contributors.sort("contributor")
    names = frame["contributor"].to_list()
    order = [trace.names.index(name) for name in names]
    rows = frame["rows"].to_numpy() * frame["p_correct"].to_numpy()
    prior = rows / max(float(rows.sum()), 1e-300)
    drawn = shares_of(trace.draws[:, order])
    share, certain = frame["share"].to_numpy(), frame["certain"].to_numpy()
    kept = reliability_of_shares(share, prior, drawn)
    up = _passing(names, derived_from or {}, passed_up)
    final = settled_shares(share, prior, certain, kept) @ up
    bounds = np.quantile((kept * drawn + (1 - kept) * prior) @ up, [0.025, 0.975], axis=0)
    record: dict[str, Any] = {
        "format": FORMAT, "model": trace.about["model"], "model_sha256": trace.about["model_sha256"],
        "period": {"from": str(start), "to": str(end)},
        "usage": {
            "queries": trace.about["queries"], "currency": currency,
            "amount": trace.about["amount"] if amount is None else amount,
        },
        "check": {
            name: trace.check.get(name) for name in ("status", "lds", "low", "high", "retrainings")
        },
        "contributors": [
            {
                "contributor": name, "share": _figure(value), "low": _figure(min(low, value)),
                "high": _figure(max(high, value)), "certain": bool(sure),
            }
            for name, value, low, high, sure in zip(names, final, *bounds, certain, strict=True)
        ],
    }  # fmt: skip
    record["sha256"] = record_hash(record)
    return record


def write_usage(trace: Trace, path: Path, **settings: Any) -> dict[str, Any]:
    """Write the usage file of a period."""
    record = usage_record(trace, **settings)
    write_file(path, json.dumps(record, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
    return record


def record_hash(record: Mapping[str, Any]) -> str:
    """SHA-256 of the JSON of a usage file without its hash: sorted keys, no spaces, UTF-8."""
    rest = {name: value for name, value in record.items() if name != "sha256"}
    text = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def reliability_of_shares(share: Floats, prior: Floats, drawn: Floats) -> float:
    """Part of the shares that is kept, by their spread around the prior and their variance (James-Stein)."""
    spread, noise = float(np.square(share - prior).sum()), float(drawn.var(axis=0).sum())
    return max(0.0, 1.0 - noise / spread) if spread > 0 else 0.0


def settled_shares(share: Floats, prior: Floats, certain: Any, kept: float) -> Floats:
    """Shrink shares to the prior; contributors who are not certain get at most the prior.

    The excess of those goes to the certain ones in proportion to their shares, or else all get the prior.
    """
    shrunk = kept * share + (1 - kept) * prior
    capped = np.where(certain, shrunk, np.minimum(shrunk, prior))
    sure = float(capped[certain].sum())
    if sure <= 0:
        return np.asarray(prior)
    factor = (1 - float(capped[~np.asarray(certain)].sum())) / sure
    return np.asarray(np.where(certain, capped * factor, capped))


def _passing(names: list[str], derived_from: Mapping[str, Sequence[str]], part: float) -> Floats:
    """Matrix of the part of each contributor's share that reaches each contributor; rows sum to one."""
    count = len(names)
    step = np.zeros((count, count))
    for name, sources in derived_from.items():
        for each in (name, *sources):
            if each not in names:
                raise InputError(f"derived_from names {each!r}, which the training rows do not have")
        for source in sources:
            step[names.index(name), names.index(source)] += part / len(sources)
    if np.linalg.matrix_power((step > 0).astype(float), count).any():
        raise InputError("derived_from has a circle: work cannot be derived from itself")
    kept = 1 - step.sum(axis=1)
    return np.asarray(np.linalg.inv(np.eye(count) - step) * kept)


def _day(text: str) -> date:
    try:
        return date.fromisoformat(text)
    except (TypeError, ValueError):
        raise InputError(f"a day of the period must be YYYY-MM-DD, got {text!r}") from None


def _figure(value: float) -> float:
    return round(float(value), DIGITS)

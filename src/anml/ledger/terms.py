"""Terms of settlements: one TOML file that two people sign, from which no draft or release departs."""

import json
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from anml.core.errors import ConflictError, InputError
from anml.core.files import read_text
from anml.ledger.identifiers import domain_id, staff_id
from anml.ledger.money import check_currency, format_amount, parse_amount
from anml.settlement.allocate import PayoutRules, to_integer_parts
from anml.signals.policy import Policy

MAX_WINDOW_DAYS = 3_650
# Settings with their defaults: amounts and shares are text in the log, so that every machine reads the same.
DEFAULTS: dict[str, Any] = {
    "name": "", "currency": "", "weight": "", "volume": "1", "min_share": "0", "max_share": "1",
    "newcomers": "0.2", "window_days": 14, "minimum_payout": "1", "pool_limit": "", "approver_limits": {},
    "minimum_usage": 0, "unchecked_usage": False, "domain": "default", "policy": "",
}  # fmt: skip


class Terms(NamedTuple):
    """Agreed terms, amounts in micro-units; an empty `weight` follows the run, None is no limit.

    `minimum_usage` is in queries of a usage file.
    """

    name: str
    currency: str
    weight: str
    rules: PayoutRules
    window_days: int
    minimum_payout: int
    pool_limit: int | None
    approver_limits: Mapping[str, int]
    minimum_usage: int
    unchecked_usage: bool
    domain: str
    policy: Policy

    def check_approver(self, name: str, pool: int) -> None:
        """Raise an error if a pool is above the limit of an approver."""
        limit = self.approver_limits.get(name)
        if limit is not None and pool > limit:
            most = f"{format_amount(limit, 2)} {self.currency}" if not limit % 10_000 else str(limit)
            raise ConflictError(f"{name!r} approves pools up to {most} by the terms {self.name!r}")


def read_terms(path: Path) -> dict[str, Any]:
    """Read terms from a TOML file, complete with the defaults."""
    try:
        given = tomllib.loads(read_text(path, "terms"))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the terms {path} cannot be read: {error}") from None
    return complete_terms(given)


def complete_terms(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return all settings of terms as the log holds them, checked; unknown settings are refused."""
    if unknown := sorted(set(given) - set(DEFAULTS)):
        raise InputError(f"terms have no setting {unknown[0]!r}; they have {', '.join(DEFAULTS)}")
    whole = {name: given.get(name, default) for name, default in DEFAULTS.items()}
    if isinstance(whole["policy"], dict):
        # The log holds no fractions, so a table of them is kept as text.
        whole["policy"] = json.dumps(whole["policy"], sort_keys=True) if whole["policy"] else ""
    for name, default in DEFAULTS.items():
        if isinstance(default, str) and type(whole[name]) in (int, float):
            whole[name] = format(whole[name], ".12f").rstrip("0").rstrip(".") if whole[name] else "0"
        if type(whole[name]) is not type(default):
            kind = {"str": "text or a number", "int": "a whole number", "bool": "true or false"}
            raise InputError(f"{name} is {kind.get(type(default).__name__, 'a table')}, got {whole[name]!r}")
    limits = whole["approver_limits"]
    whole["approver_limits"] = {staff_id(name): str(amount) for name, amount in sorted(limits.items())}
    parse_terms(whole)
    return whole


def parse_terms(whole: Mapping[str, Any]) -> Terms:
    """Read complete terms, as the log holds them."""
    limit = parse_amount(whole["pool_limit"]) if whole["pool_limit"] else None
    shares = {name: to_integer_parts(name, whole[name]) for name in ("min_share", "max_share", "newcomers")}
    rules = PayoutRules(
        weight=whole["weight"] or "product", volume=whole["volume"], min_share=shares["min_share"],
        max_share=shares["max_share"], newcomer_cap=shares["newcomers"],
    )  # fmt: skip
    if not whole["name"].strip() or len(whole["name"]) > 60 or not whole["name"].isprintable():
        raise InputError(f"terms need a name of up to 60 letters, got {whole['name'][:70]!r}")
    if not 0 <= whole["window_days"] <= MAX_WINDOW_DAYS:
        raise InputError(f"a dispute window has 0 to {MAX_WINDOW_DAYS} days, got {whole['window_days']}")
    return Terms(
        whole["name"], check_currency(whole["currency"]), whole["weight"], rules, whole["window_days"],
        parse_amount(whole["minimum_payout"]), limit,
        {name: parse_amount(amount) for name, amount in whole["approver_limits"].items()},
        whole["minimum_usage"], whole["unchecked_usage"], domain_id(whole["domain"]),
        Policy.from_dict(json.loads(whole["policy"] or "{}")),
    )  # fmt: skip


def describe_terms(whole: Mapping[str, Any]) -> str:
    """Terms in one line, with every setting that is not empty."""
    pairs = [(name, whole[name]) for name in DEFAULTS if name in whole]
    return ", ".join(f"{name} {value}" for name, value in pairs if value not in ("", {}, False))

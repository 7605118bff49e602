"""Royalties from use: final shares of a usage file are checked and divided, and nothing else."""

import hashlib
import json
from pathlib import Path

import pytest

from anml.core.errors import ConflictError, InputError
from anml.ledger.money import parse_amount
from anml.ledger.pay import settle, statement
from anml.ledger.pay.usage import read_usage
from anml.ledger.services import steps
from anml.ledger.services.verify import check_statement, verifier, verify
from anml.ledger.terms import complete_terms
from ledger.ledger_world import World

TERMS = {"name": "use", "currency": "EUR", "newcomers": 1, "minimum_usage": 100}


def usage_file(folder: Path, shares: dict[str, float], **changes) -> Path:
    """A usage file as another program writes it, with the hash of its canonical JSON."""
    whole = {
        "format": "anml-usage/1", "model": "leaves", "model_sha256": "ab" * 32,
        "period": {"from": "2026-01-01", "to": "2026-01-31"},
        "usage": {"queries": 1_000, "amount": 250.0, "currency": "EUR"},
        "check": {"status": "checked", "lds": 0.4, "low": 0.3, "high": 0.5, "retrainings": 40},
        "contributors": [
            {"contributor": name, "share": share, "low": share / 2, "high": min(1.0, share * 2),
             "certain": True}
            for name, share in shares.items()
        ],
        **changes,
    }  # fmt: skip
    text = json.dumps(whole, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    whole["sha256"] = hashlib.sha256(text.encode()).hexdigest()
    path = folder / "usage.json"
    path.write_text(json.dumps(whole, indent=1))
    return path


def draft(world: World, path: Path, pool: str = "100") -> settle.Draft:
    terms = settle.SettlementTerms(parse_amount(pool), "", "ann", source="run")
    return settle.draft_settlement(world.ledger, path, terms)


@pytest.fixture
def agreed(world) -> World:
    made = steps.propose_terms(world.ledger, complete_terms(TERMS), "ann")
    world.confirm(made.seq)
    return world


def test_final_shares_become_amounts_held_stated_and_verified(agreed):
    path = usage_file(agreed.folder, {"ana": 0.625, "bea": 0.25, "cem": 0.125})
    made = draft(agreed, path)
    assert sorted(amount for amount, _ in made.amounts.values()) == [12_500_000, 25_000_000, 62_500_000]
    agreed.confirm(made.entry)
    found = statement.build(agreed.ledger, made.id, by="bob")
    for item in found.values():
        assert "Your share of the use of leaves from 2026-01-01 to 2026-01-31 (1000 queries)" in item["how"]
        envelope = statement.sign(agreed.ledger, item)
        assert check_statement(envelope, agreed.ledger.ring.public)["usage"]["check"] == "checked"
        assert "leaves, 2026-01-01 to 2026-01-31, 1000 queries, checked" in verifier().page(item)
    assert verify(agreed.ledger).problems == []


def test_a_use_is_settled_once_and_an_overlap_is_said(agreed):
    shares = {"ana": 0.5, "bea": 0.5}
    agreed.confirm(draft(agreed, usage_file(agreed.folder, shares)).entry)
    with pytest.raises(ConflictError, match="this run is posted as settlement"):
        draft(agreed, usage_file(agreed.folder, {"ana": 0.25, "bea": 0.75}))
    later = usage_file(agreed.folder, shares, period={"from": "2026-01-17", "to": "2026-02-15"})
    assert any("of these rows are in settlement" in text for text in draft(agreed, later).warnings)


def test_below_the_minimum_and_unchecked_nothing_is_divided(agreed):
    use = {"queries": 99, "amount": None, "currency": None}
    with pytest.raises(InputError, match="nothing is divided: 99 queries are fewer than 100"):
        draft(agreed, usage_file(agreed.folder, {"ana": 1.0}, usage=use))
    check = {"status": "not checked", "lds": None, "low": None, "high": None, "retrainings": 0}
    path = usage_file(agreed.folder, {"ana": 1.0}, check=check)
    with pytest.raises(InputError, match="the shares are 'not checked'"):
        draft(agreed, path)
    agreed.confirm(
        steps.propose_terms(agreed.ledger, complete_terms({**TERMS, "unchecked_usage": True}), "ann").seq
    )
    assert draft(agreed, path).manifest["usage"]["check"] == "not checked"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "is not a usage file of the format"),
        ({"more": 1}, "is not a usage file of the format"),
        ({"period": {"from": "soon", "to": "2026-01-31"}}, "is not a usage file of the format"),
        ({"period": {"from": "2026-02-01", "to": "2026-01-31"}}, "ends before it begins"),
        ({"model_sha256": "x"}, "needs the SHA-256 of the model"),
        ({"contributors": []}, "add up to 0.000000, not to 1"),
    ],
)
def test_files_that_are_refused(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        read_usage(usage_file(tmp_path, {"ana": 1.0}, **changes))


@pytest.mark.parametrize(
    "shares", [{"ana": 0.5}, {"ana": 1.5}, {"ana": -0.5, "bea": 1.5}, {"ana": float("nan")}]
)
def test_shares_that_are_none_are_refused(tmp_path, shares):
    with pytest.raises(InputError, match=r"share"):
        read_usage(usage_file(tmp_path, shares))


def test_a_changed_file_is_refused(tmp_path):
    path = usage_file(tmp_path, {"ana": 0.5, "bea": 0.5})
    path.write_text(path.read_text().replace('"queries": 1000', '"queries": 9000'))
    with pytest.raises(InputError, match="was changed: its sha256 is another one"):
        read_usage(path)
    for text in ("[]", "{", "3", '{"format": 1}'):
        path.write_text(text)
        with pytest.raises(InputError, match="is not a usage file"):
            read_usage(path)

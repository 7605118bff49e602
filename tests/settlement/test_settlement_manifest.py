"""The manifest as numbers: what each gets, and the part that one contributor may see."""

import json
from dataclasses import asdict

import pytest

from anml.core.canonical import canonical, leaf_hash, sha256
from anml.core.errors import InputError
from anml.settlement.allocate import UNIT, PayoutRules
from anml.settlement.manifest import (
    FORMAT,
    add_totals,
    approval_credits,
    contributor_amounts,
    entry_tree,
    header,
    header_digest,
    parse_manifest,
    totals,
)
from ledger.ledger_paths import verify_inclusion


def line(pid: str, units: int, *, newcomer: bool = False, counted: int = 1) -> dict:
    return {"pid": pid, "rows": counted, "kept": counted, "counted": counted, "units": units, "r": 0,
            "units_sha256": "", "bands": {}, "newcomer": newcomer, "multiplier": UNIT}  # fmt: skip


def made(*lines: dict, pool: int = 100, rate: int = 0, **rules) -> dict:
    return add_totals(
        {"format": FORMAT, "rules": asdict(PayoutRules(**rules)), "unit": UNIT, "pool": pool,
         "run": {"samples_sha256": "", "rows_sha256": "", "work_sha256": "", "marks": []},
         "rate": rate, "currency": "EUR", "contributors": list(lines)}
    )  # fmt: skip


def test_by_hand():
    result = made(line("a", 3 * UNIT), line("b", UNIT), line("n", 4 * UNIT, newcomer=True))
    # Newcomers together get a fifth: 20 for n, and 80 are shared 3 to 1.
    assert {pid: amount for pid, (amount, _) in contributor_amounts(result).items()} == {
        "a": 60,
        "b": 20,
        "n": 20,
    }
    assert result["totals"] == {"newcomers": str(4 * UNIT**3), "others": str(4 * UNIT**3)}
    assert approval_credits(result)["a"][1]["share"] == 6 * UNIT // 10


def test_a_line_is_shown_to_be_in_the_manifest_by_head_and_path_alone():
    result = made(*(line(f"c{number}", number * UNIT) for number in range(1, 6)))
    tree, part = entry_tree(result), header(result)
    assert "contributors" not in part
    assert header_digest(result) == sha256(canonical(part))
    leaf = leaf_hash(canonical(result["contributors"][3]))
    assert verify_inclusion(leaf, 3, 5, tree.inclusion(3), bytes.fromhex(part["lines_root"]))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["contributors"][0].update(units=7),
        lambda m: m["totals"].update(others="1"),
        lambda m: m.update(lines_root="0" * 64),
        lambda m: m.update(format="anml-manifest/1"),
        lambda m: m.pop("totals"),
        lambda m: m["contributors"].pop(),
    ],
)
def test_what_does_not_belong_together_is_refused(change):
    result = made(line("a", 3), line("b", 1))
    assert parse_manifest(canonical(result)) == result
    spoilt = json.loads(json.dumps(result))
    change(spoilt)
    with pytest.raises(InputError, match="not a canonical"):
        parse_manifest(canonical(spoilt))
    with pytest.raises(InputError, match="not a canonical"):
        parse_manifest(b"[]")


def test_a_rate_fixes_the_pool():
    lines = (line("a", 3 * UNIT, counted=3), line("b", UNIT))
    result = made(*lines, pool=200_000, rate=50_000, weight="equal", newcomer_cap=UNIT)
    assert {
        pid: amount for pid, (amount, _) in contributor_amounts(parse_manifest(canonical(result))).items()
    } == {
        "a": 150_000,
        "b": 50_000,
    }
    with pytest.raises(InputError, match="not its rate times"):
        parse_manifest(canonical(made(*lines, pool=200_001, rate=50_000)))


def test_totals_are_before_the_cap():
    capped = made(line("a", 1), line("n", 9, newcomer=True), newcomer_cap=0)
    assert totals(capped) == capped["totals"] == {"newcomers": str(9 * UNIT**2), "others": str(UNIT**2)}


ODD = {
    "verdicts": "x", "judged": [None], "bands": None, "newcomer": 1, "units_sha256": 5, "kept": 2,
    "counted": 2, "more": 1, "pid": 5, "rows": True,
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_lines_that_nobody_could_show_are_refused(name):
    """Whoever approves reads them, and statements are made of them; a changed program may write anything."""
    good = made(line("a", UNIT), line("b", UNIT))
    assert parse_manifest(canonical(good)) == good
    bad = made({**line("a", UNIT), name: ODD[name]}, line("b", UNIT))
    with pytest.raises(InputError, match="this is not a canonical"):
        parse_manifest(canonical(bad))


@pytest.mark.parametrize("change", [{"unit": 1}, {"doubtful": "x"}, {"run": {}}, {"more": 1}])
def test_heads_that_nobody_could_show_are_refused(change):
    with pytest.raises(InputError, match="this is not a canonical"):
        parse_manifest(canonical(made(line("a", UNIT)) | change))

"""`anml-ledger verify` and `export`: whether the log, a statement or a proof holds; tables for offices."""

from json import dumps
from pathlib import Path
from typing import Annotated, Any

import typer

from anml.cli.options import arg, opt
from anml.core.errors import InputError
from anml.core.files import check_writable, read_bytes, read_text, write_file
from anml.core.text import pluralise
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.contributors.names import find_settlement
from anml.ledger.money import format_money
from anml.ledger.pay import balances
from anml.ledger.pay.disputes import decision_report, decisions_csv
from anml.ledger.pay.exports import books_beancount
from anml.ledger.services.files import read_json
from anml.ledger.services.steps import propose_clock_repair, read_public
from anml.ledger.services.steps import public_key as log_public_key
from anml.ledger.services.verify import (
    check_against_checkpoints,
    check_consistency_proof,
    check_statement,
    make_consistency_proof,
    sign_checkpoint,
    verify_files,
)
from anml.ledger.witness import require_cosigned


@with_ledger_options("by")
def verify(
    at: LedgerContext,
    file: Annotated[Path | None, arg("A signed statement or a proof of growth to check instead.")] = None,
    checkpoint: Annotated[list[Path] | None, opt("Older checkpoints kept elsewhere.")] = None,
    public_key: Annotated[str | None, opt("The ledger's public key, as text or file.")] = None,
    witness: Annotated[str | None, opt("Key of a witness that must have cosigned the checkpoints.")] = None,
    witness_url: Annotated[str | None, opt("With --keep or --out: the witness cosigns the new one.")] = None,
    keep: Annotated[Path | None, opt("Folder of checkpoints, best elsewhere: compare, and add one.")] = None,
    out: Annotated[Path | None, opt("Sign a checkpoint of now into this file; keep it elsewhere.")] = None,
    since: Annotated[Path | None, opt("An older checkpoint, to prove growth from.")] = None,
    proof: Annotated[Path | None, opt("With --since: file for the proof of growth.")] = None,
    repair_clock: Annotated[bool, opt("Propose to mend a clock that was ahead.", "--repair-clock")] = False,
) -> None:
    """Replay every entry by the rules it was written by. An older checkpoint shows that it only grew."""
    if (since is None) != (proof is None):
        raise InputError("a proof of growth needs both --since and --proof")
    if witness_url is not None and (witness is None or not (keep or out)):
        raise InputError("a witness cosigns what --keep or --out writes: give one, and --witness KEY")
    asked = (witness, witness_url) if witness and witness_url else None
    for path in checkpoint or () if witness else ():
        require_cosigned(read_text(path, "checkpoint"), str(witness))
    if file is not None:
        data = read_bytes(file, "statement")
        (_check_proof if "newer" in read_json(data) else _check_statement)(at, data, public_key)
    elif repair_clock:
        made = propose_clock_repair(at.book, at.by)
        lines, done = at.proposed([made.seq], "the clock mended")
        at.show({"proposal": made.seq, "mended": done}, lines)
    elif keep is not None:
        held = check_against_checkpoints(at.book, keep, asked)
        older = pluralise(held.compared, "older checkpoint")
        good = f"{held.entries} entries hold against {older} in {keep}; one more is kept."
        _show_problems(at, {"size": held.entries, "compared": held.compared}, held.problems, [good])
    elif out is not None or since is not None:
        _sign_checkpoint(at, out, since, proof, asked)
    else:
        _verify_log(at, checkpoint, public_key)


def _verify_log(at: LedgerContext, checkpoint: list[Path] | None, public_key: str | None) -> None:
    result, by_itself = verify_files(at.book, checkpoint or (), public_key)
    root = result.root.hex()
    lines = [f"{result.entries} entries, every hash, link, step, signature and sum holds; root {root}"]
    if not checkpoint:
        lines.append("Without an older checkpoint nobody can tell an old copy from the newest one.")
    if by_itself:
        lines.append("Checked with the key that the log itself names; give the one you know as --public-key.")
    _show_problems(at, {"entries": result.entries, "root": root}, result.problems, lines)


def _show_problems(at: LedgerContext, value: dict[str, Any], problems: list[str], good: list[str]) -> None:
    """Show what is wrong, that alone, with exit code 1; or that all is well."""
    shown = {**value, "sound": not problems, "problems": problems}
    at.show(shown, [f"PROBLEM: {problem}" for problem in problems] or good)
    if problems:
        raise typer.Exit(1)


def _sign_checkpoint(
    at: LedgerContext, out: Path | None, since: Path | None, proof: Path | None, asked: tuple[str, str] | None
) -> None:
    for path in filter(None, (out, proof)):
        check_writable(path)
    made = sign_checkpoint(at.book, asked)
    if since is not None and proof is not None:
        write_file(proof, make_consistency_proof(at.book, read_text(since, "checkpoint")))
    if out is not None:
        write_file(out, made["note"])
    lines = [f"Signed {made['size']} entries: {out}"] if out else []
    value = {**made, "out": None if out is None else str(out)}
    at.show(value, lines + ([f"Proof of growth: {proof}"] if proof else []))


def _check_proof(at: LedgerContext, data: bytes, public_key: str | None) -> None:
    if public_key is None:
        raise InputError("a proof is checked with the ledger's --public-key")
    older, newer = check_consistency_proof(data, public_key)
    line = f"Sound: the log grew from {older} to {newer} entries, and the first {older} are the same."
    at.show({"verified": True, "older": older, "newer": newer}, [line])


def _check_statement(at: LedgerContext, data: bytes, public_key: str | None) -> None:
    said = check_statement(data, read_public(log_public_key(at.book) if public_key is None else public_key))
    sums, currency = said["amounts"], said["currency"]
    due = sums["gross"] + sums["corrected"] - sums["returned"] - sums["reversed"]
    value = {
        "verified": True,
        **{name: said[name] for name in ("contributor", "settlement", "state", "posted")},
        **{name: said[name] for name in ("issued_at", "replaced_by")},
        "gross": format_money(sums["gross"], currency),
        "due": format_money(due, currency),
        "changes": {
            name: format_money(sums[name], currency) for name in ("corrected", "returned", "reversed")
        },
    }  # fmt: skip
    who = said["name"] or said["contributor"]
    lines = [f"Sound: {who} was credited {value['gross']} {currency} in {said['settlement']}."]
    moved = {"corrected by": sums["corrected"], "back to the pool": -sums["returned"]}
    moved["reversed"] = -sums["reversed"]
    if changes := [f"{word} {format_money(amount, currency)}" for word, amount in moved.items() if amount]:
        lines.append(f"Since then {', '.join(changes)}: {value['due']} {currency} in all.")
    lines.append(f"Posted {said['posted'][:10]}, stated {said['issued_at'][:10]}.")
    if said["state"] == "reversed":
        day = said["replaced_at"][:10]
        lines.append(f"REPLACED by {said['replaced_by']} on {day}: this amount no longer counts.")
    lines += ["One person keeps this ledger."] if said["single_person"] else []
    at.show(value, [*lines, "Signatures, checkpoint and inclusion proofs hold."])


@with_ledger_options()
def export(
    at: LedgerContext,
    what: Annotated[str, arg("decisions, ageing, trial-balance or beancount.", metavar="WHAT")],
    settlement: Annotated[str | None, arg("Of decisions: only of this one, or the latest.")] = None,
    out: Annotated[Path | None, opt("Where to write it; a table is printed without.")] = None,
    with_names: Annotated[bool, opt("Decisions with names, which are personal data.", "--names")] = False,
) -> None:
    """Write decisions, balances by age or the books as a table."""
    if what == "decisions":
        _export_decisions(at, settlement, out, with_names)
        return
    makers = {"ageing": balances.ageing_csv, "trial-balance": balances.trial_balance_csv,
              "beancount": books_beancount}  # fmt: skip
    if what not in makers:
        raise InputError(f"export decisions, {', '.join(makers)}; got {what!r}")
    text = makers[what](at.book)
    if out is not None:
        write_file(out, text, private=True)
    at.show(
        {"export": what, "out": out and str(out), "text": text},
        [f"Wrote {out}"] if out else text.splitlines(),
    )


def _export_decisions(at: LedgerContext, settlement: str | None, out: Path | None, with_names: bool) -> None:
    sid = None if settlement is None else find_settlement(at.book, settlement, "posted")
    made = decision_report(at.book, sid, names=with_names)
    if out is not None:
        text = decisions_csv(made) if out.suffix == ".csv" else dumps(made, indent=1)
        write_file(out, text, private=with_names)
    listed = made["judgements"]
    counts = {
        "judgements": len(listed),
        "below their rows": sum(line["below_rows"] for line in listed),
        "held by decision": sum(line["held_by"] is not None for line in listed),
        "appeals": sum(len(line["appeals"]) for line in listed),
        "overdue": sum(line["unanswered_since"] is not None for line in listed),
        "changes": sum(len(line["changes"]) for line in listed),
    }
    lines = [f"{name}: {count}" for name, count in counts.items()]
    at.show(made, [*lines, *([f"Wrote {out}"] if out else [])])

"""`anml-ledger verify`, `checkpoint` and `watch`: whether the log holds, and only grew."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from anml.cli.options import opt
from anml.core.errors import InputError
from anml.core.files import check_writable, read_bytes, read_text, write_file
from anml.core.text import pluralise
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.services.verify import (
    check_against_checkpoints,
    check_consistency_proof,
    make_consistency_proof,
    sign_checkpoint,
    verify_files,
)


@with_ledger_options()
def verify(
    at: LedgerContext,
    checkpoint: Annotated[list[Path] | None, opt("Older checkpoints kept elsewhere.")] = None,
    proof: Annotated[Path | None, opt("Check a proof of growth instead; needs no ledger.")] = None,
    public_key: Annotated[str | None, opt("The ledger's public key, as text or file.")] = None,
) -> None:
    """Replay every entry by the rules it was written by. An older checkpoint shows that it only grew."""
    if proof is not None:
        if public_key is None:
            raise InputError("a proof is checked with the ledger's --public-key")
        older, newer = check_consistency_proof(read_bytes(proof, "proof"), public_key)
        line = f"Sound: the log grew from {older} to {newer} entries, and the first {older} are the same."
        at.show({"verified": True, "older": older, "newer": newer}, [line])
        return
    found, by_itself = verify_files(at.book, checkpoint or (), public_key)
    root = found.root.hex()
    lines = [f"{found.entries} entries, every hash, link, step, signature and sum holds; root {root}"]
    if not checkpoint:
        lines.append("Without an older checkpoint nobody can tell an old copy from the newest one.")
    if by_itself:
        lines.append("Checked with the key that the log itself names; give the one you know as --public-key.")
    _verified_message(at, {"entries": found.entries, "root": root}, found.problems, lines)


def _verified_message(
    at: LedgerContext, value: dict[str, Any], problems: Sequence[str], good: list[str]
) -> None:
    """Show what was found; where something is wrong, that alone, and exit code 1."""
    shown = {**value, "sound": not problems, "problems": problems}
    at.show(shown, [f"PROBLEM: {problem}" for problem in problems] or good)
    if problems:
        raise typer.Exit(1)


@with_ledger_options()
def checkpoint(
    at: LedgerContext,
    out: Annotated[Path | None, opt("File for the checkpoint; printed without.")] = None,
    since: Annotated[Path | None, opt("An older checkpoint, to prove growth from.")] = None,
    proof: Annotated[Path | None, opt("File for the proof of growth.")] = None,
) -> None:
    """Sign the state of the log; keep the result somewhere else."""
    if (since is None) != (proof is None):
        raise InputError("a proof of growth needs both --since and --proof")
    for path in filter(None, (out, proof)):
        check_writable(path)
    made = sign_checkpoint(at.book)
    if since is not None and proof is not None:
        write_file(proof, make_consistency_proof(at.book, read_text(since, "checkpoint")))
    if out is not None:
        write_file(out, made["note"])
    value = {**made, "out": None if out is None else str(out)}
    lines = made["note"].rstrip("\n").split("\n")
    lines = lines if out is None else [f"Signed {made['size']} entries: {out}"]
    at.show(value, lines + ([f"Proof of growth: {proof}"] if proof else []))


@with_ledger_options()
def watch(
    at: LedgerContext, to: Annotated[Path, opt("Folder of checkpoints, best on another machine.")]
) -> None:
    """Hold the log against the checkpoints in a folder. Adds one of now; exits with 1 where it differs."""
    found = check_against_checkpoints(at.book, to)
    older = pluralise(found.compared, "older checkpoint")
    good = f"{found.entries} entries hold against {older} in {to}; one more is kept."
    _verified_message(at, {"size": found.entries, "compared": found.compared}, found.problems, [good])

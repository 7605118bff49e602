"""`anml-ledger`: make one, take things in, look, verify, forget."""

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from anml.cli.options import arg, opt
from anml.cli.text import warn
from anml.core.errors import InputError
from anml.core.files import check_writable, write_file
from anml.core.text import pluralise
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.cli.reputation import show_all, show_one
from anml.ledger.contributors.identity import erase_contributor, propose_account_mapping, read_identity_map
from anml.ledger.contributors.names import by_person, find_person, find_settlement, names_of
from anml.ledger.pay.disputes import decision_report, decisions_csv
from anml.ledger.pay.payout import read_bank_details, set_email, set_payees
from anml.ledger.services.attest import record_attestation_files, sign_about
from anml.ledger.services.ledgers import LedgerSettings, create_ledger

app = typer.Typer(help="The record of who contributed, vouched and earned what.", no_args_is_help=True)


@app.command()
@with_ledger_options()
def init(
    at: LedgerContext,
    origin: Annotated[str, opt("Name under which the ledger signs.")] = "anml-ledger",
    by: Annotated[str | None, opt("Your staff identifier; else your login.", envvar="ANML_BY")] = None,
    single_person: Annotated[bool, opt("One person keeps it; statements say so.", "--single-person")] = False,
    appeals: Annotated[str, opt("Where contributors write to when they disagree.")] = "",
    payee_wait_days: Annotated[int, opt("Days before new bank details are paid.")] = 3,
    recovery: Annotated[Path | None, opt("Where a recovery key goes; sealed, it renews a lost one.")] = None,
    password: Annotated[bool, opt("Lock your key with a password, asked for now.", "--password")] = False,
) -> None:
    """Make a new ledger, with you as its first member of staff. It gets its keys, and you one of your own."""
    from getpass import getuser

    from anml.ledger.cli.staff import new_password

    charter = LedgerSettings(by or getuser(), single_person, payee_wait_days, appeals)
    public, who, path = create_ledger(
        at.place(), at.keys, origin, charter, recovery, new_password() if password else ""
    )
    lines = [
        f"Made the ledger {origin!r}.",
        f"Its public key, for everybody: {public}",
        f"You are {who}; your key is {path}. Nobody else needs it: keep a copy, for you alone.",
    ]
    if single_person:
        lines.append("One person keeps this ledger, and every statement says so.")
    else:
        seal = f"Print {recovery}, seal it, give it to somebody outside, and delete the file."
        none = "There is no recovery key (--recovery): of two people, neither may lose theirs."
        lines += [
            "Money needs a second person, who makes a key with: anml-ledger staff new NAME",
            f"and whom you bring in with: anml-ledger staff add NAME --public-key KEY --by {who}",
            seal if recovery else none,
        ]
    at.show({"origin": origin, "public_key": public, "founder": who, "single_person": single_person}, lines)


@app.command()
@with_ledger_options("by", "domain", "policy")
def contributors(
    at: LedgerContext,
    who: Annotated[str | None, arg("Show one: an identifier, a name, or source:name.", metavar="WHO")] = None,
    name: Annotated[str | None, opt("Set the person's name; somebody else confirms.")] = None,
    email: Annotated[str | None, opt("Set the e-mail address.")] = None,
    iban: Annotated[str | None, opt("Set the bank account; somebody else confirms.")] = None,
    bic: Annotated[str | None, opt("Set the bank's BIC; somebody else confirms.")] = None,
    bank: Annotated[Path | None, opt("CSV with contributor, name, iban and bic, for many at once.")] = None,
    find: Annotated[str | None, opt("Identifier of an account, as source:name.")] = None,
) -> None:
    """List contributors, or show and change what is known of one."""
    given = {key: value for key, value in (("name", name), ("iban", iban), ("bic", bic)) if value is not None}
    if find is not None:
        found = find_person(at.book, find)
        at.show({"contributor": found}, [found])
        return
    if bank is not None:
        details = by_person(at.book, read_bank_details(bank), bank.name)
        numbers = set_payees(at.book, details, at.by)
        lines, done = at.proposed(numbers, f"bank details of {pluralise(len(numbers), 'contributor')}")
        at.show({"proposals": numbers, "set": done}, lines)
        return
    if (given or email) and who is None:
        raise InputError("name the contributor whose details to set")
    pid = None if who is None else find_person(at.book, who)
    if pid is not None and email is not None:
        set_email(at.book, pid, email, at.by)
    if pid is not None and given:
        (number,) = set_payees(at.book, {pid: given}, at.by)
        lines, done = at.proposed([number], f"{', '.join(given)} of {names_of(at.book)[pid]}")
        at.show({"contributor": pid, "proposal": number, "set": done}, lines)
    elif pid is None:
        show_all(at)
    else:
        show_one(at, pid)


@app.command("map")
@with_ledger_options("by")
def map_(
    at: LedgerContext,
    accounts: Annotated[list[str], arg("Accounts as source:name, or one CSV file.")],
    to: Annotated[str | None, opt("The contributor they belong to.")] = None,
) -> None:
    """Say which accounts are one person. Here, or in a CSV with source, account and contributor."""
    if to is None:
        if len(accounts) != 1 or not accounts[0].endswith(".csv"):
            raise InputError("give --to CONTRIBUTOR, or one .csv file with source, account and contributor")
        pairs = read_identity_map(Path(accounts[0]))
    if to is not None:
        owner = to if ":" in to else find_person(at.book, to)
        pairs = [(account, owner) for account in accounts]
    done, numbers = propose_account_mapping(at.book, pairs, at.by)
    names = names_of(at.book)
    lines = [f"{account} is {names.get(pid, pid)} ({pid})" for account, pid in done.items()]
    if numbers:
        said, _ = at.proposed(numbers, f"{pluralise(len(numbers), 'account')} mapped")
        lines += said
    at.show({"mapped": done, "proposals": numbers}, lines)


def _check_rows_file(out: Path) -> None:
    """Raise an error for a file that cannot be written, before anything is recorded."""
    if out.suffix not in (".parquet", ".csv"):
        raise InputError(f"the rows go to a .parquet or .csv file, got {out.name!r}")
    check_writable(out)


@app.command("import")
@with_ledger_options("by", "domain", "policy", "dry_run")
def import_(
    at: LedgerContext,
    file: Annotated[Path, arg("The export to read.")],
    format: Annotated[
        str, opt("table, label-studio, argilla, crowd-long, crowd-wide, toloka or mturk.")
    ] = "auto",
    out: Annotated[Path | None, opt("Write the rows with v and r here (.parquet or .csv).")] = None,
    source: Annotated[str | None, opt("Name of the place the accounts belong to.")] = None,
    label: Annotated[str | None, opt("Column or question with the label.")] = None,
    contributor: Annotated[str | None, opt("Column with who contributed.")] = None,
    item: Annotated[str | None, opt("Column with the thing labelled.")] = None,
    time: Annotated[str | None, opt("Column or metadata field with the time.")] = None,
    agreement: Annotated[bool, opt("Agreement of two known others counts.", "--agreement")] = False,
    names: Annotated[bool, opt("Leave account names in the rows.", "--names")] = False,
) -> None:
    """Take an export in, and give its rows v and r. Contributors, reviews and gold answers go on record."""
    from anml.ledger.services.annotate import Import, import_file
    from anml.pipeline.write import write_frame

    if out is not None:
        _check_rows_file(out)
    chosen = {"label": label, "contributor": contributor, "item": item, "time": time}
    request = Import(file, format, source, at.domain, chosen, agreement, at.read_policy(), names, at.by)
    found = import_file(at.book, request)
    warn(found.warnings)
    out = None if at.dry_run else out
    if out is not None:
        write_frame(found.rows, out)
    value = {
        "batch": found.batch, "format": found.format, "source": found.source, "rows": found.rows.height,
        "contributors": found.contributors, "new_evidence": found.evidence, "new_scores": found.scores,
        "warnings": found.warnings, "out": None if out is None else str(out),
    }  # fmt: skip
    lines = [
        f"{pluralise(found.rows.height, 'row')} by {pluralise(len(found.contributors), 'contributor')}; "
        f"{file.name} was read as {found.format}.",
        f"{pluralise(found.evidence, 'new piece', 'new pieces')} of evidence, "
        f"{pluralise(found.scores, 'new score')}. Batch {found.batch}",
    ]
    at.show(value, lines + ([f"Rows with v and r: {out}"] if out else []))


@app.command()
@with_ledger_options("by", "dry_run")
def attest(
    at: LedgerContext,
    envelopes: Annotated[list[Path] | None, arg("Signed attestations to take in.")] = None,
    sign: Annotated[Path | None, opt("Make one instead, with this private key.")] = None,
    verifier: Annotated[str | None, opt("Who vouches, as registered with the key.")] = None,
    property: Annotated[list[str] | None, opt("What is vouched for: ANML_REPRODUCED and others.")] = None,
    about: Annotated[list[str] | None, opt("A contributor, or a file by its contents.")] = None,
    out: Annotated[Path | None, opt("Where the new attestation goes.")] = None,
    until: Annotated[str | None, opt("Time until which to believe it.")] = None,
) -> None:
    """Make a signed attestation, or verify and record some."""
    if sign is not None:
        if not (verifier and property and about and out):
            raise InputError("to sign, give --verifier, --property, --about and --out")
        write_file(out, sign_about(sign, verifier, property, about))
        at.show({"out": str(out)}, [f"Signed {', '.join(property)} as {verifier}: {out}"])
        return
    if not envelopes:
        raise InputError("give attestations to take in, or --sign KEY to make one")
    made = record_attestation_files(at.book, envelopes, until, by=at.by)
    names = names_of(at.book)
    taken = [{"entry": e.seq, "contributor": e.subject, "kind": e.body["kind"]} for e in made]
    lines = [f"entry {e['entry']}: {e['kind']} for {names.get(e['contributor'], '')}" for e in taken]
    at.show({"evidence": taken}, lines or ["Nothing new: it was recorded before."])


@app.command()
@with_ledger_options("by", "dry_run")
def erase(
    at: LedgerContext,
    who: Annotated[str, arg("The contributor to forget.", metavar="WHO")],
    anyway: Annotated[bool, opt("Even with money or an appeal still open.", "--anyway")] = False,
) -> None:
    """Delete all that is personal about a contributor. The books stay, and still verify."""
    pid = find_person(at.book, who)
    left = erase_contributor(at.book, pid, by=at.by, anyway=anyway)
    if left["proposal"] is not None:
        said, done = at.proposed([left["proposal"]], f"erasing {pid}, with money or an appeal still open")
        at.show({**left, "erased": done}, said)
        return
    lines = [f"{'Would erase' if at.dry_run else 'Erased'} the personal data of {pid}."]
    lines += [f"With it that of {', '.join(left['also'])}: the same person."] * bool(left["also"])
    lines += [f"NOT reached: {place}." for place in left["unreached"]]
    used = zip(left["runs"], left["settlements"], strict=True)
    lines += [f"Their rows were used in run {run} (settlement {sid})." for run, sid in used]
    models = "Models trained on those runs are not changed; training again without the rows is up to you."
    lines += [models] * bool(left["runs"])
    at.show(left, lines)


@app.command()
@with_ledger_options()
def decisions(
    at: LedgerContext,
    settlement: Annotated[str | None, arg("Only of this one, or the latest.")] = None,
    out: Annotated[Path | None, opt("Where to write it: a .csv table, or JSON.")] = None,
    with_names: Annotated[bool, opt("With names, which are personal data.", "--names")] = False,
) -> None:
    """List what was judged of people, and who decided."""
    sid = None if settlement is None else find_settlement(at.book, settlement, "posted")
    made = decision_report(at.book, sid, names=with_names)
    if out is not None:
        text = decisions_csv(made) if out.suffix == ".csv" else dumps(made, indent=1)
        write_file(out, text, private=with_names)
    found = made["judgements"]
    counts = {
        "judgements": len(found),
        "below their rows": sum(line["below_rows"] for line in found),
        "held by decision": sum(line["held_by"] is not None for line in found),
        "appeals": sum(len(line["appeals"]) for line in found),
        "overdue": sum(line["unanswered_since"] is not None for line in found),
        "changes": sum(len(line["changes"]) for line in found),
    }
    lines = [f"{name}: {count}" for name, count in counts.items()]
    at.show(made, [*lines, *([f"Wrote {out}"] if out else [])])

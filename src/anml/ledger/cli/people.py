"""`anml-ledger init`, `key`, `import`, `show`, `confirm` and `erase`: people, keys and records."""

import os
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from anml.cli.options import arg, opt
from anml.cli.text import columns, warn
from anml.core.errors import InputError
from anml.core.files import check_writable, write_file
from anml.core.text import pluralise
from anml.ledger import kinds
from anml.ledger.cli.context import LedgerContext, with_ledger_options
from anml.ledger.cli.views import draft_shown, resolution_shown
from anml.ledger.contributors.identity import erase_contributor, propose_account_mapping, read_identity_map
from anml.ledger.contributors.names import by_person, find_person, names_of
from anml.ledger.contributors.reputation import get_contributor, list_contributors, name_reviewer
from anml.ledger.money import format_minor_units, format_money
from anml.ledger.pay.disputes import list_disputes
from anml.ledger.pay.payout import batches, read_bank_details, set_payees
from anml.ledger.pay.settle import settlements
from anml.ledger.services import files, steps
from anml.ledger.services.attest import record_attestation_files, sign_about
from anml.ledger.services.ledgers import LedgerSettings, create_ledger
from anml.ledger.terms import describe_terms, read_terms
from anml.signals.policy import ContributorStatus
from anml.signals.track_record import ReputationRule


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

    charter = LedgerSettings(by or getuser(), single_person, payee_wait_days, appeals)
    secret = _new_password() if password else ""
    public, who, path = create_ledger(at.place(), at.keys, origin, charter, recovery, secret)
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
            "Money needs a second person, who makes a key with: anml-ledger key NAME",
            f"and whom you bring in with: anml-ledger import KEY --staff NAME --by {who}",
            seal if recovery else none,
        ]
    at.show({"origin": origin, "public_key": public, "founder": who, "single_person": single_person}, lines)


def _new_password() -> str:
    """Ask for a new password twice, or take it from ANML_KEY_PASSWORD."""
    given = os.environ.get("ANML_KEY_PASSWORD")
    return given or str(typer.prompt("Password", hide_input=True, confirmation_prompt=True))


@with_ledger_options("by", "dry_run")
def key(
    at: LedgerContext,
    name: Annotated[str | None, arg("A staff identifier; with --revoke a key's short name as well.")] = None,
    out: Annotated[Path | None, opt("Where the private key or the attestation goes.")] = None,
    password: Annotated[bool, opt("Lock the key with a password, asked for now.", "--password")] = False,
    revoke: Annotated[bool, opt("End a member of staff, or the trust in a key.", "--revoke")] = False,
    compromised: Annotated[bool, opt("With --revoke: it leaked.", "--compromised")] = False,
    attest: Annotated[list[str] | None, opt("Sign that this holds: ANML_REPRODUCED and others.")] = None,
    verifier: Annotated[str | None, opt("With --attest: the owner of the key in --sign.")] = None,
    about: Annotated[
        list[str] | None, opt("With --attest: a contributor, or a file by its contents.")
    ] = None,
) -> None:
    """Make a signing key, attest with one, or end one. Without NAME it is a verifier's."""
    if attest:
        if not (at.sign and verifier and about and out):
            raise InputError("to attest, give --sign, --verifier, --about and --out")
        write_file(out, sign_about(at.sign, verifier, attest, about))
        at.show({"out": str(out)}, [f"Signed {', '.join(attest)} as {verifier}: {out}"])
    elif revoke:
        if name is None:
            raise InputError("name the member of staff or the key to end")
        if name in steps.list_staff(at.book).members:
            made = steps.remove_member(at.book, name, at.by, compromised=compromised)
            line = f"{made.subject} is no longer on the staff."
        else:
            made = steps.revoke_key(at.book, name, at.by, compromised=compromised)
            line = f"Key {name} is revoked."
        at.show({"name": made.subject, "entry": made.seq, "compromised": compromised}, [line])
    elif name is None:
        if out is None:
            raise InputError("name yourself, or say with --out where the key of a verifier goes")
        public = steps.new_key(out, _new_password() if password else "")
        at.show({"private": str(out), "public_key": public}, [public])
    else:
        who, path, public = steps.new_member(name, out, _new_password() if password else "")
        lines = [
            public,
            f"Your private key is {path}; nobody else needs to read it.",
            f"Next, somebody of the staff: anml-ledger import {public} --staff {who} --by THEM",
        ]
        at.show({"name": who, "private": str(path), "public_key": public}, lines)


@with_ledger_options("by", "dry_run")
def import_(
    at: LedgerContext,
    given: Annotated[
        list[str],
        arg(
            "An export, run, attestations, terms, public key, or a CSV: bank details, accounts, reviewers.",
            metavar="FILE",
        ),
    ],
    format: Annotated[
        str, opt("Of an export: table, label-studio, argilla, crowd-long, crowd-wide, toloka or mturk.")
    ] = "auto",
    out: Annotated[Path | None, opt("Write the rows with v and r here (.parquet or .csv).")] = None,
    source: Annotated[str | None, opt("Name of the place the accounts belong to.")] = None,
    label: Annotated[str | None, opt("Column or question with the label.")] = None,
    contributor: Annotated[str | None, opt("Column with who contributed.")] = None,
    item: Annotated[str | None, opt("Column with the thing labelled.")] = None,
    time: Annotated[str | None, opt("Column or metadata field with the time.")] = None,
    agreement: Annotated[bool, opt("Agreement of two known others counts.", "--agreement")] = False,
    names: Annotated[bool, opt("Leave account names in the rows.", "--names")] = False,
    staff: Annotated[str | None, opt("Of a public key: the member of staff who has it.")] = None,
    role: Annotated[list[str] | None, opt("With --staff: drafter, approver, payer, reviewer, admin.")] = None,
    recovery: Annotated[Path | None, opt("With --staff: the recovery key, to renew a lost key.")] = None,
    owner: Annotated[str | None, opt("Of a public key: whose attestations it signs.")] = None,
    may: Annotated[list[str] | None, opt("With --owner: what it may attest; default: no flags.")] = None,
    since: Annotated[str | None, opt("With --owner: first moment of validity; default: now.")] = None,
    until: Annotated[str | None, opt("Of a key or attestations: end of validity.")] = None,
) -> None:
    """Take a file in, by what it is. What needs two people is proposed; another person confirms it."""
    kind = files.recognise(given[0], is_key=bool(staff or owner))
    if len(given) > 1 and kind != "attestation":
        raise InputError(f"one file at a time, unless they are attestations; {given[0]!r} is none")
    path = Path(given[0])
    if kind == "key":
        at.show(*_import_key(at, given[0], staff, role, recovery, owner, may, since, until))
    elif kind == "attestation":
        made = record_attestation_files(at.book, list(map(Path, given)), until, by=at.by)
        called = names_of(at.book)
        listed = [{"entry": e.seq, "contributor": e.subject, "kind": e.body["kind"]} for e in made]
        lines = [f"entry {e['entry']}: {e['kind']} for {called.get(e['contributor'], '')}" for e in listed]
        at.show({"evidence": listed}, lines or ["Nothing new: it was recorded before."])
    elif kind == "terms":
        terms = read_terms(path)
        entry = steps.propose_terms(at.book, terms, at.by)
        lines, done = at.proposed([entry.seq], f"terms {terms['name']}: {describe_terms(terms)}")
        at.show({"terms": terms["name"], "proposal": entry.seq, "agreed": done}, lines)
    elif kind == "bank details":
        details = by_person(at.book, read_bank_details(path), path.name)
        numbers = set_payees(at.book, details, at.by)
        lines, done = at.proposed(numbers, f"bank details of {pluralise(len(numbers), 'contributor')}")
        at.show({"proposals": numbers, "set": done}, lines)
    elif kind == "accounts":
        pairs = [(account, who if ":" in who else find_person(at.book, who))
                 for account, who in read_identity_map(path)]  # fmt: skip
        mapped, numbers = propose_account_mapping(at.book, pairs, at.by)
        called = names_of(at.book)
        lines = [f"{account} is {called.get(pid, pid)} ({pid})" for account, pid in mapped.items()]
        lines += at.proposed(numbers, f"{pluralise(len(numbers), 'account')} mapped")[0] if numbers else []
        at.show({"mapped": mapped, "proposals": numbers}, lines)
    elif kind == "reviewers":
        chosen = files.read_reviewers(path)
        found = {find_person(at.book, who): on for who, on in chosen.items()}
        numbers = [name_reviewer(at.book, pid, at.by, on=on).seq for pid, on in found.items()]
        lines, done = at.proposed(numbers, f"{pluralise(len(numbers), 'reviewer')} named")
        at.show({"contributors": list(found), "proposals": numbers, "named": done}, lines)
    elif kind == "run":
        from anml.ledger.contributors.scores import record_run_scores

        scores = record_run_scores(at.book, path, source, "default", at.by)
        at.show({"new_scores": scores}, [f"{pluralise(scores, 'new score')}."])
    else:
        chosen_columns = {"label": label, "contributor": contributor, "item": item, "time": time}
        _import_export(at, path, format, source, chosen_columns, agreement, names, out)


def _import_key(
    at: LedgerContext, given: str, staff: str | None, role: list[str] | None, recovery: Path | None,
    owner: str | None, may: list[str] | None, since: str | None, until: str | None,
) -> tuple[dict[str, Any], list[str]]:  # fmt: skip
    """Bring in a member of staff, renew a key, or trust a key that attests."""
    public = steps.read_public(given)
    if bool(staff) == bool(owner):
        raise InputError("say whose key it is: --staff NAME, or --owner of the attestations that it signs")
    if owner:
        made = steps.trust_key(at.book, owner, public, may, since, until, at.by)
        lines, done = at.proposed([made.seq], f"trust in key {made.subject} of {owner}")
        allowed = made.body["body"]["may"]
        return {
            "key": made.subject,
            "owner": owner,
            "may": allowed,
            "proposal": made.seq,
            "trusted": done,
        }, lines
    if staff in steps.list_staff(at.book).members:
        made = steps.renew_key(at.book, str(staff), given, recovery, at.by)
        lines, done = [f"{made.subject} signs with the new key from now on, and not with the old one."], True
        if recovery is None:
            lines, done = at.proposed([made.seq], f"another key for {made.subject}")
        return {"name": made.subject, "entry": made.seq, "renewed": done}, lines
    made = steps.add_member(at.book, str(staff), public, role or None, at.by)
    if done := "roles" in made.body:
        lines = [f"{made.subject} is on the staff: {', '.join(made.body['roles'])}."]
    else:
        lines, done = at.proposed([made.seq], f"{made.subject} as a member of staff")
    return {"name": made.subject, "entry": made.seq, "added": done}, lines


def _import_export(
    at: LedgerContext, file: Path, format: str, source: str | None, chosen: dict[str, str | None],
    agreement: bool, names: bool, out: Path | None,
) -> None:  # fmt: skip
    from anml.ledger.services.annotate import Import, import_file
    from anml.pipeline.write import write_frame

    if out is not None:
        if out.suffix not in (".parquet", ".csv"):
            raise InputError(f"the rows go to a .parquet or .csv file, got {out.name!r}")
        check_writable(out)
    policy = at.read_policy()
    request = Import(file, format, source, "default", chosen, agreement, policy, names, at.by)
    made = import_file(at.book, request)
    warn(made.warnings)
    out = None if at.dry_run else out
    if out is not None:
        write_frame(made.rows, out)
    value = {
        "batch": made.batch, "format": made.format, "source": made.source, "rows": made.rows.height,
        "contributors": made.contributors, "new_evidence": made.evidence, "new_scores": made.scores,
        "warnings": made.warnings, "out": None if out is None else str(out),
    }  # fmt: skip
    lines = [
        f"{pluralise(made.rows.height, 'row')} by {pluralise(len(made.contributors), 'contributor')}; "
        f"{file.name} was read as {made.format}.",
        f"{pluralise(made.evidence, 'new piece', 'new pieces')} of evidence, "
        f"{pluralise(made.scores, 'new score')}. Batch {made.batch}",
    ]
    at.show(value, lines + ([f"Rows with v and r: {out}"] if out else []))


@with_ledger_options("by")
def show(
    at: LedgerContext,
    what: Annotated[
        str,
        arg(
            "waiting, balances, contributors, staff, keys, terms, settlements, batches, appeals, or a name.",
            metavar="WHAT",
        ),
    ] = "waiting",
) -> None:
    """Show what waits, what is owed to whom, and what is registered."""
    shown = {"waiting": _waiting, "balances": _balances, "contributors": _contributors, "staff": _staff,
             "keys": _keys, "terms": _terms, "settlements": _settlements, "batches": _batches,
             "appeals": _appeals}  # fmt: skip
    if what in shown:
        at.show(*shown[what](at))
    else:
        at.show(*_contributor(at, find_person(at.book, what)))


def _waiting(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    listed = steps.waiting_for(at.book, names_of(at.book))
    rows = [(one["proposal"], one["by"], one["at"][:10], one["says"]) for one in listed]
    none = ["Nothing waits for a second person."]
    return {"proposals": listed}, columns(("number", "by", "on", "to"), rows) if rows else none


def _balances(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    from anml.ledger.pay.balances import AGES, balances

    made = balances(at.book)
    rows = [(one["name"], one["currency"], *(format_money(one[name], one["currency"]) for name in
             ("held", "payable", "in_transit", "owed_by_them")), one["since"][:10], one["age"])
            for one in made]  # fmt: skip
    header = ("contributor", "", "held", "payable", "in transit", "owed by them", "since", "age")
    return {"ages": AGES, "balances": made}, columns(header, rows) if rows else ["Nothing is owed."]


def _status(standing: ContributorStatus) -> dict[str, Any]:
    """A contributor's status as plain values."""
    track, verdict = standing.track, standing.verdict
    return {
        "contributor": standing.pid, "since": standing.since, "contributions": standing.prior,
        "r": standing.r, "r_interval": [track.low, track.high], "events": track.events,
        "v": verdict.v, "level": verdict.level, "why": verdict.reason, "evidence": list(verdict.evidence),
        "flagged": standing.flagged, "newcomer": standing.newcomer, "needs": list(standing.needs),
    }  # fmt: skip


def _contributors(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    listed = list_contributors(at.book, "default", at.read_policy())
    values = [_status(s) | {"accounts": ", ".join(accounts), "name": name} for s, name, accounts in listed]
    rows = [
        (name, ", ".join(accounts), s.prior, f"{s.r:.2f}", f"{s.track.low:.2f}-{s.track.high:.2f}",
         s.verdict.level, "flagged" if s.flagged else "new" if s.newcomer else "", s.pid, " ".join(s.needs))
        for s, name, accounts in listed
    ]  # fmt: skip
    header = ("contributor", "accounts", "settled", "r", "90 %", "evidence", "", "identifier", "still needs")
    return {"rule": asdict(ReputationRule()), "contributors": values}, columns(header, sorted(rows))


def _contributor(at: LedgerContext, pid: str) -> tuple[dict[str, Any], list[str]]:
    s, profile, records, names = get_contributor(at.book, pid, "default", at.read_policy())
    value = _status(s) | {"profile": profile, "records": [record._asdict() for record in records]}
    name, accounts = profile.get("name") or names.get(pid, ""), ", ".join(profile.get("accounts", []))
    lines = [
        f"{name} ({pid}) since {s.since[:10]}; {accounts or 'no account known'}",
        f"r {s.r:.3f} (90 %: {s.track.low:.2f}-{s.track.high:.2f}; {s.track.events} events)",
        f"v {s.verdict.v:.2f} {s.verdict.level}: {s.verdict.reason}",
    ]
    for e in records:
        by = names.get(e.issuer, e.issuer)
        lines.append(f"entry {e.id}: {e.kind} by {by} ({e.vouched}) about {e.scope}")
    return value, lines + ([f"new: needs {' '.join(s.needs)}"] if s.newcomer else [])


def _staff(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    members = steps.list_staff(at.book).members.values()
    rows = [
        (m.name, "removed" if m.until else "active", m.since[:10], ", ".join(sorted(m.roles)), m.public_key)
        for m in members
    ]
    plain = ("name", "since", "until", "public_key")
    value = [{**{name: getattr(m, name) for name in plain}, "roles": sorted(m.roles)} for m in members]
    return {"staff": value}, columns(("name", "state", "since", "roles", "public key"), rows)


def _keys(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    known = steps.known_keys(at.book)
    rows = [
        (k["id"], k["owner"], "revoked" if k["revoked"] else "valid", k["since"][:10], ", ".join(k["may"]))
        for k in known
    ]
    return {"keys": known}, columns(("key", "owner", "state", "since", "may"), rows)


def _terms(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    listed = steps.agreed_terms(at.book)
    lines = [f"entry {number}: {describe_terms(terms)}" for number, terms in listed.items()]
    return {"terms": list(listed.values())}, lines or ["No terms are agreed; import a file with some."]


def _settlements(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    listed = settlements(at.book).values()
    rows = [
        (s.id, s.project, s.state, format_money(s.pool, s.currency), s.currency, s.by, s.approved_by or "",
         (s.posted or "")[:10])
        for s in listed
    ]  # fmt: skip
    header = ("settlement", "project", "state", "pool", "", "drafted by", "approved by", "posted")
    value = [{name: item for name, item in s._asdict().items() if name != "marks"} for s in listed]
    return {"settlements": value}, columns(header, rows)


def _batches(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    listed = batches(at.book)
    rows = [
        (b.id, b.at[:10], len(b.payments), format_minor_units(b.total, b.currency), b.currency)
        for b in listed
    ]
    value = [{"batch": b.id, "at": b.at, "total": b.total, "currency": b.currency} for b in listed]
    return {"batches": value}, columns(("batch", "made", "payments", "total", ""), rows)


def _appeals(at: LedgerContext) -> tuple[dict[str, Any], list[str]]:
    listed, names = list_disputes(at.book), names_of(at.book)
    rows = [
        (d["settlement"], names.get(d["contributor"], d["contributor"]), d["opened"][:10], d["reason"],
         d["text"], d["state"], d["answer_text"] or d["answer"] or "")
        for d in listed
    ]  # fmt: skip
    header = ("settlement", "contributor", "opened", "reason", "in their words", "state", "answer")
    return {"disputes": listed}, columns(header, rows) if rows else ["There are no disputes."]


@with_ledger_options("by", "yes", "dry_run")
def confirm(
    at: LedgerContext,
    numbers: Annotated[list[str], arg("Numbers of `show waiting`, or settlements.")],
    drop: Annotated[bool, opt("Take them off the list instead.", "--drop")] = False,
    because: Annotated[str, opt("Of a settlement: why some get less than their rows alone.")] = "",
) -> None:
    """Confirm, as the second person, what somebody else began. All of it is shown to you first."""
    known = settlements(at.book)
    chosen = [known[text].entries[0] if text in known else _number(text) for text in numbers]
    if drop:
        steps.withdraw_proposals(at.book, chosen, at.by)
        done = "Would drop" if at.dry_run else "Dropped"
        at.show({"confirmed": [], "dropped": chosen, "dry_run": at.dry_run}, [f"{done} {n}." for n in chosen])
        return
    content = at.book.rehearse(lambda tx: steps.confirmation(tx, chosen, at.by))
    lines: list[str] = []
    for number, one in zip(chosen, content["items"], strict=True):
        if one["step"] == kinds.APPROVED:
            warn(one["overlaps"])
            lines += [f"{number}: settlement", *draft_shown(one)]
        elif one["step"] == kinds.RESOLVED:
            lines += [f"{number}: dispute", *resolution_shown(one)]
        else:
            said = steps.describe_proposal(one)
            lines.append(f"{number}: {said}, proposed by {one['by']} on {one['at'][:10]}")
    left: list[str] = []
    digest = at.agreed(content, lines)
    made = steps.confirm_proposals(at.book, chosen, at.by, seen=digest, unreached=left, because=because)
    done = "Would confirm" if at.dry_run else "Confirmed"
    told = [f"{done} {number}." for number in chosen] + [f"NOT reached: {place}." for place in left]
    value = {"confirmed": chosen, "entries": [e.seq for e in made], "dropped": [], "unreached": left}
    at.show(value | {"dry_run": at.dry_run}, told)


def _number(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18:
        raise InputError(f"a proposal is named by its number, got {text[:60]!r}")
    return int(text)


@with_ledger_options("by", "dry_run")
def erase(
    at: LedgerContext,
    who: Annotated[str, arg("The contributor to forget.", metavar="WHO")],
    anyway: Annotated[bool, opt("Even with money, a reversal or an appeal still open.", "--anyway")] = False,
) -> None:
    """Delete all that is personal about a contributor. The books stay, and still verify."""
    pid = find_person(at.book, who)
    left = erase_contributor(at.book, pid, by=at.by, anyway=anyway)
    if left["proposal"] is not None:
        said, done = at.proposed([left["proposal"]], f"erasing {pid}, with something still open")
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

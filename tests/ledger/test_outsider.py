"""The verifier that comes with every statement, run by an outsider in a bare environment without anml."""

import base64
import contextlib
import importlib.util
import io
import json
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448

from anml.core.errors import AnmlError, IntegrityError
from anml.ledger import book, checkpoint, keys
from anml.ledger.cli.money import write_bundle
from anml.ledger.pay import payout, settle, statement
from anml.ledger.pay.disputes import open_dispute, read_appeal
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services.steps import public_key
from anml.ledger.services.verify import check_statement
from anml.settlement.allocate import UNIT, PayoutRules
from ledger.ledger_world import World, simple_rows
from ledger.test_insiders import SMALL


@pytest.fixture(scope="module")
def bare(tmp_path_factory) -> Path:
    """An environment with cryptography and what it needs, and nothing else; no network is asked."""
    folder = tmp_path_factory.mktemp("bare")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder / "env"], check=True)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    import cffi
    import cryptography

    for package in (cryptography, cffi):
        place = Path(package.__file__).parent
        shutil.copytree(place, site / place.name)
    for extra in ("_cffi_backend*", "pycparser"):
        for path in Path(cryptography.__file__).parents[1].glob(extra):
            (shutil.copytree if path.is_dir() else shutil.copy)(path, site / path.name)
    python = folder / "env" / "bin" / "python"
    none = subprocess.run([python, "-I", "-c", "import anml"], capture_output=True, check=False)
    assert none.returncode != 0
    return python


def answer(python: Path, folder: Path, *more: str) -> tuple[int, str]:
    more = more or ("--public-key", str(folder / "log.pub"))
    done = subprocess.run(
        [python, "-I", folder / "verify.py", *more], capture_output=True, text=True, check=False, cwd="/"
    )
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return done.returncode, done.stdout.strip()


@pytest.fixture(scope="module")
def verifier(pytestconfig):
    place = pytestconfig.rootpath / "src" / "anml" / "ledger" / "templates" / "verify_statement.py"
    spec = importlib.util.spec_from_file_location("verify_statement", place)
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.fixture
def ask(verifier, capsys):
    """The same program, asked without starting another Python each time."""

    def asked(folder: Path, *more: str) -> tuple[int, str]:
        more = more or ("--public-key", str(folder / "log.pub"))
        code = verifier.main([str(folder), *more])
        return code, capsys.readouterr().out.strip()

    return asked


def bundles(world: World, sid: str, folder: Path) -> dict[str, Path]:
    made = statement.build(world.ledger, sid)
    for pid, item in made.items():
        write_bundle(folder / pid, item, statement.sign(world.ledger, item), public_key(world.ledger))
    return {pid: folder / pid for pid in made}


@pytest.mark.parametrize(
    "terms",
    [
        {},
        {"rules": PayoutRules(volume="0.5")},
        {"rules": PayoutRules(max_share=UNIT // 4)},
        {"rate": 50_000, "pool": "0"},
    ],
    ids=["share", "volume", "bounded", "rate"],
)
def test_an_outsider_says_yes(make_world, bare, ask, tmp_path, terms):
    world = make_world("sqlite")
    world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 6, "ben": 3, "new": 2})), **{"pool": "1000.01", **terms})
    made = bundles(world, sid, tmp_path)
    for pid, folder in made.items():
        code, said = ask(folder)
        assert (code, said.startswith(f"YES: {pid} earned ")) == (0, True), said
        assert "signed by ann and bob" in said
    assert answer(bare, folder) == (code, said)


def test_after_disputes_releases_and_reversals_the_sum_is_todays(world, bare, tmp_path):
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "other", "d"))
    given = book.Answer("upheld", "other", "cat", 2_000_000)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ben"], given, "d"))
    world.ledger.write(lambda tx: book.resolve(tx, sid, pids["ben"], "dan", "d"))
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    code, said = answer(bare, bundles(world, sid, tmp_path)[pids["ben"]])
    assert (code, "earned 7 EUR" in said) == (0, True), said


def changed(folder: Path, name: str, change) -> None:
    path = folder / name
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def test_an_outsider_says_no(make_world, bare, ask, tmp_path):
    world = make_world("sqlite")
    world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 6, "ben": 3, "new": 2})), "1000.01")
    made = bundles(world, sid, tmp_path / "good")
    one, other = sorted(made)[:2]
    other_key = keys.create_signer(tmp_path / "x.pem")
    spoilt = {
        "another key": lambda folder: changed(folder, "log.pub", lambda _: other_key),
        "another's line": lambda folder: shutil.copy(made[other] / "manifest-part.json", folder),
        "a changed line": lambda folder: changed(
            folder, "manifest-part.json", lambda text: text.replace('counted\\":', 'counted\\": 1')
        ),
        "a changed statement": lambda folder: changed(
            folder, "statement.json", lambda text: text.replace("A", "B", 5)
        ),
        "a changed checkpoint": lambda folder: changed(folder, "checkpoint.txt", lambda text: text + " "),
        "nothing": lambda folder: (folder / "statement.json").unlink(),
        "rubbish": lambda folder: changed(folder, "statement.json", lambda _: "[]"),
        "a part of it": lambda folder: changed(folder, "statement.json", lambda text: text[: len(text) // 2]),
        "nesting without end": lambda folder: changed(folder, "statement.json", lambda _: "[" * 200_000),
        "more of that": lambda folder: changed(folder, "manifest-part.json", lambda _: '{"a":' * 100_000),
        "no number": lambda folder: changed(
            folder, "manifest-part.json", lambda text: text.replace('"place":', '"place":NaN,"place":')[:-2]
        ),
        "a path for a key": lambda folder: changed(folder, "log.pub", lambda _: "/dev/zero"),
        "a device for a file": lambda folder: replaced(folder / "statement.json", Path("/dev/zero")),
        "another's file": lambda folder: replaced(
            folder / "manifest-part.json", made[other] / "manifest-part.json"
        ),
    }
    for name, spoil in spoilt.items():
        folder = shutil.copytree(made[one], tmp_path / name)
        spoil(folder)
        code, said = ask(folder)
        assert (code, said.startswith("NO: "), said.count("\n")) == (1, True, 0), (name, said)
    for words in (["--public-key", other_key], ["--public-key"], ["--public-key", "/dev/zero"]):
        assert ask(made[one], *words)[0] == 1
    assert ask(tmp_path / "nowhere")[0] == 1
    assert answer(bare, tmp_path / "nesting without end")[0] == 1


def replaced(path: Path, target: Path) -> None:
    path.unlink()
    path.symlink_to(target)


def test_staff_are_traced_back_to_the_founder(make_world, verifier):
    """Whoever has the log's key alone can put any entry into the log; a member of staff needs two others."""
    world = make_world("sqlite")
    sid = world.draft(world.run(simple_rows({"x": 1})), "1", by="dan").id
    settle.approve_settlement(world.ledger, sid, "cat")
    (made,) = statement.build(world.ledger, sid).values()
    assert check_statement(statement.sign(world.ledger, made), world.ledger.ring.public)
    entries = [json.loads(part["entry"]) for part in made["proof"]["entries"]]
    public = world.ledger.ring.public

    def staff(change=None) -> dict:
        found = json.loads(json.dumps(entries))
        by_kind = {(e["kind"], e["subject"]): e for e in found}
        if change is not None:
            change(by_kind, found)
        return verifier.check_staff(found, by_kind["ledger.created", ""], public)

    assert sorted(staff()) == ["ann", "bob", "cat", "dan"]
    assert verifier.check_acts(entries, {}, made, public, 99)[1:3] == ("dan", "cat")
    wrong = {
        "unsigned": lambda by, _: by["staff.added", "cat"].pop("by"),
        "by another's word": lambda by, _: by["staff.added", "cat"].update(by="ann"),
        "another key": lambda by, _: by["staff.added", "cat"]["body"].update(public=keys.public_text(public)),
        "no proposal": lambda by, _: by["staff.added", "cat"]["body"].update(proposal=0),
        "another's proposal": lambda by, _: by["proposal.made", "cat"].update(subject="eve"),
        "nobody's proposal": lambda by, all_: all_.remove(by["proposal.made", "cat"]),
        "another founder": lambda by, _: by["ledger.created", ""]["body"].update(founder="eve"),
        "another log": lambda by, _: by["ledger.created", ""]["body"].update(
            public=by["staff.added", "bob"]["body"]["public"]
        ),
    }
    for name, change in wrong.items():
        with pytest.raises((verifier.No, KeyError)):
            staff(change)
        assert name


# The last of them is off the curve: no signature verifies under it.
@pytest.mark.parametrize("raw", SMALL[:-1])
def test_the_verifier_takes_no_key_that_anybody_can_sign_for(verifier, raw):
    with pytest.raises(verifier.No, match="not sound"):
        verifier.read_key(keys.public_text(bytes.fromhex(raw)))


def test_whoever_signs_a_wrong_statement_with_the_log_key_is_found(make_world, ask, tmp_path):
    """The ledger's owner signs anew what the entries do not say."""
    world = make_world("sqlite")
    sid = world.post(world.run(simple_rows({"ann": 6, "ben": 3})), "100")
    (pid, item), *_ = statement.build(world.ledger, sid).items()
    wrong = {
        "a larger sum": lambda s: s["amounts"].update(gross=s["amounts"]["gross"] + 1),
        "another share": lambda s: s.update(share=s["share"] + 1),
        "two people who were one": lambda s: s.update(single_person=True),
        "another pool": lambda s: s.update(pool=s["pool"] * 2),
        "a hidden reversal": lambda s: s["amounts"].update(reversed=5),
        "somebody else": lambda s: s.update(contributor="c" * 33),
    }
    for name, change in wrong.items():
        said = json.loads(json.dumps(item))
        change(said)
        folder = tmp_path / name
        write_bundle(folder, said, statement.sign(world.ledger, said), public_key(world.ledger))
        code, text = ask(folder)
        assert (code, text.startswith("NO: ")) == (1, True), (name, text)
    assert pid


def test_a_ledger_of_one_person_is_named_as_such(make_world, bare, tmp_path):
    world = make_world("sqlite", staff=("ann",), single_person=True)
    sid = world.draft(world.run(simple_rows({"x": 1})), "1").id
    settle.approve_settlement(world.ledger, sid, "ann")
    for folder in bundles(world, sid, tmp_path).values():
        code, said = answer(bare, folder)
        assert (code, "one person, who keeps this ledger alone" in said) == (0, True)


def test_the_verifier_needs_nothing_but_the_standard_library_and_cryptography(pytestconfig):
    import ast

    path = pytestconfig.rootpath / "src" / "anml" / "ledger" / "templates" / "verify_statement.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    used = {n.name for node in ast.walk(tree) if isinstance(node, ast.Import) for n in node.names}
    used |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert {name.partition(".")[0] for name in used} - set(sys.stdlib_module_names) == {"cryptography"}


def test_without_a_key_from_elsewhere_the_first_line_says_what_was_not_checked(make_world, ask, tmp_path):
    world = make_world("sqlite")
    sid = world.post(world.run(simple_rows({"ann": 1})), "1")
    (folder,) = bundles(world, sid, tmp_path).values()
    code, said = ask(folder)
    assert (code, said.startswith("YES: ")) == (0, True)
    import hashlib

    print_of = hashlib.sha256(world.ledger.ring.public).hexdigest()
    assert ask(folder, "--public-key", print_of[:20])[0] == 0
    assert ask(folder, "--public-key", public_key(world.ledger))[0] == 0
    for wrong in ("0" * 20, print_of[:8], "ed25519:x"):
        assert ask(folder, "--public-key", wrong)[0] == 1


def test_with_the_key_in_the_folder_alone_the_answer_is_not_a_plain_yes(
    make_world, verifier, capsys, tmp_path
):
    """A bundle made up as a whole, by somebody with keys of their own, is sound in itself."""
    world = make_world("sqlite")
    sid = world.post(world.run(simple_rows({"ann": 1})), "1")
    (folder,) = bundles(world, sid, tmp_path).values()
    assert verifier.main([str(folder)]) == 2
    first, second = capsys.readouterr().out.splitlines()
    assert first.startswith(
        "NOT CHECKED: whose key this is. It came with the folder; compare its fingerprint "
    )
    assert second.startswith("YES, by that key alone: ")


def test_two_checkpoints_are_compared_without_the_program(make_world, verifier, capsys, tmp_path):
    from anml.ledger.services.verify import make_consistency_proof, sign_checkpoint

    world, other = make_world("sqlite"), make_world("sqlite")
    key = ("--public-key", public_key(world.ledger))

    def kept(name: str, of: World = world) -> str:
        (tmp_path / name).write_text(sign_checkpoint(of.ledger)["note"])
        return str(tmp_path / name)

    def compared(*arguments: str) -> tuple[int, str]:
        return verifier.main(["--compare", *arguments, *key]), capsys.readouterr().out.strip()

    old = kept("old.txt")
    assert compared(old, old)[0] == 0
    for count in range(7):
        world.register("test", [f"x{count}"])
        new = kept("new.txt")
        assert compared(old, new) == (1, compared(old, new)[1])
        (tmp_path / "proof").write_bytes(
            make_consistency_proof(world.ledger, (tmp_path / "old.txt").read_text())
        )
        code, said = compared(new, old, "--proof", str(tmp_path / "proof"))
        assert (code, said.startswith("YES: both checkpoints are of one log, which grew from ")) == (
            0,
            True,
        ), said
    # A log that was cut back and made anew has another history, whatever it proves.
    assert compared(old, kept("theirs.txt", other))[0] == 1
    spoilt = json.loads((tmp_path / "proof").read_text())
    spoilt["path"][0] = spoilt["path"][-1]
    (tmp_path / "proof").write_text(json.dumps(spoilt))
    code, said = compared(old, new, "--proof", str(tmp_path / "proof"))
    assert (code, "history was rewritten" in said) == (1, True)


def test_a_contributor_appeals_with_the_bundle_and_a_key_of_their_own(make_world, ask, tmp_path):
    world = make_world("sqlite")
    pids = world.establish("ann", "ben")
    own = tmp_path / "ben.pem"
    world.trust(keys.read_public(keys.create_signer(own)), pids["ben"])
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    folder = bundles(world, sid, tmp_path)[pids["ben"]]
    key = ("--public-key", public_key(world.ledger))
    out = tmp_path / "appeal.json"
    words = ("--appeal", str(out), "--reason", "wrong-count", "--text", "zwölf, not one", "--sign", str(own))
    assert ask(folder, *words[:4], *key)[0] == 1
    code, said = ask(folder, *words, *key)
    assert (code, "is your signed appeal (wrong-count); Write to" in said) == (0, True)
    signed = read_appeal(out, sid, pids["ben"])
    open_dispute(world.ledger, sid, pids["ben"], "", signed=signed, by="eve")
    (asked,) = statement.build(world.ledger, sid)[pids["ben"]]["disputes"]
    assert (asked["text"], asked["signed_by_contributor"]) == ("zwölf, not one", True)
    # A second appeal does not take the place of the first file.
    assert ask(folder, *words, *key)[0] == 1


def test_who_gets_less_by_nobodys_decision_is_told_no(make_world, verifier, tmp_path):
    world = make_world("sqlite")
    world.establish("ann", "ben")
    rows = simple_rows({"ann": 1, "ben": 1}).with_columns(q=pl.Series([1.0, 0.5]))
    sid = world.post(world.run(rows), "10")
    made = statement.build(world.ledger, sid)
    lower = next(s for s in made.values() if s["amounts"]["gross"] < 5_000_000)
    entries = [json.loads(part["entry"]) for part in lower["proof"]["entries"]]
    head, line = json.loads(lower["proof"]["head"]), json.loads(lower["proof"]["line"])
    verifier.check_decided(head, line, entries, lower)
    for entry in entries:
        if entry["kind"] == "settlement.approved":
            entry["body"]["below"] = ""
    with pytest.raises(verifier.No, match="nobody decided that you get less"):
        verifier.check_decided(head, line, entries, lower)
    with pytest.raises(verifier.No, match="other things of your labels"):
        verifier.check_decided(head, line, entries, {**lower, "weight": "equal"})


@pytest.mark.parametrize("size", ["5\n", "+5\n", "0_5\n", "5\n\nmore\n"], ids=["plain", "sign", "bar", "gap"])
def test_both_programs_read_a_checkpoint_in_one_way(make_world, verifier, size):
    """The log key can sign any text, so both programs must read the same size from it."""
    ring = make_world("sqlite").ledger.ring
    text = f"{ring.origin}\n{size.partition(chr(10))[0]}\n{base64.b64encode(bytes(32)).decode()}\n"
    text += size.partition("\n")[2]
    raw = checkpoint.sign_checkpoint(ring, 5, bytes(32)).rpartition(" ")[2]
    signature = base64.b64decode(raw)[:4] + ring.log.sign(text.encode())
    note = f"{text}\n— {ring.origin} {base64.b64encode(signature).decode()}\n"

    def read(program, faults):
        with contextlib.suppress(*faults):
            return tuple(program(note, ring.public))

    ours = read(checkpoint.read_checkpoint, (AnmlError,))
    assert read(verifier.read_checkpoint, (verifier.No, ValueError)) == ours
    assert (ours is not None) == (size in ("5\n", "5\n\nmore\n"))


def test_what_somebody_put_into_a_bundle_stays_on_its_line(verifier, capsys):
    verifier.say("NO: x\x1b[2K\rYES: all is well\n\u202e")
    assert capsys.readouterr().out == "NO: x [2K YES: all is well  \n"


def test_a_bounded_share_is_said_to_rest_on_a_word(make_world, ask, tmp_path):
    world = make_world("sqlite")
    pids = world.establish("ann", "ben")
    rules = PayoutRules(max_share=UNIT * 6 // 10)
    sid = world.post(world.run(simple_rows({"ann": 6, "ben": 3})), "100", rules=rules)
    code, said = ask(bundles(world, sid, tmp_path)[pids["ben"]])
    assert (code, "share on the word of who issued it" in said) == (0, True), said


LIES = {
    "another project": {"project": "x"},
    "another manifest": {"manifest": "0" * 64},
    "nobody to appeal to": {"appeal_to": "nobody"},
    "other bands": {"bands": {}},
}


@pytest.mark.parametrize("lie", LIES)
def test_whoever_issues_a_statement_says_what_was_signed(make_world, lie):
    """One of the staff has the log's key as well: what two signed for does not rest on that one's word."""
    world = make_world("sqlite", appeals="appeals@example.org")
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 6, "ben": 3})), "100")
    made = statement.build(world.ledger, sid, [pids["ben"]])[pids["ben"]]
    check_statement(statement.sign(world.ledger, made), world.ledger.ring.public)
    with pytest.raises(IntegrityError, match=r"not what was signed|other things of your labels"):
        check_statement(statement.sign(world.ledger, made | LIES[lie]), world.ledger.ring.public)


WITNESSES = {
    "no text of base64": ("\n\n— ", "\n\n— w !!!\n— "),
    "another": ("\n\n— ", "\n\n— w AAAA\n— "),
    "another name": ("— ", "— x"),
}


@pytest.mark.parametrize("what", WITNESSES)
def test_both_programs_agree_on_what_witnesses_add(make_world, verifier, what):
    ring = make_world("sqlite").ledger.ring
    note = checkpoint.sign_checkpoint(ring, 5, bytes(32)).replace(*WITNESSES[what], 1)
    if what == "another name":
        for program, fault in (
            (checkpoint.read_checkpoint, IntegrityError),
            (verifier.read_checkpoint, verifier.No),
        ):
            with pytest.raises(fault, match="not signed by this ledger's key"):
                program(note, ring.public)
    else:
        assert tuple(checkpoint.read_checkpoint(note, ring.public)) == verifier.read_checkpoint(
            note, ring.public
        )


def test_what_a_terminal_cannot_show_is_no_traceback(verifier, monkeypatch):
    page = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", page)
    verifier.say("YES: zwölf —")
    page.flush()
    assert page.buffer.getvalue() == b"YES: zw?lf ?\n"


def test_an_appeal_is_signed_by_a_key_of_the_right_kind(make_world, ask, tmp_path):
    world = make_world("sqlite")
    pids = world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 6, "ben": 3})), "100")
    folder = bundles(world, sid, tmp_path)[pids["ben"]]
    odd = ec.generate_private_key(ec.SECP256R1())
    plain = (serialization.Encoding.DER, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    # A curve that nobody knows.
    known, unknown = (bytes.fromhex(f"2a8648ce3d0301{last}") for last in ("07", "7f"))
    data = odd.private_bytes(*plain).replace(known, unknown)
    words = ("--appeal", str(tmp_path / "a.json"), "--reason", "other", "--text", "x", "--public-key",
             str(folder / "log.pub"), "--sign", str(tmp_path / "own.pem"))  # fmt: skip
    for raw in (ed448.Ed448PrivateKey.generate().private_bytes(*plain), data):
        body = base64.encodebytes(raw).decode()
        (tmp_path / "own.pem").write_text(f"-----BEGIN PRIVATE KEY-----\n{body}-----END PRIVATE KEY-----\n")
        code, said = ask(folder, *words)
        assert (code, said[:3]) == (1, "NO:")
        assert not (tmp_path / "a.json").exists()


def test_the_page_is_the_one_that_follows_from_the_signed_statement(make_world, ask, tmp_path):
    """Whoever issues a bundle could put another amount on the page that people read."""
    world = make_world("sqlite")
    world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    folder = next(iter(bundles(world, sid, tmp_path).values()))
    page = folder / "statement.html"
    for old, new in (("5.00", "5000.00"), ("Ann", "Eve"), ("</body>", "<p>You also get 9.99 EUR</p></body>")):
        text = page.read_text()
        page.write_text(text.replace(old, new, 1) if old in text else text + "x")
        assert ask(folder) == (1, "NO: statement.html says something else than the signed statement")
        page.write_text(text)
    page.unlink()
    assert ask(folder) == (1, "NO: statement.html is not there")


def test_a_statement_says_when_it_was_made_and_that_another_replaced_it(make_world, ask, tmp_path):
    world = make_world("sqlite")
    world.establish("ann", "ben")
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    before = bundles(world, sid, tmp_path / "before")
    world.clock.pass_days(3)
    new = world.post(world.run(simple_rows({"ann": 1, "ben": 3})), "10", supersedes=sid)
    after = bundles(world, sid, tmp_path / "after")
    for pid in before:
        assert "posted 2026-01-31, stated 2026-01-31" in ask(before[pid])[1]
        code, said = ask(after[pid])
        assert code == 0
        assert "posted 2026-01-31, stated 2026-02-03" in said
        assert said.endswith(f"REPLACED by {new} on 2026-02-03, so this amount no longer counts")
        # The entry of the replacement is in the proof: a statement that says otherwise does not hold.
        for name, value in (("state", "posted"), ("replaced_by", ""), ("replaced_at", "2026-03-01")):
            item = statement.build(world.ledger, sid, [pid])[pid] | {name: value}
            signed = statement.sign(world.ledger, item)
            write_bundle(tmp_path / name, item, signed, public_key(world.ledger))
            assert f"{name} is not what was signed" in ask(tmp_path / name)[1]

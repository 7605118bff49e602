"""The ledger's commands on files and values that are wrong: one sentence, exit code 2, nothing changed."""

import json
import shutil
import sqlite3
from pathlib import Path

import polars as pl
import pytest
import sqlalchemy as sa

from anml.core.canonical import sha256
from anml.ledger import kinds, two_people
from anml.ledger.keys import create_signer, public_text, read_public
from anml.ledger.money import parse_amount
from anml.ledger.pay import settle
from anml.ledger.store import LedgerSettings, create

DATA = Path(__file__).parents[2] / "data"
PEOPLE = {"ann": 3, "bob": 2}


def words(text: str) -> list[str]:
    """The words of a command."""
    return text.split()


def write_run(folder: Path, **columns) -> Path:
    folder.mkdir()
    people = [name for name, count in PEOPLE.items() for _ in range(count)]
    signals = dict.fromkeys(("q", "v", "r", "t", "p_correct", "self_confidence"), 0.5)
    values = {"contributor": people, **signals, "kept": True, **columns}
    frame = pl.DataFrame({"row": range(len(people))}).with_columns(
        pl.Series(name, value) if isinstance(value, list) else pl.lit(value).alias(name)
        for name, value in values.items()
    )
    frame.write_parquet(folder / "samples.parquet")
    files = {"samples.parquet": sha256((folder / "samples.parquet").read_bytes())}
    (folder / "run.json").write_text(
        json.dumps({"schema_version": 2, "recipe": {"combine": "evidence"}, "files": files})
    )
    return folder


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A ledger with a posted settlement, and files beside it that are not what they seem."""
    folder = tmp_path_factory.mktemp("books")
    book = create(
        str(folder / "books.db"), charter=LedgerSettings("cat"), staff=folder / "books.db.keys" / "staff"
    )
    second = read_public(create_signer(folder / "books.db.keys" / "staff" / "dan.pem"))
    book.write(lambda tx: two_people.propose_staff(tx, "dan", second, list(kinds.ROLES), "cat"))
    terms = settle.SettlementTerms(parse_amount("10"), "EUR", "cat", window_days=0, source="run")
    draft = settle.draft_settlement(book, write_run(folder / "run"), terms)
    settle.approve_settlement(book, draft.id, "dan")
    public = public_text(book.ring.public)
    book.close()
    create_signer(folder / "lab.pem")
    (folder / "log.pub").write_text(public)
    (folder / "table.csv").write_text("width,label\n1,a\n2,b\n")
    (folder / "bytes").write_bytes(b"\xff\xfe\x00")
    (folder / "list.json").write_text("[]")
    (folder / "cut.db").write_bytes((folder / "books.db").read_bytes()[:5_000])
    (folder / "empty.db").touch()
    with sqlite3.connect(folder / "other.db") as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE meta (x)")
    other.close()
    shutil.copytree(folder / "books.db.keys", folder / "half-keys")
    (folder / "half-keys" / "master.key").write_text("c2hvcnQ=")
    (folder / "policy-list.toml").write_text('name = "t"\ncurrency = "EUR"\n[policy]\nlevels = 3')
    (folder / "policy-bytes.toml").write_bytes(b"\xff")
    (folder / "gap.csv").write_text("source,account,contributor\nshop,ann,\n")
    (folder / "nobody.csv").write_text("contributor,value\n,1\n")
    return folder, draft.id, next(iter(draft.amounts))


def snapshot(folder):
    """Bytes by file; SQLite's own scratch files may come and go."""
    return {
        path.relative_to(folder): path.read_bytes() if path.is_file() else None
        for path in folder.rglob("*")
        if not path.name.endswith(("-wal", "-shm"))
    }


@pytest.fixture
def refused(made, anml, anml_ledger, tmp_path, monkeypatch):
    """Run a command beside a fresh copy of that ledger; it must be refused with one sentence."""
    folder = shutil.copytree(made[0], tmp_path / "books")
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ANML_LEDGER", "books.db")
    monkeypatch.setenv("ANML_BY", "cat")
    monkeypatch.delenv("ANML_KEYS", raising=False)

    def run(text: str) -> str:
        before = snapshot(folder)
        run_program = anml if text.startswith("audit") else anml_ledger
        ran = run_program(*(word.format(sid=made[1], pid=made[2]) for word in text.split()))
        assert (ran.code, ran.out) == (2, ""), ran
        assert ran.err.startswith("error: ")
        assert ran.err.count("\n") == 1, ran.err
        assert snapshot(folder) == before
        return ran.err.removeprefix("error: ").rstrip("\n")

    run.folder = folder
    return run


REFUSED = {
    # ledgers and their keys
    "init --ledger none/new.db": "a ledger cannot be made at none/new.db: there is no folder none",
    "init --ledger .": "a ledger is a SQLite file or a PostgreSQL URL, got the folder .",
    "init --ledger table.csv": "table.csv is not a ledger: it is no SQLite file",
    "init --ledger new.db --keys table.csv": "the folder of keys table.csv cannot be made",
    "verify --ledger table.csv": "table.csv is not a ledger: it is no SQLite file",
    "verify --ledger empty.db": "empty.db is not a ledger: it is no SQLite file",
    "verify --ledger cut.db": "the ledger at sqlite:///cut.db cannot be used: database disk image",
    "verify --ledger other.db": "a table meta that is no ledger's",
    "verify --ledger ://": "a ledger is a SQLite file or a PostgreSQL URL, got '://'",
    "verify --ledger postgresql://127.0.0.1:1/x": "cannot be used: connection",
    "show contributors --keys none": "there is no folder of keys none",
    "show contributors --keys table.csv": "there is no folder of keys table.csv",
    "show contributors --keys half-keys": "master.key is not a master key: 32 bytes in base64",
    "key --out none/x.pem": "the key none/x.pem cannot be written: No such file",
    "import bytes --owner lab": "a public key is 'ed25519:' and 32 bytes in base64",
    "import log.pub --owner lab --until 2020-01-01T00:00:00Z": "a key is valid until a time after",
    "import log.pub --owner lab --since 9999-12-31T23:59:59-05:00": "in the years 1 to 9999",
    # files that cannot be read
    "import bytes.json": "there is no file bytes.json",
    "import list.json": "neither a Label Studio nor an Argilla export",
    "import gap.csv": "gap.csv: column 'contributor' is empty in 1 row;",
    "import none.json": "there is no file none.json",
    "verify --checkpoint none": "the checkpoint none cannot be read: No such file",
    "verify --checkpoint bytes": "the checkpoint bytes cannot be read: it is not UTF-8 text",
    "verify none --public-key log.pub": "the statement none cannot be read: No such file",
    "verify --since bytes --proof new": "the checkpoint bytes cannot be read: it is not UTF-8",
    "verify none": "the statement none cannot be read: No such file",
    "import policy-list.toml": "levels is a table in the policy, got 3",
    "import policy-bytes.toml": "the terms policy-bytes.toml cannot be read: it is not UT",
    # files that cannot be written
    "import run/samples.parquet --out .": "the rows go to a .parquet or .csv file",
    "import list.json --out table.csv/x.csv": "table.csv/x.csv cannot be written",
    "verify --out .": ". cannot be written: it is a folder",
    "statement {sid} --out table.csv": "cannot be written",
    "settle run --pool 1 --currency EUR --source r --by cat --manifest .": (
        ". cannot be written: it is a folder"
    ),
    "pay b1 --currency EUR --by cat --out table.csv": "cannot be written",
    # values
    "show nobody": "there is no contributor 'nobody' in this ledger",
    "settle run --pool 0 --currency EUR --source run --by cat": "a pool is more than 0, got 0 micro-units",
    "pay --currency EUR": "one thing at a time: a batch to make",
    "key --sign lab.pem --verifier lab --attest ANML_REPRODUCED --about tble.csv --out x": (
        "--about names a contributor (c and 32 hex digits) or a file, got 'tble.csv'"
    ),
}


@pytest.mark.parametrize("command", REFUSED)
def test_what_is_not_right_is_said_and_changes_nothing(command, refused):
    assert REFUSED[command] in refused(command)


def test_a_private_key_given_for_a_public_one_is_not_shown(refused):
    said = refused("import lab.pem --owner lab")
    assert said.endswith("or a file with that, got the file lab.pem")
    secret = (refused.folder / "lab.pem").read_text().splitlines()[1]
    assert secret not in said


def test_a_time_that_nobody_can_read_never_gets_into_the_log(made, refused, anml_ledger):
    """In the log for good, it would stop every later reading of the evidence."""
    about = made[2]
    public = anml_ledger("key", "--out", "qa.pem").out.strip()
    assert anml_ledger("import", public, "--owner", "https://lab.example").code == 0
    (waiting,) = json.loads(anml_ledger("show", "waiting", "--json").out)["proposals"]
    shown = anml_ledger("confirm", waiting["proposal"], "--by", "dan")
    assert (
        anml_ledger("confirm", waiting["proposal"], "--by", "dan", "--yes", shown.out.split()[-1]).code == 0
    )
    sign = ["--sign", "qa.pem", "--verifier", "https://lab.example", "--attest", "ANML_REPRODUCED"]
    assert anml_ledger("key", *sign, "--about", about, "--out", "a.json").code == 0
    assert refused("import a.json --until soon").endswith("2026-10-31T00:00:00Z, got 'soon'")
    # The good one is not recorded either when another beside it is not there, or is none.
    assert "cannot be read" in refused("import a.json none.json")
    assert refused("import a.json list.json").startswith("list.json: this is not a DSSE envelope")
    # The same one twice in one breath is one.
    ran = anml_ledger("import", "a.json", "a.json", "--until", "2999-01-01T00:00:00Z", "--json")
    assert (ran.code, ran.err) == (0, "")
    assert len(json.loads(ran.out)["evidence"]) == 1
    assert anml_ledger("statement", made[1]).code == 0


BAD_RUNS = {
    "no parquet": (lambda run: (run / "samples.parquet").write_bytes(b"no parquet"), "damaged or truncated"),
    "no json": (lambda run: (run / "run.json").write_text("{"), "run.json is not JSON: Expecting"),
    "a list": (lambda run: (run / "run.json").write_text("[]"), "is not the record of a run"),
    "a recipe of 3": (lambda run: (run / "run.json").write_text('{"recipe": 3}'), "an object with a recipe"),
    "bytes": (lambda run: (run / "run.json").write_bytes(b"\xff"), "cannot be read: it is not UTF-8 text"),
}


@pytest.mark.parametrize("case", BAD_RUNS)
@pytest.mark.parametrize(
    "command", ["import bad", "settle bad --pool 1 --currency EUR --source run --by cat"]
)
def test_a_run_that_is_none(command, case, refused):
    spoil, said = BAD_RUNS[case]
    spoil(shutil.copytree(refused.folder / "run", refused.folder / "bad"))
    assert said in refused(command)


@pytest.mark.parametrize(
    ("column", "value"),
    [("p_correct", "high"), ("kept", "yes"), ("r", "top"), ("contributor", [["ann"]] * 5)],
)
@pytest.mark.parametrize(
    "command", ["import bad", "settle bad --pool 1 --currency EUR --source run --by cat"]
)
def test_a_run_with_something_else_in_a_column(command, column, value, refused):
    write_run(refused.folder / "bad", **{column: value})
    assert f"column {column!r} of samples.parquet cannot hold" in refused(command)


def _first(tasks, **changes):
    tasks[0].update(changes)


BAD_EXPORTS = {
    "annotations": (lambda tasks: _first(tasks, annotations=3), "must be a list of objects, got '3'"),
    "data": (lambda tasks: _first(tasks, data=3), "must be an object, got '3'"),
    "result": (
        lambda tasks: _first(tasks, annotations=[{"id": 1, "completed_by": 1, "result": 3}]),
        "the result of an annotation must be a list of objects, got '3'",
    ),
}


@pytest.mark.parametrize("case", BAD_EXPORTS)
@pytest.mark.parametrize("command", ["import", "audit"])
def test_an_export_of_another_shape(command, case, refused):
    spoil, said = BAD_EXPORTS[case]
    tasks = json.loads((DATA / "label_studio.json").read_text())
    spoil(tasks)
    (refused.folder / "bad.json").write_text(json.dumps(tasks))
    assert said in refused(f"{command} bad.json")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "bad.json is empty"),
        (b"\xff\xfe[", "bad.json is not UTF-8 text (at byte 0); save it as UTF-8"),
        (b"[" * 100_000, "bad.json is nested too deeply for an export"),
        (b'[{"annotations": [', "bad.json is neither JSON nor lines of JSON (line 1"),
    ],
    ids=["empty", "utf-16", "deep", "cut"],
)
@pytest.mark.parametrize("command", ["import", "audit"])
def test_json_that_cannot_be_read(command, content, said, refused):
    (refused.folder / "bad.json").write_bytes(content)
    assert said in refused(f"{command} bad.json")


@pytest.mark.parametrize("time", [1e30, float("nan"), "never"], ids=["too late", "nan", "text"])
def test_a_time_outside_the_calendar_counts_as_not_known(time, refused, anml_ledger):
    tasks = json.loads((DATA / "label_studio.json").read_text())
    tasks[0]["annotations"][0]["created_at"] = time
    (refused.folder / "odd.json").write_text(json.dumps(tasks))
    assert anml_ledger("import", "odd.json", "--out", "rows.csv").code == 0
    assert pl.read_csv(refused.folder / "rows.csv")["time"][0] is None


def test_times_of_a_table_that_cannot_be_read_are_counted_and_said(refused, anml_ledger):
    (refused.folder / "t.csv").write_text("contributor,label,when\nann,a,2026-01-01\nbob,b,soon\n")
    ran = anml_ledger("import", "t.csv", "--time", "when", "--dry-run")
    assert ran.code == 0
    said = "column 'when' (time) has 1 values that are not times, the first 'soon'; they count as not known"
    assert said in ran.err


def test_an_empty_item_is_not_an_item_called_none(refused):
    (refused.folder / "t.csv").write_text("task,worker,label\n1,ann,a\n,bob,b\n")
    assert "column 'task' (item) is empty in 1 row;" in refused("import t.csv --format crowd-long")


def test_a_dry_run_writes_no_file_and_names_none(refused, anml_ledger):
    arguments = ["import", "run/samples.parquet", "--label", "q", "--out", "rows.csv", "--dry-run"]
    ran = anml_ledger(*arguments)
    assert ran.code == 0
    assert "rows.csv" not in ran.out
    draft = words("settle run --supersedes x --pool 1 --currency EUR --source run --by cat")
    anml_ledger(*draft, "--manifest", "m.json", "--dry-run")
    assert not any((refused.folder / name).exists() for name in ("rows.csv", "m.json"))


def test_what_no_door_foresaw_on_the_disk_is_one_sentence_too(refused, monkeypatch):
    def full(*_, **__):
        raise OSError(28, "No space left on device", "books.db")

    monkeypatch.setattr("anml.ledger.services.ledgers.open_ledger", full)
    assert refused("show contributors") == "No space left on device: books.db"


def test_a_database_that_fails_half_way_is_one_sentence(refused, monkeypatch):
    def fails(*_, **__):
        raise sa.exc.OperationalError("INSERT", {}, sqlite3.OperationalError("database or disk is full"))

    monkeypatch.setattr("anml.ledger.contributors.reputation.show", fails)
    said = refused("show contributors")
    assert said == "the ledger at sqlite:///books.db cannot be used: database or disk is full"

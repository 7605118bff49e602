"""The ledger's commands: what they print, what they refuse, and with which exit code."""

import json
import os
import resource
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from anml.core.canonical import sha256
from anml.ledger.store import random_id
from anml.surfaces import cli

DATA = Path(__file__).parents[1] / "data"
ANML = Path(sys.executable).with_name("anml")

# A run that was written before there were five words.
FORMER = DATA / "former.zip"


def words(text: str) -> list[str]:
    """The words of a command."""
    return text.split()


class Shell:
    """Runs commands in this process, as `main` would."""

    def __init__(self, monkeypatch, capsys, folder: Path) -> None:
        self._patch, self._capsys, self.folder = monkeypatch, capsys, folder
        monkeypatch.chdir(folder)
        monkeypatch.setenv("ANML_LEDGER", "books.db")
        monkeypatch.delenv("ANML_KEYS", raising=False)

    def __call__(self, *arguments: object) -> tuple[int, str, str]:
        self._patch.setattr(sys, "argv", ["anml", *map(str, arguments)])
        code = 0
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = self._capsys.readouterr()
        return code, out, err

    def json(self, *arguments: object) -> dict:
        code, out, err = self(*arguments, "--json")
        assert code == 0, err
        return json.loads(out)

    def sign(self, *arguments: object) -> dict:
        """Look at what a second person would sign, then sign exactly that."""
        code, out, err = self(*arguments, "--json")
        assert code == 3, err
        return self.json(*arguments, "--yes", json.loads(out)["digest"])

    def latest(self) -> str:
        return self.json("settle")["settlements"][-1]["id"]


STAFF = Path("staff-keys")


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path) -> Shell:
    """A ledger that fin-1 made, with fin-2 as the second member of staff; fin-1 acts by default."""
    made = Shell(monkeypatch, capsys, tmp_path)
    assert made("ledger", "init", "--origin", "shop", "--by", "fin-1", "--payee-wait-days", "0")[0] == 0
    public = made.json("ledger", "staff", "new", "fin-2", "--out", STAFF / "fin-2.pem")["public_key"]
    monkeypatch.setenv("ANML_BY", "fin-1")
    assert made.json("ledger", "staff", "add", "fin-2", "--public-key", public)["added"]
    return made


def agreed(shell: Shell) -> None:
    """The second person's word to all that waits for it."""
    waiting = [p["proposal"] for p in shell.json("ledger", "proposals")["proposals"]]
    shell.sign("ledger", "confirm", *waiting, "--by", "fin-2")


def run_folder(folder: Path, names: dict[str, int]) -> Path:
    people = [name for name, count in names.items() for _ in range(count)]
    folder.mkdir()
    ones = [1.0] * len(people)
    frame = pl.DataFrame({"contributor": people, "q": ones, "v": ones, "r": ones, "t": ones})
    frame.with_columns(kept=pl.lit(True)).write_parquet(folder / "samples.parquet")
    data = (folder / "samples.parquet").read_bytes()
    (folder / "run.json").write_text(json.dumps({"files": {"samples.parquet": sha256(data)}}))
    return folder


def test_every_command_has_help_and_the_ledgers_all_have_json():
    import typer

    command = typer.main.get_command(cli.app)
    ours = ("ledger", "reputation", "settle", "dispute", "statement", "payout")
    seen = []

    def walk(name, node):
        if hasattr(node, "commands"):
            for child_name, child in node.commands.items():
                walk(f"{name} {child_name}", child)
            return
        seen.append(name)
        assert node.help, name
        assert any(option.name == "json" for option in node.params), name

    for name in ours:
        walk(name, command.commands[name])
    assert len(seen) == 35
    money = [command.commands["settle"], command.commands["payout"]]
    assert all(any(option.name == "dry_run" for option in node.params) for node in money)


def test_help_is_instant():
    def used() -> float:
        spent = resource.getrusage(resource.RUSAGE_CHILDREN)
        return spent.ru_utime + spent.ru_stime

    start = used()
    done = subprocess.run([ANML, "ledger", "--help"], capture_output=True, text=True, check=True)
    # Processor time, which a busy machine stretches least: 0.15 s where it was measured.
    assert used() - start < 0.6
    assert "checkpoint" in done.stdout
    loaded = "import sys; import anml.surfaces.cli; print([m for m in sys.modules if m.split('.')[0] in %r])"
    heavy = ["sqlalchemy", "cryptography", "polars", "numpy", "scipy", "torch"]
    done = subprocess.run([sys.executable, "-c", loaded % heavy], capture_output=True, text=True, check=True)
    # numpy comes with the names of errors and checks; the engines do not.
    assert not {name for name in heavy[:3] if f"'{name}'" in done.stdout}


def test_without_a_ledger_the_error_says_how_to_name_one(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANML_")}
    done = subprocess.run(
        [ANML, "reputation", "show"], capture_output=True, text=True, env=env, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert (
        done.stderr
        == "error: name a ledger with --ledger or ANML_LEDGER: a SQLite file or a PostgreSQL URL\n"
    )


def test_a_ledger_is_made_once(shell):
    code, _, err = shell("ledger", "init")
    assert (code, "already" in err) == (2, True)
    assert (shell.folder / "books.db.keys" / "log.pem").stat().st_mode & 0o777 == 0o600
    code, _, err = shell("ledger", "verify", "--ledger", "other.db")
    assert (code, "there is no ledger at other.db" in err) == (2, True)


def test_from_run_to_payout(shell):
    run = run_folder(shell.folder / "run", {"ann": 3, "ben": 1})
    shown = shell.json(
        "settle", run, "--pool", "100", "--currency", "EUR", "--source", "run", "--by", "fin-1", "--dry-run"
    )
    assert sorted(shown["amounts"].values()) == [25_000_000, 75_000_000]
    assert shell.json("settle")["settlements"] == []
    drafted = shell.json(
        *("settle", run, "--pool", "100", "--currency", "EUR", "--source", "run", "--by", "fin-1"),
        *("--window-days", "0", "--manifest", "manifest.json"),
    )
    assert drafted["weight"] == "product"
    code, _, err = shell("settle", "--approve", shell.latest(), "--by", "fin-1")
    assert (code, "a second person must approve" in err) == (2, True)
    assert shell.sign("settle", "--approve", shell.latest(), "--by", "fin-2")["state"] == "posted"
    waiting = shell.json("settle", "--release", shell.latest())
    assert waiting["released"] == {}
    ann = shell.json("ledger", "contributors", "--find", "run:ann")["contributor"]
    public = shell.json("ledger", "keys", "new", "lab.pem")["public_key"]
    trusted = shell.json("ledger", "keys", "trust", public, "--owner", "https://lab.example")
    agreed(shell)
    about = ("--property", "ANML_AFFILIATION", "--about", ann, "--out", "a.json")
    shell.json("ledger", "attest", "--sign", "lab.pem", "--verifier", "https://lab.example", *about)
    taken = shell.json("ledger", "attest", "a.json")
    assert [e["kind"] for e in taken["evidence"]] == ["affiliation"]
    shell.json("ledger", "contributors", ann, "--name", "Ann")
    agreed(shell)
    released = shell.sign("settle", "--release", shell.latest())
    # A newcomer's amount is priced at the r of today: 0.4 of the 1.0 that the run had.
    assert released["released"] == {ann: 30_000_000}
    assert released["returned"] == {ann: 45_000_000}
    made = shell.json("statement", "latest", "--out", "out")
    assert len(made["statements"]) == 2
    names = sorted(path.suffix for path in (shell.folder / "out").iterdir())
    assert names == [".csv", ".html", ".html", ".json", ".json"]
    key = "books.db.keys/log.pub"
    assert shell.json("statement", "--verify", f"out/{ann}.json", "--public-key", key)["verified"]
    paid = shell.json("payout", "--currency", "EUR", "--by", "fin-1", "--batch", "b1", "--dry-run")
    assert (paid["total"], shell.json("payout")["batches"]) == (30_000_000, [])
    paid = shell.json("payout", "--currency", "EUR", "--by", "fin-1", "--batch", "b1", "--out", "bank")
    assert [Path(name).name for name in paid["files"]] == ["b1.csv", "books.beancount"]
    assert shell.json("payout", "--paid", "b1")["payments"][0]["state"] == "paid"
    shell.json("ledger", "keys", "revoke", trusted["key"])
    assert shell.json("ledger", "keys", "list")["keys"][0]["revoked"]
    assert shell.json("ledger", "verify")["sound"]


def test_bank_file_and_disputes(shell, monkeypatch):
    run = run_folder(shell.folder / "run", {"ann": 1})
    shell.json("settle", run, *words("--pool 10 --currency EUR --source run --by fin-1 --window-days 1"))
    shell.sign("settle", "--approve", shell.latest(), "--by", "fin-2")
    sid = shell.json("settle")["settlements"][0]["id"]
    ann = shell.json("ledger", "contributors", "--find", "run:ann")["contributor"]
    assert shell.json("dispute", "open", sid, ann, "--reason", "wrong-count", "--dry-run")["dry_run"]
    shell.json("dispute", "open", shell.latest(), "ann", "--reason", "wrong-count", "--text", "I gave three")
    code, out, _ = shell("dispute", "list", "latest", "--open")
    assert (code, "waits for an answer" in out, "ann" in out) == (0, True, True)
    said = ("--text", "two labels were missing")
    answered = ("--outcome", "upheld", "--reason", "count-corrected", "--by", "fin-2", "--add", "2", *said)
    assert shell.json("dispute", "answer", sid, ann, *answered)["correction"] == 2_000_000
    code, _, err = shell("dispute", "resolve", sid, ann, "--by", "fin-2")
    assert (code, err) == (2, "error: 'fin-2' answered this dispute; a second person must resolve it\n")
    assert shell.sign("dispute", "resolve", sid, ann, "--by", "fin-1", "--dry-run")["correction"] == 2_000_000
    assert shell.sign("dispute", "resolve", sid, ann, "--by", "fin-1")["correction"] == 2_000_000
    # What is done is not there to be signed again.
    code, _, err = shell("dispute", "resolve", sid, ann, "--by", "fin-1")
    assert (code, "has no open dispute" in err) == (2, True)
    shown = shell.json("statement", sid, "--out", "papers")["statements"][0]
    assert shown["amounts"]["held"] == 12_000_000
    (asked,) = shown["disputes"]
    assert (asked["reason"], asked["answer"], asked["state"]) == ("wrong-count", "count-corrected", "closed")
    page = (shell.folder / "papers" / f"{ann}.html").read_text()
    assert "upheld by fin-2, reason: count-corrected, correction 2.00 EUR" in page
    assert "“I gave three”" in page
    assert "“two labels were missing”" in page
    assert "posted by fin-1" in page
    public = shell.json("ledger", "keys", "new", "lab.pem")["public_key"]
    shell.json("ledger", "keys", "trust", public, "--owner", "lab")
    agreed(shell)
    about = ("--property", "ANML_REPRODUCED", "--about", ann, "--out", "a.json")
    shell.json("ledger", "attest", "--sign", "lab.pem", "--verifier", "lab", *about)
    shell.json("ledger", "attest", "a.json")
    # The window has a day to run: from here on it is over.
    later = datetime.now(UTC) + timedelta(days=2)
    monkeypatch.setattr(
        "anml.ledger.store.open_ledger.__defaults__", (None, lambda: later, random_id, None, None)
    )
    code, _, err = shell("dispute", "open", sid, ann, "--reason", "wrong-weight")
    assert (code, "the dispute window of settlement" in err) == (2, True)
    shell.sign("settle", "--release", sid)
    shell.json("ledger", "contributors", ann, "--name", "Ann", "--iban", "DE89 3704 0044 0532 0130 00")
    agreed(shell)
    (shell.folder / "us.toml").write_text('name = "Payer"\niban = "GB29NWBK60161331926819"\n')
    pay = ("payout", "--currency", "EUR", "--batch", "b1")
    (shell.folder / "bad.toml").write_text('name = "Payer"\niban = "GB00NWBK60161331926819"\n')
    bank = ("--rail", "pain001", "--debtor", "us.toml", "--out", "bank")
    for wrong, said in (("bad.toml", "check digits"), ("no.toml", "cannot be read")):
        code, _, err = shell(*pay, *bank[:2], "--debtor", wrong, "--out", "bank")
        assert (code, said in err) == (2, True)
    assert shell.json("payout")["batches"] == []  # and no money has moved
    made = shell.json(*pay, *bank)
    assert any(name.endswith("pain001.xml") for name in made["files"])
    rehearsed = shell.json("payout", "--paid", "b1", "--dry-run")
    assert rehearsed["payments"][0]["state"] == "paid"
    code, _, err = shell("payout", "--failed", "b1", "--contributor", ann)
    assert (code, "a second person must record what came back" in err) == (2, True)
    back = shell.sign("payout", "--failed", "b1", "--contributor", ann, "--by", "fin-2")
    assert back["payments"][0]["state"] == "failed"
    take = ("--amount", "4.8", "--reason", "fraud")
    assert shell.json("dispute", "reverse", sid, ann, *take, "--dry-run")["amount"] == 4_800_000
    shell.json("dispute", "reverse", sid, ann, *take)
    agreed(shell)
    shown = shell.json("statement", sid)["statements"][0]["amounts"]
    assert (shown["reversed"], shown["payable"]) == (4_800_000, 0)


def test_verify_finds_tampering_with_exit_code_1(shell):
    shell("ledger", "import", DATA / "label_studio.json", "--format", "label-studio")
    shell("ledger", "checkpoint", "--out", "kept.txt")
    code, out, _ = shell("ledger", "verify", "--checkpoint", "kept.txt")
    assert (code, "every hash, link, step, signature and sum holds" in out) == (0, True)
    import sqlite3

    base = sqlite3.connect(shell.folder / "books.db")
    base.executescript(
        "DROP TRIGGER event_no_delete; DELETE FROM event WHERE seq = (SELECT MAX(seq) FROM event);"
    )
    base.close()
    code, out, _ = shell("ledger", "verify")
    assert (code, "not the one that the ledger's key sealed" in out) == (1, True)
    code, out, _ = shell("ledger", "verify", "--checkpoint", "kept.txt")
    assert (code, "its end was cut off" in out) == (1, True)


def test_growth_is_proved_to_somebody_without_the_ledger(shell):
    shell("ledger", "checkpoint", "--out", "old.txt")
    shell("ledger", "import", DATA / "crowd_long.csv", "--format", "crowd-long")
    assert (
        shell("ledger", "checkpoint", "--since", "old.txt", "--proof", "p.json", "--out", "new.txt")[0] == 0
    )
    key = ("--public-key", "books.db.keys/log.pub")
    checked = shell.json("ledger", "verify", "--proof", "p.json", *key)
    assert (checked["older"], checked["newer"]) == (2, 9)
    said = json.loads((shell.folder / "p.json").read_text())
    said["path"] = said["path"][1:]
    (shell.folder / "p.json").write_text(json.dumps(said))
    code, _, err = shell("ledger", "verify", "--proof", "p.json", *key)
    assert (code, "history was rewritten" in err) == (2, True)
    code, _, err = shell("ledger", "checkpoint", "--since", "old.txt")
    assert (code, "needs both" in err) == (2, True)


def test_an_auditor_verifies_without_the_keys(shell):
    shell("ledger", "checkpoint", "--out", "kept.txt")
    (shell.folder / "books.db.keys").rename(shell.folder / "away")
    code, out, err = shell("ledger", "verify", "--checkpoint", "kept.txt", "--public-key", "away/log.pub")
    assert (code, "every hash" in out) == (0, True), err
    code, _, err = shell("ledger", "checkpoint")
    assert (code, "needs the ledger's keys" in err) == (2, True)


def test_import_map_reputation_and_erase(shell):
    code, _, err = shell("ledger", "import", DATA / "toloka.tsv", "--format", "toloka", "--out", "rows.csv")
    assert code == 0
    assert "warning: 1 row without an answer was left out" in err
    assert pl.read_csv("rows.csv").height == 3
    listed = shell.json("ledger", "contributors")["contributors"]
    assert [person["accounts"] for person in listed if person["flagged"]] == []
    first = shell.json("ledger", "contributors", "--find", "toloka:wA")["contributor"]
    steps = shell.json("reputation", "replay", first)["steps"]
    # Toloka does not say who accepted it, so that counts for nothing.
    assert [step["source"] for step in steps] == ["gold"]
    (shell.folder / "people.csv").write_text(
        f"source,account,contributor\ntoloka,wB,{first}\nmturk,A1X,toloka:wA\n"
    )
    mapped = shell.json("ledger", "map", "people.csv")["mapped"]
    assert mapped == {"toloka:wB": first, "mturk:A1X": first}
    agreed(shell)
    assert shell.json("ledger", "contributors", "--find", "mturk:A1X")["contributor"] == first
    assert len(shell.json("reputation", "show")["contributors"]) == 1
    gone = shell.json("ledger", "erase", first, "--dry-run")
    assert gone["batches"]
    shell.json("ledger", "erase", first)
    code, _, err = shell("ledger", "contributors", "--find", "toloka:wA")
    assert (code, "there is no contributor" in err) == (2, True)
    assert shell.json("ledger", "verify")["sound"]


def test_a_doubtful_run_needs_an_acceptance(shell):
    run = run_folder(shell.folder / "run", {"ann": 2, "ben": 1})
    said = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**said, "gate": {"branch": "doubtful", "reason": "two camps"}}))
    ask = ("settle", run, "--pool", "10", "--currency", "EUR", "--source", "run", "--by", "fin-1")
    code, out, err = shell(*ask)
    assert (code, out) == (2, "")
    assert err.strip() == (
        "error: this run is doubtful: two camps; have it checked, or settle it all the same with "
        '--accept-doubtful "why"'
    )
    assert shell.json("settle")["settlements"] == []
    code, out, _ = shell(*ask, "--accept-doubtful", "checked by hand")
    assert code == 0
    assert "The run is doubtful: two camps." in out
    assert "Accepted by fin-1: checked by hand" in out
    code, out, _ = shell("settle", "--approve", shell.latest(), "--by", "fin-2")
    assert (code, "Accepted by fin-1: checked by hand" in out) == (3, True)
    digest = out.split()[-1]
    code, out, _ = shell("settle", "--approve", shell.latest(), "--by", "fin-2", "--yes", digest)
    assert "Its run is doubtful; fin-1 accepted that: checked by hand" in out


def test_who_cannot_be_judged_is_marked_in_a_draft(shell):
    run = run_folder(shell.folder / "run", {"ann": 2, "ben": 1})
    (run / "contributors.csv").write_text("contributor,verdict\nann,trusted\nben,cannot tell\n")
    said = json.loads((run / "run.json").read_text())
    said["files"]["contributors.csv"] = sha256((run / "contributors.csv").read_bytes())
    (run / "run.json").write_text(json.dumps(said))
    code, out, _ = shell(
        "settle", run, "--pool", "10", "--currency", "EUR", "--source", "run", "--by", "fin-1"
    )
    assert (code, out.count("new, cannot tell")) == (0, 1)


def test_a_run_with_former_words_is_settled(shell, tmp_path):
    shutil.unpack_archive(FORMER, tmp_path)
    run = tmp_path / "former" / "run"
    asked = ("--pool", "100", "--currency", "EUR", "--by", "fin-1", "--source", "table")
    code, _, err = shell("settle", run, *asked)
    assert code == 0, err
    drafted = shell.json(
        "settle", run, "--pool", "100", "--currency", "EUR", "--by", "fin-1", "--source", "table", "--dry-run"
    )
    amounts = drafted["amounts"]
    # In millionths.
    assert sum(int(amount) for amount in amounts.values()) == 100_000_000
    assert len(amounts) >= 4


def test_names_in_rows_settle_by_source(shell):
    shell(
        "ledger",
        "import",
        DATA / "crowd_long.csv",
        "--format",
        "crowd-long",
        "--names",
        "--out",
        "rows.parquet",
    )
    rows = pl.read_parquet("rows.parquet")
    assert set(rows["contributor"]) == {"w1", "w2", "w3"}
    run = run_folder(shell.folder / "run", {"w1": 1, "w2": 1})
    shell.json("settle", run, *words("--pool 1 --currency EUR --by fin-1 --source crowd"))
    w1 = shell.json("ledger", "contributors", "--find", "crowd:w1")["contributor"]
    assert (
        w1
        in shell.json("settle", run, *words("--pool 1 --currency EUR --by fin-1 --source crowd"))["amounts"]
    )


def test_a_dry_run_withdraws_nothing(shell):
    run = run_folder(shell.folder / "run", {"ann": 1})
    shell.json("settle", run, "--pool", "10", "--currency", "EUR", "--source", "run", "--by", "fin-1")
    assert shell.json("settle", "--withdraw", shell.latest(), "--by", "fin-1", "--dry-run")["dry_run"]
    assert shell.json("settle")["settlements"][0]["state"] == "drafted"
    shell.json("settle", "--withdraw", shell.latest(), "--by", "fin-1")
    assert shell.json("settle")["settlements"][0]["state"] == "withdrawn"


def test_policies_are_toml_files(shell):
    (shell.folder / "policy.toml").write_text("[levels]\nreviewed = 0.8\n")
    base = ("ledger", "import", DATA / "toloka.tsv", "--format", "toloka", "--out", "rows.csv")
    assert shell(*base, "--policy", "policy.toml")[0] == 0
    # Nobody with standing accepted anything in this file, so it is as if nobody had.
    assert pl.read_csv("rows.csv")["verification"].max() == 0.25
    (shell.folder / "policy.toml").write_text("[levels]\nreviewed = 0.99\n")
    code, _, err = shell(*base, "--policy", "policy.toml")
    assert (code, "v of reviewed must lie in [0.7, 0.8]" in err) == (2, True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ("settle", "nowhere", "--pool", "1", "--currency", "EUR", "--source", "run", "--by", "fin-1"),
            "not a run folder",
        ),
        (
            ("settle", "x", "--pool", "1e3", "--currency", "EUR", "--source", "run", "--by", "fin-1"),
            "digits with an optional point",
        ),
        (("settle", "x", "--by", "fin-1"), "give the run with --currency, and --pool or --per-label"),
        (("settle", "--approve", "latest", "--by", "fin-1"), "name the settlement itself"),
        (("settle", "--approve", "a", "--release", "b"), "one step at a time"),
        (("statement",), "give the settlement"),
        (("statement", "s1"), "there is no settlement 's1'"),
        (("payout", "--failed", "b"), "whose payment came back"),
        (("payout", "--paid", "b"), "no payout batch 'b'"),
        (("ledger", "attest"), "give attestations"),
        (("ledger", "attest", "--sign", "x"), "to sign, give"),
        (("ledger", "import", "none.csv"), "does not exist"),
        (("ledger", "import", "x", "--format", "excel"), "unknown format 'excel'"),
        (("ledger", "map", "a:b"), "give --to"),
        (("ledger", "map", "ab", "--to", "shop:c"), "written source:name"),
        (("ledger", "erase", "c1"), "there is no contributor 'c1'"),
        (("ledger", "keys", "trust", "rubbish", "--owner", "x"), "a public key is"),
        (("reputation", "trust", "c1"), "nobody has verified anybody"),
    ],
)
def test_one_sentence_errors(shell, arguments, message):
    code, out, err = shell(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert err.count("\n") == 1
    assert message in err


def test_init_says_who_you_are_and_how_to_bring_in_the_second(monkeypatch, capsys, tmp_path):
    shell = Shell(monkeypatch, capsys, tmp_path)
    code, out, _ = shell("ledger", "init", "--by", "Ada")
    assert code == 0
    # Her key lies where nobody else needs to look, and not beside the log's.
    assert f"You are ada; your key is {tmp_path / 'staff-keys' / 'ada.pem'}. Nobody else needs it" in out
    assert sorted(path.name for path in (tmp_path / "books.db.keys").iterdir()) == [
        "log.pem",
        "log.pub",
        "master.key",
    ]
    assert "anml ledger staff add NAME --public-key KEY --by ada" in out
    # Her key alone is at hand, so nobody has to say who acts.
    assert shell("ledger", "import", DATA / "crowd_long.csv", "--format", "crowd-long")[0] == 0
    assert shell("ledger", "verify")[0] == 0


def test_a_ledger_of_one_person_confirms_at_once_and_says_so(monkeypatch, capsys, tmp_path):
    shell = Shell(monkeypatch, capsys, tmp_path)
    shell("ledger", "init", "--by", "ada", "--single-person")
    run = run_folder(tmp_path / "run", {"ann": 3})
    shell.json("settle", run, "--pool", "1", "--currency", "EUR", "--source", "run", "--window-days", "0")
    assert shell.sign("settle", "--approve", shell.latest())["by"] == "ada"
    assert shell.json("ledger", "contributors", "ann", "--iban", "DE89 3704 0044 0532 0130 00")["set"]
    (made,) = shell.json("statement", "latest", "--out", "papers")["statements"]
    assert made["single_person"]
    page = next((tmp_path / "papers").glob("*.html")).read_text()
    assert "One person keeps this ledger" in page
    code, out, _ = shell("statement", "--verify", next((tmp_path / "papers").glob("c*.json")))
    assert (code, "One person keeps this ledger." in out) == (0, True)


def test_staff_roles_and_what_waits_for_a_second_person(shell):
    public = shell.json("ledger", "staff", "new", "pat", "--out", STAFF / "pat.pem")["public_key"]
    added = shell.json("ledger", "staff", "add", "pat", "--public-key", public, "--role", "payer")
    assert not added["added"]
    (waiting,) = shell.json("ledger", "proposals")["proposals"]
    assert (waiting["by"], waiting["says"]) == ("fin-1", f"bring in pat as payer, with the key {public}")
    code, _, err = shell("ledger", "confirm", waiting["proposal"], "--by", "fin-1")
    assert (code, "a second person must confirm it" in err) == (2, True)
    code, _, err = shell("ledger", "confirm", "x")
    assert (code, "a proposal is named by its number" in err) == (2, True)
    agreed(shell)
    assert [m["name"] for m in shell.json("ledger", "staff", "list")["staff"]] == ["fin-1", "fin-2", "pat"]
    assert shell.json("ledger", "staff", "remove", "pat")["name"] == "pat"
    made = shell.json("ledger", "keys", "trust", _new_key(shell), "--owner", "lab")
    assert shell.json("ledger", "confirm", made["proposal"], "--drop")["dropped"] == [made["proposal"]]
    assert shell.json("ledger", "keys", "list")["keys"] == []


def _new_key(shell) -> str:
    return shell.json("ledger", "keys", "new", "k.pem")["public_key"]


def test_pay_by_a_rate_per_label(shell):
    run = run_folder(shell.folder / "run", {"ann": 3, "ben": 1})
    code, out, _ = shell("settle", run, "--per-label", "0.05", "--currency", "EUR", "--source", "run")
    assert (code, "0.20 EUR by a rate per label" in out) == (0, True)
    shell.sign("settle", "--approve", shell.latest(), "--by", "fin-2")
    made = {s["name"]: s for s in shell.json("statement", "latest")["statements"]}
    assert {name: s["amounts"]["gross"] for name, s in made.items()} == {"ann": 150_000, "ben": 50_000}
    assert made["ann"]["how"] == "3 labels at 0.05 EUR each: 0.15 EUR."
    for more in (("--pool", "1"), ("--weight", "product"), ("--max-share", "0.5")):
        code, _, err = shell(
            "settle", run, "--per-label", "0.05", "--currency", "EUR", "--source", "run", *more
        )
        assert (code, err.count("\n")) == (2, 1)
    assert (
        "more than 0" in shell("settle", run, "--per-label", "0", "--currency", "EUR", "--source", "run")[2]
    )


def test_bank_details_of_many_from_a_file(shell):
    run = run_folder(shell.folder / "run", {"ann": 1, "ben": 1})
    shell.json("settle", run, "--pool", "1", "--currency", "EUR", "--source", "run")
    (shell.folder / "bank.csv").write_text(
        "contributor,name,iban\nann,Ann,DE89 3704 0044 0532 0130 00\nrun:ben,Ben,GB29NWBK60161331926819\n"
    )
    assert len(shell.json("ledger", "contributors", "--bank", "bank.csv")["proposals"]) == 2
    agreed(shell)
    names = {person["name"] for person in shell.json("ledger", "contributors")["contributors"]}
    assert names == {"Ann", "Ben"}
    (shell.folder / "bad.csv").write_text("contributor,iban\nAnn,DE00370400440532013000\n")
    assert "check digits" in shell("ledger", "contributors", "--bank", "bad.csv")[2]
    (shell.folder / "none.csv").write_text("who,iban\nAnn,x\n")
    assert "needs a column contributor" in shell("ledger", "contributors", "--bank", "none.csv")[2]


def test_paid_and_failed_in_one_breath_are_refused(shell):
    code, _, err = shell("payout", "--paid", "a", "--failed", "b", "--contributor", "c")
    assert (code, err) == (2, "error: one thing at a time: --paid or --failed\n")


def test_names_cannot_write_to_the_terminal(shell):
    (shell.folder / "odd.csv").write_text('task,worker,label\n1,"\x1b[2Jbob",a\n2,ann,b\n3,ann\u202e,b\n')
    code, out, err = shell("ledger", "import", "odd.csv", "--format", "crowd-long")
    assert code == 0
    assert "look alike" in err
    _, listed, _ = shell("ledger", "contributors")
    for text in (out, err, listed):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_watch_keeps_checkpoints_and_sees_a_cut(shell):
    Path("notes").mkdir()
    assert shell.json("ledger", "watch", "--to", "notes")["compared"] == 0
    shell("ledger", "import", DATA / "crowd_long.csv", "--format", "crowd-long")
    assert shell.json("ledger", "watch", "--to", "notes")["compared"] == 1
    assert len(list((shell.folder / "notes").iterdir())) == 2
    (shell.folder / "notes" / "0.txt").write_text("rubbish")
    code, out, _ = shell("ledger", "watch", "--to", "notes")
    assert (code, "PROBLEM: 0.txt: the checkpoint is not signed" in out) == (1, True)
    assert len(list((shell.folder / "notes").iterdir())) == 3

"""The ledger's commands: what they print, what they refuse, and with which exit code."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest

from anml.core.canonical import sha256
from anml.ledger.cli import main as cli
from anml.ledger.store import random_id

DATA = Path(__file__).parents[2] / "data"
PROGRAM = Path(sys.executable).with_name("anml-ledger")


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
        self._patch.setattr(sys, "argv", ["anml-ledger", *map(str, arguments)])
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
        return self.json("show", "settlements")["settlements"][-1]["id"]


STAFF = Path("staff-keys")


@pytest.fixture
def shell(monkeypatch, capsys, tmp_path) -> Shell:
    """A ledger that fin-1 made, with fin-2 as the second member of staff; fin-1 acts by default."""
    made = Shell(monkeypatch, capsys, tmp_path)
    assert made("init", "--origin", "shop", "--by", "fin-1", "--payee-wait-days", "0")[0] == 0
    public = made.json("key", "fin-2", "--out", STAFF / "fin-2.pem")["public_key"]
    monkeypatch.setenv("ANML_BY", "fin-1")
    assert made.json("import", public, "--staff", "fin-2")["added"]
    return made


def agreed(shell: Shell) -> None:
    """The second person's word to all that waits for it."""
    waiting = [p["proposal"] for p in shell.json("show", "waiting")["proposals"]]
    shell.sign("confirm", *waiting, "--by", "fin-2")


def run_folder(folder: Path, names: dict[str, int]) -> Path:
    people = [name for name, count in names.items() for _ in range(count)]
    folder.mkdir()
    ones = [1.0] * len(people)
    frame = pl.DataFrame({"contributor": people, "q": ones, "v": ones, "r": ones, "t": ones})
    frame.with_columns(kept=pl.lit(True)).write_parquet(folder / "samples.parquet")
    data = (folder / "samples.parquet").read_bytes()
    (folder / "run.json").write_text(
        json.dumps({"schema_version": 2, "files": {"samples.parquet": sha256(data)}})
    )
    return folder


def test_every_command_has_help_and_the_ledgers_all_have_json():
    import typer

    command = typer.main.get_command(cli.app)
    seen = []

    def walk(name, node):
        if hasattr(node, "commands"):
            for child_name, child in node.commands.items():
                walk(f"{name} {child_name}", child)
            return
        seen.append(name)
        assert node.help, name
        assert any(option.name == "json" for option in node.params), name

    walk("anml-ledger", command)
    assert len(seen) == 13
    money = [command.commands["settle"], command.commands["pay"]]
    assert all(any(option.name == "dry_run" for option in node.params) for node in money)


def test_help_of_anml_loads_no_engine():
    loaded = "import sys; import anml.cli.main; print([m for m in sys.modules if m.split('.')[0] in %r])"
    heavy = ["sqlalchemy", "cryptography", "polars"]
    done = subprocess.run([sys.executable, "-c", loaded % heavy], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_without_a_ledger_the_error_says_how_to_name_one(tmp_path):
    env = {name: value for name, value in os.environ.items() if not name.startswith("ANML_")}
    done = subprocess.run(
        [PROGRAM, "show", "contributors"],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
        check=False,
    )
    assert done.returncode == 2
    assert (
        done.stderr
        == "error: name a ledger with --ledger or ANML_LEDGER: a SQLite file or a PostgreSQL URL\n"
    )


def test_a_ledger_is_made_once(shell):
    code, _, err = shell("init")
    assert (code, "already" in err) == (2, True)
    assert (shell.folder / "books.db.keys" / "log.pem").stat().st_mode & 0o777 == 0o600
    code, _, err = shell("verify", "--ledger", "other.db")
    assert (code, "there is no ledger at other.db" in err) == (2, True)


def agree(shell: Shell, days: int) -> None:
    """Terms with a window of this many days, and no minimum payout but a cent."""
    text = f'name = "t"\ncurrency = "EUR"\nwindow_days = {days}\nminimum_payout = 0.01\n'
    (shell.folder / "terms.toml").write_text(text)
    shell.json("import", "terms.toml")
    agreed(shell)


def name_payee(shell: Shell, who: str, name: str, iban: str = "") -> None:
    """Let two people agree on the name and bank details of a contributor."""
    (shell.folder / "payee.csv").write_text(f"contributor,name,iban\n{who},{name},{iban}\n")
    shell.json("import", "payee.csv")
    agreed(shell)


def test_from_run_to_payout(shell):
    agree(shell, 0)
    run = run_folder(shell.folder / "run", {"ann": 3, "ben": 1})
    shown = shell.json(
        "settle", run, "--pool", "100", "--currency", "EUR", "--source", "run", "--by", "fin-1", "--dry-run"
    )
    assert sorted(shown["amounts"].values()) == [25_000_000, 75_000_000]
    assert shell.json("show", "settlements")["settlements"] == []
    drafted = shell.json(
        *("settle", run, "--pool", "100", "--currency", "EUR", "--source", "run", "--by", "fin-1"),
        *("--manifest", "manifest.json"),
    )
    assert drafted["weight"] == "product"
    code, _, err = shell("confirm", shell.latest(), "--by", "fin-1")
    assert (code, "a second person must approve" in err) == (2, True)
    assert shell.sign("confirm", shell.latest(), "--by", "fin-2")["confirmed"]
    waiting = shell.json("release", shell.latest())
    assert waiting["released"] == {}
    ann = shell.json("show", "run:ann")["contributor"]
    public = shell.json("key", "--out", "lab.pem")["public_key"]
    trusted = shell.json("import", public, "--owner", "https://lab.example")
    agreed(shell)
    about = ("--attest", "ANML_AFFILIATION", "--about", ann, "--out", "a.json")
    shell.json("key", "--sign", "lab.pem", "--verifier", "https://lab.example", *about)
    taken = shell.json("import", "a.json")
    assert [e["kind"] for e in taken["evidence"]] == ["affiliation"]
    name_payee(shell, ann, "Ann")
    released = shell.json("release", shell.latest())
    # Two people know whom they pay: the whole amount that they approved is released.
    assert (released["released"], released["returned"]) == ({ann: 75_000_000}, {})
    made = shell.json("statement", "latest", "--out", "out")
    assert len(made["statements"]) == 2
    names = sorted(path.suffix for path in (shell.folder / "out").iterdir())
    assert names == [".csv", ".html", ".html", ".json", ".json"]
    key = "books.db.keys/log.pub"
    assert shell.json("verify", f"out/{ann}.json", "--public-key", key)["verified"]
    paid = shell.json("pay", "b1", "--currency", "EUR", "--by", "fin-1", "--dry-run")
    assert (paid["total"], shell.json("show", "batches")["batches"]) == (75_000_000, [])
    paid = shell.json("pay", "b1", "--currency", "EUR", "--by", "fin-1", "--out", "bank")
    assert [Path(name).name for name in paid["files"]] == ["b1.csv", "books.beancount"]
    assert shell.json("pay", "--paid", "b1", "--by", "fin-2")["payments"][0]["state"] == "paid"
    shell.json("key", trusted["key"], "--revoke")
    assert shell.json("show", "keys")["keys"][0]["revoked"]
    assert shell.json("verify")["sound"]


def test_bank_file_and_disputes(shell, monkeypatch):
    agree(shell, 1)
    run = run_folder(shell.folder / "run", {"ann": 1})
    shell.json("settle", run, *words("--pool 10 --currency EUR --source run --by fin-1"))
    shell.sign("confirm", shell.latest(), "--by", "fin-2")
    sid = shell.json("show", "settlements")["settlements"][0]["id"]
    ann = shell.json("show", "run:ann")["contributor"]
    assert shell.json("appeal", sid, ann, "--reason", "wrong-count", "--dry-run")["dry_run"]
    shell.json("appeal", shell.latest(), "ann", "--reason", "wrong-count", "--text", "I gave three")
    code, out, _ = shell("show", "appeals")
    assert (code, "waits for an answer" in out, "ann" in out) == (0, True, True)
    said = ("--text", "two labels were missing")
    answered = ("--answer", "upheld", "--reason", "count-corrected", "--by", "fin-2", "--add", "2", *said)
    assert shell.json("appeal", sid, ann, *answered)["correction"] == 2_000_000
    (waiting,) = shell.json("show", "waiting")["proposals"]
    number = waiting["proposal"]
    code, _, err = shell("confirm", number, "--by", "fin-2")
    assert (code, err) == (2, "error: 'fin-2' answered this dispute; a second person must resolve it\n")
    assert shell.sign("confirm", number, "--by", "fin-1", "--dry-run")["confirmed"] == [number]
    assert shell.sign("confirm", number, "--by", "fin-1")["confirmed"] == [number]
    # What is done is not there to be signed again.
    code, _, err = shell("confirm", number, "--by", "fin-1")
    assert (code, "has no open dispute" in err) == (2, True)
    shown = shell.json("statement", sid, "--out", "papers")["statements"][0]
    assert shown["amounts"]["held"] == 12_000_000
    (asked,) = shown["disputes"]
    assert (asked["reason"], asked["answer"], asked["state"]) == ("wrong-count", "count-corrected", "closed")
    page = (shell.folder / "papers" / f"{ann}.html").read_text()
    assert "upheld by fin-2, reason: count-corrected, correction 2.00 EUR" in page
    assert "I gave three" in page
    assert "two labels were missing" in page
    assert "posted by fin-1" in page
    public = shell.json("key", "--out", "lab.pem")["public_key"]
    shell.json("import", public, "--owner", "lab")
    agreed(shell)
    about = ("--attest", "ANML_REPRODUCED", "--about", ann, "--out", "a.json")
    shell.json("key", "--sign", "lab.pem", "--verifier", "lab", *about)
    shell.json("import", "a.json")
    # The window has a day to run: from here on it is over.
    later = datetime.now(UTC) + timedelta(days=2)
    monkeypatch.setattr(
        "anml.ledger.store.open_ledger.__defaults__", (None, lambda: later, random_id, None, None, None)
    )
    code, _, err = shell("appeal", sid, ann, "--reason", "wrong-weight")
    assert (code, "the dispute window of settlement" in err) == (2, True)
    shell.sign("release", sid)
    name_payee(shell, ann, "Ann", "DE89 3704 0044 0532 0130 00")
    (shell.folder / "us.toml").write_text('name = "Payer"\niban = "GB29NWBK60161331926819"\n')
    pay = ("pay", "b1", "--currency", "EUR")
    (shell.folder / "bad.toml").write_text('name = "Payer"\niban = "GB00NWBK60161331926819"\n')
    bank = ("--debtor", "us.toml", "--out", "bank")
    for wrong, said in (("bad.toml", "check digits"), ("no.toml", "cannot be read")):
        code, _, err = shell(*pay, "--debtor", wrong, "--out", "bank")
        assert (code, said in err) == (2, True)
    assert shell.json("show", "batches")["batches"] == []  # and no money has moved
    made = shell.json(*pay, *bank)
    assert any(name.endswith("pain001.xml") for name in made["files"])
    rehearsed = shell.json("pay", "--paid", "b1", "--dry-run", "--by", "fin-2")
    assert rehearsed["payments"][0]["state"] == "paid"
    code, _, err = shell("pay", "--failed", "b1", "--contributor", ann)
    assert (code, "a second person must record what came back" in err) == (2, True)
    back = shell.json("pay", "--failed", "b1", "--contributor", ann, "--by", "fin-2")
    assert back["payments"][0]["state"] == "failed"
    take = ("--take-back", "4.8", "--reason", "fraud")
    assert shell.json("appeal", sid, ann, *take, "--dry-run")["amount"] == 4_800_000
    shell.json("appeal", sid, ann, *take)
    agreed(shell)
    shown = shell.json("statement", sid)["statements"][0]["amounts"]
    assert (shown["reversed"], shown["payable"]) == (4_800_000, 0)


def test_verify_finds_tampering_with_exit_code_1(shell):
    shell("import", DATA / "label_studio.json", "--format", "label-studio")
    shell("verify", "--out", "kept.txt")
    code, out, _ = shell("verify", "--checkpoint", "kept.txt")
    assert (code, "every hash, link, step, signature and sum holds" in out) == (0, True)
    import sqlite3

    base = sqlite3.connect(shell.folder / "books.db")
    base.executescript(
        "DROP TRIGGER event_no_delete; DELETE FROM event WHERE seq = (SELECT MAX(seq) FROM event);"
    )
    base.close()
    code, out, _ = shell("verify")
    assert (code, "not the one that the ledger's key sealed" in out) == (1, True)
    code, out, _ = shell("verify", "--checkpoint", "kept.txt")
    assert (code, "its end was cut off" in out) == (1, True)


def test_growth_is_proved_to_somebody_without_the_ledger(shell):
    shell("verify", "--out", "old.txt")
    shell("import", DATA / "crowd_long.csv", "--format", "crowd-long")
    assert shell("verify", "--since", "old.txt", "--proof", "p.json", "--out", "new.txt")[0] == 0
    key = ("--public-key", "books.db.keys/log.pub")
    checked = shell.json("verify", "p.json", *key)
    assert (checked["older"], checked["newer"]) == (2, 9)
    said = json.loads((shell.folder / "p.json").read_text())
    said["path"] = said["path"][1:]
    (shell.folder / "p.json").write_text(json.dumps(said))
    code, _, err = shell("verify", "p.json", *key)
    assert (code, "history was rewritten" in err) == (2, True)
    code, _, err = shell("verify", "--since", "old.txt")
    assert (code, "needs both" in err) == (2, True)


def test_an_auditor_verifies_without_the_keys(shell):
    shell("verify", "--out", "kept.txt")
    (shell.folder / "books.db.keys").rename(shell.folder / "away")
    code, out, err = shell("verify", "--checkpoint", "kept.txt", "--public-key", "away/log.pub")
    assert (code, "every hash" in out) == (0, True), err
    code, _, err = shell("verify", "--out", "new.txt")
    assert (code, "needs the ledger's keys" in err) == (2, True)


def test_import_map_reputation_and_erase(shell):
    code, _, err = shell("import", DATA / "toloka.tsv", "--format", "toloka", "--out", "rows.csv")
    assert code == 0
    assert "warning: 1 row without an answer was left out" in err
    assert pl.read_csv("rows.csv").height == 3
    listed = shell.json("show", "contributors")["contributors"]
    assert [person["accounts"] for person in listed if person["flagged"]] == []
    first = shell.json("show", "toloka:wA")["contributor"]
    # Toloka does not say who accepted it, so only the known answer counts.
    assert shell.json("show", first)["events"] == 1
    (shell.folder / "people.csv").write_text(
        f"source,account,contributor\ntoloka,wB,{first}\nmturk,A1X,toloka:wA\n"
    )
    mapped = shell.json("import", "people.csv")["mapped"]
    assert mapped == {"toloka:wB": first, "mturk:A1X": first}
    agreed(shell)
    assert shell.json("show", "mturk:A1X")["contributor"] == first
    assert len(shell.json("show", "contributors")["contributors"]) == 1
    gone = shell.json("erase", first, "--dry-run")
    assert gone["batches"]
    shell.json("erase", first)
    code, _, err = shell("show", "toloka:wA")
    assert (code, "there is no contributor" in err) == (2, True)
    assert shell.json("verify")["sound"]


def test_a_disputed_run_needs_an_acceptance(shell):
    run = run_folder(shell.folder / "run", {"ann": 2, "ben": 1})
    said = json.loads((run / "run.json").read_text())
    (run / "run.json").write_text(json.dumps({**said, "gate": {"branch": "disputed", "reason": "two camps"}}))
    ask = ("settle", run, "--pool", "10", "--currency", "EUR", "--source", "run", "--by", "fin-1")
    code, out, err = shell(*ask)
    assert (code, out) == (2, "")
    assert err.strip() == (
        "error: this run is disputed: two camps; add true labels, or accept it with --accept-disputed REASON"
    )
    assert shell.json("show", "settlements")["settlements"] == []
    code, out, _ = shell(*ask, "--accept-disputed", "checked by hand")
    assert code == 0
    assert "The run is disputed: two camps." in out
    assert "Accepted by fin-1: checked by hand" in out
    code, out, _ = shell("confirm", shell.latest(), "--by", "fin-2")
    assert (code, "Accepted by fin-1: checked by hand" in out) == (3, True)
    shell("confirm", shell.latest(), "--by", "fin-2", "--yes", out.split()[-1])
    assert shell.json("show", "settlements")["settlements"][0]["accepted"] == "checked by hand"


def test_who_cannot_be_judged_is_marked_in_a_draft(shell):
    run = run_folder(shell.folder / "run", {"ann": 2, "ben": 1})
    (run / "contributors.csv").write_text("contributor,verdict\nann,reliable\nben,inconclusive\n")
    said = json.loads((run / "run.json").read_text())
    said["files"]["contributors.csv"] = sha256((run / "contributors.csv").read_bytes())
    (run / "run.json").write_text(json.dumps(said))
    code, out, _ = shell(
        "settle", run, "--pool", "10", "--currency", "EUR", "--source", "run", "--by", "fin-1"
    )
    assert (code, out.count("new, inconclusive")) == (0, 1)


def test_names_in_rows_settle_by_source(shell):
    shell("import", DATA / "crowd_long.csv", *words("--format crowd-long --names --out rows.parquet"))
    rows = pl.read_parquet("rows.parquet")
    assert set(rows["contributor"]) == {"w1", "w2", "w3"}
    run = run_folder(shell.folder / "run", {"w1": 1, "w2": 1})
    shell.json("settle", run, *words("--pool 1 --currency EUR --by fin-1 --source crowd"))
    w1 = shell.json("show", "crowd:w1")["contributor"]
    assert (
        w1
        in shell.json("settle", run, *words("--pool 1 --currency EUR --by fin-1 --source crowd"))["amounts"]
    )


def test_a_dry_run_withdraws_nothing(shell):
    run = run_folder(shell.folder / "run", {"ann": 1})
    shell.json("settle", run, "--pool", "10", "--currency", "EUR", "--source", "run", "--by", "fin-1")
    assert shell.json("confirm", shell.latest(), "--drop", "--by", "fin-1", "--dry-run")["dry_run"]
    assert shell.json("show", "settlements")["settlements"][0]["state"] == "drafted"
    shell.json("confirm", shell.latest(), "--drop", "--by", "fin-1")
    assert shell.json("show", "settlements")["settlements"][0]["state"] == "withdrawn"


def test_policies_are_a_table_of_the_terms(shell):
    base = ("import", DATA / "toloka.tsv", "--format", "toloka", "--out", "rows.csv")
    text = 'name = "t"\ncurrency = "EUR"\n[policy.levels]\nreviewed = 0.8\n'
    (shell.folder / "terms.toml").write_text(text)
    shell.json("import", "terms.toml")
    agreed(shell)
    assert shell(*base)[0] == 0
    # No trusted person accepted anything in this file.
    assert pl.read_csv("rows.csv")["verification"].max() == 0.25


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
        (("settle", "x", "--by", "fin-1"), "give the run with --pool or --per-label"),
        (("release", "latest", "--by", "fin-1"), "name the settlement itself"),
        (("statement", "s1"), "there is no settlement 's1'"),
        (("pay", "--failed", "b"), "whose payment came back"),
        (("pay", "--paid", "b"), "no payout batch 'b'"),
        (("key", "--sign", "x", "--attest", "y"), "to attest, give"),
        (("key",), "name yourself"),
        (("export", "rubbish"), "export decisions, ageing, trial-balance, beancount"),
        (("import", "none.csv"), "does not exist"),
        (("import", "x", "--format", "excel"), "unknown format 'excel'"),
        (("erase", "c1"), "there is no contributor 'c1'"),
        (("import", "rubbish", "--owner", "x"), "a public key is"),
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
    code, out, _ = shell("init", "--by", "Ada")
    assert code == 0
    # Her key lies where nobody else needs to look, and not beside the log's.
    assert f"You are ada; your key is {tmp_path / 'staff-keys' / 'ada.pem'}. Nobody else needs it" in out
    assert sorted(path.name for path in (tmp_path / "books.db.keys").iterdir()) == [
        "log.pem",
        "log.pub",
        "master.key",
    ]
    assert "anml-ledger import KEY --staff NAME --by ada" in out
    # Her key alone is at hand, so nobody has to say who acts.
    assert shell("import", DATA / "crowd_long.csv", "--format", "crowd-long")[0] == 0
    assert shell("verify")[0] == 0


def test_a_ledger_of_one_person_confirms_at_once_and_says_so(monkeypatch, capsys, tmp_path):
    shell = Shell(monkeypatch, capsys, tmp_path)
    shell("init", "--by", "ada", "--single-person")
    run = run_folder(tmp_path / "run", {"ann": 3})
    shell.json("settle", run, "--pool", "1", "--currency", "EUR", "--source", "run")
    assert shell.sign("confirm", shell.latest())["confirmed"]
    (tmp_path / "payee.csv").write_text("contributor,iban\nann,DE89 3704 0044 0532 0130 00\n")
    assert shell.json("import", "payee.csv")["set"]
    (made,) = shell.json("statement", "latest", "--out", "papers")["statements"]
    assert made["single_person"]
    page = next((tmp_path / "papers").glob("*.html")).read_text()
    assert "One person keeps this ledger" in page
    code, out, _ = shell("verify", next((tmp_path / "papers").glob("c*.json")))
    assert (code, "One person keeps this ledger." in out) == (0, True)


def test_staff_roles_and_what_waits_for_a_second_person(shell):
    public = shell.json("key", "pat", "--out", STAFF / "pat.pem")["public_key"]
    added = shell.json("import", public, "--staff", "pat", "--role", "payer")
    assert not added["added"]
    (waiting,) = shell.json("show", "waiting")["proposals"]
    assert (waiting["by"], waiting["says"]) == ("fin-1", f"bring in pat as payer, with the key {public}")
    code, _, err = shell("confirm", waiting["proposal"], "--by", "fin-1")
    assert (code, "a second person must confirm it" in err) == (2, True)
    code, _, err = shell("confirm", "x")
    assert (code, "a proposal is named by its number" in err) == (2, True)
    agreed(shell)
    assert [m["name"] for m in shell.json("show", "staff")["staff"]] == ["fin-1", "fin-2", "pat"]
    assert shell.json("key", "pat", "--revoke")["name"] == "pat"
    made = shell.json("import", _new_key(shell), "--owner", "lab")
    assert shell.json("confirm", made["proposal"], "--drop")["dropped"] == [made["proposal"]]
    assert shell.json("show", "keys")["keys"] == []


def _new_key(shell) -> str:
    return shell.json("key", "--out", "k.pem")["public_key"]


def test_pay_by_a_rate_per_label(shell):
    run = run_folder(shell.folder / "run", {"ann": 3, "ben": 1})
    code, out, _ = shell("settle", run, "--per-label", "0.05", "--currency", "EUR", "--source", "run")
    assert (code, "0.20 EUR by a rate per label" in out) == (0, True)
    shell.sign("confirm", shell.latest(), "--by", "fin-2")
    made = {s["name"]: s for s in shell.json("statement", "latest")["statements"]}
    assert {name: s["amounts"]["gross"] for name, s in made.items()} == {"ann": 150_000, "ben": 50_000}
    assert made["ann"]["how"] == "3 labels at 0.05 EUR each: 0.15 EUR."
    for more in (("--pool", "1"), ("--terms", "x")):
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
    assert len(shell.json("import", "bank.csv")["proposals"]) == 2
    agreed(shell)
    names = {person["name"] for person in shell.json("show", "contributors")["contributors"]}
    assert names == {"Ann", "Ben"}
    (shell.folder / "bad.csv").write_text("contributor,iban\nAnn,DE00370400440532013000\n")
    assert "check digits" in shell("import", "bad.csv")[2]
    (shell.folder / "none.csv").write_text("who,iban\nAnn,x\n")
    assert "no column for the contributor" in shell("import", "none.csv")[2]


def test_paid_and_failed_in_one_breath_are_refused(shell):
    code, _, err = shell("pay", "--paid", "a", "--failed", "b", "--contributor", "c")
    assert (code, err) == (2, "error: one thing at a time: a batch to make, --bank, --paid or --failed\n")


def test_names_cannot_write_to_the_terminal(shell):
    (shell.folder / "odd.csv").write_text('task,worker,label\n1,"\x1b[2Jbob",a\n2,ann,b\n3,ann\u202e,b\n')
    code, out, err = shell("import", "odd.csv", "--format", "crowd-long")
    assert code == 0
    assert "look alike" in err
    _, listed, _ = shell("show", "contributors")
    for text in (out, err, listed):
        assert "\x1b" not in text
        assert "\u202e" not in text


def test_watch_keeps_checkpoints_and_sees_a_cut(shell):
    Path("notes").mkdir()
    assert shell.json("verify", "--keep", "notes")["compared"] == 0
    shell("import", DATA / "crowd_long.csv", "--format", "crowd-long")
    assert shell.json("verify", "--keep", "notes")["compared"] == 1
    assert len(list((shell.folder / "notes").iterdir())) == 2
    (shell.folder / "notes" / "0.txt").write_text("rubbish")
    code, out, _ = shell("verify", "--keep", "notes")
    assert (code, "PROBLEM: 0.txt: the checkpoint is not signed" in out) == (1, True)
    assert len(list((shell.folder / "notes").iterdir())) == 3

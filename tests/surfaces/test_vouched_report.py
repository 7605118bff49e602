"""Audits that ask a ledger: v and r come from it, and every v of the report leads to its evidence."""

import json
import re
import runpy
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest

DOCS = Path(__file__).parents[2] / "docs"
LAB = "https://lab.example/qa"
QUICK = ("--no-compare", "--json")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Where the first test leaves its ledger for the others to copy."""
    return tmp_path_factory.mktemp("prepared") / "ledger"


@pytest.fixture
def ledger(tmp_path, monkeypatch, anml, prepared):
    """A ledger with the walkthrough's export and one attestation about Ana."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANML_LEDGER", raising=False)
    monkeypatch.delenv("ANML_KEYS", raising=False)
    if prepared.exists():
        shutil.copytree(prepared, tmp_path, dirs_exist_ok=True)
        return Path("ana.txt").read_text()
    monkeypatch.setattr(sys, "argv", ["make_export.py", "export.json"])
    runpy.run_path(str(DOCS / "examples" / "make_export.py"), run_name="__main__")
    at = ("--ledger", "books.db")
    _ok(anml("ledger", "init", "--single-person", *at))
    _ok(anml("ledger", "import", "export.json", *at))
    # Whose reviews count is decided by people, not by the file; then they are taken in.
    _ok(anml("reputation", "reviewer", "label-studio:rosa@lab.example", *at))
    _ok(anml("ledger", "import", "export.json", *at))
    Path("lab.pub").write_text(_ok(anml("ledger", "keys", "new", "lab.pem")))
    _ok(anml("ledger", "keys", "trust", "lab.pub", "--owner", LAB, *at))
    ana = _ok(anml("ledger", "contributors", "--find", "label-studio:ana@lab.example", *at)).strip()
    made = ("--verifier", LAB, "--property", "ANML_REPRODUCED", "--about", ana, "--out", "a.json")
    _ok(anml("ledger", "attest", "--sign", "lab.pem", *made))
    _ok(anml("ledger", "attest", "a.json", *at))
    Path("ana.txt").write_text(ana)
    shutil.copytree(tmp_path, prepared)
    return ana


def _ok(ran) -> str:
    assert ran.code == 0, ran.err
    return ran.out


def test_every_v_leads_to_its_evidence(ledger, anml):
    record = json.loads(_ok(anml("audit", "export.json", "--ledger", "books.db", "--out", "run", *QUICK)))
    page = Path("run/report.html").read_text()
    samples = pl.read_parquet("run/samples.parquet")
    assert samples["level"].unique().sort().to_list() == [
        "flagged",
        "reproduced",
        "reviewed",
        "self-attested",
    ]
    entries = {entry for text in samples["evidence"] if text for entry in text.split(";")}
    assert len(entries) > 30
    for entry in entries:
        assert f'href="#entry-{entry}"' in page
        assert f'<tr id="entry-{entry}">' in page
    # Self-attested is what has no evidence, and nothing else.
    assert (samples["evidence"] == "").to_list() == (samples["level"] == "self-attested").to_list()
    # The mean v in the table of contributors leads to the lines it is the mean of.
    anchors = set(re.findall(r'<a href="#(v-\d+)">', page))
    assert len(anchors) == samples["contributor"].n_unique() == 5
    assert all(f'id="{anchor}"' in page for anchor in anchors)
    assert len(re.findall(r'id="', page)) == len(set(re.findall(r'id="[^"]*"', page)))
    assert record["columns"]["verification"] == "verification"
    assert any("v and r come from the ledger" in note for note in record["notes"])


def test_the_evidence_says_issuer_kind_time_validity_signature_and_digest(ledger, anml):
    from anml.core.canonical import sha256

    _ok(anml("audit", "export.json", "--ledger", "books.db", "--out", "run", *QUICK))
    page = Path("run/report.html").read_text()
    (line,) = [line for line in page.splitlines() if 'id="entry-' in line and LAB in line]
    assert "reproduced" in line
    assert "all work of" in line
    assert "no end" in line
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d", line)
    assert "verified with key " in line
    assert sha256(Path("a.json").read_bytes()) in line


def test_an_end_and_a_revoked_key_are_seen(ledger, anml):
    at = ("--ledger", "books.db")
    _ok(anml("ledger", "attest", "a.json", "--until", "2100-01-01T00:00:00Z", *at))
    _ok(anml("audit", "export.json", *at, "--out", "run", *QUICK))
    assert "until 2100-01-01" in Path("run/report.html").read_text()
    key = json.loads(_ok(anml("ledger", "keys", "list", *at, "--json")))["keys"][0]
    _ok(anml("ledger", "keys", "revoke", key["id"], "--compromised", *at))
    _ok(anml("audit", "export.json", *at, "--out", "run", *QUICK))
    samples = pl.read_parquet("run/samples.parquet")
    # What the lab said no longer counts, and the v that rested on it is gone.
    assert "reproduced" not in samples["level"].to_list()


def test_newcomers_are_shown_with_what_they_need(ledger, anml):
    record = json.loads(_ok(anml("audit", "export.json", "--ledger", "books.db", "--out", "run", *QUICK)))
    page = Path("run/report.html").read_text()
    # Reviews are lines of a file that anybody can edit: only what is signed, here about Ana, ends a wait.
    new = {each["contributor"] for each in record["ledger"]["new"]}
    assert new == set(pl.read_parquet("run/samples.parquet")["contributor"]) - {ledger}
    assert len(new) == 4
    section = page[page.index("Track records") :]
    lines = section[: section.index("</table>")].splitlines()
    needs = "10 more contributions in settled runs and an account 4 days old"
    (own,) = [line for line in lines if ledger in line]
    assert own.endswith('<td class="text"></td></tr>')
    assert sum(needs in line for line in lines) >= 1, lines
    waiting = [line for line in lines if any(name in line for name in new)]
    assert len(waiting) == 4
    assert not any(line.endswith('<td class="text"></td></tr>') for line in waiting)
    assert page.count('<span class="mark">new</span>') == 4


def test_no_personal_data_is_in_the_run(ledger, anml):
    _ok(anml("audit", "export.json", "--ledger", "books.db", "--out", "run", *QUICK))
    for path in Path("run").iterdir():
        data = path.read_bytes()
        assert b"lab.example/qa" in data or b"lab.example" not in data
        assert b"crowd.example" not in data
        assert b"ana@" not in data


def test_rows_given_out_by_the_ledger_are_judged_as_the_file_is(ledger, anml):
    at = ("--ledger", "books.db")
    _ok(anml("ledger", "import", "export.json", "--out", "rows.parquet", *at))
    _ok(anml("audit", "export.json", *at, "--out", "a", *QUICK))
    record = json.loads(_ok(anml("audit", "rows.parquet", *at, "--out", "b", *QUICK)))
    columns = ["contributor", "item", "v", "level", "evidence"]
    one, other = (pl.read_parquet(f"{run}/samples.parquet").select(columns) for run in "ab")
    assert one.equals(other)
    assert record["columns"]["features"] == ["leaf_0", "leaf_1", "leaf_2"]


def test_r_is_the_ledgers_with_the_ledgers_floor(ledger, anml):
    """The floor of an audit knows neither age nor flags, so it does not raise what the ledger says."""
    at = ("--ledger", "books.db")
    record = json.loads(_ok(anml("audit", "export.json", *at, "--out", "run", *QUICK)))
    assert record["cold_start"]["contributions"] == 0
    shown = json.loads(_ok(anml("reputation", "show", *at, "--json")))["contributors"]
    r = {line["contributor"]: line["r"] for line in shown}
    for who, value in pl.read_parquet("run/samples.parquet").select("contributor", "r").iter_rows():
        assert value == pytest.approx(r[who], abs=1e-6)


def test_accounts_that_are_not_on_record_are_named_and_have_nothing(ledger, anml):
    tasks = json.loads(Path("export.json").read_text())
    tasks[0]["annotations"][0]["completed_by"] = "eve@new.example"
    Path("other.json").write_text(json.dumps(tasks))
    record = json.loads(_ok(anml("audit", "other.json", "--ledger", "books.db", "--out", "run", *QUICK)))
    assert record["warnings"][0].startswith("1 contributor is not in the ledger, the first 'eve@new.example'")
    samples = pl.read_parquet("run/samples.parquet").filter(pl.col("contributor") == "eve@new.example")
    assert samples.select("v", "r", "level", "evidence").row(0) == (0.25, 0.4, "self-attested", "")
    page = Path("run/report.html").read_text()
    assert "not on record" in page


def test_a_ledger_that_knows_nobody_changes_nothing(ledger, anml):
    frame = pl.DataFrame({"x": range(40), "label": ["a", "b"] * 20, "worker": ["p", "q", "r", "s"] * 10})
    frame.write_csv("plain.csv")
    record = json.loads(_ok(anml("audit", "plain.csv", "--ledger", "books.db", *QUICK)))
    assert record["ledger"] is None
    assert any("the ledger knows no contributor of this table" in note for note in record["notes"])
    assert record["columns"]["verification"] is None


def test_train_shows_it_too(ledger, anml):
    run = ("--ledger", "books.db", "--out", "run", "--model", "logistic", *QUICK)
    record = json.loads(_ok(anml("train", "export.json", *run)))
    assert record["ledger"]["entries"] > 30
    assert 'id="entry-' in Path("run/report.html").read_text()
    _ok(anml("settle", "run", "--ledger", "books.db", "--pool", "1", "--currency", "EUR"))


def test_exports_are_read_without_a_ledger_and_it_is_said(ledger, anml):
    record = json.loads(_ok(anml("audit", "export.json", *QUICK)))
    assert record["notes"][0] == "export.json was read as label-studio: 192 labels by 5 contributors"
    assert "55 reviews in this file" in record["notes"][1]
    assert {line["contributor"] for line in record["contributors"]} >= {"ana@lab.example", "rosa@lab.example"}
    assert record["columns"]["features"] == ["leaf_0", "leaf_1", "leaf_2"]


def test_a_time_that_an_export_does_not_have_is_refused(ledger, anml):
    data = Path(__file__).parents[1] / "data" / "argilla_flat.json"
    ran = anml("audit", data, "--time", "when", *QUICK)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "error: argilla_flat.json does not say when a label was given\n"


def test_the_same_in_python(ledger):
    import anml as package

    found = package.audit("export.json", ledger="books.db", compare=False)
    assert set(found.samples["level"]) == {"flagged", "reproduced", "reviewed", "self-attested"}
    assert 'id="entry-' in found.report().read_text()

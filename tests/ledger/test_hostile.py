"""Attacks by one person or by a malicious server; on SQLite and on PostgreSQL."""

from datetime import timedelta

import polars as pl
import pytest
import sqlalchemy as sa

from anml.core.canonical import canonical, leaf_hash
from anml.core.errors import ConflictError, InputError
from anml.ledger import book, keys, kinds, schema, signing, two_people
from anml.ledger import replay as audit
from anml.ledger.cli.views import draft_shown
from anml.ledger.contributors.identity import erase_contributor
from anml.ledger.log import encode_event, format_timestamp
from anml.ledger.pay import payout, settle, statement
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services import attest, steps
from anml.ledger.services.annotate import Import, import_file
from anml.ledger.services.steps import propose_clock_repair
from anml.ledger.services.verify import check_against_checkpoints, check_statement, verifier, verify
from anml.ledger.signing import from_file
from anml.pipeline.read import read_contributors, read_run
from ledger.ledger_queries import events
from ledger.ledger_world import hash_run, simple_rows, write_run
from ledger.test_further_attacks import released
from ledger.test_insiders import posted, problems


def test_who_says_that_a_payment_came_back_does_not_send_it_again(world):
    """Cat pays Ben. Dan alone says that it came back, and would pay it once more; so with Ben merged."""
    _, pids = released(world)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    payout.record_payment_results(world.ledger, "p1", [pids["ben"]], paid=False, by="dan")
    with pytest.raises(ConflictError, match=r"'dan' recorded that a payment to .* came back; another sends"):
        payout.create_batch(world.ledger, "p2", "EUR", "dan")
    into = {"into": pids["ann"]}
    made = world.ledger.write(lambda tx: two_people.propose(tx, kinds.MERGED, pids["ben"], into, "ann"))
    world.confirm(made.seq)
    with pytest.raises(ConflictError, match="another sends it again"):
        payout.create_batch(world.ledger, "p2", "EUR", "dan")
    made = payout.create_batch(world.ledger, "p2", "EUR", "cat")
    # Who sends it again is told on whose word.
    assert (made.batch.total, made.again) == (5_000_000, {pids["ann"]: "dan"})
    assert problems(world) == ""
    # Once it was sent again it is like any other.
    payout.record_payment_results(world.ledger, "p2", [pids["ann"]], paid=False, by="eve")
    assert payout.create_batch(world.ledger, "p3", "EUR", "dan").batch.total == 5_000_000


def test_an_attestation_of_a_file_is_about_those_who_were_read(world, monkeypatch, tmp_path):
    """A server whose indexes differ gives one more contribution when it is asked by kind."""
    world.establish("ann")
    mallory = world.register("run", ["mallory"])["mallory"]
    file = tmp_path / "e.csv"
    file.write_text("item,annotator,label\ni1,ann,a\n")
    columns = {"label": "label", "contributor": "annotator", "item": "item"}
    import_file(world.ledger, Import(file, source="run", columns=columns))
    own = world.folder / "lab.pem"
    world.trust(keys.read_public(keys.create_signer(own)), "https://lab.example")
    paper = attest.sign_attestation(
        own, "https://lab.example", ["ANML_REPRODUCED"], world.clock.now, (), [file]
    )
    read = audit.read_and_verify

    def then_lie(connection, *more, **named):
        found = read(connection, *more, **named)
        (real,) = events(connection, [kinds.CONTRIBUTION])
        entry = encode_event(real._replace(seq=10**6, subject=mallory, key="x"))
        row = {"kind": real.kind, "at": real.at, "entry": entry, "hash": leaf_hash(entry)}
        forged = sa.insert(schema.event).values(seq=10**6, subject=mallory, key="x", **row)
        connection.execute(forged)
        return found

    world.reopen()
    monkeypatch.setattr(audit, "read_and_verify", then_lie)
    attest.record_attestations(world.ledger, {"": paper})
    with world.ledger.read() as connection:
        assert mallory not in {e.subject for e in events(connection, [kinds.EVIDENCE])}


def test_of_two_drafts_that_replace_one_settlement_one_is_approved(world):
    """The second would be shown as replacing what the first reversed, and both would be paid."""
    world.establish("ann", "ben")
    old = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10", currency="USD")
    first, second = (
        world.draft(world.run(simple_rows({"ann": n, "ben": 1})), "10", supersedes=old, currency="USD")
        for n in (2, 3)
    )
    shown = world.ledger.rehearse(lambda tx: steps.approval(tx, first.id, "bob"))
    assert f"It replaces settlement {old} of 10.00 USD, which is reversed." in draft_shown(shown)
    assert shown["before"] == old
    settle.approve_settlement(world.ledger, first.id, "bob", seen=steps.content_digest(shown))
    for approve in (
        lambda: settle.approve_settlement(world.ledger, second.id, "bob"),
        lambda: world.ledger.rehearse(lambda tx: steps.approval(tx, second.id, "bob")),
    ):
        with pytest.raises(ConflictError, match=f"settlement {old} was replaced by another since"):
            approve()


def test_one_admin_erases_nobody_who_waits_for_an_answer(world):
    pids = world.establish("ann", "ben")
    rows = simple_rows({"ann": 1, "ben": 1}).with_columns(kept=pl.Series([True, False]))
    sid = world.post(world.run(rows), "10")
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "wrong-count", "d"))
    with pytest.raises(ConflictError, match="still has an appeal open; pay or answer first"):
        erase_contributor(world.ledger, pids["ben"], by="eve")
    with pytest.raises(ConflictError, match="this step needs two people"):
        world.ledger.write(
            lambda tx: tx.append(
                kinds.ERASED,
                "e",
                pids["ben"],
                {"reason": "request", "also": [], "kept": [], "proposal": 0},
                by="eve",
            )
        )
    made = erase_contributor(world.ledger, pids["ben"], by="eve", anyway=True)
    world.confirm(made["proposal"])
    assert problems(world) == ""


def test_what_somebody_asked_who_left_is_still_answered(world):
    """A dispute that nobody may answer would hold the amount for good."""
    sid, pids = posted(world)
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "wrong-count", "d", "dan"))
    world.ledger.write(lambda tx: two_people.remove_staff(tx, "dan", "eve"))
    given = book.Answer("upheld", "other", "bob", 1_000_000)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ben"], given, "d"))
    shown = world.ledger.rehearse(lambda tx: steps.resolution(tx, sid, pids["ben"], "eve"))
    assert shown["written_by"] == "dan"
    world.ledger.write(lambda tx: book.resolve(tx, sid, pids["ben"], "eve", "d"))
    world.clock.pass_days(15)
    assert release_settlement(world.ledger, sid).released[pids["ben"]] == 6_000_000


def test_a_statement_holds_after_the_clock_was_mended(world):
    """It was approved ahead of time; the window counts from the mending, and the signature stays."""
    pids, now = world.establish("ann", "ben"), world.clock.now
    made = world.draft(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    world.clock.now = now + timedelta(days=300)
    settle.approve_settlement(world.ledger, made.id, "bob")
    world.clock.now = now + timedelta(days=1)
    world.reopen()
    world.confirm(propose_clock_repair(world.ledger, "ann").seq)
    found = statement.build(world.ledger, made.id, [pids["ben"]], by="bob")[pids["ben"]]
    envelope = statement.sign(world.ledger, found)
    assert check_statement(envelope, world.ledger.ring.public)["posted"][:10] == "2026-11-27"
    assert found["appeal_until"].startswith("2026-02-15")


def test_a_page_turns_no_text_around(make_world):
    world = make_world("sqlite")
    sid, pids = posted(world)
    said = {"text": "\u202eyes <script>\x1b[2J", "recorded_by": "dan"}
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "other", "d", **said))
    page = verifier().page(statement.build(world.ledger, sid, [pids["ben"]], by="bob")[pids["ben"]])
    assert "yes &lt;script&gt;" in page
    assert "opened by you, written down by dan" in page
    assert not {"\u202e", "\x1b"}.intersection(page)


@pytest.mark.parametrize("setting", ["client_encoding = 'SQL_ASCII'", "synchronous_commit = off"])
def test_what_a_role_is_told_changes_nothing(make_world, postgres_server, setting):
    url = postgres_server.get_uri().replace("postgresql://", "postgresql+psycopg://")
    admin = sa.create_engine(url, isolation_level="AUTOCOMMIT")
    world = make_world("postgresql")
    released(world)
    with admin.connect() as connection:
        connection.exec_driver_sql(f"ALTER ROLE CURRENT_USER SET {setting}")
    try:
        world.reopen()
        assert problems(world) == ""
        asked = sa.text("SHOW synchronous_commit")
        assert world.ledger.write(lambda tx: tx.connection.scalar(asked)) == "on"
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql("ALTER ROLE CURRENT_USER RESET ALL")
        admin.dispose()


# --- run folders
INFO = {"data": (["x"], "abc", 5), "recipe": (["x"],)}
FRAMES = {
    "items": lambda rows: rows.with_columns(item=pl.concat_list("row")),
    "bytes": lambda rows: rows.with_columns(label=pl.lit(b"\xff"), suggested=pl.lit("x")),
    "places": lambda rows: rows.with_columns(row=pl.struct("q")),
}
PARTS = {
    "a column less": lambda rows: rows.drop("q"),
    "texts": lambda rows: rows.with_columns(q=pl.lit("x")),
    "no numbers": None,
}


@pytest.mark.parametrize("what", [*INFO, *FRAMES, *PARTS])
def test_a_run_that_somebody_made_up_is_one_sentence(make_world, what):
    world, rows = make_world("sqlite"), simple_rows({"ann": 1, "ben": 1})
    folder = world.folder / "made-up"
    about = {"recipe": {"combine": "guarded"}, "data": {"name": "x"}}
    if what in PARTS:
        (folder / "samples").mkdir(parents=True)
        change = PARTS[what]
        parts = [rows, change(rows)] if change else [rows.drop("row")] * 2
        for number, part in enumerate(parts):
            part.write_parquet(folder / f"samples/part-{number:06d}.parquet")
        hash_run(folder, about, [f"samples/part-{number:06d}.parquet" for number in range(2)])
    else:
        write_run(folder, FRAMES[what](rows) if what in FRAMES else rows)
    for value in INFO.get(what, ()):
        hash_run(folder, {**about, what: value})
        with pytest.raises(InputError, match="not the record of a run"):
            world.draft(folder, "1")
    if what not in INFO:
        with pytest.raises(InputError, match=r"cannot hold|differ in their columns"):
            world.draft(folder, "1")
    assert verify(world.ledger).entries == world.start


def test_a_run_does_not_unpack_without_end(make_world):
    world, rows = make_world("sqlite"), simple_rows({"ann": 1}).drop("row")
    folder = world.folder / "bomb"
    write_run(folder, pl.concat([rows]).select(pl.all().repeat_by(12_000_000).explode()))
    with pytest.raises(InputError, match="unpacks to 12,000,000 rows"):
        world.draft(folder, "1")
    (folder / "samples.parquet").unlink()
    write_run(folder, simple_rows({"ann": 1}))
    (folder / "contributors.csv").symlink_to("/dev/zero")
    run = read_run(folder)._replace(info={"files": {"contributors.csv": "x"}})
    with pytest.raises(InputError, match="is not a file"):
        read_contributors(folder, run)


def test_who_comes_back_after_an_erasure_is_somebody_new(world):
    """Also for a program that went on with the same ledger: names of the erased lead nowhere."""
    old = world.register("run", ["ben"])["ben"]
    world.erase(old)
    assert world.register("run", ["ben"])["ben"] != old
    assert problems(world) == ""


def test_a_file_of_no_day_is_nobodys_checkpoint(make_world, tmp_path):
    world = make_world("sqlite")
    assert check_against_checkpoints(world.ledger, tmp_path).problems == []
    (kept,) = tmp_path.glob("*.txt")
    kept.rename(tmp_path / "000000000003-99999999T999999Z-0000000000000000.txt")
    assert check_against_checkpoints(world.ledger, tmp_path).problems == []


@pytest.mark.parametrize(("name", "value"), [(5, "x"), ("x", 5)])
def test_an_attestation_about_a_number_is_one_sentence(make_world, name, value):
    world, subject = make_world("sqlite"), {"name": name, "digest": {"sha256": value}}
    own = world.folder / "lab.pem"
    world.trust(keys.read_public(keys.create_signer(own)), "https://lab.example")
    said = {"verifier": {"id": "https://lab.example"}, "timeCreated": format_timestamp(world.clock.now),
            "properties": ["ANML_REPRODUCED"]}  # fmt: skip
    made = {"_type": signing.STATEMENT, "subject": [subject], "predicateType": signing.SVR, "predicate": said}
    paper = canonical(signing.sign_envelope(signing.INTOTO, canonical(made), from_file(own)))
    with pytest.raises(InputError, match="no imported batch has the SHA-256"):
        attest.record_attestations(world.ledger, {"": paper})

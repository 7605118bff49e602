"""Ways in which people inside tried to move money, standing or identities; each worked once, and fails now.

The numbers are those of the list that they were found in. Every test runs on SQLite and on a real
PostgreSQL unless what it tries has nothing to do with the database.
"""

import base64
import contextlib
import json
from datetime import timedelta

import polars as pl
import pytest
import sqlalchemy as sa

from anml.core.canonical import leaf_hash, sha256
from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.ledger import book, evidence, keys, kinds, schema, store, two_people
from anml.ledger import personal_data as people
from anml.ledger.contributors import identity, reputation
from anml.ledger.contributors import scores as run_scores
from anml.ledger.log import Event, Posting, encode_event, format_timestamp, log_head
from anml.ledger.pay import payout, settle, statement
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services import attest
from anml.ledger.services.annotate import Import, import_file
from anml.ledger.services.verify import check_against_checkpoints, verify
from anml.ledger.standing import contributor_statuses
from ledger.ledger_queries import balance, events, totals, who_is
from ledger.ledger_world import START, World, hash_run, simple_rows, write_run

pytestmark = pytest.mark.slow

IBANS = ("DE89370400440532013000", "GB29NWBK60161331926819")


def unlock(world: World, *changes) -> None:
    """Change the database behind the ledger's back, as its owner can: triggers and references do not hold."""
    engine = world.ledger.engine
    with engine.connect() as connection, connection.begin():
        if engine.dialect.name == "sqlite":
            for table in schema.APPEND_ONLY:
                for verb in ("update", "delete"):
                    connection.exec_driver_sql(f"DROP TRIGGER IF EXISTS {table}_no_{verb}")
            connection.exec_driver_sql("PRAGMA defer_foreign_keys = ON")
        else:
            connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
        for change in changes:
            connection.execute(sa.text(change) if isinstance(change, str) else change)


def forge(
    world: World, kind: str, subject: str, body: dict, postings=(), settlement="", by="", sig=""
) -> int:
    """Append an entry with sound hashes, straight to the tables; returns its number."""
    with world.ledger.read() as connection:
        seq, prev, at = log_head(connection)
    lines = tuple(Posting(*line) for line in postings)
    made = Event(
        seq + 1, kind, f"forged/{seq}", subject, at, body, settlement, lines, prev.hex(), b"", by, sig
    )
    entry = encode_event(made)
    row = {"seq": made.seq, "kind": kind, "key": made.key, "subject": subject, "at": at, "entry": entry,
           "hash": leaf_hash(entry)}  # fmt: skip
    rows = [
        {"seq": made.seq, "line": place, "settlement": settlement, **line._asdict()}
        for place, line in enumerate(lines)
    ]
    unlock(
        world, sa.insert(schema.event).values(**row), *(sa.insert(schema.posting).values(**r) for r in rows)
    )
    return made.seq


def problems(world: World) -> str:
    return "\n".join(verify(world.ledger).problems)


def posted(world: World, pool: str = "10", **terms) -> tuple[str, dict[str, str]]:
    pids = world.establish("ann", "ben")
    return world.post(world.run(simple_rows({"ann": 1, "ben": 1})), pool, **terms), pids


SPELLINGS = ["ann", "ann ", " Ann", "ANN", "ａｎｎ"]
UNSEEN = ["ann\u200b", "аnn", "\u202eann", "ann\u00ad", "ann@example.org", ""]


@pytest.mark.parametrize("name", SPELLINGS)
def test_01_another_spelling_is_not_another_person(world, name):
    made = world.draft(world.run(simple_rows({"x": 1})), "1", by="ann")
    with pytest.raises(ConflictError, match="'ann' drafted this settlement; a second person must approve it"):
        settle.approve_settlement(world.ledger, made.id, name)


@pytest.mark.parametrize("name", UNSEEN)
def test_01_letters_that_nobody_sees_or_takes_for_others_are_refused(world, name):
    made = world.draft(world.run(simple_rows({"x": 1})), "1")
    with pytest.raises(InputError, match=r"staff identifier") as refused:
        settle.approve_settlement(world.ledger, made.id, name)
    assert "\n" not in str(refused.value)


def test_01_a_signature_of_somebody_else_does_not_pass(world):
    made = world.draft(world.run(simple_rows({"x": 1})), "1")
    world.ledger.signers.file = world.keys / "staff" / "bob.pem"
    with pytest.raises(IntegrityError, match="is not the key that is registered for 'dan'"):
        settle.approve_settlement(world.ledger, made.id, "dan")
    world.reopen()
    with pytest.raises(InputError, match="'mallory' is not a member of staff"):
        settle.approve_settlement(world.ledger, made.id, "mallory")


def test_01_a_name_needs_its_role(world):
    world.hire("pat", kinds.DRAFTER)
    made = world.draft(world.run(simple_rows({"x": 1})), "1")
    with pytest.raises(ConflictError, match="'pat' is drafter; this step needs one of approver"):
        settle.approve_settlement(world.ledger, made.id, "pat")


def test_01_one_admin_cannot_make_up_a_second_person(world, make_world):
    """The founder brings in the second person alone; from then on it takes two, also to bring in more."""
    public = world.key("puppet")
    made = world.ledger.write(
        lambda tx: two_people.propose_staff(tx, "puppet", public, list(kinds.ROLES), "ann")
    )
    assert made.kind == kinds.PROPOSED
    with pytest.raises(ConflictError, match="'ann' proposed this; a second person must confirm it"):
        world.confirm(made.seq, by="ann")
    body = {"public": keys.public_text(public), "roles": sorted(kinds.ROLES), "proposal": 0}
    with pytest.raises(ConflictError, match="needs two people"):
        world.ledger.write(lambda tx: tx.append(kinds.STAFF_ADDED, "k", "puppet", body, by="ann"))
    # Nor by sending the others away first.
    for name in ("cat", "dan", "eve"):
        world.ledger.write(lambda tx, name=name: two_people.remove_staff(tx, name, "ann"))
    with pytest.raises(ConflictError, match="cannot be removed: 2 must stay"):
        world.ledger.write(lambda tx: two_people.remove_staff(tx, "bob", "ann"))
    # Nor with one key under two names.
    bobs = world.key("bob")
    number = world.ledger.write(
        lambda tx: two_people.propose_staff(tx, "robert", bobs, list(kinds.ROLES), "ann")
    ).seq
    with pytest.raises(ConflictError, match="each person has a key of their own"):
        world.confirm(number, by="bob")


@pytest.mark.parametrize("name", SPELLINGS)
def test_02_disputes_take_two_people_by_identity(world, name):
    sid, pids = posted(world)
    world.ledger.write(lambda tx: book.open_dispute(tx, sid, pids["ben"], "other", "d"))
    given = book.Answer("upheld", "other", "ann", 1_000_000)
    world.ledger.write(lambda tx: book.answer(tx, sid, pids["ben"], given, "d"))
    with pytest.raises(ConflictError, match="'ann' answered this dispute; a second person must resolve it"):
        world.ledger.write(lambda tx: book.resolve(tx, sid, pids["ben"], name, "d"))


def test_02_corrections_are_bounded_by_the_pool(world):
    sid, pids = posted(world, "10")
    for who in ("ann", "ben"):
        world.ledger.write(lambda tx, who=who: book.open_dispute(tx, sid, pids[who], "other", f"d{who}"))

    def added(who: str, amount: int, key: str):
        given = book.Answer("upheld", "other", "cat", amount)
        world.ledger.write(lambda tx: book.answer(tx, sid, pids[who], given, key))
        return world.ledger.write(lambda tx: book.resolve(tx, sid, pids[who], "dan", key))

    with pytest.raises(ConflictError, match="add no more than its pool of 10000000"):
        added("ann", 1_000_000_000_000, "big")
    added("ann", 6_000_000, "first")
    with pytest.raises(ConflictError, match="adds at most 4000000 micro-units"):
        added("ben", 4_000_001, "second")
    assert verify(world.ledger).problems == []


def test_03_bank_details_take_two_people_a_wait_and_an_entry(make_world, request):
    for engine in ("sqlite", "postgresql"):
        world = make_world(engine, payee_wait_days=3)
        sid, pids = posted(world)
        world.pay_to(pids["ben"], {"name": "Ben", "iban": IBANS[0]})
        world.clock.pass_days(15)
        release_settlement(world.ledger, sid)
        number = payout.set_payees(world.ledger, {pids["ben"]: {"iban": IBANS[1]}}, "cat")[0]
        with pytest.raises(ConflictError, match="a second person must confirm it"):
            world.confirm(number, by="Cat ")
        # Proposed alone it changes nothing; confirmed, it waits.
        with world.ledger.read() as connection:
            assert people.profile(connection, world.ledger.ring, pids["ben"])["iban"] == IBANS[0]
        world.confirm(number, by="dan")
        made = payout.create_batch(world.ledger, "p0", "EUR", "cat", rail="csv")
        assert [p.pid for p in made.batch.payments] == [pids["ann"]]
        assert "new bank details: paid from 2026-" in made.left_out[pids["ben"]]
        world.clock.pass_days(4)
        paid = payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001")
        assert paid.payees[pids["ben"]]["iban"] == IBANS[1]
        assert verify(world.ledger).problems == []


def test_03_a_batch_keeps_the_account_that_it_was_made_with(world, tmp_path):
    sid, pids = posted(world)
    world.pay_to(pids["ben"], {"name": "Ben", "iban": IBANS[0]})
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001")
    world.pay_to(pids["ben"], {"iban": IBANS[1]})
    assert payout.write_files(world.ledger, "p1", None, tmp_path).payees[pids["ben"]]["iban"] == IBANS[0]


def test_03_a_changed_profile_changes_no_account(world):
    """Whoever holds the keys can write any profile alone; what is paid is what two people signed."""
    sid, pids = posted(world)
    world.pay_to(pids["ben"], {"name": "Ben", "iban": IBANS[0]})
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)

    def alone(tx):
        about = people.profile(tx.connection, world.ledger.ring, pids["ben"])
        record = people.store_profile(tx, pids["ben"], {**about, "iban": IBANS[1]})
        tx.append(kinds.CHANGED, "k", pids["ben"], {"record": record}, by="ann")

    world.ledger.write(alone)
    paid = payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001")
    assert paid.payees[pids["ben"]]["iban"] == IBANS[0]
    # Nor can a payment be written with other details than those.
    with pytest.raises(IntegrityError, match="bank details that two people agreed on"):
        world.ledger.write(
            lambda tx: tx.append(
                kinds.SENT,
                f"payout/p2/{pids['ann']}/EUR",
                pids["ann"],
                {"batch": "p2", "amount": 10_000, "paper": "0" * 64, "sealed": "0" * 64},
            )
        )


FORGED = {
    "released money": (
        kinds.RELEASED, "BEN", {"r": 10**12}, [("held:BEN", "EUR", -5), ("payable:BEN", "EUR", 5)], "SID",
        "dispute window of settlement",
    ),
    "an unknown kind": ("money.found", "BEN", {}, [("source:pool", "EUR", -9), ("payable:BEN", "EUR", 9)], "",
                        "there is no kind of entry 'money.found'"),
    "a resolution without a dispute": (
        kinds.RESOLVED, "BEN", {"correction": 7}, [("source:pool", "EUR", -7), ("held:BEN", "EUR", 7)], "SID",
        "say who you are",
    ),
    "a trusted key": (
        kinds.KEY_TRUSTED, "0" * 16,
        {"owner": "me", "public": "KEY", "may": ["reproduced"], "since": "2020-01-01T00:00:00.000000Z",
         "until": None, "proposal": 0}, [], "", "say who you are",
    ),
    "evidence": (
        kinds.EVIDENCE, "BEN",
        {"kind": "reproduced", "issuer": "me", "at": "2026-01-01T00:00:00.000000Z", "scope": "*",
         "until": None, "vouched": "platform", "key": "", "paper": "", "sealed": ""}, [], "",
        "nobody signed for entry",
    ),
    "a merge": (kinds.MERGED, "BEN", {"into": "ANN", "proposal": 0}, [], "", "say who you are"),
    "a member of staff": (
        kinds.STAFF_ADDED, "puppet", {"public": "KEY", "roles": ["admin"], "proposal": 0}, [], "",
        "say who you are",
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", FORGED)
def test_04_forged_entries_with_sound_hashes_are_found(world, what):
    sid, pids = posted(world)
    public = keys.public_text(keys.read_public(keys.create_signer(world.folder / "mallory.pem")))
    words = {"BEN": pids["ben"], "ANN": pids["ann"], "SID": sid, "KEY": public}

    def filled(value):
        text = json.dumps(value)
        for word, real in words.items():
            text = text.replace(word, real)
        return json.loads(text)

    kind, subject, body, postings, settlement, found = FORGED[what]
    assert verify(world.ledger).problems == []
    number = forge(world, kind, filled(subject), filled(body), filled(postings), filled(settlement))
    said = problems(world)
    assert f"entry {number}" in said
    assert found in said
    assert "not the one that the ledger's key sealed" in said
    # Nobody writes on top of it either: the next write would seal what nobody looked at.
    with pytest.raises(IntegrityError, match="nothing may be added until"):
        world.register("test", ["next"])


def test_04_a_forger_with_the_log_key_still_needs_a_key_of_staff(world):
    """Whoever has the database and the log's key can seal; entries of staff still need staff."""
    from anml.ledger import checkpoint

    sid, pids = posted(world)
    body = {"correction": 7}
    lines = [("source:pool", "EUR", -7), (f"held:{pids['ben']}", "EUR", 7)]
    sig = base64.b64encode(bytes(64)).decode()
    number = forge(world, kinds.RESOLVED, pids["ben"], body, lines, sid, by="bob", sig=sig)
    with world.ledger.engine.begin() as connection:
        seq, hashed, _ = log_head(connection)
        checkpoint.sign_head(connection, world.ledger.ring, seq, hashed.hex())
    assert f"entry {number}, dispute.resolved" in problems(world)


def test_05_a_key_that_expired_signs_nothing_for_its_past(world):
    pid = world.register("test", ["ann"])["ann"]
    path = world.folder / "lab.pem"
    public = keys.read_public(keys.create_signer(path))
    end = START + timedelta(days=10)
    world.trust(public, since=format_timestamp(START), until=format_timestamp(end))
    early = attest.sign_attestation(
        path, "https://lab.example/qa", ["ANML_REPRODUCED"], START + timedelta(days=5), [pid]
    )
    world.clock.pass_days(400)
    # Signed, says the signer, in time; received long after the key had ended.
    with pytest.raises(IntegrityError, match="is not valid for 2026-01-06"):
        attest.record_attestations(world.ledger, {"": early})


SMALL = [
    "0100000000000000000000000000000000000000000000000000000000000000",
    "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0000000000000000000000000000000000000000000000000000000000000000",
    "0000000000000000000000000000000000000000000000000000000000000080",
    "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
    "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
    "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    "0200000000000000000000000000000000000000000000000000000000000000",
]


@pytest.mark.parametrize("raw", SMALL)
def test_06_keys_of_small_order_or_off_the_curve_are_refused(world, raw):
    with pytest.raises(InputError, match="no sound Ed25519 key"):
        world.trust(bytes.fromhex(raw))
    with pytest.raises(InputError, match="no sound Ed25519 key"):
        world.ledger.write(
            lambda tx: two_people.propose_staff(tx, "zed", bytes.fromhex(raw), [kinds.DRAFTER], "ann")
        )


def merged(world: World, one: str, into: str) -> None:
    made = world.ledger.write(lambda tx: two_people.propose(tx, kinds.MERGED, one, {"into": into}, "ann"))
    world.confirm(made.seq)


@pytest.mark.parametrize("which", ["one", "into"])
def test_07_erasing_a_merged_person_erases_all_of_them(world, which):
    pids = world.register("test", ["one", "into", "other"])
    world.pay_to(pids["one"], {"name": "Grace Hopper"})
    merged(world, pids["one"], pids["into"])
    left = identity.erase_contributor(world.ledger, pids[which])
    assert (left["contributor"], left["also"]) == (pids["into"], [pids["one"]])
    with world.ledger.read() as connection:
        for table in schema.ERASABLE:
            rows = set(connection.scalars(sa.select(table.c.pid)))
            assert rows <= {pids["other"]}, table.name
    assert verify(world.ledger).problems == []


def test_08_the_documented_role_can_write_and_erase_says_what_it_cannot_reach(
    make_world, request, pytestconfig
):
    """The SQL of docs/concepts/ledger.md, as written, on a real server."""
    world = make_world("postgresql")
    page = (pytestconfig.rootpath / "docs" / "concepts" / "ledger.md").read_text(encoding="utf-8")
    sql = page.partition("```sql\n")[2].partition("```")[0]
    assert "CREATE ROLE" in sql
    pid = world.register("test", ["gone"])["gone"]
    name = world.url.rpartition("%3D")[2]
    server = request.getfixturevalue("postgres_server")
    admin = sa.create_engine(
        f"{server.get_uri()}&options=-csearch_path%3D{name}".replace(
            "postgresql://", "postgresql+psycopg://"
        ),
        isolation_level="AUTOCOMMIT",
    )
    with admin.connect() as connection:
        # The role is the server's, not this ledger's: another test may have made it.
        known = connection.scalar(sa.text("SELECT count(*) FROM pg_roles WHERE rolname = 'anml_writer'"))
        for text in filter(None, (part.strip() for part in sql.split(";"))):
            if not (known and text.startswith("CREATE ROLE")):
                connection.exec_driver_sql(text)
        connection.exec_driver_sql(f"GRANT USAGE ON SCHEMA {name} TO anml_writer")
    user = world.url.replace("postgres:@", "anml_writer@").replace("postgres@", "anml_writer@")
    assert user != world.url
    world.ledger.close()
    role = store.open_ledger(user, world.keys, world.clock)
    role.signers.name = "ann"
    with role.read() as connection:
        assert connection.scalar(sa.text("SELECT current_user")) == "anml_writer"
    world.ledger = role
    sid = world.post(world.run(simple_rows({"x": 1})), "1")
    left = identity.erase_contributor(role, pid)
    assert "their owner runs VACUUM FULL" in left["unreached"][0]
    with pytest.raises(sa.exc.DBAPIError), role.engine.begin() as connection:
        connection.exec_driver_sql("UPDATE event SET kind = 'x'")
    assert verify(role).problems == []
    assert statement.build(role, sid)
    admin.dispose()


def test_09_rows_of_an_import_are_safe_for_spreadsheets(tmp_path, monkeypatch):
    import sys

    from anml.ledger.cli import main as cli

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANML_BY", raising=False)
    (tmp_path / "t.csv").write_text("contributor,label,note\nann,a,=cmd|' /C calc'!A0\nbob,b,plain\n")
    for words in ("init --ledger b.db", "import t.csv --ledger b.db --out rows.csv"):
        monkeypatch.setattr(sys, "argv", ["anml-ledger", *words.split()])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        assert not stopped.value.code
    assert ",'=cmd" in (tmp_path / "rows.csv").read_text()


def test_10_statements_never_mix_currencies(world):
    sid, pids = posted(world, "10")
    other = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "3000", currency="JPY")
    world.clock.pass_days(15)
    for each in (sid, other):
        release_settlement(world.ledger, each)
    payout.create_batch(world.ledger, "euros", "EUR", "cat")
    payout.create_batch(world.ledger, "yen", "JPY", "cat")
    euros = statement.build(world.ledger, sid)[pids["ann"]]["amounts"]
    yen = statement.build(world.ledger, other)[pids["ann"]]["amounts"]
    assert (euros["in_transit"], yen["in_transit"]) == (5_000_000, 1_500_000_000)


GOLD = "task,worker,label,gold\n1,ann,a,a\n2,ann,b,b\n3,ann,a,a\n"


def r_of(world: World, name: str, source: str = "crowd") -> float:
    with world.ledger.read() as connection:
        pid = who_is(connection, world.ledger.ring, source, name)
        return contributor_statuses(connection, format_timestamp(world.clock.now))[pid].track.r


def test_11_the_same_judgements_in_other_bytes_count_once(world, tmp_path):
    file = tmp_path / "gold.csv"
    file.write_text(GOLD)
    import_file(world.ledger, Import(file, "crowd-long"))
    once = r_of(world, "ann")
    assert once > 0.5
    for number in range(20):
        file.write_text(GOLD.replace("\n", f",{number}\n").replace(f"gold,{number}", "gold,note"))
        assert import_file(world.ledger, Import(file, "crowd-long")).scores == 0
    assert r_of(world, "ann") == once
    # One new judgement among three old ones counts for a quarter.
    file.write_text(GOLD + "4,ann,c,c\n")
    import_file(world.ledger, Import(file, "crowd-long"))
    assert once < r_of(world, "ann") < once + 0.05


def test_11_running_the_same_rows_again_counts_once(world, tmp_path):
    rows = simple_rows({"ann": 4}).with_columns(self_confidence=pl.Series([0.9, 0.8, 0.9, 1.0]))
    write_run(tmp_path / "first", rows)
    assert run_scores.record_run_scores(world.ledger, tmp_path / "first", "run") == 1
    write_run(
        tmp_path / "again", rows.with_columns(self_confidence=pl.lit(0.99), score=pl.lit(0.5)).reverse()
    )
    assert run_scores.record_run_scores(world.ledger, tmp_path / "again", "run") == 0


def test_11_sock_puppets_gain_nothing_by_agreeing_or_by_vouching(world, tmp_path):
    socks = ("s1", "s2", "s3")
    file = tmp_path / "socks.csv"
    labels = [f"{task},{who},a\n" for task in range(9) for who in socks]
    file.write_text("task,worker,label\n" + "".join(labels))
    found = import_file(world.ledger, Import(file, "crowd-long"))
    pids = [found.contributors[who] for who in socks]
    world.record(
        *(
            evidence.EvidenceRecord("review-accepted", a, b, "", f"item:{a}{b}")
            for a in pids
            for b in pids
            if a != b
        )
    )
    assert found.scores == 0
    assert {r_of(world, who) for who in socks} == {0.4}
    with world.ledger.read() as connection:
        known = contributor_statuses(connection, format_timestamp(world.clock.now))
    assert {(known[pid].verdict.level, known[pid].verified) for pid in pids} == {("self-attested", False)}


@pytest.mark.parametrize("issuer", ["label-studio: unknown reviewer", "toloka: toloka requester", "SOCK"])
def test_12_a_newcomers_hold_ends_only_by_somebody_with_standing(world, issuer):
    world.establish("old")
    sid = world.post(world.run(simple_rows({"old": 1, "new": 1})), "10")
    sock = world.register("test", ["sock"])["sock"]
    with world.ledger.read() as connection:
        new = who_is(connection, world.ledger.ring, "run", "new")
    world.record(
        evidence.EvidenceRecord("review-accepted", new, sock if issuer == "SOCK" else issuer, "", "item:1")
    )
    world.clock.pass_days(15)
    assert new in release_settlement(world.ledger, sid).waiting
    # Not even a review by somebody whose word counts ends it: it stands in a file that anybody can edit.
    if issuer == "SOCK":
        world.name_reviewer(sock)
        assert new in release_settlement(world.ledger, sid).waiting
    # A signature does.
    world.vouch(new)
    assert new in release_settlement(world.ledger, sid).released


def test_13_debts_follow_people_when_identities_are_merged(world):
    sid, pids = posted(world, "20")
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    payout.record_payment_results(world.ledger, "p1", None, paid=True, by="bob")
    made = world.ledger.write(
        lambda tx: book.propose_reversal(tx, sid, pids["ann"], 9_000_000, "fraud", "cat")
    )
    world.confirm(made.seq, by="dan")
    merged(world, pids["ann"], pids["ben"])
    later = world.post(
        world.run(simple_rows({"ben": 1, "x": 1})), "20", rules=settle.PayoutRules(newcomer_cap=0)
    )
    world.clock.pass_days(15)
    release_settlement(world.ledger, later)
    with world.ledger.read() as connection:
        assert balance(connection, f"payable:{pids['ann']}", "EUR") == 0
        # Twenty earned, nine owed.
        assert balance(connection, f"payable:{pids['ben']}", "EUR") == 11_000_000
    assert {
        p.pid: p.amount for p in payout.create_batch(world.ledger, "p2", "EUR", "cat").batch.payments
    } == {pids["ben"]: 11_000_000}
    assert verify(world.ledger).problems == []


TABLES = {
    "a name moved to somebody else": "UPDATE alias SET pid = (SELECT MAX(pid) FROM alias)",
    "a name taken away": "DELETE FROM alias WHERE pid = (SELECT MIN(pid) FROM alias)",
    "a record changed": "UPDATE person SET sealed = (SELECT MAX(sealed) FROM person)",
    "a record removed": "DELETE FROM person WHERE pid = (SELECT MIN(pid) FROM person)",
    "a key changed": "UPDATE person_key SET wrapped = (SELECT MAX(wrapped) FROM person_key)",
    "a paper changed": "UPDATE person_document SET sealed = (SELECT MAX(sealed) FROM person)",
    "the name of the ledger": "UPDATE meta SET value = 'other' WHERE name = 'origin'",
    "more settings": "INSERT INTO meta VALUES ('more', 'x')",
    "the kind of a document": "UPDATE document SET kind = 'x'",
    "the seal": "UPDATE head SET seq = seq - 1",
}


@pytest.mark.parametrize("what", TABLES)
def test_14_every_table_is_covered(world, what):
    _, pids = posted(world)
    world.pay_to(pids["ben"], {"name": "Ben"})
    assert verify(world.ledger).problems == []
    unlock(world, TABLES[what])
    assert problems(world)


def test_14_documents_that_belong_to_nothing_are_found(world):
    posted(world)
    extra = b"{}"
    unlock(world, sa.insert(schema.document).values(sha256=sha256(extra), kind="manifest", body=extra))
    assert "is of no settlement" in problems(world)


def test_15_a_run_without_hashes_is_refused(world):
    folder = world.run(simple_rows({"x": 2}))
    for files in ({}, {"files": {}}, {"files": []}):
        record = {"schema_version": 2, **files}
        (folder / "run.json").write_text(json.dumps(record))
        with pytest.raises(IntegrityError, match=r"run\.json keeps no hash of .*samples\.parquet"):
            world.draft(folder)
        with pytest.raises(IntegrityError, match=r"keeps no hash"):
            run_scores.record_run_scores(world.ledger, folder, "run")


def test_15_the_same_rows_settle_once_under_other_bytes(world, tmp_path):
    rows = simple_rows({"x": 3, "y": 2}).with_columns(item=pl.Series(["1", "2", "3", "4", "5"]))
    write_run(tmp_path / "run", rows)
    sid = world.post(tmp_path / "run", "10")
    again = {
        "shuffled": rows.reverse(),
        "scored anew": rows.with_columns(q=pl.lit(0.25), kept=pl.Series([True, False, True, True, True])),
        "compressed": rows,
        "copied": pl.concat([rows, rows]),
        "more columns": rows.with_columns(extra=pl.lit(1)),
    }
    for name, frame in again.items():
        folder = tmp_path / name
        write_run(folder, frame)
        if name == "compressed":
            frame.write_parquet(folder / "samples.parquet", compression="gzip")
            hash_run(folder, {})
        with pytest.raises(ConflictError, match=f"posted as settlement {sid}, by its rows"):
            world.draft(folder, "10")
    world.draft(tmp_path / "shuffled", "10", supersedes=sid)


def test_16_tracebacks_are_sentences(world, tmp_path):
    from anml.io.file import InputFile
    from anml.io.formats import read_export

    def refused(name: str, data: bytes | str, format_: str = "auto", **columns) -> str:
        path = tmp_path / name
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        with pytest.raises(AnmlError) as error:
            import_file(world.ledger, Import(path, format_, columns=columns))
        assert "\n" not in str(error.value)
        return str(error.value)

    task = '[{"id": 1, "data": {}, "annotations": [{"id": 1, "completed_by": "%s", "result": %s}]}]'
    good = '[{"from_name": "k", "type": "choices", "value": {"choices": ["a"]}}]'
    assert "half of a letter" in refused("half.json", task % ("\\ud800", good))
    odd = good.replace('"type": "choices"', '"type": {}')
    (tmp_path / "type.json").write_text(task % ("ann", odd))
    assert read_export(InputFile(tmp_path / "type.json"), "label-studio", {})[1].rows.height == 1
    frame = pl.DataFrame({"contributor": [["a"], ["b"]], "label": ["x", "y"]})
    frame.write_parquet(tmp_path / "list.parquet")
    assert "no identifier and no label" in refused("list.parquet", (tmp_path / "list.parquet").read_bytes())
    frame.with_columns(contributor=pl.Series([b"\xff", b"a"])).write_parquet(tmp_path / "binary.parquet")
    assert "holds Binary" in refused("binary.parquet", (tmp_path / "binary.parquet").read_bytes())
    for depth in (200, 940, 100_000):
        nested = good.replace('["a"]', "[" * depth + '"x"' + "]" * depth)
        (tmp_path / "deep.json").write_text(task % ("ann", nested))
        with contextlib.suppress(InputError):
            import_file(world.ledger, Import(tmp_path / "deep.json"))
    assert "nested too deeply" in refused("deeper.json", (tmp_path / "deep.json").read_bytes())
    for column, value in (("r", float("nan")), ("self_confidence", float("inf")), ("q", -1.0)):
        rows = (
            simple_rows({"x": 2})
            .with_columns(self_confidence=pl.lit(0.5))
            .with_columns(pl.lit(value).alias(column))
        )
        folder = world.run(rows)
        for step in (
            lambda f=folder: world.draft(f),
            lambda f=folder: run_scores.record_run_scores(world.ledger, f, "run"),
        ):
            with pytest.raises(
                InputError, match=f"column '{column}' of samples.parquet is not between 0 and 1"
            ):
                step()


def test_16_a_toloka_row_without_a_worker_that_was_rejected(world, tmp_path):
    file = tmp_path / "t.tsv"
    head = "INPUT:x\tOUTPUT:y\tASSIGNMENT:worker_id\tASSIGNMENT:status\n"
    file.write_text(head + "1\ta\tw1\tREJECTED\n2\tb\t\tREJECTED\n")
    found = import_file(world.ledger, Import(file, "toloka"))
    assert (found.rows.height, found.evidence) == (1, 1)


def test_low_a_withdrawn_draft_can_be_drafted_again(world):
    folder = world.run(simple_rows({"x": 1}))
    first = world.draft(folder, "1")
    world.ledger.write(lambda tx: book.withdraw(tx, first.id, "ann"))
    second = world.draft(folder, "1")
    assert second.id != first.id
    assert settle.approve_settlement(world.ledger, second.id, "bob").kind == kinds.APPROVED
    assert verify(world.ledger).problems == []


def test_low_no_balance_outgrows_64_bits(world):
    largest = str((2**63 - 1) // 10**6)
    world.post(world.run(simple_rows({"x": 1})), largest)
    with pytest.raises(InputError, match="than 64 bits hold"):
        world.post(world.run(simple_rows({"x": 1})), largest)
    with world.ledger.read() as connection:
        assert totals(connection) == {"EUR": 0}


def test_low_erasing_under_an_open_reader_says_so(make_world):
    world = make_world("sqlite")
    pid = world.register("test", ["gone"])["gone"]
    with world.ledger.read() as connection:
        assert len(list(events(connection))) > 0
        left = identity.erase_contributor(world.ledger, pid)
    assert left["unreached"] == [
        "the write-ahead log: somebody reads the ledger; erase again when they are done"
    ]


def test_low_init_that_was_cut_short_is_continued(tmp_path, monkeypatch):
    from anml.ledger import schema as tables

    def power_cut(_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(tables, "create_all", power_cut)
        with pytest.raises(KeyboardInterrupt):
            store.create(str(tmp_path / "b.db"))
    kept = (tmp_path / "b.db.keys" / "log.pem").read_bytes()
    ledger = store.create(str(tmp_path / "b.db"))
    assert (tmp_path / "b.db.keys" / "log.pem").read_bytes() == kept
    assert verify(ledger).problems == []
    ledger.close()
    # Keys of a ledger that stands are never taken for another one.
    with pytest.raises(InputError, match="never overwritten"):
        store.create(str(tmp_path / "c.db"), tmp_path / "b.db.keys")


def test_low_addresses_are_no_places(world, tmp_path):
    (tmp_path / "gold.csv").write_text(GOLD)
    with pytest.raises(InputError, match="not an address of a person"):
        import_file(world.ledger, Import(tmp_path / "gold.csv", "crowd-long", source="ann@lab.example"))


def test_low_a_revoked_key_is_not_trusted_again(world):
    public = keys.read_public(keys.create_signer(world.folder / "lab.pem"))
    name = world.trust(public)
    world.ledger.write(lambda tx: two_people.revoke_key(tx, name, "ann"))
    with pytest.raises(ConflictError, match=r"was revoked on 2026-01-01; make a new one"):
        world.trust(public)
    with pytest.raises(ConflictError, match="already"):
        world.ledger.write(lambda tx: two_people.revoke_key(tx, name, "ann"))


def test_low_a_missing_q_is_not_a_perfect_one(world):
    rows = simple_rows({"x": 2}).with_columns(q=pl.Series([0.5, None]))
    with pytest.raises(InputError, match="q is missing in 1 kept rows"):
        world.draft(world.run(rows))


def test_low_a_contributors_key_vouches_for_nobody_else(world):
    pids = world.register("test", ["friend", "other"])
    public = keys.read_public(keys.create_signer(world.folder / "own.pem"))
    with pytest.raises(InputError, match="it may say 'self' only"):
        world.trust(public, pids["friend"], may=["reproduced"])
    world.trust(public, pids["friend"])
    paper = attest.sign_attestation(
        world.folder / "own.pem", pids["friend"], ["ANML_SELF"], world.clock.now, [pids["other"]]
    )
    attest.record_attestations(world.ledger, {"": paper})
    assert reputation.show(world.ledger)[pids["other"]].verdict.level == "self-attested"


def test_g11_no_one_person_moves_money(world):
    """One key, whatever its roles: nothing that is paid out can be brought about with it alone."""
    sid, pids = posted(world)
    world.clock.pass_days(15)
    alone = [
        lambda: settle.approve_settlement(
            world.ledger, world.draft(world.run(simple_rows({"x": 1})), "1").id, "ann"
        ),
        lambda: world.confirm(
            payout.set_payees(world.ledger, {pids["ben"]: {"iban": IBANS[0]}}, "ann")[0], by="ann"
        ),
        lambda: world.confirm(
            world.ledger.write(
                lambda tx: two_people.propose(tx, kinds.MERGED, pids["ben"], {"into": pids["ann"]}, "ann")
            ).seq,
            by="ann",
        ),
        lambda: world.confirm(
            world.ledger.write(lambda tx: book.propose_reversal(tx, sid, pids["ben"], 1, "other", "ann")).seq,
            by="ann",
        ),
    ]
    for step in alone:
        with pytest.raises(ConflictError, match="a second person must"):
            step()
    public = keys.read_public(keys.create_signer(world.folder / "own.pem"))
    made = world.ledger.write(
        lambda tx: two_people.propose_key(tx, "https://me.example", public, None, None, None, "ann")
    )
    with pytest.raises(ConflictError, match="a second person must"):
        world.confirm(made.seq, by="ann")


def test_g11_a_ledger_of_one_person_says_so(make_world):
    world = make_world("sqlite", staff=("ann",), single_person=True)
    sid = world.draft(world.run(simple_rows({"x": 1})), "1").id
    settle.approve_settlement(world.ledger, sid, "ann")
    (made,) = statement.build(world.ledger, sid).values()
    assert made["single_person"]
    assert any("One person keeps this ledger" in reason for reason in made["reasons"])
    assert verify(world.ledger).problems == []


def test_g12_nothing_is_paid_from_a_ledger_that_does_not_verify(world):
    """Sums are read from a table beside the log; whoever adds a line to it gets nothing out of that."""
    sid, pids = posted(world)
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    more = {"line": 7, "account": f"payable:{pids['ben']}", "currency": "EUR", "amount": 9 * 10**12}
    unlock(world, sa.insert(schema.posting).values(seq=world.size(), settlement="", **more))
    with pytest.raises(IntegrityError, match="nothing is written to a ledger that does not verify: "):
        payout.create_batch(world.ledger, "p1", "EUR", "cat")


def test_g12_a_whole_log_forged_with_other_keys_is_found(world, make_world):
    """An owner of the database who starts again with keys of their own makes another ledger."""
    other = make_world(world.ledger.engine.dialect.name)
    posted(other)
    assert verify(other.ledger).problems == []
    found = verify(other.ledger, (), world.ledger.ring.public).problems
    assert any("another ledger" in problem for problem in found)


def test_g12_old_copies_are_found_by_a_watch(make_world, tmp_path):
    import shutil

    world = make_world("sqlite")
    posted(world)
    world.ledger.engine.dispose()
    shutil.copy(world.url, tmp_path / "old.db")
    (tmp_path / "notes").mkdir()
    assert check_against_checkpoints(world.ledger, tmp_path / "notes").problems == []
    world.register("test", ["more"])
    assert check_against_checkpoints(world.ledger, tmp_path / "notes").compared == 1
    world.ledger.engine.dispose()
    for path in world.folder.glob("ledger.db-*"):
        path.unlink()
    shutil.copy(tmp_path / "old.db", world.url)
    assert verify(world.ledger).problems == []  # sound in itself: only an old copy
    found = check_against_checkpoints(world.ledger, tmp_path / "notes")
    assert any("it is an old copy" in problem for problem in found.problems)


def test_g13_a_judgement_counts_once_also_by_the_rules_of_the_log(world, tmp_path):
    (tmp_path / "gold.csv").write_text(GOLD)
    import_file(world.ledger, Import(tmp_path / "gold.csv", "crowd-long"))
    with world.ledger.read() as connection:
        (scored,) = events(connection, [kinds.SCORED])
    with pytest.raises(ConflictError, match="3 judgements by gold were counted before"):
        world.ledger.write(lambda tx: tx.append(kinds.SCORED, "again", scored.subject, scored.body))

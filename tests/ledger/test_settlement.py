"""Settlements: weights, newcomers, gaming, disputes, statements, exports."""

import csv
import io
import json
from xml.etree import ElementTree

import polars as pl
import pytest

from anml.core.errors import ConflictError, InputError, IntegrityError
from anml.io.spreadsheets import safe_cell
from anml.ledger import book, keys, kinds, two_people
from anml.ledger.log import format_timestamp
from anml.ledger.pay import multipliers, payout, settle, statement
from anml.ledger.pay.exports import beancount, pain001, payout_csv, statements_csv
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services import attest
from anml.ledger.services.verify import check_statement, verifier
from anml.ledger.standing import Score
from anml.ledger.state import POOL
from anml.settlement.allocate import UNIT, PayoutRules
from ledger.ledger_queries import balance, balances, events, settlements, who_is
from ledger.ledger_world import World, hash_run, judged_rows, simple_rows, write_run
from ledger.recompute_statement import amounts_of, verdict_faults

IBANS = ("DE89370400440532013000", "GB29NWBK60161331926819")


@pytest.fixture
def place(make_world) -> World:
    return make_world("sqlite")


def drafted(world: World, rows: pl.DataFrame, recipe: dict | None = None, **terms) -> settle.Draft:
    """A draft that is withdrawn at once, so that the same rows can be drafted again."""
    folder = world.folder / f"extra{len(list(world.folder.iterdir()))}"
    write_run(folder, rows, recipe)
    made = world.draft(folder, terms.pop("pool", "100"), **terms)
    world.ledger.write(lambda tx: book.withdraw(tx, made.id, "ann"))
    return made


def by_name(world: World, made: settle.Draft) -> dict[str, int]:
    with world.ledger.read() as connection:
        pids = {
            who_is(connection, world.ledger.ring, "run", name): name for name in ("ann", "ben", "cat", "dan")
        }
    return {pids[pid]: amount for pid, (amount, _) in made.amounts.items()}


def test_pay_is_kept_times_q_v_r_t(place):
    rows = pl.DataFrame(
        {
            "contributor": ["ann", "ann", "ben", "ben"],
            "q": [1.0, 1.0, 0.5, 1.0],
            "v": [0.5, 0.5, 0.8, 0.8],
            "r": [0.8, 0.8, 0.5, 0.5],
            "t": [1.0, 1.0, 0.5, 0.5],
            "kept": [True, False, True, True],
            "weight": [0.25] * 4,
            "p_correct": [0.9, 0.9, 0.6, 0.6],
        }
    )
    # ann: 0.4 once. ben: 0.1 + 0.2. Shares 4:3.
    assert by_name(place, drafted(place, rows, pool="7")) == {"ann": 4_000_000, "ben": 3_000_000}


@pytest.mark.parametrize(
    ("recipe", "weight", "expected"),
    [
        ({"combine": "evidence"}, None, {"ann": 4_285_714, "ben": 5_714_286}),  # p_correct 0.9 : 1.2
        ({"combine": "guarded"}, "p_correct", {"ann": 4_285_714, "ben": 5_714_286}),
        ({"combine": "guarded"}, "equal", {"ann": 3_333_333, "ben": 6_666_667}),
        ({"combine": "guarded"}, "blend", {"ann": 5_000_000, "ben": 5_000_000}),
    ],
)
def test_other_weights_by_name(place, recipe, weight, expected):
    rows = pl.DataFrame(
        {
            "contributor": ["ann", "ben", "ben"],
            "q": [1.0, 0.2, 0.2],
            "kept": [True] * 3,
            "weight": [0.4, 0.1, 0.3],
            "p_correct": [0.9, 0.6, 0.6],
        }
    )
    assert by_name(place, drafted(place, rows, recipe, pool="10", weight=weight)) == expected


EVIDENCE = {"combine": "evidence"}
TRUSTED, UNSURE, ACCUSED = "reliable", "inconclusive", "contradicts the others"


def judged(
    world: World, labels: dict[str, list[float]], verdicts: dict[str, str] | None, *, keep=False, **terms
) -> settle.Draft:
    """Draft a run by the evidence recipe, with p_correct of each contributor's rows; withdrawn at once."""
    folder = world.folder / f"judged{len(list(world.folder.iterdir()))}"
    write_run(
        folder, judged_rows(labels), terms.pop("recipe", EVIDENCE), verdicts, terms.pop("disputed", None)
    )
    made = world.draft(folder, terms.pop("pool", "100"), **terms)
    if not keep:
        world.ledger.write(lambda tx: book.withdraw(tx, made.id, "ann"))
    return made


LABELS = {"ann": [0.9, 0.7], "ben": [0.3, 0.2], "cat": [0.3, 0.9]}


@pytest.mark.parametrize("verdict", [UNSURE, ACCUSED, TRUSTED])
def test_a_verdict_changes_no_amount(place, verdict):
    made = judged(place, LABELS, {"ann": TRUSTED, "ben": UNSURE, "cat": verdict}, pool="25")
    assert by_name(place, made) == {"ann": 16_000_000, "ben": 0, "cat": 9_000_000}


def test_rows_earn_the_same_in_one_account_as_in_twenty(place):
    """One poor contributor, known as such, and twenty unknown accounts with the same rows."""
    rows = [0.4 + 0.02 * n for n in range(20)]
    known = judged(place, {"ann": [0.9] * 20, "bad": rows}, {"ann": TRUSTED, "bad": ACCUSED})
    split = {f"b{n}": [p] for n, p in enumerate(rows)}
    many = judged(place, {"ann": [0.9] * 20, **split}, dict.fromkeys(split, UNSURE) | {"ann": TRUSTED})
    one, twenty = (sorted(amount for amount, _ in made.amounts.values()) for made in (known, many))
    assert len(twenty) == len(one) + 19
    assert sum(twenty[:-1]) <= one[0] + len(split)


def test_who_is_accused_is_paid_by_p_correct_of_what_was_kept(place):
    made = judged(place, LABELS, {"ann": TRUSTED, "ben": ACCUSED, "cat": ACCUSED}, pool="25")
    assert by_name(place, made) == {"ann": 16_000_000, "ben": 0, "cat": 9_000_000}


@pytest.mark.parametrize("verdicts", [None, {}])
def test_a_run_without_verdicts_settles_as_before(place, verdicts):
    made = judged(place, LABELS, None if verdicts is None else dict.fromkeys(LABELS, TRUSTED), pool="25")
    assert by_name(place, made) == {"ann": 16_000_000, "ben": 0, "cat": 9_000_000}


def test_what_was_kept_takes_nothing_by_another_weight_either(place):
    unsure = {"ann": TRUSTED, "ben": UNSURE, "cat": TRUSTED}
    made = judged(place, LABELS, unsure, pool="5", weight="equal")
    assert by_name(place, made) == pytest.approx({"ann": 3_333_333, "ben": 0, "cat": 1_666_667}, abs=1)
    # What another recipe keeps is a quota, not a judgement.
    other = judged(place, {**LABELS, "ann": [0.9, 0.71]}, unsure, pool="3", weight="equal",
                   recipe={"combine": "krum"})  # fmt: skip
    assert by_name(place, other) == {"ann": 2_000_000, "ben": 0, "cat": 1_000_000}


def test_verdicts_must_fit_the_run(place):
    for verdicts in ({"ann": TRUSTED}, dict.fromkeys(LABELS, "splendid")):
        with pytest.raises(InputError, match="needs exactly one verdict"):
            judged(place, LABELS, verdicts)


def test_another_program_recomputes_pay_and_verdicts(place):
    made = judged(place, LABELS, {"ann": TRUSTED, "ben": UNSURE, "cat": ACCUSED}, keep=True)
    amounts, _ = amounts_of(made.manifest)
    assert amounts == {pid: amount for pid, (amount, _) in made.amounts.items()}
    assert verdict_faults(made.manifest) == []
    settle.approve_settlement(place.ledger, made.id, "bob")
    found = statement.build(place.ledger, made.id)
    ben = next(item for item in found.values() if UNSURE in item["verdicts"])
    assert ben["reasons"][:2] == [
        "0 of 2 rows were kept for training; rows not kept earn nothing.",
        "The verdict is inconclusive for 2 labels; this changes no amount.",
    ]
    less = json.loads(json.dumps(made.manifest))
    line = next(line for line in less["contributors"] if UNSURE in line["verdicts"])
    line["rows"] -= 1
    assert "verdicts on other than" in verdict_faults(less)[0]


def test_a_disputed_run_is_settled_only_when_somebody_accepts_that(place):
    doubt = {"disputed": "two camps contradict each other", "pool": "10"}
    verdicts = dict.fromkeys(LABELS, UNSURE)
    for nothing in (None, "", "  "):
        with pytest.raises(InputError, match=r"is disputed: two camps .* --accept-disputed") as refused:
            judged(place, LABELS, verdicts, accept=nothing, **doubt)
        assert "\n" not in str(refused.value)
    made = judged(place, LABELS, verdicts, accept=" the client checked 200 rows ", **doubt)
    assert made.manifest["disputed"] == {
        "because": "two camps contradict each other", "accepted": "the client checked 200 rows", "by": "ann",
    }  # fmt: skip
    with place.ledger.read() as connection:
        assert settlements(connection)[made.id].accepted == "the client checked 200 rows"
        drafted = [e for e in events(connection, ["settlement.drafted"]) if e.subject == made.id]
    assert (drafted[0].body["accepted"], drafted[0].by) == ("the client checked 200 rows", "ann")
    with pytest.raises(InputError, match="one line of up to 500 letters"):
        judged(place, LABELS, verdicts, accept="x" * 501, **doubt)


def test_there_is_nothing_to_accept_in_a_run_that_is_not_disputed(place):
    with pytest.raises(InputError, match="not disputed"):
        judged(place, LABELS, None, accept="to be sure")


def test_external_values_multiply(place, tmp_path):
    file = tmp_path / "shapley.csv"
    file.write_text("contributor,value\nann,0.5\nben,-0.2\ncat,0.25\n")
    extra = multipliers.read_multipliers(file)
    assert extra == {"ann": UNIT, "ben": 0, "cat": UNIT // 2}
    made = drafted(place, simple_rows({"ann": 1, "ben": 1, "cat": 2, "dan": 1}), multipliers=extra)
    assert by_name(place, made) == {"ann": 50_000_000, "ben": 0, "cat": 50_000_000, "dan": 0}
    for text, message in [
        ("contributor,value\na,x\n", "not numbers"),
        ("contributor,value\na,1\na,2\n", "twice"),
        ("contributor,value\na,-1\n", "no value above zero"),
        ("who,value\na,1\n", "it needs contributor, value"),
    ]:
        file.write_text(text)
        with pytest.raises(InputError, match=message):
            multipliers.read_multipliers(file)


def test_what_a_run_must_have(place, tmp_path):
    with pytest.raises(InputError, match=r"it has no samples\.parquet"):
        place.draft(tmp_path)
    for rows, message in [
        (pl.DataFrame({"contributor": ["a"]}), "no column 'kept'"),
        (pl.DataFrame({"contributor": [None, "a"], "kept": [True, True]}), "missing in 1 rows"),
        (pl.DataFrame({"contributor": ["a"], "kept": [True]}), "needs the column 'q'"),
        (simple_rows({"a": 1}).clear(), "no rows"),
    ]:
        folder = tmp_path / message[:6]
        write_run(folder, rows if "kept" in rows.columns else rows.with_columns(kept=True))
        if "kept" not in rows.columns:
            rows.write_parquet(folder / "samples.parquet")
            hash_run(folder, {"recipe": {}})
        with pytest.raises(InputError, match=message):
            place.draft(folder)
    with pytest.raises(InputError, match="a code of ISO 4217"):
        place.draft(place.run(simple_rows({"a": 1})), currency="euro")
    with pytest.raises(InputError, match="staff identifier"):
        place.draft(place.run(simple_rows({"a": 1})), by="ann@example.org")


def test_nobody_is_paid_from_a_run_without_weight(place):
    sid = place.post(place.run(simple_rows({"ann": 2, "ben": 1}, q=0.0)), "5")
    with place.ledger.read() as connection:
        assert balance(connection, POOL, "EUR") == 0
        assert balances(connection, "held:", "EUR", sid) == {}
    assert len(statement.build(place.ledger, sid)) == 2


def test_copies_of_a_row_earn_once(place):
    place.establish("ann", "ben")
    rows = simple_rows({"ann": 2, "ben": 2}).with_columns(item=pl.Series(["1", "2", "3", "4"]))
    tripled = pl.concat(
        [rows, rows.filter(pl.col("contributor") == "ben"), rows.filter(pl.col("item") == "3")]
    )
    assert (
        by_name(place, drafted(place, rows))
        == by_name(place, drafted(place, tripled))
        == {
            "ann": 50_000_000,
            "ben": 50_000_000,
        }
    )


def test_tripling_bad_rows_does_not_triple_pay(place):
    place.establish("ann", "ben")
    good = simple_rows({"ann": 10}, q=0.95, v=0.9, r=0.9)
    bad = simple_rows({"ben": 10}, q=0.3, v=0.1, r=0.15)
    one = by_name(place, drafted(place, pl.concat([good, bad])))["ben"]
    three = by_name(place, drafted(place, pl.concat([good, bad, bad, bad])))["ben"]
    assert one < 700_000  # 0.6 % of the pool for half of the rows
    assert one < three < 3 * one
    rules = PayoutRules(volume="0.5")
    concave = [
        by_name(
            place,
            drafted(place, pl.concat([good, *[bad] * times]).with_columns(score=pl.lit(1.0)), rules=rules),
        )["ben"]
        for times in (1, 3)
    ]
    assert concave[1] < 1.7321 * concave[0]


def score(world: World, pid: str, quality: float, times: int) -> None:
    world.score(
        *(
            Score(
                pid,
                "default",
                "gold",
                f"{pid}{i}",
                format_timestamp(world.clock.now),
                round(quality * UNIT),
                (f"{i}",),
                1,
            )
            for i in range(times)
        )
    )


@pytest.mark.parametrize("pieces", [2, 5])
def test_splitting_one_id_into_many_never_raises_what_can_be_released(make_world, pieces):
    """A burnt account starts again as several fresh ones, each with the newcomer's better r."""
    honest = simple_rows({"ann": 20}, r=0.8)
    released = {}
    for story in ("one", "many"):
        world = make_world("sqlite")
        world.establish("ann", "bad")
        ids = ["bad"] if story == "one" else [f"bad{i}" for i in range(pieces)]
        r = 0.11 if story == "one" else 0.40
        rows = pl.concat([honest, simple_rows({name: 20 // len(ids) for name in ids}, q=0.9, r=r)])
        sid = world.post(world.run(rows), "100")
        world.clock.pass_days(15)
        done = release_settlement(world.ledger, sid)
        with world.ledger.read() as connection:
            pids = {who_is(connection, world.ledger.ring, "run", name) for name in ids}
        released[story] = sum(amount for pid, amount in done.released.items() if pid in pids)
    assert released["many"] == 0 <= released["one"]
    assert released["one"] > 0


def test_a_newcomers_amount_waits_and_is_priced_again(world):
    world.establish("ann")
    rows = pl.concat([simple_rows({"ann": 8}, r=0.8), simple_rows({"good": 12, "bad": 12}, r=0.40)])
    sid = world.post(world.run(rows), "100")
    held = held_of(world, sid)
    with world.ledger.read() as connection:
        good, bad = (who_is(connection, world.ledger.ring, "run", name) for name in ("good", "bad"))
    # Newcomers together: a fifth of the pool.
    assert held[good] + held[bad] == 20_000_000
    world.clock.pass_days(15)
    first = release_settlement(world.ledger, sid)
    assert set(first.waiting) == {good, bad}
    assert "10 more contributions" in first.waiting[good]
    score(world, good, 1.0, 12)
    score(world, bad, 0.0, 12)
    later = world.post(world.run(simple_rows({"good": 12, "bad": 12}, q=0.99, r=0.40)), "1")
    done = release_settlement(world.ledger, sid)
    assert done.released[good] == held[good]
    # r fell from 0.40 to 0.10: a quarter is released, the rest goes back.
    assert done.released[bad] == pytest.approx(held[bad] / 4, abs=1)
    assert done.returned == {bad: held[bad] - done.released[bad]}
    assert later != sid


def test_one_verification_frees_a_newcomer(world):
    world.establish("ann")
    sid = world.post(world.run(simple_rows({"ann": 1, "new": 1})), "10")
    with world.ledger.read() as connection:
        new = who_is(connection, world.ledger.ring, "run", "new")
    world.vouch(new)
    world.clock.pass_days(15)
    done = release_settlement(world.ledger, sid)
    assert (new in done.released, done.waiting) == (True, {})


def test_an_open_flag_or_a_withdrawn_verification_stops_a_release(world, tmp_path):
    world.establish("ann")
    public = keys.read_public(keys.create_signer(tmp_path / "lab.pem"))
    rights = ["affiliation", "admin-flag", "flag-lifted"]
    key = world.trust(public, "lab", may=rights)
    with world.ledger.read() as connection:
        ann = who_is(connection, world.ledger.ring, "run", "ann")
    new = world.register("run", ["new"])["new"]

    def say(what: str, pid: str) -> None:
        private = tmp_path / "lab.pem"
        attest.record_attestations(
            world.ledger, {"": attest.sign_attestation(private, "lab", [what], world.clock.now, [pid])}
        )

    say("ANML_AFFILIATION", new)
    sid = world.post(world.run(simple_rows({"ann": 1, "new": 1})), "10")
    say("ANML_FLAG", ann)
    world.clock.pass_days(15)
    with pytest.raises(
        ConflictError, match=r"ann is flagged .admin-flag by lab on 2026-01-31., and a person"
    ):
        release_settlement(world.ledger.dry(), sid)
    say("ANML_FLAG_LIFTED", ann)
    assert release_settlement(world.ledger.dry(), sid).waiting == {}
    world.ledger.write(lambda tx: two_people.revoke_key(tx, key, "ann", compromised=True))
    waiting = release_settlement(world.ledger.dry(), sid).waiting
    assert (set(waiting), "new contributor" in waiting[new]) == ({new}, True)


def held_of(world: World, sid: str) -> dict[str, int]:
    with world.ledger.read() as connection:
        return balances(connection, "held:", "EUR", sid)


def test_whoever_acts_signs_with_the_key_that_is_registered_for_them(world, tmp_path):
    made = world.draft(world.run(simple_rows({"ann": 1})), "1")
    own = world.keys / "staff" / "bob.pem"
    kept = own.read_bytes()
    own.unlink()
    with pytest.raises(InputError, match="the key of 'bob' is not at hand"):
        settle.approve_settlement(world.reopen(), made.id, "bob")
    keys.create_signer(own)
    with pytest.raises(IntegrityError, match="is not the key that is registered for 'bob'"):
        settle.approve_settlement(world.reopen(), made.id, "bob")
    (tmp_path / "elsewhere.pem").write_bytes(kept)
    world.ledger.signers.file = tmp_path / "elsewhere.pem"
    done = settle.approve_settlement(world.ledger, made.id, " Bob ")
    assert (done.kind, done.by, bool(done.sig)) == (kinds.APPROVED, "bob", True)


def test_a_changed_manifest_stops_everything(place):
    made = place.draft(place.run(simple_rows({"ann": 1})), "1")
    with place.ledger.engine.connect() as connection, connection.begin():
        connection.exec_driver_sql("DROP TRIGGER document_no_update")
        connection.exec_driver_sql("UPDATE document SET body = X'7B7D'")
    with pytest.raises(IntegrityError, match="does not verify: the document"):
        settle.approve_settlement(place.ledger, made.id, "bob")


def test_dry_runs_leave_nothing_behind(world):
    folder = world.run(simple_rows({"ann": 1}))
    with world.ledger.read() as connection:
        before = len(list(events(connection)))
    shown = settle.draft_settlement(
        world.ledger.dry(), folder, settle.SettlementTerms(10**6, "EUR", "ann", source="run")
    )
    assert list(shown.amounts.values()) == [(10**6, UNIT)]
    made = world.draft(folder, "1")
    settle.approve_settlement(world.ledger.dry(), made.id, "bob")
    with world.ledger.read() as connection:
        assert settlements(connection)[made.id].state == "drafted"
        assert len(list(events(connection))) == before + 2


def paid_world(world: World) -> tuple[str, dict[str, str]]:
    pids = world.establish("ann", "ben")
    for pid, name, iban in zip(pids.values(), ("Ann & Co <x>", "=Ben"), IBANS, strict=True):
        world.pay_to(pid, {"name": name, "iban": iban})
    sid = world.post(world.run(simple_rows({"ann": 2, "ben": 1})), "100.00")
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    return sid, pids


def test_statements_say_everything_even_below_the_threshold(world):
    sid, pids = paid_world(world)
    made = statement.build(world.ledger, sid)
    ann = made[pids["ann"]]
    assert ann["rows"] == {"given": 2, "kept": 2, "counted": 2}
    assert ann["share"] == 666_666_666_666
    assert ann["amounts"] | {"payable": 0} == {
        "gross": 66_666_667,
        "held": 0,
        "released": 66_666_667,
        "returned": 0,
        "reversed": 0,
        "corrected": 0,
        "payable": 0,
        "in_transit": 0,
        "paid": 0,
    }
    assert ann["bands"]["v"]["institution"] == 2
    assert ann["reasons"] == ["2 of 2 rows were kept for training; rows not kept earn nothing."]
    assert ann["how"] == (
        "Your 2 labels, weighed by quality, verification, reputation and freshness, are 66.6667% of all; "
        "that share of 100.00 EUR is 66.66 EUR."
    )
    assert (ann["name"], ann["approved_by"]) == ("Ann & Co <x>", "bob")
    assert ann["appeal"].startswith("The time to dispute this statement ended on ")
    payout.create_batch(world.ledger, "p1", "EUR", "cat")
    after = statement.build(world.ledger, sid, [pids["ann"]])[pids["ann"]]["amounts"]
    assert (after["in_transit"], after["payable"]) == (66_660_000, 6_667)
    with pytest.raises(InputError, match="has no row in settlement"):
        statement.build(world.ledger, sid, ["c9"])


def test_a_statement_reveals_nobody_else(world):
    sid, pids = paid_world(world)
    text = json.dumps(statement.build(world.ledger, sid)[pids["ann"]])
    assert pids["ben"] not in text
    assert "33333333" not in text


def test_statements_are_checked_with_the_public_key_alone(world, tmp_path):
    sid, pids = paid_world(world)
    signed = statement.sign(world.ledger, statement.build(world.ledger, sid)[pids["ann"]])
    public = world.ledger.ring.public
    assert check_statement(signed, public)["contributor"] == pids["ann"]
    other = keys.read_public(keys.create_signer(tmp_path / "other.pem"))
    with pytest.raises(IntegrityError):
        check_statement(signed, other)
    with pytest.raises(IntegrityError):
        check_statement(signed.replace(b'"payload":"', b'"payload":"AAAA'), public)
    # Signed by us, but the proof is of another entry.
    made = statement.build(world.ledger, sid)[pids["ann"]]
    made["proof"]["entries"][0]["index"] -= 1
    with pytest.raises(IntegrityError, match="not in the log"):
        check_statement(statement.sign(world.ledger, made), public)


def test_statement_as_csv_and_html(world):
    sid, pids = paid_world(world)
    made = statement.build(world.ledger, sid)
    rows = list(csv.DictReader(io.StringIO(statements_csv(made.values()), newline="")))
    assert [row["contributor"] for row in rows] == sorted(pids.values())
    assert rows[0]["gross_credit"] == "66.666667"
    assert not any(cell.startswith(("=", "+", "-", "@")) for row in rows for cell in row.values())
    page = verifier().page(made[pids["ann"]])
    for text in (
        pids["ann"],
        "66.66",
        "Ann &amp; Co",
        "If you disagree",
        "test-ledger",
        "Content-Security-Policy",
    ):
        assert text in page
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@x", "\t=1", "\x00", "\n=1"])
def test_cells_are_safe_for_spreadsheets(cell):
    assert safe_cell(cell) == "'" + cell


def test_payout_files(world):
    _, pids = paid_world(world)
    made = payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001")
    table = list(csv.DictReader(io.StringIO(payout_csv(made.batch, made.payees), newline="")))
    assert [(row["amount"], row["name"]) for row in table] == [("66.66", "Ann & Co <x>"), ("33.33", "'=Ben")]
    text = pain001(made.batch, made.payees, {"name": "Payer", "iban": IBANS[0], "bic": "COBADEFF"})
    root = ElementTree.fromstring(text)
    space = {"p": "urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"}
    amounts = [node.text for node in root.iterfind(".//p:InstdAmt", space)]
    assert amounts == ["66.66", "33.33"]
    assert {node.text for node in root.iterfind(".//p:NbOfTxs", space)} == {"2"}
    assert {node.text for node in root.iterfind(".//p:CtrlSum", space)} == {"99.99"}
    ids = [node.text for node in root.iterfind(".//p:EndToEndId", space)]
    assert len(set(ids)) == 2
    assert all(len(name) <= 35 for name in ids)
    assert [node.text for node in root.iterfind(".//p:CdtrAcct/p:Id/p:IBAN", space)] == list(IBANS)
    with pytest.raises(InputError, match="needs the iban of the account that pays"):
        pain001(made.batch, made.payees, {"name": "Payer"})
    assert set(pids.values()) == {payment.pid for payment in made.batch.payments}


def test_whoever_cannot_be_paid_is_left_out_and_told_why(world):
    pids = world.establish("ann", "ben")
    world.pay_to(pids["ann"], {"name": "Ann", "iban": IBANS[0]})
    sid = world.post(world.run(simple_rows({"ann": 1, "ben": 1})), "10")
    world.clock.pass_days(15)
    release_settlement(world.ledger, sid)
    made = payout.create_batch(world.ledger, "p1", "EUR", "cat", rail="pain001")
    assert [payment.pid for payment in made.batch.payments] == [pids["ann"]]
    assert made.left_out == {pids["ben"]: "no iban given"}
    with pytest.raises(ConflictError, match="nothing can be paid"):
        payout.create_batch(world.ledger, "p2", "EUR", "cat", threshold=100 * 10**6)
    with pytest.raises(InputError, match="1 to 20 letters"):
        payout.create_batch(world.ledger, "a batch", "EUR", "cat")
    with pytest.raises(InputError, match="check digits"):
        world.pay_to(pids["ben"], {"iban": "DE88370400440532013000"})


def test_beancount_text_balances_and_opens_every_account(world):
    paid_world(world)
    made = payout.create_batch(world.ledger, "p1", "EUR", "cat")
    payout.record_payment_results(world.ledger, "p1", None, paid=True, by="bob")
    with world.ledger.read() as connection:
        text = beancount(events(connection))
    opened = {line.split()[2] for line in text.splitlines() if " open " in line}
    total, entries = {}, 0
    for block in text.split("\n\n")[1:]:
        lines = [line.split() for line in block.splitlines()[1:]]
        assert sum(int(amount.replace(".", "")) for _, amount, _ in lines) == 0
        assert {account for account, _, _ in lines} <= opened
        entries += 1
        for account, amount, _ in lines:
            total[account] = total.get(account, 0) + int(amount.replace(".", ""))
    bank = sum(amount for account, amount in total.items() if account.startswith("Assets:Bank"))
    assert (bank, entries > 5) == (-made.batch.total, True)

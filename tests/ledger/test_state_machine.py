"""A machine that drives the real database beside a model in memory, and compares after every step."""

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from anml.core.errors import AnmlError, ConflictError
from anml.ledger import book, checkpoint
from anml.ledger import replay as audit
from anml.ledger.pay import payout, settle, statement
from anml.ledger.pay.settle import release_settlement
from anml.ledger.services.verify import check_statement, sign_checkpoint
from anml.ledger.state import POOL, load_component
from anml.ledger.state_money import Disputes
from ledger.ledger_queries import balance, balances, settlements, totals
from ledger.ledger_world import World, simple_rows
from ledger.recompute_statement import amounts_of

pytestmark = pytest.mark.slow

PEOPLE = ("ann", "ben", "cat", "dan")
SCALE = int(os.environ.get("ANML_EXAMPLES", "1"))
people_drawn = st.sampled_from(PEOPLE)
index = st.integers(0, 100)


class Crash(Exception):
    """A process that dies inside a transaction."""


class Books(RuleBasedStateMachine):
    """Accrue, approve, release, dispute, answer, resolve, reverse, pay, crash, retry, erase."""

    def __init__(self, make):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp(prefix="anml-machine-"))
        self.world: World = make(self.folder)
        self.ledger = self.world.ledger
        self.pids = self.world.register("run", PEOPLE)
        self.world.vouch(*self.pids.values())
        self.world.name_payees(self.pids)
        self.drafts: dict[str, dict] = {}
        self.held: dict[tuple[str, str], int] = {}
        self.net: dict[tuple[str, str], int] = {}
        self.payable: dict[str, int] = dict.fromkeys(self.pids.values(), 0)
        self.paid: dict[str, int] = dict.fromkeys(self.pids.values(), 0)
        self.sent: dict[str, dict[str, int]] = {}
        self.pool = 0
        self.posted_on: dict[str, int] = {}
        self.pools: dict[str, int] = {}
        self.added: dict[str, int] = {}
        # Open disputes, with the correction that was answered or None before any answer.
        self.frozen: dict[tuple[str, str], int | None] = {}
        self.erased: set[str] = set()
        self.day = 0
        self.count = 0
        self.notes: list[str] = []

    def _beyond(self, sid: str, change: int) -> bool:
        """More than the pool, for all corrections together."""
        return change > self.pools[sid] - self.added.get(sid, 0)

    def _next(self, kind: str) -> str:
        self.count += 1
        return f"{kind}{self.count}"

    def _refused(self, step) -> None:
        """The real ledger refuses what the model does not allow."""
        with pytest.raises(AnmlError):
            step()

    @rule(rows=st.dictionaries(people_drawn, st.integers(1, 4), min_size=1), pool=st.integers(1, 9_999_999))
    def draft(self, rows, pool):
        by_pid = {self.pids[name]: count for name, count in rows.items()}
        folder = self.world.run(simple_rows(by_pid).with_columns(score=pl.lit(float(self.count))))
        self.count += 1
        terms = settle.SettlementTerms(pool, "EUR", "ann")
        if self.erased & set(by_pid):
            self._refused(lambda: settle.draft_settlement(self.ledger, folder, terms))
            return
        made = settle.draft_settlement(self.ledger, folder, terms)
        assert settle.draft_settlement(self.ledger, folder, terms) == made  # retry
        self.drafts[made.id] = made.manifest

    @precondition(lambda self: self.drafts)
    @rule(which=index)
    def approve(self, which):
        sid = sorted(self.drafts)[which % len(self.drafts)]
        self._refused(lambda: settle.approve_settlement(self.ledger, sid, "ann"))
        if any(line["pid"] in self.erased for line in self.drafts[sid]["contributors"]):
            self._refused(lambda: settle.approve_settlement(self.ledger, sid, "bob"))
            return
        settle.approve_settlement(self.ledger, sid, "bob")
        settle.approve_settlement(self.ledger, sid, "bob")  # retry
        pool = self.drafts[sid]["pool"]
        amounts, _ = amounts_of(self.drafts.pop(sid))
        for pid, amount in amounts.items():
            self.held[sid, pid] = self.net[sid, pid] = amount
        self.pool -= sum(amounts.values())
        self.posted_on[sid], self.pools[sid] = self.day, pool

    @precondition(lambda self: self.drafts)
    @rule(which=index)
    def crash_while_approving(self, which):
        sid = sorted(self.drafts)[which % len(self.drafts)]
        if any(line["pid"] in self.erased for line in self.drafts[sid]["contributors"]):
            return

        def work(tx):
            found = settlements(tx.connection)[sid]
            book.approve(tx, sid, "bob")
            assert tx.connection is not None
            raise Crash(found.id)

        with contextlib.suppress(Crash):
            self.ledger.write(work)
        self.ledger = self.world.reopen()

    @rule(days=st.sampled_from([1, 7, 15]))
    def wait(self, days):
        self.world.clock.pass_days(days)
        self.day += days

    @precondition(lambda self: self.posted_on)
    @rule(which=index)
    def release(self, which):
        sid = sorted(self.posted_on)[which % len(self.posted_on)]
        done = release_settlement(self.ledger, sid)
        expected = {}
        if self.day - self.posted_on[sid] >= 14:
            for (s, pid), amount in self.held.items():
                if s == sid and amount and (sid, pid) not in self.frozen:
                    expected[pid] = amount
        assert (done.released, done.returned) == (expected, {})
        for pid, amount in expected.items():
            self.held[sid, pid] = 0
            self.payable[pid] += amount

    @precondition(lambda self: self.held)
    @rule(which=index)
    def dispute(self, which):
        sid, pid = sorted(self.held)[which % len(self.held)]
        name = self._next("d")

        def step():
            write = book.open_dispute
            return self.ledger.write(lambda tx: write(tx, sid, pid, "wrong-weight", name, "ann"))

        if (sid, pid) in self.frozen or self.day - self.posted_on[sid] >= 14:
            self._refused(step)
        else:
            step()
            step()  # retry
            self.frozen[sid, pid] = None

    @precondition(lambda self: self.frozen)
    @rule(which=index, upheld=st.booleans(), change=st.integers(-3_000_000, 3_000_000))
    def answer(self, which, upheld, change):
        sid, pid = sorted(self.frozen)[which % len(self.frozen)]
        name = self._next("a")
        outcome, change = ("upheld", change) if upheld else ("rejected", 0)

        def step(by="cat"):
            given = book.Answer(outcome, "other", by, change)
            return self.ledger.write(lambda tx: book.answer(tx, sid, pid, given, name))

        self._refused(lambda: step("ann"))  # who opened it
        if self.held[sid, pid] + change < 0 or self._beyond(sid, change):
            self._refused(step)
            return
        step()
        step()  # retry
        if change:
            self.frozen[sid, pid] = change
        else:
            del self.frozen[sid, pid]

    @precondition(lambda self: self.frozen)
    @rule(which=index)
    def resolve(self, which):
        sid, pid = sorted(self.frozen)[which % len(self.frozen)]
        name, change = self._next("r"), self.frozen[sid, pid]

        def step(by="bob"):
            return self.ledger.write(lambda tx: book.resolve(tx, sid, pid, by, name))

        self._refused(lambda: step("cat"))  # who answered it
        self._refused(lambda: step("ann"))  # who opened it
        # Between answer and second word, a reversal may have taken what was held.
        if change is None or self.held[sid, pid] + change < 0 or self._beyond(sid, change):
            self._refused(step)
            return
        step()
        step()  # retry
        self.added[sid] = self.added.get(sid, 0) + max(change, 0)
        del self.frozen[sid, pid]
        self.held[sid, pid] += change
        self.net[sid, pid] += change
        self.pool -= change

    @precondition(lambda self: self.net)
    @rule(which=index, amount=st.integers(1, 4_000_000))
    def reverse(self, which, amount):
        sid, pid = sorted(self.net)[which % len(self.net)]

        def propose():
            work = lambda tx: book.propose_reversal(tx, sid, pid, amount, "fraud", "cat")  # noqa: E731
            return self.ledger.write(work).seq

        if amount > self.net[sid, pid]:
            self._refused(propose)
            return
        number = propose()
        assert propose() == number  # retry
        self._refused(lambda: self.world.confirm(number, by="cat"))  # who proposed it
        self.world.confirm(number, by="dan")
        self._refused(lambda: self.world.confirm(number, by="dan"))  # once
        from_held = min(amount, self.held[sid, pid])
        self.held[sid, pid] -= from_held
        self.payable[pid] -= amount - from_held
        self.net[sid, pid] -= amount
        self.pool += amount

    @rule(threshold=st.sampled_from([0, 1_000_000]))
    def pay(self, threshold):
        name = self._next("p")
        due = {pid: max(amount, 0) // 10_000 * 10_000 for pid, amount in self.payable.items()}
        able = {
            pid: amount
            for pid, amount in due.items()
            if amount and amount >= threshold and pid not in self.erased
        }

        def step():
            return payout.create_batch(self.ledger, name, "EUR", "cat", threshold).batch

        if not able:
            with pytest.raises(ConflictError):
                step()
            return
        assert {payment.pid: payment.amount for payment in step().payments} == able
        assert {payment.pid: payment.amount for payment in step().payments} == able  # retry
        for pid, amount in able.items():
            self.payable[pid] -= amount
        self.sent[name] = able

    @precondition(lambda self: self.sent)
    @rule(which=index, paid=st.booleans())
    def close(self, which, paid):
        name = sorted(self.sent)[which % len(self.sent)]
        for _ in range(2):  # retry
            payout.record_payment_results(self.ledger, name, list(self.sent[name]), paid=paid)
        with pytest.raises(ConflictError):
            payout.record_payment_results(self.ledger, name, list(self.sent[name]), paid=not paid)
        for pid, amount in self.sent.pop(name).items():
            target = self.paid if paid else self.payable
            target[pid] += amount

    @rule(who=people_drawn, often=st.integers(0, 3))
    def erase(self, who, often):
        pid = self.pids[who]
        if often or pid in self.erased:
            return
        self.world.erase(pid)
        self.erased.add(pid)

    @rule()
    def keep_a_checkpoint(self):
        self.notes.append(sign_checkpoint(self.ledger)["note"])

    @invariant()
    def the_books_are_those_of_the_model(self):
        with self.ledger.read() as connection:
            assert set(totals(connection).values()) <= {0}
            assert balance(connection, POOL, "EUR") == self.pool
            assert _live(balances(connection, "payable:", "EUR")) == _live(self.payable)
            assert _live(balances(connection, "paid:", "EUR")) == _live(self.paid)
            sent = {name: sum(payments.values()) for name, payments in self.sent.items()}
            assert _live(balances(connection, "clearing:", "EUR")) == sent
            for sid in self.posted_on:
                held = {pid: amount for (s, pid), amount in self.held.items() if s == sid}
                assert _live(balances(connection, "held:", "EUR", sid)) == _live(held)
                assert load_component(Disputes, connection).waiting(sid) == {
                    pid for s, pid in self.frozen if s == sid
                }

    def teardown(self):
        public = self.ledger.ring.public
        older = tuple(checkpoint.read_checkpoint(note, public) for note in self.notes)
        with self.ledger.read() as connection:
            found = audit.verify(connection, older, public)
        for sid in self.posted_on:
            for made in statement.build(self.ledger, sid).values():
                check_statement(statement.sign(self.ledger, made), public)
        self.ledger.close()
        shutil.rmtree(self.folder, ignore_errors=True)
        assert found.problems == []


def _live(amounts: dict) -> dict:
    return {name: amount for name, amount in amounts.items() if amount}


@pytest.mark.parametrize(("engine", "examples", "steps"), [("sqlite", 12, 25), ("postgresql", 4, 20)])
def test_random_histories_match_the_model(engine, examples, steps, request):
    def make(folder: Path) -> World:
        url = str(folder / "ledger.db")
        if engine == "postgresql":
            url = request.getfixturevalue("postgres_databases")()
        return World(url, folder / "keys", folder)

    run_state_machine_as_test(
        lambda: Books(make),
        settings=settings(
            max_examples=examples * SCALE,
            stateful_step_count=steps,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.generate, Phase.shrink],
        ),
    )

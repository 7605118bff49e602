"""Balances, credits and judgements: in memory as in the database, whatever the order of questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.ledger import kinds
from anml.ledger.log import Posting, format_timestamp
from anml.ledger.records import Balances, Credits, ScoreLog, account_of
from anml.ledger.standing import Score, item_hash
from ledger.ledger_hand import event, pid
from ledger.ledger_queries import balance, balances
from ledger.ledger_world import World, simple_rows

lines = st.lists(
    st.tuples(
        st.sampled_from(["held:a", "held:b", "payable:a", "source:pool"]),
        st.sampled_from(["EUR", "USD"]),
        st.integers(-50, 50),
    ),
    max_size=3,
)
steps = st.lists(st.tuples(lines, st.sampled_from(["s", "t", ""])), max_size=6)


@pytest.mark.parametrize(
    ("account", "kept"),
    [("held:x", True), ("funding:s", True), ("payable:x", False), ("source:pool", False), ("paid:x", False),
     ("clearing:b", False)],
)  # fmt: skip
def test_only_what_is_held_or_funded_belongs_to_a_settlement(account, kept):
    assert account_of(Posting(account, "EUR", 5), "s1") == (account, "EUR", "s1" if kept else "")


@given(steps)
def test_balances_are_the_sums_of_all_postings(made):
    folded = Balances()
    slow: dict[tuple[str, str, str], int] = {}
    for postings, sid in made:
        folded.fold(event("k", settlement=sid, postings=tuple(postings)))
        for account, currency, amount in postings:
            key = (account, currency, sid if account.startswith("held:") else "")
            slow[key] = slow.get(key, 0) + amount
    for (account, currency, sid), amount in slow.items():
        assert folded.get(account, currency, sid) == amount
    assert folded.get("held:nobody", "EUR", "s") == 0


def test_accounts_are_sorted_by_currency_and_are_those_asked_for():
    folded = Balances()
    postings = (("payable:a", "USD", 1), ("payable:a", "EUR", 1), ("payable:b", "JPY", 1))
    folded.fold(event("k", postings=postings))
    assert [currency for _, currency, _ in folded.accounts("payable:a")] == ["EUR", "USD"]
    assert folded.accounts("payable:z") == []


def credit(who: int, amount: int, sid: str = "s"):
    postings = ((f"funding:{sid}", "EUR", -amount), (f"held:{pid(who)}", "EUR", amount))
    return event(kinds.CREDITED, pid(who), {"r": who}, settlement=sid, postings=postings)


def reversal(who: int, amount: int, sid: str = "s"):
    postings = ((f"held:{pid(who)}", "EUR", -amount), ("source:pool", "EUR", amount))
    return event(kinds.REVERSED, pid(who), {}, settlement=sid, postings=postings)


def release(who: int, amount: int, back: int, sid: str = "s"):
    postings = ((f"held:{pid(who)}", "EUR", -amount), (f"payable:{pid(who)}", "EUR", amount - back),
                ("source:pool", "EUR", back))  # fmt: skip
    return event(kinds.RELEASED, pid(who), {"r": 0}, settlement=sid, postings=postings)


def correction(who: int, amount: int, sid: str = "s"):
    postings = (("source:pool", "EUR", -amount), (f"held:{pid(who)}", "EUR", amount))
    return event(kinds.RESOLVED, pid(who), {}, settlement=sid, postings=postings)


def test_what_is_left_of_a_credit_by_hand():
    """100 credited, 20 added by a correction, 30 of a newcomer's given back at release, 15 taken back: 75."""
    folded = Credits()
    for e in (credit(1, 100), correction(1, 20), release(1, 120, 30), reversal(1, 15), credit(2, 40)):
        folded.fold(e)
    assert folded.net("s", pid(1)) == 75
    assert folded.left("s") == {pid(1): 75, pid(2): 40}
    assert folded.net("t", pid(1)) == 0
    assert folded.facts("s", pid(1)) == {"r": 1}
    assert folded.facts("t", pid(1)) is None


def test_who_has_nothing_left_is_not_listed():
    folded = Credits()
    for e in (credit(1, 100), reversal(1, 100), credit(2, 1, "t")):
        folded.fold(e)
    assert folded.left("s") == {}
    assert folded.left("t") == {pid(2): 1}


@given(
    st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["gold", "review"]), st.sets(st.text(max_size=2))))
)
def test_judgements_are_known_by_source_and_item(judgements):
    scored = {"at": "2026-01-01T00:00:00Z", "quality": 1, "batch": "b", "domain": "d", "rows": 1, "of": 1}
    folded = ScoreLog()
    slow: set[tuple[int, str, str]] = set()
    for who, source, items in judgements:
        folded.fold(
            event(
                kinds.SCORED,
                pid(who),
                {**scored, "source": source, "items": sorted(items), "rows": 1, "of": 1},
            )
        )
        slow |= {(who, source, item) for item in items}
    for who in (1, 2, 3):
        assert folded.judged.get(pid(who), set()) == {
            (source, item) for one, source, item in slow if one == who
        }


# --- the same parts over a database, held against a replay of its log
@pytest.fixture(scope="module")
def lived(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sums")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob"))
    pids = world.establish("x", "y")
    world.post(world.run(simple_rows({"x": 3, "y": 1})), "10")
    world.post(world.run(simple_rows({"x": 1})), "7", currency="USD")
    for who, items in (("x", ("1", "2")), ("y", ("3",)), ("x", ("4",))):
        marks = tuple(item_hash("test", item) for item in items)
        now = format_timestamp(world.clock.now)
        world.score(Score(pids[who], "default", "gold", f"b{items}", now, 10**12, marks, len(marks)))
    yield world
    world.ledger.close()


def test_balances_by_prefix_are_those_of_single_accounts(lived):
    with lived.ledger.read() as connection:
        for prefix in ("held:", "source:", "funding:", "payable:"):
            for currency in ("EUR", "USD"):
                for name, amount in balances(connection, prefix, currency).items():
                    assert balance(connection, prefix + name, currency) == amount
        # A prefix is no pattern: a per cent sign stands for itself.
        assert balances(connection, "%", "EUR") == {}
        assert balance(connection, "held:nobody", "EUR") == 0

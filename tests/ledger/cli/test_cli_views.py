"""A draft as whoever approves it reads it."""

from anml.ledger.cli.views import draft_shown
from anml.settlement.allocate import UNIT


def line(name: str, amount: int, by_rows: int, **more) -> dict:
    return {"contributor": name, "name": name, "rows": 2, "kept": 1, "share": UNIT // 2, "multiplier": UNIT,
            "amount": amount, "by_rows": by_rows, "below": amount < by_rows,
            "judged": [], "before": None, "newcomer": False, "verdicts": {},
            **more}  # fmt: skip


def content(*lines: dict, **more) -> dict:
    return {"settlement": "s1", "currency": "EUR", "pool": 10**7, "rate": 0, "rules": {"weight": "equal"},
            "project": "", "drafted_by": "ann", "run": "r" * 64, "manifest": "m" * 64, "supersedes": None,
            "disputed": None, "before": None, "gone": {}, "late": [], "window_days": 0,
            "lines": list(lines), **more}  # fmt: skip


def test_who_gets_more_or_less_than_their_rows_say_is_marked():
    shown = draft_shown(content(line("ada", 8_000_000, 5_000_000), line("bea", 2_000_000, 5_000_000)))
    (ada,) = [text for text in shown if text.startswith("ada")]
    (bea,) = [text for text in shown if text.startswith("bea")]
    assert ada.endswith("more than by rows")
    assert bea.endswith("less than by rows")


def test_what_it_replaces_the_difference_and_who_is_left_out_are_said():
    one = line("ada", 8_000_000, 8_000_000, before=5_000_000, newcomer=True)
    shown = "\n".join(
        draft_shown(
            content(
                one,
                supersedes="s0",
                replaced=[5_000_000, "USD"],
                before="s0",
                gone={"bea": 5_000_000},
                debts={"ada": 2_500_000},
            )
        )
    )
    for said in (
        "It replaces settlement s0 of 5.00 USD, which is reversed.",
        "3.00",
        "bea got 5.00 and is not in it.",
        "ada got 2.50 EUR of it already, which becomes a debt.",
        "new",
    ):
        assert said in shown


def test_rules_and_the_window_are_said_in_numbers_that_people_read():
    rules = {"weight": "equal", "max_share": UNIT, "newcomer_cap": UNIT // 5, "volume": "1"}
    first, second, *_ = draft_shown(content(line("ada", 1, 1), window_days=1, rules=rules))
    assert first.endswith("drafted by ann; 1 day for disputes.")
    assert second.endswith("rules: max_share 1, newcomer_cap 0.2, volume 1, weight equal")


def test_a_name_cannot_make_up_a_line():
    shown = draft_shown(content(line("ada\nbea  2  1  50%  1  9.99", 1, 1)))
    assert sum("9.99" in text for text in shown) == 1
    assert not any(text.startswith("bea") for text in shown)
    assert all("\n" not in text for text in shown)

"""Texts of a statement: sentences by hand, and a phrase for every kind of attestation."""

import pytest

from anml.annotators.words import INCONCLUSIVE
from anml.ledger.log import seconds
from anml.ledger.pay import reasons
from anml.ledger.pay.reasons import (
    MAX_TASKS_SHOWN,
    about_evidence,
    amount_explanation,
    appeal_instructions,
    disputes_shown,
)
from anml.ledger.rules_money import REASONS
from anml.ledger.state_money import Answer, Dispute, Settlement
from anml.ledger.state_people import Staff
from anml.settlement.allocate import UNIT
from anml.signals.policy import DEFAULT_LEVELS, AttestationRecord
from ledger.ledger_hand import at


def made(**changes) -> dict:
    return {"currency": "EUR", "pool": 10_000_000, "rate": 0, "rules": {"weight": "p_correct"}, **changes}


# --- how the amount came about
def test_a_share_of_a_pool_by_hand():
    said = amount_explanation(made(), {"counted": 3}, UNIT // 4, 2_500_000)
    assert said == (
        "Your 3 labels, weighed by the probability that each is correct, are 25.0000% of all; that share of "
        "10.00 EUR is 2.50 EUR."
    )
    assert amount_explanation(made(), {"counted": 1}, UNIT, 1).startswith("Your 1 label, weighed by")


@pytest.mark.parametrize(
    ("rate", "shown"), [(70_000, "0.07"), (7_000, "0.007"), (1_000_000, "1.00"), (1, "0.000001")]
)
def test_a_rate_is_shown_with_the_decimals_it_has(rate, shown):
    said = amount_explanation(made(rate=rate), {"counted": 3}, 0, 3 * rate)
    assert said.startswith(f"3 labels at {shown} EUR each: ")


def test_a_currency_without_decimals_has_none():
    assert "that share of 10 JPY is 2 JPY" in amount_explanation(
        made(currency="JPY"), {"counted": 2}, UNIT, 2_999_999
    )


# --- rows
def line(**changes) -> dict:
    return {"rows": 5, "kept": 3, "counted": 3, "bands": {"v": {"flagged": 0}}, **changes}


def test_rows_that_were_kept_and_items_that_count_once():
    assert reasons._about_rows(line(), {}) == [
        "3 of 5 rows were kept for training; rows not kept earn nothing."
    ]
    said = reasons._about_rows(line(counted=2, bands={"v": {"flagged": 1}}), {})
    assert said[1:] == [
        "3 kept rows are about 2 items; an item counts once.",
        "1 row was flagged or retracted.",
    ]


def test_an_inconclusive_verdict_is_said_and_changes_no_amount():
    said = reasons._about_rows(line(verdicts={INCONCLUSIVE: 2}), {})
    assert said[0] == "3 of 5 rows were kept for training; rows not kept earn nothing."
    assert said[1] == "The verdict is inconclusive for 2 labels; this changes no amount."


# --- evidence
def evidence(kind: str = "reproduced", scope: str = "*", vouched: str = "platform") -> AttestationRecord:
    return AttestationRecord(1, kind, "c", "lab", 0.0, None, vouched, scope)


@pytest.mark.parametrize("kind", DEFAULT_LEVELS)
def test_every_kind_of_evidence_is_said_in_a_sentence(kind):
    (said,) = about_evidence([evidence(kind)], {})
    assert said.startswith("Your work was ")
    assert said.endswith(".")
    assert "-" not in said or kind == "signature-invalid"  # words, and not the name of a kind


def test_labels_are_counted_and_tasks_named_by_length_and_name():
    tasks = {f"item:{n}": f"task-{n}" for n in range(12)}
    said = about_evidence([evidence(scope=scope) for scope in tasks], tasks)
    assert said[0].startswith(
        "12 of your labels were reproduced by another party: task task-0, task-1, task-2"
    )
    assert said[0].endswith(f" and {12 - MAX_TASKS_SHOWN} more.")
    assert about_evidence([evidence(scope="item:1")], {})[0].startswith("1 of your labels was reproduced")


def test_a_word_that_does_not_count_is_said_to_count_for_nothing():
    said = about_evidence([evidence(vouched="nobody"), evidence()], {})
    assert len(said) == 2
    assert said[1].endswith(", by somebody whose word does not count here.")


# --- disputes and appeals
def test_a_dispute_is_shown_with_question_answer_and_words():
    asked = Dispute(
        "c", at(1), "wrong-count", "c", "p1", at(2), Answer("upheld", "count-corrected", "dan", 5), "p2"
    )
    (shown,) = disputes_shown([asked], {"p1": "I did more", "p2": "You did"})
    assert (shown["text"], shown["answer_text"], shown["correction"]) == ("I did more", "You did", 5)
    assert (shown["state"], shown["answered_by"]) == ("waits for a second person", "dan")
    (bare,) = disputes_shown([Dispute("c", at(1), "other", "c")], {})
    assert (bare["answer"], bare["outcome"], bare["text"], bare["correction"]) == (None, None, "", 0)


def settlement() -> Settlement:
    return Settlement("s", "posted", "", "EUR", 1, "ann", at(0), "", 14, None)


def test_an_appeal_says_to_whom_until_when_and_with_which_reasons():
    staff = Staff()
    said = appeal_instructions(settlement().window_end, staff, seconds(at(13)))
    assert said.startswith("Write to whoever sent you this statement before 2026-01-15 00:00 UTC")
    assert all(reason in said for reason in REASONS)
    staff.appeals = "the board"
    assert appeal_instructions(settlement().window_end, staff, seconds(at(13))).startswith(
        "Write to the board before"
    )
    assert appeal_instructions(settlement().window_end, staff, seconds(at(14))) == (
        "The time to dispute this statement ended on 2026-01-15 00:00 UTC."
    )

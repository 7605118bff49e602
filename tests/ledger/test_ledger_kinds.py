"""Every kind of entry: laws over the table of kinds, and what a body must look like."""

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.ledger import kinds
from anml.ledger.kinds import ENTRY_KINDS, REQUIRED_FOLLOW_UPS, ROLES, TWO_PEOPLE, body_error
from anml.ledger.records import Credits, ScoreLog
from anml.ledger.rules import RULES
from anml.ledger.state_money import Disputes, Payouts, Settlements
from anml.ledger.state_people import Contributors, Keys, Payees, Proposals, Staff

VALUES = {
    str: st.text(max_size=5),
    int: st.integers(),
    bool: st.booleans(),
    list: st.lists(st.integers(), max_size=2),
    dict: st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    object: st.none() | st.text(max_size=5),
}
PARTS = (Staff, Keys, Contributors, Proposals, Payees, Settlements, Disputes, Payouts, Credits, ScoreLog)


def bodies(kind: str) -> st.SearchStrategy[dict]:
    """Sound bodies of one kind."""
    return st.fixed_dictionaries({name: VALUES[wanted] for name, wanted in ENTRY_KINDS[kind].fields.items()})


def covered() -> set[str]:
    return {member for kind in ENTRY_KINDS.values() for member in kind.covers}


def test_each_name_of_a_kind_is_in_the_table():
    """A constant that names a kind, and that the table does not know, could never be written."""
    tree = ast.parse(Path(kinds.__file__).read_text())
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    dotted = {text for text in texts if isinstance(text, str) and text.count(".") == 1 and " " not in text}
    assert dotted | {"contribution"} == set(ENTRY_KINDS)


def test_each_kind_has_a_rule_and_each_rule_a_kind():
    assert set(RULES) == set(ENTRY_KINDS)


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_a_kind_is_signed_covered_or_owed(kind):
    """Every kind of entry is signed, covered by a signature, or required by another entry."""
    assert ENTRY_KINDS[kind].roles is not None or kind in covered() or kind in REQUIRED_FOLLOW_UPS


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_roles_are_those_of_staff(kind):
    roles = ENTRY_KINDS[kind].roles
    assert roles is None or (roles and set(roles) <= set(ROLES) and len(set(roles)) == len(roles))


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_who_covers_is_signed_and_covers_known_kinds(kind):
    found = ENTRY_KINDS[kind]
    assert set(found.covers) <= set(ENTRY_KINDS)
    assert not found.covers or found.roles is not None
    assert kind not in found.covers


def test_owed_entries_are_covered_by_nobody():
    """They follow from what an approval signed; a later signature must not be able to bring in more."""
    assert covered().isdisjoint(REQUIRED_FOLLOW_UPS)
    assert all(ENTRY_KINDS[kind].roles is None for kind in REQUIRED_FOLLOW_UPS)


@pytest.mark.parametrize("step", TWO_PEOPLE)
def test_a_step_for_two_names_its_proposal_and_who_confirms_may_sign(step):
    assert (ENTRY_KINDS[step].fields | ENTRY_KINDS[step].later)["proposal"] is int
    assert ENTRY_KINDS[step].roles
    assert set(TWO_PEOPLE[step]) <= set(ROLES)


def test_only_steps_for_two_name_a_proposal():
    named = {kind for kind, found in ENTRY_KINDS.items() if "proposal" in found.fields | found.later}
    assert named == {*TWO_PEOPLE, kinds.DROPPED}


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_a_paper_and_what_is_stored_of_it_stand_together(kind):
    fields = ENTRY_KINDS[kind].fields
    assert ("paper" in fields) == ("sealed" in fields)


@pytest.mark.parametrize("kind", ENTRY_KINDS)
def test_fields_have_types_that_canonical_json_keeps(kind):
    assert set(ENTRY_KINDS[kind].fields.values()) <= set(VALUES)


@pytest.mark.parametrize("part", PARTS)
def test_parts_follow_kinds_that_exist_once_each(part):
    assert set(part.KINDS) <= set(ENTRY_KINDS)
    assert len(set(part.KINDS)) == len(part.KINDS)


@pytest.mark.parametrize("kind", ENTRY_KINDS)
@settings(max_examples=4)
@given(data=st.data())
def test_sound_bodies_pass_and_any_field_taken_away_or_added_fails(kind, data):
    body = data.draw(bodies(kind))
    assert body_error(kind, body) is None
    assert body_error(kind, {**body, "extra": 1}) is not None
    for name in body:
        short = {field: value for field, value in body.items() if field != name}
        assert body_error(kind, short) == f"holds {sorted(short)}, not {sorted(body)}"


@pytest.mark.parametrize("kind", [kind for kind in ENTRY_KINDS if ENTRY_KINDS[kind].fields])
@settings(max_examples=4)
@given(data=st.data())
def test_a_value_of_another_type_fails_and_is_named(kind, data):
    body = data.draw(bodies(kind))
    name = data.draw(st.sampled_from(sorted(body)))
    wanted = ENTRY_KINDS[kind].fields[name]
    # True is no number and 1 no truth, although Python takes one for the other.
    other = {str: 1, int: True, bool: 1, list: (), dict: [], object: 7}[wanted]
    assert body_error(kind, {**body, name: other}) == f"holds {other!r} as {name}"
    assert body_error(kind, {**body, name: 1.5}) == f"holds 1.5 as {name}"


def test_a_missing_time_is_allowed_only_where_the_table_says_so():
    body = {"owner": "o", "public": "p", "may": [], "since": "s", "until": None, "proposal": 1}
    assert body_error(kinds.KEY_TRUSTED, body) is None
    assert body_error(kinds.KEY_TRUSTED, {**body, "since": None}) == "holds None as since"

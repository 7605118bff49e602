"""Every kind of entry: laws over the table of kinds, and what a body must look like."""

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.ledger import kinds
from anml.ledger.kinds import KINDS, OWED, ROLES, TWO_PEOPLE, body_fault
from anml.ledger.money_parts import Disputes, Payouts, Settlements
from anml.ledger.parts import Keys, Payees, People, Proposals, Staff
from anml.ledger.records import Credits, ScoreLog
from anml.ledger.rules import RULES

VALUES = {
    str: st.text(max_size=5),
    int: st.integers(),
    bool: st.booleans(),
    list: st.lists(st.integers(), max_size=2),
    dict: st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
    object: st.none() | st.text(max_size=5),
}
PARTS = (Staff, Keys, People, Proposals, Payees, Settlements, Disputes, Payouts, Credits, ScoreLog)


def bodies(kind: str) -> st.SearchStrategy[dict]:
    """Sound bodies of one kind."""
    return st.fixed_dictionaries({name: VALUES[wanted] for name, wanted in KINDS[kind].fields.items()})


def covered() -> set[str]:
    return {member for kind in KINDS.values() for member in kind.covers}


def test_each_name_of_a_kind_is_in_the_table():
    """A constant that names a kind, and that the table does not know, could never be written."""
    tree = ast.parse(Path(kinds.__file__).read_text())
    texts = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)]
    dotted = {text for text in texts if isinstance(text, str) and text.count(".") == 1 and " " not in text}
    assert dotted | {"contribution"} == set(KINDS)


def test_each_kind_has_a_rule_and_each_rule_a_kind():
    assert set(RULES) == set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_signed_covered_or_owed(kind):
    """What nobody signs, covers or owes would stand in the log on nobody's word."""
    assert KINDS[kind].roles is not None or kind in covered() or kind in OWED


@pytest.mark.parametrize("kind", KINDS)
def test_roles_are_those_of_staff(kind):
    roles = KINDS[kind].roles
    assert roles is None or (roles and set(roles) <= set(ROLES) and len(set(roles)) == len(roles))


@pytest.mark.parametrize("kind", KINDS)
def test_who_covers_is_signed_and_covers_known_kinds(kind):
    found = KINDS[kind]
    assert set(found.covers) <= set(KINDS)
    assert not found.covers or found.roles is not None
    assert kind not in found.covers


def test_owed_entries_are_covered_by_nobody():
    """They follow from what an approval signed; a later signature must not be able to bring in more."""
    assert covered().isdisjoint(OWED)
    assert all(KINDS[kind].roles is None for kind in OWED)


@pytest.mark.parametrize("step", TWO_PEOPLE)
def test_a_step_for_two_names_its_proposal_and_who_confirms_may_sign(step):
    assert (KINDS[step].fields | KINDS[step].later)["proposal"] is int
    assert KINDS[step].roles
    assert set(TWO_PEOPLE[step]) <= set(ROLES)


def test_only_steps_for_two_name_a_proposal():
    named = {kind for kind, found in KINDS.items() if "proposal" in found.fields | found.later}
    assert named == {*TWO_PEOPLE, kinds.DROPPED}


@pytest.mark.parametrize("kind", KINDS)
def test_a_paper_and_what_is_stored_of_it_stand_together(kind):
    fields = KINDS[kind].fields
    assert ("paper" in fields) == ("sealed" in fields)


@pytest.mark.parametrize("kind", KINDS)
def test_fields_have_types_that_canonical_json_keeps(kind):
    assert set(KINDS[kind].fields.values()) <= set(VALUES)


@pytest.mark.parametrize("part", PARTS)
def test_parts_follow_kinds_that_exist_once_each(part):
    assert set(part.KINDS) <= set(KINDS)
    assert len(set(part.KINDS)) == len(part.KINDS)


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=4)
@given(data=st.data())
def test_sound_bodies_pass_and_any_field_taken_away_or_added_fails(kind, data):
    body = data.draw(bodies(kind))
    assert body_fault(kind, body) is None
    assert body_fault(kind, {**body, "extra": 1}) is not None
    for name in body:
        short = {field: value for field, value in body.items() if field != name}
        assert body_fault(kind, short) == f"holds {sorted(short)}, not {sorted(body)}"


@pytest.mark.parametrize("kind", [kind for kind in KINDS if KINDS[kind].fields])
@settings(max_examples=4)
@given(data=st.data())
def test_a_value_of_another_type_fails_and_is_named(kind, data):
    body = data.draw(bodies(kind))
    name = data.draw(st.sampled_from(sorted(body)))
    wanted = KINDS[kind].fields[name]
    # True is no number and 1 no truth, although Python takes one for the other.
    other = {str: 1, int: True, bool: 1, list: (), dict: [], object: 7}[wanted]
    assert body_fault(kind, {**body, name: other}) == f"holds {other!r} as {name}"
    assert body_fault(kind, {**body, name: 1.5}) == f"holds 1.5 as {name}"


def test_a_missing_time_is_allowed_only_where_the_table_says_so():
    body = {"owner": "o", "public": "p", "may": [], "since": "s", "until": None, "proposal": 1}
    assert body_fault(kinds.KEY_TRUSTED, body) is None
    assert body_fault(kinds.KEY_TRUSTED, {**body, "since": None}) == "holds None as since"

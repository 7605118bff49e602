"""Contributors by the names that staff know them by, and back."""

import pytest

from anml.core.errors import InputError
from anml.ledger import personal_data as people
from anml.ledger.contributors.names import SHORT, find_person, shown_names
from anml.ledger.store import Ledger


def names(ledger) -> dict[str, str]:
    with ledger.read() as connection:
        return shown_names(ledger, connection)


def test_a_person_has_their_own_name_else_that_of_their_account(lived):
    shown = names(lived.ledger)
    assert shown[lived.pids["ada"]] == "Ada Lovelace"
    assert shown[lived.pids["bea"]] == "bea"


def test_without_keys_it_is_the_start_of_the_identifier(lived):
    shown = names(Ledger(lived.ledger.engine, None))
    assert all(name == pid[:SHORT] for pid, name in shown.items())


def test_two_of_one_name_are_told_apart_and_the_erased_are_marked(world):
    one = world.register("ls", ["sam"])["sam"]
    two = world.register("pf", ["sam"])["sam"]
    gone = world.register("ls", ["zoe"])["zoe"]
    people.erase(world.ledger, gone, "asked", "ann")
    shown = names(world.ledger)
    assert shown == {one: f"sam {one[:SHORT]}", two: f"sam {two[:SHORT]}", gone: f"{gone[:SHORT]} erased"}


@pytest.mark.parametrize("text", ["bea", "run:bea"])
def test_somebody_is_found_by_what_they_are_called(lived, text):
    assert find_person(lived.ledger, text) == lived.pids["bea"]
    assert find_person(lived.ledger, lived.pids["bea"]) == lived.pids["bea"]
    assert find_person(lived.ledger, "Ada Lovelace") == find_person(lived.ledger, "ada") == lived.pids["ada"]


def test_who_is_nobody_or_several_is_said(lived, world):
    for text in ("nobody", "none:bea", "c" + "9" * 20):
        with pytest.raises(InputError, match=f"there is no contributor '{text}' in this ledger; see `anml"):
            find_person(lived.ledger, text)
    world.register("ls", ["sam"])
    world.register("pf", ["sam"])
    with pytest.raises(InputError, match=r"'sam' is 2 contributors: c.{32}, c"):
        find_person(world.ledger, "sam")


def test_a_start_is_enough_where_it_is_long_and_one_persons(world):
    pid = world.register("ls", ["sam"])["sam"]
    assert find_person(world.ledger, pid[:-1]) == pid
    with pytest.raises(InputError, match="there is no contributor"):
        find_person(world.ledger, pid[: SHORT - 1])

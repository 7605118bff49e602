"""Merging of accounts: tables, proposals, all or none."""

import pytest

from anml.core.errors import AnmlError, InputError
from anml.ledger.contributors.identity import NEEDED, propose_account_mapping, read_identity_map
from ledger.ledger_queries import who_is


def table(tmp_path, text):
    path = tmp_path / "map.csv"
    path.write_text(text)
    return path


def test_a_table_becomes_pairs(tmp_path):
    path = table(tmp_path, "source,account,contributor,note\npf,ada.l,ls:ada,x\npf,7,c1,y\n")
    assert read_identity_map(path) == [("pf:ada.l", "ls:ada"), ("pf:7", "c1")]


@pytest.mark.parametrize("name", NEEDED)
def test_a_column_that_is_missing_or_empty_is_named(tmp_path, name):
    others = [column for column in NEEDED if column != name]
    with pytest.raises(
        InputError, match=f"map.csv has no column '{name}'; it needs source, account, contrib"
    ):
        read_identity_map(table(tmp_path, f"{','.join(others)}\na,b\n"))
    with pytest.raises(InputError, match=f"map.csv: column '{name}' is empty in 1 row;"):
        read_identity_map(table(tmp_path, f"{','.join([*others, name])}\na,b,c\na,b,\n"))


def test_accounts_are_proposed_and_then_one_person(world):
    ada = world.register("ls", ["ada"])["ada"]
    done, numbers = propose_account_mapping(world.ledger, [("pf:ada.l", "ls:ada"), ("ls:ada", ada)], "ann")
    assert done == {"pf:ada.l": ada, "ls:ada": ada}
    # The second pair is so already: nothing is proposed.
    assert len(numbers) == 1
    with world.ledger.read() as connection:
        assert who_is(connection, world.ledger.ring, "pf", "ada.l") is None
    world.confirm(*numbers)
    with world.ledger.read() as connection:
        assert who_is(connection, world.ledger.ring, "pf", "ada.l") == ada


@pytest.mark.parametrize("account", ["ada", "ls:", ":"])
def test_an_account_without_a_place_or_a_name_stops_all_of_them(world, account):
    ada = world.register("ls", ["ada"])["ada"]
    size = world.size()
    with pytest.raises(AnmlError, match=r"an account is written source:name, got|a source is the name of"):
        propose_account_mapping(world.ledger, [("pf:x", ada), (account, ada)], "ann")
    assert world.size() == size


def test_an_owner_that_nobody_knows_is_named(world):
    with pytest.raises(InputError, match="there is no contributor 'nobody'"):
        propose_account_mapping(world.ledger, [("pf:x", "nobody")], "ann")

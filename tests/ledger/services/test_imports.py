"""Exports taken into a ledger: every format, once and again, dry runs, and what is refused."""

from pathlib import Path

import pytest

from anml.core.errors import AnmlError, InputError
from anml.io.formats import FORMATS
from anml.ledger import kinds
from anml.ledger.services.annotate import Import, import_file
from anml.ledger.services.verify import verify
from anml.signals.policy import Policy
from ledger.ledger_queries import events, who_is

DATA = Path(__file__).parents[2] / "data"
# A made-up file of the real shape for each format.
FILES = {
    "table": "papers.csv", "label-studio": "label_studio.json", "argilla": "argilla_nested.json",
    "crowd-long": "crowd_long.csv", "crowd-wide": "crowd_wide.csv",
    "toloka": "toloka.tsv", "mturk": "mturk.csv",
}  # fmt: skip


def request(name: str, **more) -> Import:
    columns = {"label": "verdict", "contributor": "lab"} if name == "table" else {}
    return Import(DATA / FILES[name], name, columns=columns, **more)


def test_every_format_has_a_file():
    assert set(FILES) == set(FORMATS) - {"langfuse", "phoenix"}


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_taken_once_and_again_adds_nothing(world, name):
    first = import_file(world.ledger, request(name))
    size = world.size()
    again = import_file(world.ledger, request(name))
    assert (again.evidence, again.scores, world.size()) == (0, 0, size)
    assert again.contributors == first.contributors
    assert again.rows.equals(first.rows)
    assert verify(world.ledger).problems == []
    with world.ledger.read() as connection:
        for who, pid in first.contributors.items():
            assert who_is(connection, world.ledger.ring, first.source, who) == pid


@pytest.mark.parametrize("name", FILES)
def test_rows_come_out_with_v_and_r_and_without_names(world, name):
    found = import_file(world.ledger, request(name))
    assert found.rows["verification"].is_between(0, 1).all()
    assert found.rows["reputation"].is_between(0, 1).all()
    assert set(found.rows["contributor"]) == set(found.contributors.values())
    named = import_file(world.ledger, request(name, names=True))
    assert set(named.rows["contributor"]) == set(found.contributors)


@pytest.mark.parametrize("name", FILES)
def test_a_dry_run_says_the_same_and_writes_nothing(world, name):
    size = world.size()
    rehearsed = import_file(world.ledger.dry(), request(name))
    assert world.size() == size
    done = import_file(world.ledger, request(name))
    assert (rehearsed.evidence, rehearsed.scores) == (done.evidence, done.scores)
    assert rehearsed.format == done.format


def test_one_entry_for_each_contributor_says_how_many_rows_they_gave(world):
    found = import_file(world.ledger, request("crowd-long"))
    with world.ledger.read() as connection:
        rows = {e.subject: e.body["rows"] for e in events(connection, [kinds.CONTRIBUTION])}
    counts = dict(found.rows["contributor"].value_counts().iter_rows())
    assert rows == counts


def test_agreement_of_two_others_is_recorded_only_when_it_is_asked_for(world):
    plain = import_file(world.ledger.dry(), request("crowd-long"))
    asked = import_file(world.ledger.dry(), request("crowd-long", agreement=True))
    assert asked.evidence > plain.evidence


def test_a_place_of_ones_own_makes_other_accounts(world):
    here = import_file(world.ledger, request("crowd-long", source="here"))
    there = import_file(world.ledger, request("crowd-long", source="there"))
    assert set(here.contributors) == set(there.contributors)
    assert not set(here.contributors.values()) & set(there.contributors.values())
    with pytest.raises(InputError, match="a source is the name of a place, not an address of a person"):
        import_file(world.ledger, request("crowd-long", source="ann@example.org"))


def test_a_policy_changes_v_of_the_rows(world):
    policy = Policy.from_dict({"levels": {"self-attested": 0.2}})
    plain = import_file(world.ledger, request("crowd-long"))
    other = import_file(world.ledger, request("crowd-long", policy=policy))
    assert set(other.rows["verification"]) == {0.2} != set(plain.rows["verification"])


@pytest.mark.parametrize("text", ["", "{}", "[]", "a,b\n1,2\n", "\x00\x01"])
def test_what_is_no_export_is_one_sentence_and_writes_nothing(world, tmp_path, text):
    path = tmp_path / "export.json"
    path.write_text(text)
    size = world.size()
    with pytest.raises(AnmlError) as error:
        import_file(world.ledger, Import(path))
    assert "\n" not in str(error.value)
    assert world.size() == size


def test_accounts_that_look_alike_are_said(world, tmp_path):
    path = tmp_path / "crowd.csv"
    path.write_text("task,worker,label\n1,ann,a\n1,\u0430nn,b\n")
    found = import_file(world.ledger, Import(path, "crowd-long"))
    assert any("look alike and are not one" in said for said in found.warnings)

"""Attestations made and taken in: all or none, and by the name of the file that is wrong."""

import json

import pytest

from anml.core.canonical import sha256
from anml.core.errors import AnmlError, InputError
from anml.ledger import keys, signing
from anml.ledger.services import attest
from anml.ledger.signing import PROPERTIES

LAB = "https://lab.example"


@pytest.fixture
def lab(tmp_path):
    path = tmp_path / "lab.pem"
    return path, keys.read_public(keys.create_signer(path))


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_can_be_said_of_a_contributor_and_a_file(lab, tmp_path, world, name):
    path, public = lab
    batch = tmp_path / "labels.csv"
    batch.write_text("x")
    made = attest.sign_attestation(path, LAB, [name], world.clock.now, ["c1"], [batch])
    said = signing.read_attestation(signing.open_envelope(made, [public])[0])
    assert said.properties == (name,)
    assert said.subjects == (
        ("anml:contributor:c1", sha256(b"c1")), ("labels.csv", sha256(b"x")),
    )  # fmt: skip


def test_nothing_to_say_or_nobody_to_say_it_of(lab, world, tmp_path):
    path, _ = lab
    for properties, people in ((["ANML_SELF"], []), ([], ["c1"])):
        with pytest.raises(InputError, match="needs something to be about and something to say"):
            attest.sign_attestation(path, LAB, properties, world.clock.now, people)
    with pytest.raises(AnmlError, match="unknown property 'ANML_GOOD'"):
        attest.sign_attestation(path, LAB, ["ANML_GOOD"], world.clock.now, ["c1"])
    with pytest.raises(InputError, match=r"the file .*none.csv cannot be read"):
        attest.sign_attestation(path, LAB, ["ANML_SELF"], world.clock.now, [], [tmp_path / "none.csv"])


@pytest.fixture
def trusted(lab, world):
    path, public = lab
    world.trust(public, LAB)
    world.pid = world.register("ls", ["ada"])["ada"]
    world.paper = attest.sign_attestation(path, LAB, ["ANML_AFFILIATION"], world.clock.now, [world.pid])
    return world


def test_an_attestation_is_taken_once(trusted):
    assert len(attest.record_attestations(trusted.ledger.dry(), {"": trusted.paper})) == 1
    before = trusted.size()
    assert len(attest.record_attestations(trusted.ledger, {"": trusted.paper})) == 1
    # The record, and one signature for it.
    assert trusted.size() == before + 2
    assert attest.record_attestations(trusted.ledger, {"": trusted.paper}) == []
    assert trusted.size() == before + 2


def test_of_several_files_all_are_taken_or_none(trusted, tmp_path):
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_bytes(trusted.paper)
    bad.write_text(json.dumps({**json.loads(trusted.paper), "payload": "aGk="}))
    size = trusted.size()
    with pytest.raises(AnmlError, match=r"bad.json: no signature of the envelope was made by a known key"):
        attest.record_attestation_files(trusted.ledger, [good, bad])
    assert trusted.size() == size
    assert len(attest.record_attestation_files(trusted.ledger, [good])) == 1


def test_a_validity_is_recorded(trusted):
    (made,) = attest.record_attestations(trusted.ledger, {"": trusted.paper}, until="2027-01-01T00:00:00Z")
    assert made.body["until"] == "2027-01-01T00:00:00Z"

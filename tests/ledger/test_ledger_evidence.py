"""Evidence in the log: recorded once, counted as far as somebody with standing is behind it."""

import pytest

from anml.core.canonical import sha256
from anml.core.errors import AnmlError, IntegrityError
from anml.ledger import evidence, keys, kinds, signing
from anml.ledger.evidence import EvidenceRecord, item_scope
from anml.ledger.log import format_timestamp
from anml.ledger.services.verify import verified
from anml.ledger.signing import PROPERTIES, batch_scope, check_envelope, contributor_subject
from anml.ledger.state import load_component
from anml.ledger.state_people import Keys
from anml.signals.policy import CLOSES_FLAGS, DEFAULT_LEVELS, EVIDENCE
from ledger.ledger_hand import START, at, event, pid, private, public
from ledger.ledger_queries import events
from ledger.ledger_world import World

LAB = "https://lab.example/qa"
PLACE = "label-studio: reviewer"


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Two contributors and a laboratory whose key is trusted for everything; tests take back what they do."""
    folder = tmp_path_factory.mktemp("evidence")
    world = World(str(folder / "ledger.db"), folder / "keys", folder, ("ann", "bob"))
    world.pids = world.register("ls", ["ada", "bea"])
    world.lab = world.trust(public("lab"), LAB, may=sorted(DEFAULT_LEVELS))
    yield world
    world.ledger.close()


# --- laws over the tables
def test_evidence_kinds_all_have_a_property_or_a_reader():
    assert set(DEFAULT_LEVELS) == {*PROPERTIES.values(), "agreement", "signature-invalid"}


@pytest.mark.parametrize("name", PROPERTIES)
def test_a_property_is_named_by_the_project_and_means_a_kind(name):
    assert name.startswith("ANML_")
    assert name.isupper()
    assert PROPERTIES[name] in DEFAULT_LEVELS


def test_no_two_properties_mean_the_same():
    assert len(set(PROPERTIES.values())) == len(PROPERTIES)


def test_praise_never_counts_without_a_name_behind_it():
    """Unnamed attestations open or close a flag, or have no effect on v."""
    for kind in (name for name, kind in EVIDENCE.items() if kind.unnamed):
        assert DEFAULT_LEVELS[kind] in ("flagged", None) or kind in CLOSES_FLAGS


def test_item_scopes_hide_the_item():
    assert "patient-7" not in item_scope("b", "patient-7")
    assert item_scope("b", "x") == f"item:{sha256(b'b/x')[:32]}"
    assert batch_scope("ab") == "batch:ab"
    assert item_scope("b", "x") != item_scope("b", "y") != item_scope("c", "y")


def test_how_an_attestation_names_somebody():
    assert contributor_subject("c1") == ("anml:contributor:c1", sha256(b"c1"))


# --- recording
def record(who: str, kind: str = "affiliation", **changes) -> EvidenceRecord:
    return EvidenceRecord(kind, who, changes.pop("issuer", PLACE), changes.pop("when", ""), **changes)


def added(tx, *records: EvidenceRecord):
    made = evidence.add_records(tx, records)
    evidence.sign_records(tx, "import", "test", "ann")
    return made


def test_the_same_record_twice_is_one(shared):
    ada = shared.pids["ada"]

    def work(tx):
        assert len(added(tx, record(ada), record(ada))) == 1
        assert added(tx, record(ada)) == []
        # Whatever differs makes another record.
        others = [record(ada, "publication"), record(ada, issuer="x"), record(ada, scope="batch:1"),
                  record(ada, until=at(9)), record(ada, when=at(-5)), record(shared.pids["bea"])]  # fmt: skip
        assert len(added(tx, *others)) == len(others)

    shared.ledger.rehearse(work)


def test_nothing_is_signed_for_where_nothing_was_added(shared):
    assert shared.ledger.rehearse(lambda tx: evidence.sign_records(tx, "import", "test", "ann")) is None


def test_a_time_that_nobody_knows_is_the_time_of_recording_and_none_lies_ahead(shared):
    ada = shared.pids["ada"]

    def work(tx):
        (unknown,) = added(tx, record(ada))
        (ahead,) = added(tx, record(ada, "publication", when=at(1000)))
        (past,) = added(tx, record(ada, "reproduced", when=at(-1000)))
        assert unknown.body["at"] == ahead.body["at"] == tx.now
        assert past.body["at"] == at(-1000)

    shared.ledger.rehearse(work)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"kind": "praise"}, "unknown kind of evidence 'praise'"),
        ({"vouched": "me"}, "unknown voucher 'me'"),
        ({"when": "soon"}, "a time is written like"),
        ({"until": "later"}, "a time is written like"),
    ],
)
def test_one_bad_record_and_nothing_is_written(shared, changes, said):
    ada, size = shared.pids["ada"], shared.size()
    with pytest.raises(AnmlError, match=said):
        shared.ledger.write(lambda tx: added(tx, record(ada), record(ada, **changes)))
    assert shared.size() == size


# --- attestations
def attested(
    *subjects: tuple[str, str], properties=("ANML_AFFILIATION",), verifier=LAB, when=START, by="lab"
):
    return signing.attest(subjects, verifier, properties, when, private(by))


def envelope(shared, tx, data: bytes):
    return evidence.add_envelope(tx, data)


@pytest.mark.parametrize("name", PROPERTIES)
def test_every_property_is_recorded_as_its_kind(shared, name):
    ada = shared.pids["ada"]

    def work(tx):
        (made,) = envelope(shared, tx, attested(contributor_subject(ada), properties=[name]))
        evidence.sign_records(tx, "attestation", "test", "ann")
        assert (made.subject, made.body["kind"], made.body["issuer"]) == (ada, PROPERTIES[name], LAB)
        assert (made.body["vouched"], made.body["key"]) == ("signature", shared.lab)

    shared.ledger.rehearse(work)


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"by": "thief"}, "no signature of the envelope was made by a known key"),
        ({"verifier": "https://other.example"}, "signed in the name of 'https://other.example'"),
        ({"when": START.replace(year=2030)}, "is dated 2030-01-01T00:00:00.000000Z, in the future"),
        ({"properties": ["SLSA_BUILD"]}, "unknown property 'SLSA_BUILD'"),
    ],
)
def test_attestations_that_are_refused_and_not_recorded_as_flags(shared, changes, said):
    ada = shared.pids["ada"]
    with pytest.raises(AnmlError, match=said):
        shared.ledger.rehearse(lambda tx: envelope(shared, tx, attested(contributor_subject(ada), **changes)))


@pytest.mark.parametrize(
    ("subject", "said"),
    [
        (("anml:contributor:nobody", sha256(b"nobody")), "there is no contributor 'nobody'"),
        (("anml:contributor:nobody", "00"), "is not that of its identifier"),
        (
            ("labels.json", "ab" * 32),
            "no imported batch has the SHA-256 abababababababab… of subject 'labels",
        ),
    ],
)
def test_attestations_about_nobody(shared, subject, said):
    with pytest.raises(AnmlError, match=said):
        shared.ledger.rehearse(lambda tx: envelope(shared, tx, attested(subject)))


def entry(data: bytes, **changes):
    body = {"kind": "affiliation", "issuer": LAB, "at": format_timestamp(START), "scope": "*", **changes}
    return event(kinds.EVIDENCE, pid(1), body)


def test_the_paper_behind_a_record_says_what_the_record_says():
    data = attested(contributor_subject(pid(1)), ("labels.json", "ab" * 32))
    check_envelope(data, public("lab"), entry(data))
    check_envelope(data, public("lab"), entry(data, scope=batch_scope("ab" * 32)))
    for changes, said in (
        ({"kind": "reproduced"}, "says something else"),
        ({"issuer": "x"}, "says something else"),
        ({"at": at(1)}, "says something else"),
        ({"scope": "batch:other"}, "is about something else"),
    ):
        with pytest.raises(IntegrityError, match=said):
            check_envelope(data, public("lab"), entry(data, **changes))
    with pytest.raises(IntegrityError, match="known key"):
        check_envelope(data, public("other"), entry(data))


# --- whose word counts
def vouched(tx, *pids: str) -> dict[str, list[str]]:
    found = evidence.effective_records(tx.connection, pids or None)
    return {who: [e.vouched for e in records] for who, records in found.items()}


def test_praise_by_whom_no_trust_reaches_is_nobodys_word(shared):
    ada, bea = shared.pids["ada"], shared.pids["bea"]

    def work(tx):
        added(
            tx, record(ada, "review-accepted", issuer="stranger"), record(bea, "review-accepted", issuer=ada)
        )
        assert vouched(tx) == {ada: ["nobody"], bea: ["nobody"]}
        # The laboratory is trusted; through it ada is, and through her what she says of bea.
        envelope(shared, tx, attested(contributor_subject(ada)))
        evidence.sign_records(tx, "attestation", "test", "ann")
        assert vouched(tx) == {ada: ["nobody", "signature"], bea: ["platform"]}
        assert vouched(tx, bea) == {bea: ["platform"]}

    shared.ledger.rehearse(work)


def test_flags_of_the_platform_count_without_a_name_and_those_of_a_contributor_do_not(shared):
    ada, bea = shared.pids["ada"], shared.pids["bea"]

    def work(tx):
        added(tx, record(ada, "retracted", issuer="registry"), record(ada, "review-rejected", issuer=bea))
        assert vouched(tx) == {ada: ["platform", "nobody"]}

    shared.ledger.rehearse(work)


def test_what_a_leaked_key_signed_is_nobodys_word(shared):
    from anml.ledger import two_people

    ada = shared.pids["ada"]

    def work(tx):
        envelope(shared, tx, attested(contributor_subject(ada)))
        evidence.sign_records(tx, "attestation", "test", "ann")
        assert vouched(tx) == {ada: ["signature"]}
        two_people.revoke_key(tx, shared.lab, "ann", compromised=True)
        assert vouched(tx) == {ada: ["nobody"]}
        assert [e.vouched for e in evidence.unfiltered_records(tx.connection)[ada]] == ["nobody"]

    shared.ledger.rehearse(work)


# --- as a report shows it
def test_entries_name_the_state_of_each_signature(make_world):
    from anml.ledger import two_people

    world = make_world("sqlite", staff=("ann", "bob"))
    ada = world.register("ls", ["ada"])["ada"]
    key = world.trust(public("lab"), LAB)
    world.record(record(ada, "publication"), record(ada, "correction", vouched="nobody"))

    def work(tx):
        evidence.add_envelope(tx, attested(contributor_subject(ada)))
        evidence.sign_records(tx, "attestation", "test", "ann")

    world.ledger.write(work)

    def said() -> list[str]:
        with verified(world.ledger, "read from") as reading:
            found = evidence.verified_records(reading, [ada])
            assert list(found) == [e.seq for e in events(reading.connection, [kinds.EVIDENCE])]
            return [one.signature for one in found.values()]

    own = ["none: the platform's own record", "none"]
    assert said() == [*own, f"verified with key {key}"]
    world.ledger.write(lambda tx: two_people.revoke_key(tx, key, "ann", compromised=True))
    assert said() == [*own, f"key {key} is no longer trusted: counts for nothing"]


def test_a_key_reads_as_the_bytes_it_was_trusted_by(shared):
    with shared.ledger.read() as connection:
        assert keys.public_text(
            load_component(Keys, connection).known[shared.lab].public
        ) == keys.public_text(public("lab"))

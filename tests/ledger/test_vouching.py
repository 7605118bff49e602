"""Attestations, keys and what they do to v; imports and what they do to r."""

import base64
import json
from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from anml.core.canonical import canonical
from anml.core.errors import AnmlError, ConflictError, InputError, IntegrityError
from anml.io.formats import FORMATS
from anml.ledger import keys, kinds, signing, two_people
from anml.ledger import personal_data as people
from anml.ledger.contributors import reputation
from anml.ledger.contributors import scores as run_scores
from anml.ledger.contributors.identity import propose_account_mapping
from anml.ledger.log import format_timestamp
from anml.ledger.services import attest
from anml.ledger.services.annotate import Import, import_file
from anml.ledger.signing import from_file
from anml.ledger.standing import Score, contributor_statuses
from anml.ledger.state import load_component
from anml.ledger.state_people import Contributors
from anml.signals.policy import Policy
from ledger import ledger_reputation
from ledger.ledger_queries import events, who_is
from ledger.ledger_world import START, World, hash_run, simple_rows, write_run

DATA = Path(__file__).parents[1] / "data"
LAB = "https://lab.example/qa"


@pytest.fixture
def place(make_world) -> World:
    return make_world("sqlite")


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "lab.pem"
    return path, keys.read_public(keys.create_signer(path))


def register(world: World, *names: str) -> dict[str, str]:
    return world.register("test", names)


def trust(world: World, public: bytes, owner: str = LAB, **more) -> str:
    return world.trust(public, owner, **more)


def revoke(world: World, name: str, **more) -> None:
    world.ledger.write(lambda tx: two_people.revoke_key(tx, name, "ann", **more))


def signed(world: World, path: Path, pid: str, *properties: str, verifier: str = LAB, when=None) -> bytes:
    return attest.sign_attestation(
        path, verifier, properties or ["ANML_REPRODUCED"], when or world.clock.now, [pid]
    )


def v(world: World, pid: str) -> tuple[float, str]:
    with world.ledger.read() as connection:
        verdict = contributor_statuses(connection, format_timestamp(world.clock.now))[pid].verdict
    return verdict.v, verdict.level


def test_dsse_known_bytes():
    # The example of the DSSE protocol document.
    assert (
        signing.pre_authentication_encoding("http://example.com/HelloWorld", b"hello world")
        == b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"
    )


def test_a_signed_attestation_raises_v_and_names_its_entry(world, key):
    path, public = key
    pid = register(world, "ann")["ann"]
    trust(world, public)
    assert v(world, pid) == (0.25, "self-attested")
    (made,) = attest.record_attestations(world.ledger, {"": signed(world, path, pid)})
    assert v(world, pid) == (0.92, "reproduced")
    with world.ledger.read() as connection:
        standing = contributor_statuses(connection, format_timestamp(world.clock.now))[pid]
        assert standing.verdict.evidence == (made.seq,)
        assert standing.verified
        # The paper itself is kept where it can be erased.
        paper = people.read_document(connection, world.ledger.ring, pid, made.body["paper"])
    assert json.loads(paper)["payloadType"] == signing.INTOTO
    assert attest.record_attestations(world.ledger, {"": signed(world, path, pid)}) == []


def test_a_batch_is_vouched_for_by_its_hash(place, key):
    path, public = key
    trust(place, public)
    found = import_file(place.ledger, Import(DATA / "crowd_long.csv", "crowd-long"))
    about = attest.sign_attestation(
        path, LAB, ["ANML_PUBLICATION"], place.clock.now, batches=[DATA / "crowd_long.csv"]
    )
    assert len(attest.record_attestations(place.ledger, {"": about})) == 3
    again = import_file(place.ledger, Import(DATA / "crowd_long.csv", "crowd-long"))
    assert again.contributors == found.contributors
    assert set(again.rows["level"]) == {"peer-reviewed"}
    assert all(again.rows["evidence"].str.len_chars() > 0)


def test_what_is_refused(place, key, tmp_path):
    path, public = key
    pid = register(place, "ann")["ann"]

    def take(ledger, envelope, until=None):
        attest.record_attestations(ledger, {"": envelope}, until)

    with pytest.raises(IntegrityError, match="no signature of the envelope was made by a known key"):
        take(place.ledger, signed(place, path, pid))
    known = trust(place, public)
    good = json.loads(signed(place, path, pid))
    forged = {**good, "payload": base64.b64encode(base64.b64decode(good["payload"]) + b" ").decode()}
    with pytest.raises(IntegrityError, match="known key"):
        take(place.ledger, canonical(forged))
    with pytest.raises(IntegrityError, match="signed in the name of 'https://other"):
        take(place.ledger, signed(place, path, pid, verifier="https://other.example"))
    with pytest.raises(IntegrityError, match="may not attest 'admin-flag'"):
        take(place.ledger, signed(place, path, pid, "ANML_FLAG"))
    with pytest.raises(IntegrityError, match="not valid for"):
        take(place.ledger, signed(place, path, pid, when=START - timedelta(days=1)))
    with pytest.raises(IntegrityError, match="in the future"):
        take(place.ledger, signed(place, path, pid, when=place.clock.now + timedelta(days=1)))
    with pytest.raises(InputError, match="no contributor 'c9'"):
        take(place.ledger, signed(place, path, "c9"))
    with pytest.raises(InputError, match="no imported batch"):
        take(
            place.ledger,
            attest.sign_attestation(path, LAB, ["ANML_REPRODUCED"], place.clock.now, batches=[path]),
        )
    with pytest.raises(InputError, match="not a DSSE envelope"):
        take(place.ledger, b"{}")
    with pytest.raises(AnmlError, match="unknown property"):
        signed(place, path, pid, "GREAT")
    wrong = signing.sign_envelope("text/plain", b"hello", from_file(path))
    with pytest.raises(InputError, match="expected 'application"):
        take(place.ledger, canonical(wrong))
    # Nothing of this left a trace.
    assert v(place, pid) == (0.25, "self-attested")
    revoke(place, known)
    with pytest.raises(IntegrityError, match="not valid"):
        take(place.ledger, signed(place, path, pid))


def test_the_keyid_decides_nothing(place, key):
    path, public = key
    pid = register(place, "ann")["ann"]
    trust(place, public)
    envelope = json.loads(signed(place, path, pid))
    envelope["signatures"][0]["keyid"] = "somebody-else"
    assert len(attest.record_attestations(place.ledger, {"": canonical(envelope)})) == 1


def test_an_own_key_is_self_attested(place, key):
    path, public = key
    pid = register(place, "ann")["ann"]
    trust(place, public, owner=pid)
    attest.record_attestations(place.ledger, {"": signed(place, path, pid, "ANML_SELF", verifier=pid)})
    with pytest.raises(IntegrityError, match="may not attest 'reproduced'"):
        attest.record_attestations(place.ledger, {"": signed(place, path, pid, verifier=pid)})
    assert v(place, pid) == (0.25, "self-attested")


def test_revoked_keys_keep_what_they_signed_in_time_and_leaked_ones_lose_it(place, key):
    path, public = key
    pid = register(place, "ann")["ann"]
    known = trust(place, public)
    attest.record_attestations(place.ledger, {"": signed(place, path, pid)})
    place.clock.pass_days(1)
    revoke(place, known)
    assert v(place, pid)[1] == "reproduced"
    revoke(place, known, compromised=True)
    assert v(place, pid)[1] == "self-attested"


def test_a_key_has_one_owner(place, key):
    _, public = key
    trust(place, public)
    with pytest.raises(ConflictError, match="registered for"):
        trust(place, public, owner="https://other.example")


def test_flags_and_their_lifting(place, key):
    path, public = key
    pid = register(place, "ann")["ann"]
    trust(place, public, may=["reproduced", "admin-flag", "flag-lifted"])
    attest.record_attestations(place.ledger, {"": signed(place, path, pid, "ANML_REPRODUCED")})
    attest.record_attestations(place.ledger, {"": signed(place, path, pid, "ANML_FLAG")})
    assert v(place, pid) == (0.07, "flagged")
    place.clock.pass_days(1)
    attest.record_attestations(place.ledger, {"": signed(place, path, pid, "ANML_FLAG_LIFTED")})
    assert v(place, pid) == (0.92, "reproduced")


def test_validity_ends(place, key):
    path, public = key
    pid = register(place, "ann")["ann"]
    trust(place, public)
    end = format_timestamp(place.clock.now + timedelta(days=10))
    attest.record_attestations(place.ledger, {"": signed(place, path, pid, "ANML_AFFILIATION")}, until=end)
    assert v(place, pid) == (0.65, "institution")
    place.clock.pass_days(11)
    assert v(place, pid) == (0.25, "self-attested")


def import_reviewed(world: World, **more):
    """Label Studio's file, once its reviewers were named; the first import brings them on record."""
    request = Import(DATA / "label_studio.json", "label-studio", **more)
    import_file(world.ledger, request)
    with world.ledger.read() as connection:
        issuers = {e.body["issuer"] for e in events(connection, [kinds.EVIDENCE])}
        people_known = load_component(Contributors, connection).since
    for pid in sorted(issuers & set(people_known)):
        world.name_reviewer(pid)
    return import_file(world.ledger, request)


def test_reviews_count_once_their_reviewer_was_named(place):
    place.clock.pass_days(30)
    before = import_file(place.ledger, Import(DATA / "label_studio.json", "label-studio"))
    assert "reviewed" not in set(before.rows["level"])
    after = import_reviewed(place)
    assert {"reviewed", "flagged"} <= set(after.rows["level"])
    # The same judgements, in the same file: they are counted now, and never again.
    assert (after.evidence, after.scores > 0) == (0, True)
    again = import_file(place.ledger, Import(DATA / "label_studio.json", "label-studio"))
    assert (again.evidence, again.scores) == (0, 0)


def test_import_label_studio_end_to_end(world):
    world.clock.pass_days(30)
    found = import_reviewed(world)
    by = dict(zip(found.rows["item"] + "/" + found.rows["contributor"], found.rows["level"], strict=True))
    pid = found.contributors
    assert by[f"1/{pid['ann@lab.example']}"] == "reviewed"
    assert by[f"1/{pid['12']}"] == "flagged"
    assert by[f"2/{pid['13']}"] == "self-attested"  # accepted by nobody but themselves
    assert by[f"3/{pid['ann@lab.example']}"] == "self-attested"  # accepted by a reviewer without a name
    # The same file again records nothing new.
    again = import_file(world.ledger, Import(DATA / "label_studio.json", "label-studio"))
    assert (again.evidence, again.scores) == (0, 0)
    assert again.rows.equals(found.rows)


def test_scores_by_hand(place):
    place.clock.pass_days(30)
    found = import_reviewed(place)
    ann = ledger_reputation.replay_history(place.ledger, found.contributors["ann@lab.example"])[0]
    # Gold: 1 of 1 right. Reviews by somebody with a name: accepted. Together they count as one batch.
    assert [(s["source"], round(s["quality"], 3)) for s in ann] == [("gold", 1.0), ("review", 1.0)]
    assert ann[-1]["r"] == pytest.approx((1 + 1.6) / (1 + 4))
    bad = ledger_reputation.replay_history(place.ledger, found.contributors["12"])[0]
    assert [(s["source"], s["quality"]) for s in bad] == [
        ("gold", 0.0),
        ("review", 0.0),
        ("consensus", 0.0),
    ]
    assert bad[-1]["r"] == pytest.approx(0.32, abs=0.005)


def test_agreement_of_accounts_that_nobody_knows_counts_for_nothing(place):
    found = import_file(place.ledger, Import(DATA / "crowd_long.csv", "crowd-long"))
    assert found.scores == 0


def test_consensus_by_hand(place):
    found = import_file(place.ledger, Import(DATA / "crowd_long.csv", "crowd-long"))
    place.vouch(*found.contributors.values())
    found = import_file(place.ledger, Import(DATA / "crowd_long.csv", "crowd-long"))
    # t1: w1 and w2 say cat, w3 dog. For w1 the others are split; for w3 they agree against. t2: all agree.
    events = {
        who: [(s["source"], s["quality"]) for s in ledger_reputation.replay_history(place.ledger, pid)[0]]
        for who, pid in found.contributors.items()
    }
    assert events == {"w1": [("consensus", 1.0)], "w2": [("consensus", 1.0)], "w3": [("consensus", 0.5)]}


def test_agreement_is_reproduction_only_when_asked_for(place):
    plain = import_file(place.ledger.dry(), Import(DATA / "crowd_long.csv", "crowd-long"))
    assert set(plain.rows["level"]) == {"self-attested"}
    found = import_file(place.ledger, Import(DATA / "crowd_long.csv", "crowd-long", agreement=True))
    assert found.rows.select("item", "level").rows() == [
        *[("t1", "self-attested")] * 3,
        *[("t2", "reproduced")] * 3,
    ]


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_every_format_imports(place, name):
    files = {
        "table": "papers.csv",
        "label-studio": "label_studio.json",
        "argilla": "argilla_flat.json",
        "crowd-long": "crowd_long.csv",
        "crowd-wide": "crowd_wide.csv",
        "toloka": "toloka.tsv",
        "mturk": "mturk.csv",
        "langfuse": "langfuse.json",
        "phoenix": "phoenix.json",
    }
    columns = {"label": "verdict", "contributor": "lab"} if name == "table" else {}
    found = import_file(place.ledger, Import(DATA / files[name], name, columns=columns))
    assert found.rows.height > 0
    assert found.rows["verification"].is_between(0.05, 0.95).all()
    assert found.rows["reputation"].is_between(0.10, 0.95).all()


def test_a_policy_changes_v(place):
    place.clock.pass_days(30)
    policy = Policy.from_dict({"levels": {"reviewed": 0.75}})
    found = import_reviewed(place, policy=policy)
    assert sorted(set(found.rows["verification"])) == [0.07, 0.25, 0.75]


def test_identity_map_merges_accounts_and_their_records(place):
    place.clock.pass_days(30)
    found = import_reviewed(place)
    ann, other = found.contributors["ann@lab.example"], found.contributors["12"]
    _, numbers = propose_account_mapping(place.ledger, [("label-studio:12", ann), ("toloka:wA", ann)], "cat")
    place.confirm(*numbers)
    assert register_more(place, "label-studio", "12") == ann
    assert register_more(place, "toloka", "wA") == ann
    with place.ledger.read() as connection:
        assert other not in contributor_statuses(connection, format_timestamp(place.clock.now))
    assert len(ledger_reputation.replay_history(place.ledger, ann)[0]) == 5


def register_more(world: World, source: str, name: str) -> str:
    return world.register(source, [name])[name]


def test_one_bank_account_is_one_contributor(place):
    pids = register(place, "a", "b")
    iban = {"iban": "DE89370400440532013000"}
    place.pay_to(pids["a"], iban)
    with pytest.raises(ConflictError, match="belongs to contributor"):
        place.pay_to(pids["b"], iban)


def test_held_out_quality_of_a_run_counts_once_and_never_by_weight(place, tmp_path):
    rows = simple_rows({"a": 2, "b": 2}).with_columns(self_confidence=pl.Series([1.0, 0.8, 0.1, 0.3]))
    write_run(tmp_path / "run", rows)
    assert run_scores.record_run_scores(place.ledger, tmp_path / "run", "run") == 2
    assert run_scores.record_run_scores(place.ledger, tmp_path / "run", "run") == 0
    with place.ledger.read() as connection:
        pid = who_is(connection, place.ledger.ring, "run", "a")
    (step,) = ledger_reputation.replay_history(place.ledger, pid)[0]
    assert (step["source"], step["quality"]) == ("held-out", 0.9)
    write_run(tmp_path / "blind", simple_rows({"a": 1}))
    with pytest.raises(InputError, match="no held-out predictions"):
        run_scores.record_run_scores(place.ledger, tmp_path / "blind", "run")


def test_what_a_run_learned_of_contributors_is_taken_before_its_confidence(place, tmp_path):
    rows = simple_rows({"a": 4, "=b": 4, "c": 4}).with_columns(self_confidence=pl.Series([0.5] * 12))
    write_run(tmp_path / "run", rows)
    learned = {
        "learned_reputation_n_correct": [3.0, 0.5, 0.4],
        "learned_reputation_n_wrong": [0.75, 1.5, 0.4],
    }
    # As it is written: a name that a spreadsheet would run has a quote before it.
    table = pl.DataFrame({"contributor": ["a", "'=b", "c"], **learned})
    table.write_csv(tmp_path / "run" / "contributors.csv")
    hash_run(tmp_path / "run", {"recipe": {"combine": "guarded"}})
    assert run_scores.record_run_scores(place.ledger, tmp_path / "run", "run") == 2
    with place.ledger.read() as connection:
        pids = {who: who_is(connection, place.ledger.ring, "run", who) for who in ("a", "=b", "c")}
    found = {who: ledger_reputation.replay_history(place.ledger, pid)[0] for who, pid in pids.items() if pid}
    assert {who: step["quality"] for who, (step,) in found.items()} == {"a": 0.8, "=b": 0.25}
    assert pids["c"] is None  # evidence worth less than one label
    assert run_scores.record_run_scores(place.ledger, tmp_path / "run", "run") == 0


def test_without_learned_columns_the_confidence_counts(place, tmp_path):
    write_run(tmp_path / "run", simple_rows({"007": 2}).with_columns(self_confidence=pl.Series([1.0, 0.8])))
    pl.DataFrame({"contributor": ["007"], "rows": [2]}).write_csv(tmp_path / "run" / "contributors.csv")
    hash_run(tmp_path / "run", {})
    assert run_scores.record_run_scores(place.ledger, tmp_path / "run", "run") == 1
    with place.ledger.read() as connection:
        pid = who_is(connection, place.ledger.ring, "run", "007")
    (step,) = ledger_reputation.replay_history(place.ledger, pid)[0]
    assert step["quality"] == 0.9


@pytest.mark.parametrize(
    ("names", "good", "says"),
    [
        (["a", "x"], [1.0, 1.0], "contributor 'b'|contributor 'x'"),
        (["a"], [1.0], "contributor 'b'"),
        (["a", "b", "b"], [1.0, 1.0, 1.0], "does not match the samples"),
        (["a", "b"], [1.0, 9.0], "contributor 'b'"),
        (["a", "b"], [1.0, -1.0], "contributor 'b'"),
        (["a", "b"], [1.0, float("nan")], "contributor 'b'"),
        (["a", "b"], ["1", "many"], "contributor 'b'"),
    ],
    ids=["other", "fewer", "twice", "too much", "negative", "not a number", "text"],
)
def test_contributors_that_do_not_fit_the_samples_are_refused(place, tmp_path, names, good, says):
    write_run(tmp_path / "run", simple_rows({"a": 2, "b": 2}).with_columns(self_confidence=pl.lit(0.5)))
    table = pl.DataFrame(
        {
            "contributor": names,
            "learned_reputation_n_correct": good,
            "learned_reputation_n_wrong": [0.5] * len(names),
        }
    )
    table.write_csv(tmp_path / "run" / "contributors.csv")
    hash_run(tmp_path / "run", {"recipe": {"combine": "guarded"}})
    with pytest.raises(InputError, match=says):
        run_scores.record_run_scores(place.ledger, tmp_path / "run", "run")


def test_replay_gives_the_shown_value_to_the_last_bit(world):
    pid = register(world, "ann")["ann"]
    for day, quality in enumerate((10**12, 3 * 10**11, 0, 9 * 10**11)):
        at = format_timestamp(START + timedelta(days=day))
        items = tuple(f"{day}-{number}" for number in range(10))
        world.clock.pass_days(1)
        world.score(Score(pid, "default", "gold", f"b{day}", at, quality, items, 10))
    shown = reputation.show(world.ledger)[pid]
    steps, now = ledger_reputation.replay_history(world.ledger, pid)
    assert len(steps) == shown.track.events == 4
    assert now == shown.track
    again = reputation.show(world.reopen())[pid]
    assert again == shown


def test_newcomers_see_what_they_need(place):
    pid = register(place, "ann")["ann"]
    shown = reputation.show(place.ledger)[pid]
    assert shown.newcomer
    assert " ".join(shown.needs) == (
        "10 more contributions in settled runs and an account 4 days old (now 0.0) "
        "or one verification by somebody else"
    )


def test_trust_graph_follows_reviews_from_a_trusted_root(place):
    place.clock.pass_days(30)
    found = import_file(place.ledger, Import(DATA / "label_studio.json", "label-studio"))
    root, ann = found.contributors["10"], found.contributors["ann@lab.example"]
    trust_ = ledger_reputation.trust_graph(place.ledger, [root])["trust"]
    assert trust_[ann] > 0.4
    assert found.contributors["13"] not in trust_  # accepted as often as rejected

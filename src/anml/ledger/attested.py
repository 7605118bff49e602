"""What attestations say, and whether one says what the log recorded of it."""

from anml.core.canonical import sha256
from anml.core.errors import IntegrityError
from anml.ledger import dsse
from anml.ledger.log import Event
from anml.ledger.times import stamp

# What a verifier can say in an attestation, and the kind of evidence it makes.
PROPERTIES: dict[str, str] = {
    "ANML_SELF": "self",
    "ANML_AFFILIATION": "affiliation",
    "ANML_REVIEW_ACCEPTED": "review-accepted",
    "ANML_REVIEW_REJECTED": "review-rejected",
    "ANML_PUBLICATION": "publication",
    "ANML_REPRODUCED": "reproduced",
    "ANML_RETRACTED": "retracted",
    "ANML_REINSTATED": "reinstated",
    "ANML_CONCERN": "concern",
    "ANML_CORRECTION": "correction",
    "ANML_FLAG": "admin-flag",
    "ANML_FLAG_LIFTED": "flag-lifted",
}

# About all of somebody's work.
EVERYTHING = "*"


def batch_scope(batch: str) -> str:
    """The scope of one imported file, by its SHA-256."""
    return f"batch:{batch}"


def contributor_subject(pid: str) -> tuple[str, str]:
    """How an attestation names a contributor."""
    return f"anml:contributor:{pid}", sha256(pid.encode())


def check_envelope(envelope: bytes, public: bytes, e: Event) -> None:
    """An error unless the paper behind a record was signed by its key, and says what the record says."""
    said, body = dsse.read_attestation(dsse.unwrap(envelope, [public])[0]), e.body
    spoken = {PROPERTIES.get(name, "") for name in said.properties}
    same = (said.verifier, stamp(said.created)) == (body["issuer"], body["at"])
    if not same or body["kind"] not in spoken:
        raise IntegrityError("the attestation behind it says something else")
    scopes = {EVERYTHING if name == contributor_subject(e.subject)[0] else batch_scope(value)
              for name, value in said.subjects}  # fmt: skip
    if body["scope"] not in scopes:
        raise IntegrityError("the attestation behind it is about something else")

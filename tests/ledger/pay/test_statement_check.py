"""A statement checked by an outsider: any change in it, even signed by the log's own key, is found."""

import copy
import json

import pytest

from anml.core.canonical import canonical
from anml.core.errors import AnmlError, InputError, IntegrityError
from anml.ledger import signing
from anml.ledger.pay.statement import PAYLOAD, build, sign
from anml.ledger.services.verify import check_statement as verify
from anml.ledger.signing import from_key
from ledger.ledger_hand import private


@pytest.fixture(scope="module")
def found(lived):
    return build(lived.ledger, lived.sid, [lived.pids["bea"]])[lived.pids["bea"]]


def checked(lived, statement) -> None:
    verify(sign(lived.ledger, statement), lived.ledger.ring.public)


def test_a_statement_that_nobody_touched_holds(lived, found):
    checked(lived, found)


def test_only_the_ledgers_key_signs_statements(lived, found):
    forged = canonical(signing.sign_envelope(PAYLOAD, canonical(found), from_key(private("thief"))))
    with pytest.raises(IntegrityError, match="no signature of the envelope was made by a known key"):
        verify(forged, lived.ledger.ring.public)


CHANGES = {
    "amount": lambda s: s["amounts"].update(gross=s["amounts"]["gross"] + 1),
    "held": lambda s: s["amounts"].update(held=0),
    "share": lambda s: s.update(share=s["share"] + 1),
    "contributor": lambda s: s.update(contributor="c" + "9" * 32),
    "settlement": lambda s: s.update(settlement="other"),
    "single person": lambda s: s.update(single_person=True),
    "an entry less": lambda s: s["proof"]["entries"].pop(0),
    "an entry twice": lambda s: s["proof"]["entries"].insert(0, s["proof"]["entries"][0]),
    "another head": lambda s: s["proof"].update(head="{}"),
    "another place": lambda s: s["proof"]["entries"][0].update(index=0),
    "another entry": lambda s: s["proof"]["entries"][0].update(
        entry=s["proof"]["entries"][0]["entry"].replace("held:", "paid:")
    ),
    "another ledger": lambda s: s.update(ledger="other"),
    "no checkpoint": lambda s: s["proof"].update(checkpoint=""),
}  # fmt: skip


@pytest.mark.parametrize("change", CHANGES)
def test_whoever_signs_a_wrong_statement_with_the_log_key_is_found(lived, found, change):
    wrong = copy.deepcopy(found)
    CHANGES[change](wrong)
    with pytest.raises(AnmlError):
        checked(lived, wrong)


@pytest.mark.parametrize("name", ["proof", "amounts", "share", "contributor", "settlement", "single_person"])
def test_a_statement_that_lacks_something_is_not_whole(lived, found, name):
    short = {key: value for key, value in found.items() if key != name}
    with pytest.raises(AnmlError, match=r"the statement is not whole|says something other"):
        checked(lived, short)


def test_another_format_is_named(lived, found):
    with pytest.raises(InputError, match="this is not a statement of format anml-statement/4"):
        checked(lived, {**found, "format": "anml-statement/1"})
    with pytest.raises(InputError, match=r"expected 'application/vnd.anml.statement"):
        verify(
            json.dumps(signing.sign_envelope("x", b"{}", from_key(lived.ledger.ring.log))).encode(),
            lived.ledger.ring.public,
        )

"""Records that come in numbers, as the log leaves them."""

from anml.ledger import kinds
from anml.ledger.records import AuditTrail
from ledger.ledger_hand import event, pid


def test_a_trail_leads_to_who_signed_for_each_entry():
    trail = AuditTrail()
    for seq, kind in ((5, kinds.CREDITED), (6, kinds.RELEASED)):
        trail.fold(event(kind, pid(1), {}, seq=seq, settlement="s"))
    trail.fold(event(kinds.RELEASED_ALL, "s", {}, seq=7, by="ann"))
    trail.fold(event(kinds.REVERSED, pid(1), {"proposal": 3}, seq=8, settlement="s", by="bob"))
    # The credit follows from the manifest, and the reversal carries a signature of its own.
    assert (trail.own["s", pid(1)], trail.covers) == ([5, 6, 8], {6: 7})


def test_a_trail_names_how_staff_came_in():
    trail = AuditTrail()
    trail.fold(event(kinds.PROPOSED, "cat", {"step": kinds.STAFF_ADDED}, seq=3))
    trail.fold(event(kinds.PROPOSED, "x", {"step": kinds.MERGED}, seq=4))
    trail.fold(event(kinds.STAFF_ADDED, "cat", {}, seq=5))
    assert trail.staff == [3, 5]

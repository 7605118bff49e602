"""The ledger: signed records of contributions, evidence and pay. Needs the extra `ledger`."""

from typing import TYPE_CHECKING

from anml.core.lazy import lazy_names

if TYPE_CHECKING:
    from anml.ledger.store import Ledger, open_ledger

__all__ = ["Ledger", "open_ledger"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {"Ledger": "anml.ledger.store", "open_ledger": "anml.ledger.store"},
    extras={"Ledger": "ledger", "open_ledger": "ledger"},
)

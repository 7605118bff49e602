"""A ledger and what staff do in it: keys, steps for two people, imports, verification."""

from typing import TYPE_CHECKING

from anml.app.lazy import modules_of

if TYPE_CHECKING:
    from anml.app.ledger import attest, ledgers, steps, verify, vouched

__all__ = ["attest", "ledgers", "steps", "verify", "vouched"]
__getattr__ = modules_of(__name__, __all__)

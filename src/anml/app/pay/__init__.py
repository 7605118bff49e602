"""From a run to money: drafted, approved, released, disputed, paid, and said in statements."""

from typing import TYPE_CHECKING

from anml.app.lazy import modules_of

if TYPE_CHECKING:
    from anml.app.pay import disputes, exports, payout, settle, statement

__all__ = ["disputes", "exports", "payout", "settle", "statement"]
__getattr__ = modules_of(__name__, __all__)

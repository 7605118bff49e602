"""Settlement: shares of a pool as whole micro-units."""

from anml.settlement.allocate import allocate

__all__ = ["allocate"]

"""Fixtures: a fresh ledger, and one with money to pay."""

from ledger.lived import paid, world

__all__ = ["paid", "world"]

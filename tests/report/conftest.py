"""Fixtures for the command line."""

from terminal import anml, anml_ledger, plain_terminal

__all__ = ["anml", "anml_ledger", "plain_terminal"]

"""Fixtures for command lines, with a ledger that has a history."""

from ledger.books import books, first_books
from terminal import anml, anml_ledger, plain_terminal

__all__ = ["anml", "anml_ledger", "books", "first_books", "plain_terminal"]

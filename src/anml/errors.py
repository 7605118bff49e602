"""Errors that anml raises for the input of a user; all of them are an `AnmlError`."""

from anml.core.errors import (
    AnmlError,
    ConflictError,
    InputError,
    IntegrityError,
    UnknownNameError,
    UnsupportedError,
)

__all__ = [
    "AnmlError",
    "ConflictError",
    "InputError",
    "IntegrityError",
    "UnknownNameError",
    "UnsupportedError",
]

"""The error family.

AnmlError                 an error that the user can correct; the command line prints it and exits with 2
├── InputError            a value, a column or a file is not as it must be
├── UnknownNameError      a name outside a fixed list; says which ones are allowed
├── UnsupportedError      a sound request that this version cannot carry out
├── ConflictError         the ledger's state does not allow it: a repeated key with another body, a wrong step
└── IntegrityError        a signature, a hash or a sum does not hold
"""

import difflib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager


class AnmlError(ValueError):
    """An error that the user can correct; its message is one sentence."""


class InputError(AnmlError):
    """A value, a column or a file is not as it must be."""


class UnknownNameError(AnmlError):
    """A name outside a fixed list of names.

    Examples
    --------
    >>> print(UnknownNameError("recipe", "krumm", ["krum", "softmax"]))
    unknown recipe 'krumm' (did you mean 'krum'?); allowed: krum, softmax
    """

    def __init__(self, kind: str, name: object, allowed: Iterable[str]) -> None:
        allowed = list(allowed)
        close = difflib.get_close_matches(str(name), allowed, n=1)
        hint = f" (did you mean {close[0]!r}?)" if close else ""
        super().__init__(f"unknown {kind} {name!r}{hint}; allowed: {', '.join(allowed)}")


class UnsupportedError(AnmlError):
    """A sound request that this version cannot carry out."""


class ConflictError(AnmlError):
    """The request contradicts existing entries of the ledger."""


class IntegrityError(AnmlError):
    """A signature, a hash or a sum does not hold; nothing that depends on it may continue."""


@contextmanager
def os_error_message(what: str) -> Iterator[None]:
    """Convert an operating system error to an input error: `what` failed, with the reason."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{what}: {error.strerror or error}") from None

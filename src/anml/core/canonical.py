"""Canonical JSON, so that a hash means the same everywhere: sorted keys, no spaces, UTF-8, integers only.

Floating point numbers are refused: two programs print them differently.
"""

import hashlib
import json
from typing import Any

from anml.core.errors import InputError

LARGEST = 2**127 - 1
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> bytes:
    """The canonical bytes of plain values."""
    if not _is_plain(value):
        _check(value, "")
    return _ENCODER.encode(value).encode("utf-8")


def sha256(data: bytes) -> str:
    """SHA-256 as lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes of a value."""
    return sha256(canonical(value))


def _is_plain(value: Any) -> bool:
    """Whether a value is canonical as it is; what is not gets a closer look, and a message."""
    waiting = [value]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind is str or one is None or kind is bool:
            continue
        if kind is int:
            if not -LARGEST <= one <= LARGEST:
                return False
        elif kind is dict:
            for key in one:
                if type(key) is not str:
                    return False
            waiting += one.values()
        elif kind is list or kind is tuple:
            waiting += one
        else:
            return False
    return True


def _check(value: Any, where: str) -> None:
    if value is None or isinstance(value, str | bool):
        return
    if isinstance(value, int):
        if abs(value) > LARGEST:
            raise InputError(f"canonical JSON holds integers of at most 127 bits, got {value} at {where}")
        return
    if isinstance(value, list | tuple):
        for position, item in enumerate(value):
            _check(item, f"{where}[{position}]")
        return
    if isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                raise InputError(f"canonical JSON has text keys, got {key!r} at {where or 'the top'}")
            _check(item, f"{where}.{key}" if where else key)
        return
    kind = "floating point numbers" if isinstance(value, float) else f"{type(value).__name__} values"
    raise InputError(f"canonical JSON holds no {kind}, got {value!r} at {where or 'the top'}")

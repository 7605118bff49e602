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
    if fault := _fault(value):
        raise InputError(f"canonical JSON {fault[0]} at {fault[1].removeprefix('.') or 'the top'}")
    return _ENCODER.encode(value).encode("utf-8")


def sha256(data: bytes) -> str:
    """SHA-256 as lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes of a value."""
    return sha256(canonical(value))


def _fault(value: Any) -> tuple[str, str] | None:
    """What a value holds that is not canonical, and where; None where there is nothing."""
    if isinstance(value, int):
        if abs(value) > LARGEST:
            return f"holds integers of at most 127 bits, got {value}", ""
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"has text keys, got {key!r}", ""
            if type(item) is not str and (found := _fault(item)):
                return found[0], f".{key}{found[1]}"
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            if type(item) is not str and (found := _fault(item)):
                return found[0], f"[{position}]{found[1]}"
    elif value is not None and not isinstance(value, str):
        kind = "floating point numbers" if isinstance(value, float) else f"{type(value).__name__} values"
        return f"holds no {kind}, got {value!r}", ""
    return None

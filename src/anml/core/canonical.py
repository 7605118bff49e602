"""Canonical JSON, so that a hash means the same everywhere: sorted keys, no spaces, UTF-8, integers only.

Floating point numbers are refused: two programs print them differently. And a Merkle tree over hashes, by
the rules of RFC 6962: a root stands for a whole history in 32 bytes; a short path shows that one entry is in
it, or that a later root only added to an earlier one.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from anml.core.errors import InputError

MAX_INTEGER = 2**127 - 1
_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def canonical(value: Any) -> bytes:
    """The canonical bytes of plain values."""
    if fault := _non_canonical(value):
        raise InputError(f"canonical JSON {fault[0]} at {fault[1].removeprefix('.') or 'the top'}")
    return _ENCODER.encode(value).encode("utf-8")


def sha256(data: bytes) -> str:
    """SHA-256 as lower-case hex."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Any) -> str:
    """SHA-256 of the canonical bytes of a value."""
    return sha256(canonical(value))


def _non_canonical(value: Any) -> tuple[str, str] | None:
    """Return the first non-canonical content of a value and its location; None if there is none."""
    if isinstance(value, int):
        if abs(value) > MAX_INTEGER:
            return f"holds integers of at most 127 bits, got {value}", ""
    elif isinstance(value, dict):
        for key, item in value.items():
            if not isinstance(key, str):
                return f"has text keys, got {key!r}", ""
            if type(item) is not str and (problem := _non_canonical(item)):
                return problem[0], f".{key}{problem[1]}"
    elif isinstance(value, list | tuple):
        for position, item in enumerate(value):
            if type(item) is not str and (problem := _non_canonical(item)):
                return problem[0], f"[{position}]{problem[1]}"
    elif value is not None and not isinstance(value, str):
        kind = "floating point numbers" if isinstance(value, float) else f"{type(value).__name__} values"
        return f"holds no {kind}, got {value!r}", ""
    return None


EMPTY_ROOT = hashlib.sha256(b"").digest()


def leaf_hash(entry: bytes) -> bytes:
    """Hash of one entry; the prefix keeps leaves and inner nodes apart."""
    return hashlib.sha256(b"\x00" + entry).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


class MerkleTree:
    """All levels of a tree, computed once; paths are then a walk.

    An odd node at the end of a level moves up unchanged, which gives the same root as the recursive
    rule of the RFC (split at the largest power of two below the size).
    """

    def __init__(self, leaves: Sequence[bytes]) -> None:
        levels = [list(leaves)]
        while len(levels[-1]) > 1:
            below = levels[-1]
            above = [node_hash(below[i], below[i + 1]) for i in range(0, len(below) - 1, 2)]
            if len(below) % 2:
                above.append(below[-1])
            levels.append(above)
        self._levels = levels

    def __len__(self) -> int:
        return len(self._levels[0])

    @property
    def root(self) -> bytes:
        """The root over all leaves."""
        return self._levels[-1][0] if len(self) else EMPTY_ROOT

    def inclusion(self, index: int) -> list[bytes]:
        """The sibling hashes from leaf `index` up to the root."""
        if not 0 <= index < len(self):
            raise InputError(f"leaf {index} is not in a tree of {len(self)} leaves")
        path = []
        for level in self._levels[:-1]:
            sibling = index ^ 1
            if sibling < len(level):
                path.append(level[sibling])
            index >>= 1
        return path

    def consistency(self, size: int) -> list[bytes]:
        """The hashes that show the first `size` leaves are the start of this tree."""
        if not 0 < size <= len(self):
            raise InputError(f"an older tree has between 1 and {len(self)} leaves, got {size}")
        return _consistency(self._levels[0], size, whole=True)


def _consistency(leaves: Sequence[bytes], size: int, *, whole: bool) -> list[bytes]:
    if size == len(leaves):
        return [] if whole else [MerkleTree(leaves).root]
    split = 1 << (len(leaves) - 1).bit_length() - 1  # the largest power of two below the size
    if size <= split:
        return [*_consistency(leaves[:split], size, whole=whole), MerkleTree(leaves[split:]).root]
    return [*_consistency(leaves[split:], size - split, whole=False), MerkleTree(leaves[:split]).root]

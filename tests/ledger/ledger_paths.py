"""Paths through trees, checked by the program that outsiders get: no other one does."""

from anml.ledger.services.verify import verifier


def verify_inclusion(leaf: bytes, index: int, size: int, path: list[bytes], root: bytes) -> bool:
    """Does the path lead from this leaf, at this place, to this root of a tree of this size?"""
    try:
        return verifier().root_from(leaf, index, size, path) == root
    except verifier().No:
        return False


def verify_consistency(old_size: int, old_root: bytes, size: int, root: bytes, path: list[bytes]) -> bool:
    """Does the newer tree start with the older one?"""
    return verifier().grew((old_size, old_root), (size, root), path)

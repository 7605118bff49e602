"""Counts and lists as people write them."""

from collections.abc import Sequence


def pluralise(count: int, one: str, plural: str = "") -> str:
    """A number with its noun: 1 row, 2,000 rows, 0 classes."""
    return f"{count:,} {one if count == 1 else plural or f'{one}s'}"


def join_names(names: Sequence[str], limit: int = 5) -> str:
    """Names in one go; those beyond `most` are counted: ann, bob and 2 more."""
    shown = [*names] if len(names) <= limit else [*names[:limit], f"{len(names) - limit:,} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"

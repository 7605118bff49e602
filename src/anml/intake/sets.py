"""Labels that are sets written in a row, as `a;b`: the order in which somebody ticked them is no label."""

from collections.abc import Iterable

import polars as pl

SEPARATORS = (";", "|", ",")


def same_sets(texts: Iterable[str]) -> dict[str, str]:
    """Different texts of one set, and the one that stands for it; empty where all sets are written alike."""
    sets: dict[tuple[str, ...], list[str]] = {}
    for text in sorted(set(texts)):
        if (parts := _parts(text)) is not None:
            sets.setdefault(parts, []).append(text)
    alike = {text: parts[0].join(parts[1:]) for parts, same in sets.items() if len(same) > 1 for text in same}
    return {text: name for text, name in alike.items() if text != name}


def spelled_as(texts: Iterable[str], classes: Iterable[str]) -> dict[str, str]:
    """Texts that are the set of one of the classes in another order, and that class."""
    known = {_parts(name): name for name in classes}
    found = {text: known.get(_parts(text)) for text in sorted(set(texts)) if _parts(text) is not None}
    return {text: name for text, name in found.items() if name is not None and name != text}


def _parts(text: str) -> tuple[str, ...] | None:
    """The mark between the parts and the parts in order; None where there is one part only."""
    mark = next((each for each in SEPARATORS if each in text), None)
    return None if mark is None else (mark, *sorted({part.strip() for part in text.split(mark)}))


def one_order(frame: pl.DataFrame, label: str, known: str | None) -> tuple[pl.DataFrame, list[str]]:
    """Write each set in one order, among labels and where right ones are known; and say so."""
    if frame.schema[label] != pl.String:
        return frame, []
    found = same_sets(frame[label].drop_nulls())
    frame, notes = frame.with_columns(pl.col(label).replace(found)), []
    if found:
        text, name = next(iter(found.items()))
        notes = [f"labels that are the same set are one: {text!r} is taken as {name!r}"]
    if known is not None and frame.schema[known] == pl.String:
        spelled = spelled_as(frame[known].drop_nulls(), frame[label].drop_nulls().unique())
        frame = frame.with_columns(pl.col(known).replace(spelled))
    return frame, notes

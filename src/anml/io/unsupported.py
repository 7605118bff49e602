"""Answers that are more than one label, where they are read as labels: refused, so that nothing is lost."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import polars as pl

from anml.core.errors import UnsupportedError
from anml.io.columns import Columns
from anml.io.plain import as_text
from anml.io.roles import normalise_name

# Keys by which a tool says where, beside what.
POSITIONS = frozenset(
    ("start", "end", "startOffset", "endOffset", "x", "y", "width", "height", "radiusX", "points", "rle",
     "sequence", "ranges", "vertices", "rank")
)  # fmt: skip
# Columns that together are a position in a text or an image.
SPAN_COLUMNS = (("start", "end"), ("begin", "end"), ("startoffset", "endoffset"), ("xmin", "xmax"))
# Answers to a pair that choose neither.
TIE_WORDS = frozenset(("equal", "tie", "same", "both", "neither", "none", "draw"))
# Share of rows that repeat an item of a contributor, above which labels are of parts of items.
MAX_REPEAT_SHARE = 0.05


def reject_span_answers(value: Any, where: str = "") -> None:
    """Refuse an answer that says where as well as what: its positions would be dropped."""
    parts = value if isinstance(value, list) else [value]
    keys = sorted({key for part in parts if isinstance(part, Mapping) for key in POSITIONS & part.keys()})
    if keys:
        raise UnsupportedError(
            f"answers{where} have positions or ranks ({', '.join(keys)}), which one label for each "
            "item cannot hold; name a question without them as the label"
        )


def reject_structured_table(frame: pl.DataFrame, columns: Columns, ignore: Sequence[str] = ()) -> None:
    """Refuse a table of spans, boxes or pairs: its rows are not labels of whole items."""
    taken = {name for name in columns.to_dict().values() if isinstance(name, str)}
    free = [name for name in frame.columns if name not in taken and name not in ignore]
    by_name = {normalise_name(name): name for name in free}
    keys = [name for name in (columns.item, columns.contributor) if name is not None]
    places = next((pair for pair in SPAN_COLUMNS if set(pair) <= by_name.keys()), None)
    repeated = frame.height - frame.select(keys).n_unique() if places and columns.item is not None else 0
    if places and repeated > MAX_REPEAT_SHARE * frame.height:
        first, last = (by_name[name] for name in places)
        raise UnsupportedError(
            f"columns {first!r} and {last!r} look like places of spans or boxes, of which contributors "
            "have several in an item; name the task spans or boxes, or leave both out (--ignore)"
        )
    texts = set(as_text(frame[columns.label]).drop_nulls().unique())
    names = {normalise_name(text) for text in texts}
    sides = [name for name in free if normalise_name(name) in names]
    if len(sides) < 2 or names - {normalise_name(name) for name in sides} - TIE_WORDS:
        sides = _chosen_from(frame, columns.label, free, texts - TIE_WORDS)
    if len(sides) >= 2:
        raise UnsupportedError(
            f"column {columns.label!r} says which of {sides[0]!r} and {sides[1]!r} was chosen; name the task "
            "preference, or leave both out (--ignore) and name the pair as item to audit two classes"
        )


def _chosen_from(frame: pl.DataFrame, chosen: str, free: Sequence[str], names: set[str]) -> list[str]:
    """Two columns of names of which the label always is one."""
    written = [name for name in free if frame.schema[name] == pl.String]
    likely = [name for name in written if names & set(frame[name].drop_nulls().unique())]
    label = pl.col(chosen).cast(pl.String)
    rows = frame.filter(~label.is_in(list(TIE_WORDS)))
    for one, two in combinations(likely, 2):
        matches = rows.select(((label == pl.col(one)) != (label == pl.col(two))).fill_null(False).all())
        if rows.height and matches.item():
            return [one, two]
    return []

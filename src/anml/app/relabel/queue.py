"""From finding to fixing: one queue, for all surfaces, of items by how likely their label now is wrong.

It ends where an answer would mend fewer than one label in ten.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from anml.app.audit.runs import Run, read_run, read_verdicts
from anml.app.audit.values import as_texts
from anml.app.files import read_bytes
from anml.core.checks import whole
from anml.core.domain import PREFERENCE
from anml.core.errors import InputError
from anml.core.people.consensus import CLEAR
from anml.core.people.words import ACCUSED
from anml.core.queue import order
from anml.core.words import counted

if TYPE_CHECKING:
    from anml.app.audit.result import Audited

# What is said of each item to look at, beside its data.
COLUMNS = (
    "row", "item", "annotation_id", "contributor", "given", "suggested", "probability", "consensus",
    "p_correct", "gain", "reason",
)  # fmt: skip
# In samples: the right label of the item, where it is known.
ANSWER = "answer"
# Rows that are shown one by one.
MOST_SAMPLES = 20
_PARTS = ("from_model", "from_credentials", "from_contributor")


class Found(NamedTuple):
    """What of a run decides where to look: samples, items with several labels, verdicts, and doubt."""

    samples: pl.DataFrame
    items: pl.DataFrame | None
    verdicts: Mapping[str, str]
    doubtful: float | str | None
    data: Mapping[str, Any]
    shape: str | None = None
    kinds: Mapping[str, pl.DataType] = MappingProxyType({})


@dataclass(frozen=True)
class Looking:
    """Items to look at first; `gain` is what the whole queue mends, `expected` what is wrong in all."""

    rows: pl.DataFrame
    candidates: int
    gain: float
    expected: float
    units: int
    doubtful: float | str | None
    items: pl.DataFrame | None = None

    def sentence(self) -> str:
        """What the list is expected to mend, in one sentence."""
        if self.rows.is_empty():
            return f"No item has a label less than {CLEAR:.0%} sure that nobody has settled yet."
        count, gain = self.rows.height, float(self.rows["gain"].sum())
        of = "" if count == self.candidates else f" of {self.candidates:,} less than {CLEAR:.0%} sure"
        share = f", {gain / self.expected:.0%} of all that are expected" if self.expected > 0 else ""
        cost = float(self.rows["price"].sum()) if "price" in self.rows.columns else 0.0
        spent = f" They cost {cost:,.2f}, {cost / gain:,.2f} for each wrong label." if cost and gain else ""
        mend = f"about {gain:.0f} wrong label{'s' if round(gain) != 1 else ''} to mend"
        return f"{counted(count, 'item')} to look at{of}: {mend}{share}.{spent}"


def of_run(folder: Path, run: Run | None = None) -> Found:
    """Read what decides from the folder of a finished run, which may have been read already."""
    run = run or read_run(folder)
    items, path = None, folder / "items.parquet"
    if run.info.get("items") is not None:
        try:
            items = as_texts(pl.read_parquet(read_bytes(path, "table of items")), tuple(run.kinds))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise InputError(f"{path} is damaged or truncated; write the run again") from None
    for name in ("p_correct", "label", "row"):
        if name not in run.samples.columns:
            raise InputError(f"samples.parquet has no column {name!r}; write the run again")
    verdicts = read_verdicts(folder, run) or {}
    kind = (run.info.get("shape") or {}).get("kind")
    about = run.info.get("data") or {}
    return Found(run.samples, items, verdicts, run.info.get("doubtful"), about, kind, run.kinds)


def of_result(result: "Audited") -> Found:
    """The like of an audit in memory."""
    people = result.contributors
    known = "verdict" in people.columns
    verdicts = dict(people.select("contributor", "verdict").iter_rows()) if known else {}
    return Found(result.samples, result.items, verdicts, result.doubtful, result.data, result.kind)


def where_to_look(found: Found, top: int | None = None) -> Looking:
    """The first of the queue, with reasons; all of it without `top`."""
    if top is not None:
        whole("top", top, 1)
    unit = "item" if "item" in found.samples.columns else "row"
    # Items whose right label nobody has said yet; a rejected label is still to be mended.
    checks = {"known_right": pl.col("known_right").fill_null(False), ANSWER: pl.col(ANSWER).is_not_null()}
    told = [check for name, check in checks.items() if name in found.samples.columns]
    known = pl.any_horizontal(pl.lit(value=False), *told)
    frame = _with_consensus(found.samples.filter(~known.any().over(unit)), found.items)
    if found.shape == PREFERENCE:
        # A choice counts as right where it was made by looking; what is open is which of the two is better.
        frame = frame.with_columns(_p=pl.col("probability"))
    frame = frame.with_columns(gain=1 - pl.col("_p"))
    # The row that is least likely to be right stands for its item.
    frame = frame.sort("p_correct", "row").unique(unit, keep="first", maintain_order=True)
    expected = float(frame["gain"].sum())
    frame = frame.filter((pl.col("gain") > 1 - CLEAR) | pl.col("alone")).sort("row")
    # Most to gain first, and not all of one person's before anybody else's.
    person = frame["contributor"].rank("dense").to_numpy().astype(np.int64)
    frame = frame[order(frame["gain"].to_numpy(), person)]
    chosen = frame if top is None else frame.head(top)
    votes = _votes(found.samples, chosen) if found.items is not None else {}
    reasons = [_reason(row, found.verdicts, votes) for row in chosen.iter_rows(named=True)]
    chosen = chosen.with_columns(reason=pl.Series(reasons, dtype=pl.String), given=pl.col("label"))
    missing = [pl.lit(None, pl.String).alias(name) for name in COLUMNS if name not in chosen.columns]
    rows = chosen.with_columns(missing).select(COLUMNS)
    units = found.samples[unit].n_unique()
    gain = float(frame["gain"].sum())
    return Looking(rows, frame.height, gain, expected, units, found.doubtful, found.items)


def _with_consensus(frame: pl.DataFrame, items: pl.DataFrame | None) -> pl.DataFrame:
    """Add the consensus, what to put in place of the label, and the probability of the label as it is now."""
    frame = frame.with_columns(_p=pl.col("p_correct"), consensus=pl.lit(None, pl.String))
    if "suggested" not in frame.columns:
        frame = frame.with_columns(suggested=pl.col("predicted"), p_suggested=pl.lit(None, pl.Float64))
    frame = frame.rename({"p_suggested": "probability"})
    if items is None:
        return frame
    several = items.filter(pl.col("labels") > 1)
    p = pl.col("p") if "p" in several.columns else pl.lit(None, pl.Float64)
    joined = several.select("item", _consensus="consensus", _of_item=p)
    frame = frame.drop("consensus").join(joined, on="item", how="left", maintain_order="left")
    told = pl.col("_consensus").is_not_null()
    return frame.with_columns(
        _p=pl.coalesce("_of_item", "_p"),
        suggested=pl.when(told).then("_consensus").otherwise("suggested"),
        probability=pl.when(told).then("_of_item").otherwise("probability"),
    ).rename({"_consensus": "consensus"})


def _votes(samples: pl.DataFrame, chosen: pl.DataFrame) -> dict[str, str]:
    """How often each label was given to an item, where labels differ."""
    theirs = samples.filter(pl.col("item").is_in(chosen["item"].to_list()))
    counts = theirs.group_by("item", "label").agg(n=pl.len()).sort("n", "label", descending=[True, False])
    said = counts.group_by("item", maintain_order=True).agg(pl.format("{} × {}", "n", "label"))
    return {item: ", ".join(each[:5]) for item, each in said.iter_rows() if len(each) > 1}


def _reason(row: dict[str, Any], verdicts: Mapping[str, str], votes: Mapping[str, str]) -> str:
    said = []
    if row.get("item") in votes:
        said.append(f"its labels differ: {votes[row['item']]}")
    verdict = verdicts.get(row["contributor"])
    if row.get("known_right") is False:
        said.append("a reviewer rejected it")
    if verdict in ACCUSED:
        said.append(f"{row['contributor']} {verdict}")
    if row.get("alone"):
        said.append("nothing but its contributor speaks for it")
    parts = {part: row[part] for part in _PARTS if row.get(part) is not None and row[part] < 0}
    worst = min(parts, key=parts.__getitem__) if parts else ""
    if row["predicted"] not in (None, row["label"]) and (worst == "from_model" or not said):
        seen = row["predicted"]
        shown = f"{seen:.4g}" if isinstance(seen, float) else seen
        said.append(f"a model that did not see it says {shown}")
    if worst == "from_credentials":
        said.append("its credentials speak against it")
    if worst == "from_contributor" and verdict not in ACCUSED:
        said.append(f"labels by {row['contributor']} are often wrong")
    return "; ".join(said[:2]) or "little speaks for it"

"""The review queue: items sorted by the probability that their label is wrong.

Items with p >= 0.90 are excluded, since fewer than one review in ten would correct a label. The report, the
terminal and the file show the same queue.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import polars as pl

from anml.annotators.consensus import CLEAR_PROBABILITY
from anml.annotators.words import FLAGGED
from anml.core.checks import as_integer
from anml.core.errors import InputError
from anml.core.files import read_bytes
from anml.core.text import pluralise
from anml.core.types import PREFERENCE
from anml.pipeline.dtypes import to_text
from anml.pipeline.queue_order import order_by_gain
from anml.pipeline.read import Run, read_run, read_verdicts
from anml.pipeline.write import CONSENSUS_FILE

if TYPE_CHECKING:
    from anml.pipeline.result import AuditResult

# Columns of the queue; the data of the items are added.
COLUMNS = (
    "row", "item", "annotation_id", "contributor", "label", "suggested_label", "p_suggested_label",
    "consensus_label", "p_correct", "p_label_wrong", "reason",
)  # fmt: skip
# Column of samples with the true label of the item.
TRUE_LABEL = "true_label"
# Maximum number of rows in the report.
MAX_ROWS_SHOWN = 20
QUEUE_IS_EMPTY = f"The queue is empty: every label has p ≥ {CLEAR_PROBABILITY:.2f} or is confirmed."
_LOG_ODDS = ("logodds_model", "logodds_credentials", "logodds_contributor")


class QueueInput(NamedTuple):
    """Parts of a run that determine the queue; `items` is the table of consensus labels."""

    samples: pl.DataFrame
    items: pl.DataFrame | None
    verdicts: Mapping[str, str]
    disputed_share: float | None
    data: Mapping[str, Any]
    shape: str | None = None
    kinds: Mapping[str, pl.DataType] = MappingProxyType({})


@dataclass(frozen=True)
class ReviewQueue:
    """Items to review first.

    `gain`: expected number of wrong labels in the whole queue. `expected`: in all items without a true label.
    """

    rows: pl.DataFrame
    candidates: int
    gain: float
    expected: float
    units: int
    disputed_share: float | None
    items: pl.DataFrame | None = None

    def sentence(self) -> str:
        """The size of the queue and the expected number of wrong labels in it."""
        if self.rows.is_empty():
            return QUEUE_IS_EMPTY
        count, gain = self.rows.height, float(self.rows["p_label_wrong"].sum())
        below = f"{pluralise(self.candidates, 'item')} below {CLEAR_PROBABILITY:.0%} confidence"
        shown = below if count == self.candidates else f"{count:,} of the {below}"
        share = f" ({gain / self.expected:.0%} of the estimated total)" if self.expected > 0 else ""
        cost = float(self.rows["price"].sum()) if "price" in self.rows.columns else 0.0
        spent = f" Cost: {cost:,.2f}, or {cost / gain:,.2f} per wrong label." if cost and gain else ""
        wrong = f"about {pluralise(round(gain), 'wrong label is', 'wrong labels are')} expected"
        return f"{shown}; {wrong}{share}.{spent}"


def queue_input_from_run(folder: Path, run: Run | None = None) -> QueueInput:
    """The input of the queue from the folder of a run; `run` is its contents, if already read."""
    run = run or read_run(folder)
    items, path = None, folder / CONSENSUS_FILE
    if run.info.get("n_items") is not None:
        try:
            items = to_text(pl.read_parquet(read_bytes(path, "table of consensus labels")), tuple(run.kinds))
        except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
            raise InputError(f"{path} is damaged or truncated; write the run again") from None
    for name in ("p_correct", "label", "row"):
        if name not in run.samples.columns:
            raise InputError(f"samples.parquet has no column {name!r}; write the run again")
    verdicts = read_verdicts(folder, run) or {}
    about = {**(run.info.get("data") or {}), "named": run.info.get("schema_given") or {}}
    disputed = run.info.get("disputed_share")
    return QueueInput(run.samples, items, verdicts, disputed, about, run.kind, run.kinds)


def queue_input_from_result(result: "AuditResult") -> QueueInput:
    """The input of the queue from an audit in memory."""
    people = result.contributors
    has_verdicts = "verdict" in people.columns
    verdicts = dict(people.select("contributor", "verdict").iter_rows()) if has_verdicts else {}
    disputed = result.disputed_share
    return QueueInput(result.samples, result.consensus, verdicts, disputed, result.data, result.kind)


def build_queue(inputs: QueueInput, top: int | None = None) -> ReviewQueue:
    """The first `top` items of the queue with reasons; default: all items."""
    if top is not None:
        as_integer("top", top, 1)
    unit = "item" if "item" in inputs.samples.columns else "row"
    # Items without a true label; a rejected label still needs a correction.
    checks = {
        "label_is_correct": pl.col("label_is_correct").fill_null(False),
        TRUE_LABEL: pl.col(TRUE_LABEL).is_not_null(),
    }
    present = [check for name, check in checks.items() if name in inputs.samples.columns]
    is_reviewed = pl.any_horizontal(pl.lit(value=False), *present)
    frame = _with_consensus(inputs.samples.filter(~is_reviewed.any().over(unit)), inputs.items)
    if inputs.shape == PREFERENCE:
        # p_correct of a choice is that it is not random; the queue is about the better candidate.
        frame = frame.with_columns(_p=pl.col("p_suggested_label"))
    frame = frame.with_columns(p_label_wrong=1 - pl.col("_p"))
    # Each item is listed by its row with the lowest p_correct.
    frame = frame.sort("p_correct", "row").unique(unit, keep="first", maintain_order=True)
    expected = float(frame["p_label_wrong"].sum())
    is_unclear = pl.col("p_label_wrong") > 1 - CLEAR_PROBABILITY
    frame = frame.filter(is_unclear | pl.col("uncorroborated")).sort("row")
    person = frame["contributor"].rank("dense").to_numpy().astype(np.int64)
    frame = frame[order_by_gain(frame["p_label_wrong"].to_numpy(), person)]
    listed = frame if top is None else frame.head(top)
    votes = _votes(inputs.samples, listed) if inputs.items is not None else {}
    reasons = [_reason(row, inputs.verdicts, votes) for row in listed.iter_rows(named=True)]
    listed = listed.with_columns(reason=pl.Series(reasons, dtype=pl.String))
    missing = [pl.lit(None, pl.String).alias(name) for name in COLUMNS if name not in listed.columns]
    rows = listed.with_columns(missing).select(COLUMNS)
    units = inputs.samples[unit].n_unique()
    gain = float(frame["p_label_wrong"].sum())
    return ReviewQueue(rows, frame.height, gain, expected, units, inputs.disputed_share, inputs.items)


def _with_consensus(frame: pl.DataFrame, items: pl.DataFrame | None) -> pl.DataFrame:
    """Add the consensus label, the suggested label and the probability of the present label."""
    frame = frame.with_columns(_p=pl.col("p_correct"), consensus_label=pl.lit(None, pl.String))
    if "suggested_label" not in frame.columns:
        nothing = pl.lit(None, pl.Float64)
        frame = frame.with_columns(suggested_label=pl.col("predicted_label"), p_suggested_label=nothing)
    if items is None:
        return frame
    several = items.filter(pl.col("n_labels") > 1)
    p = pl.col("p_consensus") if "p_consensus" in several.columns else pl.lit(None, pl.Float64)
    joined = several.select("item", "consensus_label", _of_item=p)
    frame = frame.drop("consensus_label").join(joined, on="item", how="left", maintain_order="left")
    shared = pl.col("consensus_label").is_not_null()
    return frame.with_columns(
        _p=pl.coalesce("_of_item", "_p"),
        suggested_label=pl.when(shared).then("consensus_label").otherwise("suggested_label"),
        p_suggested_label=pl.when(shared).then("_of_item").otherwise("p_suggested_label"),
    )


def _votes(samples: pl.DataFrame, listed: pl.DataFrame) -> dict[str, str]:
    """Count the labels of each item whose labels differ."""
    labels = samples.filter(pl.col("item").is_in(listed["item"].to_list()))
    counts = labels.group_by("item", "label").agg(n=pl.len()).sort("n", "label", descending=[True, False])
    lists = counts.group_by("item", maintain_order=True).agg(pl.format("{} × {}", "n", "label"))
    return {item: ", ".join(each[:5]) for item, each in lists.iter_rows() if len(each) > 1}


def _reason(row: dict[str, Any], verdicts: Mapping[str, str], votes: Mapping[str, str]) -> str:
    reasons = []
    if row.get("item") in votes:
        reasons.append(f"labels of this item: {votes[row['item']]}")
    verdict = verdicts.get(row["contributor"])
    if row.get("label_is_correct") is False:
        reasons.append("rejected by a reviewer")
    if verdict in FLAGGED:
        reasons.append(f"{row['contributor']}: {verdict}")
    if row.get("uncorroborated"):
        reasons.append("supported only by the same contributor's other labels")
    parts = {source: row[source] for source in _LOG_ODDS if row.get(source) is not None and row[source] < 0}
    worst = min(parts, key=parts.__getitem__) if parts else ""
    if row["predicted_label"] not in (None, row["label"]) and (worst == "logodds_model" or not reasons):
        predicted = row["predicted_label"]
        shown = f"{predicted:.4g}" if isinstance(predicted, float) else predicted
        reasons.append(f"held-out prediction: {shown}")
    if worst == "logodds_credentials":
        reasons.append("low verification or reputation")
    if worst == "logodds_contributor" and verdict not in FLAGGED:
        reasons.append(f"low accuracy of {row['contributor']}")
    return "; ".join(reasons[:2]) or "low probability from all sources"

"""Tables of the report: frames to rows of text, with at most as many rows as a page can show."""

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from anml.app.audit.result import Audited
from anml.app.relabel.queue import Looking, of_result, where_to_look
from anml.core.people.words import CONTRADICTS, GUESSING, LESS, RELIABLE, UNSURE
from anml.core.stats import mean_interval, wilson
from anml.surfaces.accused import findings, open_reasons
from anml.surfaces.names import shortened

# Contributors on the page as it opens, and those that its search finds; contributors.csv has everybody.
MOST_LISTED, MOST_FOUND = 200, 5_000
MOST_SAMPLES = 20
MOST_CONFUSED = 8
NAME = 80
TEXT = 60
# Below this many rows a contributor is marked, whatever the floor for newcomers says.
FEW = 10

# Columns of credentials, and how a verdict is marked.
CREDENTIALS = {"v": "v", "r": "r", "t": "T"}
KINDS = {RELIABLE: "reliable", LESS: "less", UNSURE: "unsure", GUESSING: "accused", CONTRADICTS: "accused"}
# How far the number that was given lies from what a model that did not see it says.
RESIDUAL = pl.col("label") - pl.col("predicted")
DIFFERS = pl.col("given") != pl.col("predicted")

Row = dict[str, str]


@dataclass(frozen=True)
class Listing:
    """Rows of text, and how many more there are."""

    rows: list[Row]
    hidden: int = 0


def few_rows(result: Audited) -> int:
    """Up to how many rows a contributor counts as one of whom little is known."""
    return max(result.policy.cold_start.contributions, FEW)


def contributor_table(result: Audited) -> Listing:
    """One row per contributor, in the order of the frame: the accused first, the reliable last."""
    frame = result.contributors.head(MOST_FOUND)
    if frame.is_empty():
        return Listing([])
    errors: dict[str, float] = {}
    if result.task == "regression":
        far = result.samples.group_by("contributor").agg(RESIDUAL.abs().mean())
        errors = dict(far.iter_rows())
    said = findings(result) if result.doubtful is not None else {**findings(result), **open_reasons(result)}
    does = {name: found.short or found.one for name, found in said.items()}
    rows = [_contributor(row, result, errors, does) for row in frame.iter_rows(named=True)]
    return Listing(rows, result.contributors.height - frame.height)


def _contributor(row: dict[str, Any], result: Audited, errors: dict[str, float], does: dict[str, str]) -> Row:
    given = result.signals_given
    agreement = errors.get(row["contributor"]) if errors else row["agreement"]
    doubtful = result.doubtful is not None
    kappa = f"{row['reliability_low']:z.2f}–{row['reliability_high']:z.2f}"
    said = does.get(row["contributor"], "")
    if row.get("habits"):
        said = f"{said}; {row['habits']}" if said else row["habits"]
    return {
        "contributor": shortened(row["contributor"], NAME),
        "verdict": row["verdict"],
        "kind": KINDS[row["verdict"]],
        "does": "" if said.startswith(row["verdict"]) else said,
        "reliability": "–" if doubtful else f"{row['reliability']:z.2f}",
        "reliability_interval": "" if doubtful else kappa,
        "few": "few rows" if row["rows"] <= few_rows(result) else "",
        "rows": f"{row['rows']:,}",
        "kept": f"{row['kept'] / row['rows']:.0%}",
        "quality": f"{row['quality']:.2f}",
        "quality_interval": f"{row['quality_low']:.2f}–{row['quality_high']:.2f}",
        "bar": f"{100 * row['quality']:.0f}",
        **{name: f"{row[name]:.2f}" if name in given else "" for name in CREDENTIALS},
        "seconds": "–" if row.get("seconds") is None else f"{row['seconds']:.3g}",
        "row_share": f"{row['row_share']:.1%}",
        "weight_share": f"{row['weight_share']:.1%}",
        "agreement": "–" if agreement is None else f"{agreement:.3g}" if errors else f"{agreement:.0%}",
    }


def residual_table(result: Audited) -> Listing:
    """For numbers: how each contributor's labels lie around the held-out predictions, widest first."""
    far = RESIDUAL.abs()
    frame = (
        result.samples.group_by("contributor")
        .agg(pl.len(), absolute=far.mean(), wide=far.quantile(0.9), residuals=RESIDUAL)
        .sort("absolute", "contributor", descending=[True, False])
    )
    rows = []
    for name, count, absolute, wide, residuals in frame.head(MOST_CONFUSED).iter_rows():
        mean, low, high = mean_interval(np.array(residuals))
        between = f"{_signed(low)} to {_signed(high)}" if np.isfinite(low) else "one row only"
        row = {"contributor": shortened(name, NAME), "rows": f"{count:,}", "bias": _signed(mean)}
        row |= {"bias_interval": between, "absolute": f"{absolute:.3g}", "wide": f"{wide:.3g}"}
        rows.append(row)
    return Listing(rows, frame.height - len(rows))


def _signed(value: float) -> str:
    return f"{value:+.3g}".replace("-", "−")


def most_confused(result: Audited) -> pl.DataFrame:
    """Contributors by the lower end of how far they disagree with predictions: newcomers do not lead."""
    frame = (
        result.confusion.group_by("contributor")
        .agg(total=pl.col("rows").sum(), wrong=pl.col("rows").filter(DIFFERS).sum())
        .filter(pl.col("wrong") > 0)
    )
    if frame.is_empty():
        return frame
    low, _ = wilson((frame["wrong"] / frame["total"]).to_numpy(), frame["total"].to_numpy())
    ranked = frame.with_columns(surely=pl.Series(low))
    return ranked.sort("surely", "contributor", descending=[True, False])


def confusion_table(result: Audited, ranked: pl.DataFrame) -> Listing:
    """For classes: what the contributors who disagree most write where the model sees something else."""
    rows = []
    for row in ranked.head(MOST_CONFUSED).iter_rows(named=True):
        cells = result.confusion.filter((pl.col("contributor") == row["contributor"]) & DIFFERS)
        top = cells.sort("rows", "given", "predicted", descending=[True, False, False]).head(3)
        most = [
            f"{shortened(given, 24)} for {shortened(predicted, 24)} ×{count:,}"
            for given, predicted, count in top.select("given", "predicted", "rows").iter_rows()
        ]
        wrong, total = row["wrong"], row["total"]
        made = {"contributor": shortened(row["contributor"], NAME), "top": "\n".join(most)}
        rows.append(made | {"disagrees": f"{wrong:,} of {total:,}", "share": f"{wrong / total:.0%}"})
    return Listing(rows, ranked.height - len(rows))


def confusion_matrix(result: Audited, contributor: str) -> Any:
    """Rows by label given and held-out prediction, in the order of the classes."""
    places = {name: place for place, name in enumerate(result.classes)}
    matrix = np.zeros((len(places), len(places)), dtype=np.int64)
    cells = result.confusion.filter(pl.col("contributor") == contributor)
    for given, predicted, rows in cells.select("given", "predicted", "rows").iter_rows():
        matrix[places[given], places[predicted]] = rows
    return matrix


def queue(result: Audited) -> Looking:
    """What to look at first: the list that `anml relabel` writes."""
    return where_to_look(of_result(result))


def sample_table(result: Audited) -> Listing:
    """List the rows to look at first, with what to put in place of their labels."""
    first, seen = queue(result), result.pictures or {}
    pictures = {row: f"data:image/png;base64,{b64encode(png).decode()}" for row, png in seen.items()}
    rows = [
        {
            "row": f"{row['row']}",
            "item": shortened(str(row["item"] or ""), TEXT),
            "contributor": shortened(row["contributor"], NAME),
            "label": _value(row["given"]),
            "suggested": _value(row["suggested"] or "–"),
            "p_suggested": "–" if row["probability"] is None else chance(row["probability"]),
            "p_correct": "<0.001" if row["p_correct"] < 0.001 else f"{row['p_correct']:.3f}",
            "reason": shortened(row["reason"], NAME),
            "picture": pictures.get(row["row"], ""),
            "excerpt": (result.excerpts or {}).get(row["row"], ""),
        }
        for row in first.rows.head(MOST_SAMPLES).iter_rows(named=True)
    ]
    return Listing(rows, first.candidates - len(rows))


def first_rows(result: Audited) -> list[int]:
    """The rows that are listed one by one."""
    return [int(row) for row in queue(result).rows["row"].head(MOST_SAMPLES)]


def item_table(result: Audited) -> Listing:
    """Items with several labels, the least clear first."""
    if result.items is None:
        return Listing([])
    rows = [
        {
            "item": shortened(str(row["item"]), TEXT),
            "labels": f"{row['labels']:,}",
            "consensus": _value(row["consensus"]),
            "p": f"{row['deviation']:.3g}" if "deviation" in row else chance(row["p"]),
            "agree": "" if "deviation" in row else f"{row['agree']:.0%}",
        }
        for row in result.items.head(MOST_SAMPLES).iter_rows(named=True)
    ]
    return Listing(rows, result.items.height - len(rows))


def chance(p: float) -> str:
    """A probability in per cent that never claims to be certain."""
    return ">99%" if p > 0.99 else "<1%" if p < 0.01 else f"{p:.0%}"


def _value(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else shortened(str(value), TEXT)

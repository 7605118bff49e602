"""Tables of the report: frames to rows of text, with at most as many rows as a page can show."""

from base64 import b64encode
from typing import Any

import numpy as np
import polars as pl

from anml.app.audit.result import Audited
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


# Rows of text, and how many more there are.
Listing = dict[str, Any]


def few_rows(result: Audited) -> int:
    """Up to how many rows a contributor counts as one of whom little is known."""
    return max(result.policy.cold_start.contributions, FEW)


def contributor_table(result: Audited) -> Listing:
    """One row per contributor, in the order of the frame: the accused first, the reliable last."""
    frame = result.contributors.head(MOST_FOUND)
    if frame.is_empty():
        return {"rows": [], "hidden": 0}
    errors: dict[str, float] = {}
    if result.task == "regression":
        far = result.samples.group_by("contributor").agg(RESIDUAL.abs().mean())
        errors = dict(far.iter_rows())
    said = findings(result) if result.doubtful is not None else {**findings(result), **open_reasons(result)}
    does = {name: found.short or found.one for name, found in said.items()}
    few, rows = few_rows(result), []
    for row in frame.iter_rows(named=True):
        name, verdict = row["contributor"], row["verdict"]
        what = "; ".join(filter(None, (does.get(name), row.get("habits"))))
        row |= {"kind": KINDS[verdict], "few": row["rows"] <= few}
        row["does"] = "" if what.startswith(verdict) else what
        row["agreement"] = errors.get(name) if errors else row["agreement"]
        rows.append(row)
    return {"rows": rows, "hidden": result.contributors.height - frame.height}


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
    return {"rows": rows, "hidden": frame.height - len(rows)}


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
    return {"rows": rows, "hidden": ranked.height - len(rows)}


def confusion_matrix(result: Audited, contributor: str) -> Any:
    """Rows by label given and held-out prediction, in the order of the classes."""
    places = {name: place for place, name in enumerate(result.classes)}
    matrix = np.zeros((len(places), len(places)), dtype=np.int64)
    cells = result.confusion.filter(pl.col("contributor") == contributor)
    for given, predicted, rows in cells.select("given", "predicted", "rows").iter_rows():
        matrix[places[given], places[predicted]] = rows
    return matrix


def sample_table(result: Audited) -> Listing:
    """List the rows to look at first, with what to put in place of their labels."""
    rows, seen = result.queue.rows.head(MOST_SAMPLES).to_dicts(), result.pictures or {}
    pictures = {row: f"data:image/png;base64,{b64encode(png).decode()}" for row, png in seen.items()}
    more = {"pictures": pictures, "excerpts": result.excerpts or {}}
    return {"rows": rows, "hidden": result.queue.candidates - len(rows), **more}


def chance(p: float) -> str:
    """A probability in per cent that never claims to be certain."""
    return ">99%" if p > 0.99 else "<1%" if p < 0.01 else f"{p:.0%}"


def shown_value(value: Any) -> str:
    """A label or a number, as far as there is room for it."""
    return f"{value:.4g}" if isinstance(value, float) else shortened(str(value), TEXT)

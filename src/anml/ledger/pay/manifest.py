"""The frozen weight manifest, from which anybody can repeat each amount: whole numbers in a hashed file."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import polars as pl

from anml.annotators.words import VERDICTS
from anml.core.canonical import sha256
from anml.core.errors import InputError
from anml.core.types import SIGNALS
from anml.pipeline.read import Run
from anml.settlement.allocate import ROW_WEIGHTS, UNIT, PayoutRules, row_weights
from anml.settlement.manifest import FORMAT, add_totals, row_hashes

# Upper ends of the bands shown on a statement.
SIGNAL_BANDS: dict[str, dict[str, float]] = {
    "v": {"flagged": 0.15, "self-attested": 0.45, "institution": 0.675, "reviewed": 0.775,
          "peer-reviewed": 0.885, "reproduced": 1.0},
    "r": {"poor": 0.3, "new": 0.5, "rising": 0.7, "established": 0.9, "top": 1.0},
    "t": {"stale": 0.25, "ageing": 0.75, "fresh": 1.0},
}  # fmt: skip


def default_weight(run: Run) -> str:
    """p_correct where the run estimated it by the evidence recipe, else the product of the signals."""
    known = "p_correct" in run.samples.columns and not run.samples["p_correct"].null_count()
    return "p_correct" if run.combine == "evidence" and known else "product"


def build_manifest(
    run: Run, rules: PayoutRules, pool: int, currency: str, pids: Mapping[str, str], newcomers: set[str],
    multipliers: Mapping[str, int] | None = None, rate: int = 0,
    judged: Mapping[str, dict[str, Any]] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The manifest of a settlement, with contributors under the identifiers in `pids`.

    With a `rate`, in micro-units for each label that counts, the pool is what they come to. What the run
    found of each contributor by name, `judged`, goes into their lines, and so do its verdicts; neither
    changes what a row earns, so rows earn the same in one account as in many.
    """
    lines = _lines(run, rules, pids)
    own: dict[str, list[dict[str, Any]]] = {}
    for name, found in sorted((judged or {}).items()):
        own.setdefault(pids[name], []).append(found)
    for line in lines:
        line["newcomer"] = line["pid"] in newcomers
        line["multiplier"] = UNIT if multipliers is None else multipliers.get(line["pid"], 0)
        line |= {"judged": own[line["pid"]]} if line["pid"] in own else {}
    about = {"samples_sha256": run.sha256, "record_sha256": run.record, **rows_digest(run, pids)}
    about |= {"rows": run.samples.height, "kept": sum(line["kept"] for line in lines)}
    made = {
        "format": FORMAT,
        "run": about,
        "rules": asdict(rules),
        "unit": UNIT,
        "pool": rate * sum(line["counted"] for line in lines) if rate else pool,
        "rate": rate,
        "currency": currency,
        "contributors": lines,
    }
    return add_totals(made)


def row_keys(run: Run) -> pl.Series:
    """Identify each row by its item, or its position without items, and its label."""
    frame, text = run.samples, pl.String
    place = next((name for name in ("item", "row") if name in frame.columns), None)
    own = frame[place].cast(text).fill_null("") if place else pl.Series([""] * frame.height, dtype=text)
    label = frame["label"].cast(text).fill_null("") if "label" in frame.columns else own
    return (own + "\x00" + label).alias("name")


def rows_digest(run: Run, pids: Mapping[str, str]) -> dict[str, Any]:
    """Hashes for the rows of a run, whatever their order, their file or the figures beside them."""
    who = run.samples["contributor"].cast(pl.String).replace_strict(pids, return_dtype=pl.String)
    work = row_keys(run)
    rows = who + "\x00" + work
    return row_hashes(rows.unique().sort().to_list(), work.unique().sort().to_list())


def _verdict(run: Run) -> pl.Series:
    """Return the verdict of the contributor of each row."""
    who = run.samples["contributor"].cast(pl.String)
    return who.replace_strict(run.verdicts or {}, default="", return_dtype=pl.String).alias("verdict")


def _lines(run: Run, rules: PayoutRules, pids: Mapping[str, str]) -> list[dict[str, Any]]:
    """One line for each contributor, sorted, so that the order of rows leaves no trace."""
    frame = _with_units(run, rules, pids)
    bands = [
        pl.col(name).is_between(low, high, closed="right").sum().alias(f"{name}/{label}")
        for name, ends in SIGNAL_BANDS.items()
        for (label, high), low in zip(ends.items(), (-1.0, *ends.values()), strict=False)
    ]
    lines = frame.group_by("pid").agg(
        pl.len().alias("rows"),
        pl.col("kept").sum(),
        pl.col("r").filter(pl.col("kept")).mean().fill_null(0.0).alias("r_mean"),
        *((pl.col("verdict") == name).sum().alias(f"verdict/{name}") for name in VERDICTS),
        *bands,
    )
    return [
        _manifest_entry(row)
        for row in lines.join(_sum_per_item(frame), on="pid").sort("pid").iter_rows(named=True)
    ]


def _manifest_entry(row: dict[str, Any]) -> dict[str, Any]:
    """Return the manifest entry of a contributor, with counts by verdict if the run has verdicts."""
    found = {name: row[f"verdict/{name}"] for name in VERDICTS if row[f"verdict/{name}"]}
    return {
        **{name: row[name] for name in ("pid", "rows", "kept", "counted")},
        "units": row["high"] * 10**6 + row["low"],
        "units_sha256": sha256(row["listed"].encode()),
        "r": round(row["r_mean"] * UNIT),
        "bands": {
            name: {label: row[f"{name}/{label}"] for label in ends} for name, ends in SIGNAL_BANDS.items()
        },
        **({"verdicts": found} if found else {}),
    }


def _with_units(run: Run, rules: PayoutRules, pids: Mapping[str, str]) -> pl.DataFrame:
    """The columns that matter; signals that the run did not have count as 1."""
    samples = run.samples
    needed = {*ROW_WEIGHTS[rules.weight][0], *SIGNAL_BANDS} - {"kept"}
    missing = [name for name in needed - set(SIGNALS) if name not in samples.columns]
    if missing or ("q" in needed and "q" not in samples.columns):
        raise InputError(f"settling by {rules.weight} needs the column {(missing or ['q'])[0]!r} in the run")
    for name in sorted(needed & set(samples.columns)):
        if gaps := samples.filter("kept")[name].null_count():
            raise InputError(f"{name} is missing in {gaps} kept rows of the run; nobody is paid on a guess")
    ones = [pl.lit(1.0).alias(name) for name in needed - set(samples.columns)]
    given = [pl.col(name).cast(pl.Float64).fill_null(1.0) for name in needed & set(samples.columns)]
    item = pl.col("item").cast(pl.String) if "item" in samples.columns else pl.lit(None, pl.String)
    who = pl.col("contributor").cast(pl.String).replace_strict(pids, return_dtype=pl.String).alias("pid")
    frame = samples.select(who, item.alias("item"), pl.col("kept").cast(pl.Boolean), *ones, *given)
    columns = {name: frame[name].to_numpy() for name in (*needed, "kept")}
    return frame.with_columns(_verdict(run), pl.Series("units", row_weights(rules.weight, columns)))


def _sum_per_item(frame: pl.DataFrame) -> pl.DataFrame:
    """Units by contributor, rows about one item as one; millions and units are summed apart, to be exact."""
    paid = frame.filter(pl.col("kept")).select("pid", "item", "units")
    alone = paid.filter(pl.col("item").is_null()).select("pid", "units")
    shared = paid.filter(pl.col("item").is_not_null()).group_by("pid", "item")
    together = shared.agg(pl.col("units").sum() // pl.len()).select("pid", pl.col("units").cast(pl.Int64))
    rows = pl.concat([alone, together]).sort("pid", "units")
    sums = rows.group_by("pid").agg(
        pl.len().alias("counted"),
        (pl.col("units") // 10**6).sum().alias("high"),
        (pl.col("units") % 10**6).sum().alias("low"),
        pl.col("units").cast(pl.String).str.join("\n").alias("listed"),
    )
    whole = frame.select("pid").unique().join(sums, on="pid", how="left")
    return whole.with_columns(pl.col("counted", "high", "low").fill_null(0), pl.col("listed").fill_null(""))

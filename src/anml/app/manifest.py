"""The frozen weight manifest: all that a settlement rests on, as whole numbers, in one hashed file.

Whoever has the manifest can repeat every amount without our code, our database or our machine.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.app.files import read_bytes, read_text
from anml.app.spreadsheets import safe_for_spreadsheets
from anml.core.canonical import canonical, sha256
from anml.core.errors import InputError, IntegrityError
from anml.core.settle import ROW_WEIGHTS, UNIT, Claim, Rules, allocate, row_units, shares

FORMAT = "anml-manifest/1"
LEARNED = ("r_learned_good", "r_learned_bad")

# Upper ends of the bands shown on a statement; contributors see bands, never the figures themselves.
BANDS: dict[str, tuple[tuple[str, float], ...]] = {
    "v": (
        ("flagged", 0.15),
        ("self-attested", 0.45),
        ("institution", 0.675),
        ("reviewed", 0.775),
        ("peer-reviewed", 0.885),
        ("reproduced", 1.0),
    ),
    "r": (("poor", 0.3), ("new", 0.5), ("rising", 0.7), ("established", 0.9), ("top", 1.0)),
    "t": (("stale", 0.25), ("ageing", 0.75), ("fresh", 1.0)),
}
_SIGNALS = ("q", "v", "r", "t")


class Run(NamedTuple):
    """A finished run: its samples, what it says about itself, and the hash of the samples file."""

    samples: pl.DataFrame
    info: dict[str, Any]
    sha256: str


def read_run(folder: Path) -> Run:
    """Read the folder that `anml audit` or `anml train` wrote."""
    file, about = folder / "samples.parquet", folder / "run.json"
    for path in (file, about):
        if not path.is_file():
            raise InputError(f"{folder} is not a run folder: it has no {path.name}")
    data = read_bytes(file, "run's table")
    try:
        samples = pl.read_parquet(data)
    except pl.exceptions.PolarsError:
        raise InputError(f"{file} is damaged or truncated; write the run again") from None
    for name in ("contributor", "kept"):
        if name not in samples.columns:
            raise InputError(f"samples.parquet has no column {name!r}")
    _check_kinds(samples)
    if samples.is_empty():
        raise InputError("samples.parquet has no rows; there is nothing to settle")
    if samples["contributor"].null_count():
        raise InputError(f"contributor is missing in {samples['contributor'].null_count()} rows of the run")
    info = _read_info(about)
    check_unchanged(file, data, info)
    return Run(samples, info, sha256(data))


def check_unchanged(path: Path, data: bytes, info: Mapping[str, Any]) -> None:
    """Refuse a file that is not the one the run wrote; a run that keeps no hashes is taken as it is."""
    wanted = _hashes(info).get(path.name)
    if wanted is not None and wanted != sha256(data):
        raise IntegrityError(f"{path} was changed after the run was written; write the run again")


def _hashes(info: Mapping[str, Any]) -> dict[str, Any]:
    files = info.get("files")
    return files if isinstance(files, dict) else {}


def _check_kinds(samples: pl.DataFrame) -> None:
    """Say which column does not hold what the arithmetic needs."""
    kinds = {name: pl.selectors.numeric() for name in (*_SIGNALS, "p_clean", "weight", "confidence")}
    kinds |= {"kept": pl.selectors.boolean(), "contributor": ~pl.selectors.nested()}
    for name, kind in kinds.items():
        if name in samples.columns and not pl.selectors.expand_selector(samples.select(name), kind):
            raise InputError(f"column {name!r} of samples.parquet cannot hold {samples.schema[name]}")


def _read_info(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_text(path, "run's record"))
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("recipe") or {}, dict):
        raise InputError(f"{path} is not the record of a run: an object with a recipe was expected")
    return found


def read_learned(folder: Path, run: Run) -> pl.DataFrame | None:
    """Reputation learned in a run, from its `contributors.csv`: contributor, good, bad.

    None where the run has none. Names are those of the samples: in the file some have a quote before them.
    """
    path = folder / "contributors.csv"
    if not path.is_file() and path.name not in _hashes(run.info):
        return None
    samples, data = run.samples, read_bytes(path, "table of contributors")
    check_unchanged(path, data, run.info)
    try:
        table = pl.read_csv(data, schema_overrides={"contributor": pl.String}, infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path} is not a table of contributors: {reason}") from None
    if not {"contributor", *LEARNED} <= set(table.columns):
        return None
    known = samples.group_by(pl.col("contributor").cast(pl.String)).agg(pl.len().alias("rows"))
    written = safe_for_spreadsheets(known.select(written="contributor"))["written"]
    good, bad = (pl.col(name).cast(pl.Float64, strict=False) for name in LEARNED)
    found = known.with_columns(written).join(
        table.select(written="contributor", good=good, bad=bad), on="written", how="full", coalesce=True
    )
    # Evidence of more labels than there are, or of nobody's, is not what the run wrote.
    counts = [pl.col(name).is_finite() & (pl.col(name) >= 0) for name in ("good", "bad")]
    fits = pl.all_horizontal(*counts, pl.col("good") + pl.col("bad") <= pl.col("rows") * (1 + 1e-6))
    wrong = found.filter(~fits.fill_null(False))
    if found.height != known.height or wrong.height:
        who = wrong["written"][0] if wrong.height else found["written"][0]
        raise InputError(f"{path} does not fit the samples of the run: see contributor {who!r}")
    return found.select("contributor", "good", "bad")


def default_weight(run: Run) -> str:
    """P(clean) where the run estimated it by the evidence recipe, else the product of the signals."""
    combine = (run.info.get("recipe") or {}).get("combine")
    known = "p_clean" in run.samples.columns and not run.samples["p_clean"].null_count()
    return "p_clean" if combine == "evidence" and known else "product"


def build(
    run: Run,
    rules: Rules,
    pool: int,
    currency: str,
    pids: Mapping[str, str],
    newcomers: set[str],
    multipliers: Mapping[str, int] | None = None,
) -> dict[str, Any]:
    """The manifest of a settlement, with contributors under the identifiers in `pids`."""
    lines = _lines(run, rules, pids)
    for line in lines:
        line["newcomer"] = line["pid"] in newcomers
        line["multiplier"] = UNIT if multipliers is None else multipliers.get(line["pid"], 0)
    return {
        "format": FORMAT,
        "run": {
            "samples_sha256": run.sha256,
            "rows": run.samples.height,
            "kept": sum(e["kept"] for e in lines),
        },
        "rules": rules.to_dict(),
        "unit": UNIT,
        "pool": pool,
        "currency": currency,
        "contributors": lines,
    }


def read(data: bytes) -> dict[str, Any]:
    """Read a manifest and check that it is one."""
    found: dict[str, Any] = json.loads(data)
    if found.get("format") != FORMAT or canonical(found) != data:
        raise InputError(f"this is not a canonical {FORMAT}")
    return found


def amounts(manifest: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Micro-units and share (in parts of `UNIT`, rounded down) of each contributor."""
    rules = Rules(**manifest["rules"])
    claims = {
        line["pid"]: Claim(line["units"], line["counted"], line["newcomer"], line["multiplier"])
        for line in manifest["contributors"]
    }
    exact = shares(claims, rules)
    given = allocate(manifest["pool"], exact)
    return {pid: (given[pid], share.numerator * UNIT // share.denominator) for pid, share in exact.items()}


def _lines(run: Run, rules: Rules, pids: Mapping[str, str]) -> list[dict[str, Any]]:
    """One line for each contributor, sorted, so that the order of rows leaves no trace."""
    frame = _with_units(run.samples, rules, pids)
    bands = [
        ((pl.col(name) > low) & (pl.col(name) <= high)).sum().alias(f"{name}/{label}")
        for name in BANDS
        for label, low, high in _edges(name)
    ]
    lines = (
        frame.group_by("pid")
        .agg(
            pl.len().alias("rows"),
            pl.col("kept").sum(),
            pl.col("r").filter(pl.col("kept")).mean().fill_null(0.0).alias("r_mean"),
            *bands,
        )
        .join(_counted(frame), on="pid")
        .sort("pid")
    )
    return [_line(row) for row in lines.iter_rows(named=True)]


def _line(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "pid": row["pid"],
        "rows": row["rows"],
        "kept": row["kept"],
        "counted": row["counted"],
        "units": row["high"] * 10**6 + row["low"],
        "units_sha256": sha256(row["listed"].encode()),
        "r": round(row["r_mean"] * UNIT),
        "bands": {name: {label: row[f"{name}/{label}"] for label, *_ in _edges(name)} for name in BANDS},
    }


def _with_units(samples: pl.DataFrame, rules: Rules, pids: Mapping[str, str]) -> pl.DataFrame:
    """The columns that matter, with signals that the run did not have counting as 1."""
    needed = {*ROW_WEIGHTS[rules.weight][0], *BANDS} - {"kept"}
    missing = [name for name in needed - set(_SIGNALS) if name not in samples.columns]
    if missing or ("q" in needed and "q" not in samples.columns):
        raise InputError(f"settling by {rules.weight} needs the column {(missing or ['q'])[0]!r} in the run")
    signals = [
        pl.col(name).cast(pl.Float64).fill_null(1.0) if name in samples.columns else pl.lit(1.0).alias(name)
        for name in sorted(needed)
    ]
    item = pl.col("item").cast(pl.String) if "item" in samples.columns else pl.lit(None, pl.String)
    who = pl.col("contributor").cast(pl.String).replace_strict(pids, return_dtype=pl.String)
    frame = samples.select(who.alias("pid"), item.alias("item"), pl.col("kept").cast(pl.Boolean), *signals)
    columns = {name: frame[name].to_numpy() for name in needed} | {"kept": frame["kept"].to_numpy()}
    return frame.with_columns(pl.Series("units", row_units(rules.weight, columns)))


def _counted(frame: pl.DataFrame) -> pl.DataFrame:
    """Units by contributor, with several kept rows of one contributor about one item counting as one.

    Sums run over millions and units separately: both stay far inside 64 bits, so they are exact.
    """
    kept = frame.filter(pl.col("kept")).select("pid", "item", "units")
    alone = kept.filter(pl.col("item").is_null()).select("pid", "units")
    shared = kept.filter(pl.col("item").is_not_null()).group_by("pid", "item")
    together = shared.agg(pl.col("units").sum() // pl.len()).select("pid", pl.col("units").cast(pl.Int64))
    rows = pl.concat([alone, together]).sort("pid", "units")
    sums = rows.group_by("pid").agg(
        pl.len().alias("counted"),
        (pl.col("units") // 10**6).sum().alias("high"),
        (pl.col("units") % 10**6).sum().alias("low"),
        pl.col("units").cast(pl.String).str.join("\n").alias("listed"),
    )
    everyone = frame.select("pid").unique()
    return everyone.join(sums, on="pid", how="left").with_columns(
        pl.col("counted", "high", "low").fill_null(0), pl.col("listed").fill_null("")
    )


def _edges(name: str) -> list[tuple[str, float, float]]:
    lows = (-1.0, *(high for _, high in BANDS[name][:-1]))
    return [(label, low, high) for (label, high), low in zip(BANDS[name], lows, strict=True)]

"""Judges of a run beside people: kappa with its interval, and the labels that would decide about a judge."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from anml.annotators.agreement import (
    DRAWS,
    effective_number,
    kappa_draws,
    labels_to_decide,
    pair_counts,
    pair_counts_within,
)
from anml.core.checks import Floats, Ints, as_codes
from anml.core.errors import InputError, UnsupportedError
from anml.core.types import ORDINAL
from anml.io.plain import as_text
from anml.pipeline.read import read_run

COLUMNS = ("judge", "n_labels", "agreement", "kappa", "kappa_low", "kappa_high", "decision", "more_labels")
USABLE, NOT_USABLE, UNDECIDED = "usable", "not usable", "undecided"


class JudgeReport(NamedTuple):
    """Judges by kappa, that of people among each other (None without shared items), and independent judges.

    `judges` has `judge`, `n_labels` (on items with a label by people), `agreement`, `kappa`, `kappa_low`,
    `kappa_high`, `decision` and `more_labels`.
    """

    judges: pl.DataFrame
    people_kappa: tuple[float, float, float] | None
    people_items: int
    independent: float


def compare_judges(folder: Path, people: Sequence[str], limit: float, seed: int = 0) -> JudgeReport:
    """Compare the other contributors of a run with people, whose labels are the reference."""
    run = read_run(folder)
    if run.task == "regression":
        raise UnsupportedError("judges are compared by classes, grades or preferences, not by numbers")
    if "item" not in run.samples.columns:
        raise InputError("the run has no column of items, so no item has labels of people and judges")
    given = run.samples.select("item", "contributor", label=as_text(run.samples["label"]))
    # One label of each contributor for each item: the last.
    given = given.unique(["item", "contributor"], keep="last", maintain_order=True)
    _check_people(set(given["contributor"]), people)
    ordered = run.kind == ORDINAL
    code = {name: at for at, name in enumerate(_classes(given["label"].unique().to_list(), ordered))}
    label = given["label"].replace_strict(code, return_dtype=pl.Int64).to_numpy()
    item = as_codes("item", given["item"].to_numpy(), given.height)[0]
    is_person = given["contributor"].is_in(list(people)).to_numpy()
    counts = np.zeros((int(item.max()) + 1, len(code)))
    np.add.at(counts, (item[is_person], label[is_person]), 1.0)
    # Only items with a label of people count; each has weight 1.
    compared = ~is_person & (counts.sum(axis=1)[item] > 0)
    if not compared.any():
        raise InputError("no judge labelled an item that one of these people labelled")
    names = given["contributor"].to_numpy()
    rows = {str(name): (item[own], label[own]) for name in np.unique(names[compared])
            if len(own := np.flatnonzero(compared & (names == name)))}  # fmt: skip
    return _report(rows, counts, _disagreement(len(code), ordered), limit, np.random.default_rng(seed))


def _check_people(names: set[str], people: Sequence[str]) -> None:
    if unknown := [name for name in people if name not in names]:
        raise InputError(f"no contributor of the run is called {unknown[0]!r}")
    if not 0 < len(set(people)) < len(names):
        raise InputError("name at least one contributor who is a person, and leave at least one judge")


def _report(
    rows: dict[str, tuple[Ints, Ints]], counts: Floats, distance: Floats, limit: float,
    rng: np.random.Generator,
) -> JudgeReport:  # fmt: skip
    """Return the report on items and labels by judge; `counts` are labels of people by item and class."""
    shares = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    made, errors = [], np.full((len(counts), len(rows)), np.nan)
    for at, (name, (items, labels)) in enumerate(rows.items()):
        draws = kappa_draws(pair_counts(labels, shares[items]), distance, rng, _draws(len(distance)))
        low, high = (float(end) for end in np.quantile(draws, (0.025, 0.975)))
        decision = USABLE if low >= limit else NOT_USABLE if high < limit else UNDECIDED
        right = shares[items, labels]
        made.append((name, len(items), float(right.mean()), float(draws.mean()), low, high, decision,
                     labels_to_decide(draws, len(items), limit)))  # fmt: skip
        errors[items, at] = 1 - right
    table = pl.DataFrame(made, schema=list(COLUMNS), orient="row")
    table = table.sort("kappa", "judge", descending=[True, False])
    several, among = counts[counts.sum(axis=1) > 1], None
    if len(several):
        draws = kappa_draws(pair_counts_within(several), distance, rng, _draws(len(distance)))
        low, high = (float(end) for end in np.quantile(draws, (0.025, 0.975)))
        among = float(draws.mean()), low, high
    known = errors[~np.isnan(errors).all(axis=1)]
    return JudgeReport(table, among, len(several), effective_number(known))


def _draws(classes: int) -> int:
    # At most 20 million numbers at once.
    return int(np.clip(20_000_000 // classes**2, 200, DRAWS))


def _classes(names: list[str], ordered: bool) -> list[str]:
    try:
        return sorted(names, key=float) if ordered else sorted(names)
    except ValueError:
        return sorted(names)


def _disagreement(classes: int, ordered: bool) -> Floats:
    at = np.arange(classes)
    return np.abs(at[:, None] - at) / max(classes - 1, 1) if ordered else 1.0 - np.eye(classes)

"""A run as it is exported: pseudonyms in place of names, and sentences that the formats share."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.core.errors import AnmlError
from anml.core.text import pluralise
from anml.pipeline.read import Run, read_contributors, read_run
from anml.pipeline.review_queue import queue_input_from_run
from anml.pipeline.rounds import source_of

SIGNAL_NAMES = {"q": "held-out predictions", "v": "verification levels", "r": "reputations"}


class RunExport(NamedTuple):
    """A run as it is exported: labels and contributors with the names to show, and the record of the run."""

    info: Mapping[str, Any]
    labels: pl.DataFrame
    contributors: pl.DataFrame | None
    notes: list[str]
    licence: str | None
    record: str

    @property
    def name(self) -> str:
        """Name of the data without the suffix of the file."""
        return Path(str(self.info["data"]["name"])).name.split(".")[0] or "data"


def read_export(
    folder: Path, *, names: bool = False, licence: str | None = None, data: Path | None = None
) -> RunExport:
    """Read a run; contributors are numbered by their first row unless `names` is true."""
    run = read_run(folder)
    given = run.samples["contributor"].cast(pl.String)
    shown = {name: name if names else f"contributor-{number}"
             for number, name in enumerate(given.unique(maintain_order=True), start=1)}  # fmt: skip
    labels = _labels(folder, run, data).with_columns(contributor=given.replace_strict(shown))
    people = read_contributors(folder, run)
    if people is not None:
        # Names in contributors.csv may have been made safe for spreadsheets.
        safe = {name.lstrip("'"): alias for name, alias in shown.items()}
        alias = [safe.get(str(name).lstrip("'"), "contributor") for name in people["contributor"]]
        people = people.with_columns(contributor=pl.Series(alias, dtype=pl.String))
    notes = [*run.info["notes"], *run.info["warnings"]]
    if not names:
        named = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in shown))
        kept = [note for note in notes if not named.search(note)]
        hidden = len(notes) - len(kept)
        notes = [
            *kept,
            *([f"{pluralise(hidden, 'note')} that may name contributors: see the report."] if hidden else []),
        ]
    if licence is None and "licence" in labels.columns:
        licences = labels["licence"].drop_nulls().unique().sort().to_list()
        licence = "; ".join(map(str, licences)) or None
    return RunExport(run.info, labels, people, notes, licence, run.record)


def _labels(folder: Path, run: Run, data: Path | None) -> pl.DataFrame:
    """Return one row per label: what was labelled, when, and the estimates of the run."""
    samples, columns = run.samples, run.info["schema"]
    names = {"row": "row", "item": "item", "label": "label", "contributor": "contributor",
             "p_correct": "p_correct", "suggested_label": "suggested_label",
             "sample_weight": "sample_weight", "kept": "kept"}  # fmt: skip
    roles = {role: columns[role] for role in ("key", "licence") if columns.get(role) in samples.columns}
    labels = samples.select(
        **{name: column for name, column in (names | roles).items() if column in samples.columns}
    )
    time = columns.get("time")
    if time is None:
        return labels
    try:
        frame = source_of(queue_input_from_run(folder, run), folder, data).table.frame
    except AnmlError:
        return labels
    if time not in frame.columns:
        return labels
    return labels.with_columns(annotated_at=frame[time][samples["row"].to_numpy()].cast(pl.String))


def method_sentence(info: Mapping[str, Any]) -> str:
    """Return how labels were checked."""
    used = " and ".join([SIGNAL_NAMES[name] for name in info["signals_used"] if name in SIGNAL_NAMES])
    return (
        "Each label has a probability of correctness from an annotator model of all contributors"
        f"{f', with {used}' if used else ''}."
    )


def error_sentence(info: Mapping[str, Any]) -> str:
    """Return the estimated share of wrong labels with its interval."""
    rate = info["label_error_rate"]
    return (f"Estimated share of wrong labels: {rate['mean']:.1%} (95% interval {rate['low']:.1%} to "
            f"{rate['high']:.1%}).")  # fmt: skip


def labels_per_item(labels: pl.DataFrame) -> str:
    """Return the number of labels per item, or its range and mean."""
    if "item" not in labels.columns:
        return "1"
    counts = labels.group_by("item").len()["len"].to_list()
    low, high, mean = min(counts), max(counts), labels.height / len(counts)
    return f"{low}" if low == high else f"{low} to {high}, mean {mean:.1f}"


def n_contributors(run: RunExport) -> int:
    """Return the number of contributors with a label."""
    return run.labels["contributor"].n_unique()


def data_hash(info: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the data that were given."""
    about = info["data"]
    return str(about.get("source_sha256", about.get("sha256")))

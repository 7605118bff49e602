"""The sheet on data governance of a run, as Markdown."""

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from anml.core.text import pluralise
from anml.report.run_export import (
    RunExport,
    data_hash,
    error_sentence,
    labels_per_item,
    method_sentence,
    n_contributors,
)

MAX_CONTRIBUTORS, MAX_CLASSES = 15, 20
PROVIDER = "*To be stated by the provider: the run does not contain it.*"


def datasheet(run: RunExport) -> str:
    """Return the sheet on data governance, under the headings of article 10 of Regulation (EU) 2024/1689."""
    info, labels = run.info, run.labels
    n = labels.height
    unused = labels.filter(~pl.col("kept"))
    lines = [
        f"# Data governance sheet: {_md(info['data']['name'])}",
        f"Made by anml {info['version']} from a run with the SHA-256 {run.record}. The headings "
        "follow article 10 of Regulation (EU) 2024/1689. The sheet states what the run contains. It does "
        "not declare conformity.",
        "## Design choices (2a)",
        f"Task: {info['task']['name']}. Features used in the check: {len(info['schema']['features'] or [])}. "
        f"Purpose: {PROVIDER}",
        "## Collection and origin (2b)",
        f"Source: {_md(info['data']['name'])}, {pluralise(info['data']['rows'], 'row')}, SHA-256 "
        f"{data_hash(info)}. Licence: {_md(run.licence) if run.licence else PROVIDER} "
        f"{_period(labels)}Original purpose of collection: {PROVIDER}",
        "## Annotation, labelling and cleaning (2c)",
        f"Labelled by {pluralise(n_contributors(run), 'contributor')}; labels per item: "
        f"{labels_per_item(labels)}.", *_contributor_lines(run),
        f"Checked: {method_sentence(info)} Review rounds: {len(info['data'].get('rounds', []))}.",
        f"Excluded from training: {pluralise(unused.height, 'row')} ({unused.height / n:.1%}), of which "
        f"{(unused['p_correct'] < 0.5).sum():,} have a probability of correctness below 0.5.",
        "## Assumptions (2d)",
        "Contributors err independently of each other except where the run reports a collective error; a "
        "probability of correctness refers to the label as the other labels, the true labels given and the "
        "features indicate it.",
        *_quality_lines(run),
    ]  # fmt: skip
    text = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        together = line.startswith(("|", "- ")) and following.startswith(("|", "- "))
        text += line + ("\n" if together else "\n\n")
    return text.rstrip() + "\n"


def _quality_lines(run: RunExport) -> list[str]:
    """Return the parts on quantity, biases, gaps and errors."""
    info, labels = run.info, run.labels
    largest = max(labels["contributor"].value_counts()["count"]) / labels.height
    p, kept = labels["p_correct"], labels.filter("kept")["p_correct"].to_list()
    return [
        "## Availability, quantity and suitability (2e)",
        *([] if labels.schema["label"].is_numeric() else _class_lines(labels)),
        f"Suitability for the purpose: {PROVIDER}",
        "## Examination for biases (2f) and measures against them (2g)",
        f"Largest share of labels by one contributor: {largest:.0%}. Rows are weighted by the recipe "
        f"{_md(info['recipe']['name'])}. Bias with effects on persons: {PROVIDER}",
        "## Gaps and shortcomings (2h)",
        *([f"- {_md(note)}" for note in run.notes] or ["The run reports none."]),
        "## Errors and completeness (3)",
        f"{error_sentence(info)} Expected among the rows used in training: "
        f"{1 - sum(kept) / max(len(kept), 1):.1%}. "
        f"Labels with a probability below 0.5: {(p < 0.5).sum():,}. {_check(info)}"
        f"Representativeness and geographical, behavioural or functional setting (3, 4): {PROVIDER}",
        "## Personal data (5)",
        f"Contributors are shown as in the table above. Special categories of personal data: {PROVIDER}",
    ]  # fmt: skip


def _contributor_lines(run: RunExport) -> list[str]:
    people = run.contributors
    if people is None or not {"verdict", "accuracy"} <= set(people.columns):
        return []
    counts = {
        verdict: people.filter(pl.col("verdict") == verdict).height
        for verdict in people["verdict"].unique().sort()
    }
    counted = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    rows = [f"| {_md(row['contributor'])} | {row['rows']:,} | {row['accuracy']:.2f} "
            f"({row['accuracy_low']:.2f} to {row['accuracy_high']:.2f}) | {row['verdict']} |"
            for row in people.head(MAX_CONTRIBUTORS).iter_rows(named=True)]  # fmt: skip
    more = people.height - len(rows)
    return [f"Verdicts: {counted}.", "| contributor | labels | accuracy (95% interval) | verdict |",
            "| --- | --- | --- | --- |", *rows,
            *([f"{more:,} more contributors are in the run."] if more else [])]  # fmt: skip


def _class_lines(labels: pl.DataFrame) -> list[str]:
    counts = (
        labels.group_by("label")
        .agg(n=pl.len(), kept=pl.col("kept").mean())
        .sort("n", "label", descending=[True, False])
    )
    rows = [f"| {_md(name)} | {n:,} | {kept:.0%} |" for name, n, kept in counts.head(MAX_CLASSES).iter_rows()]
    more = counts.height - len(rows)
    return ["| label | given | used in training |", "| --- | --- | --- |", *rows,
            *([f"{more:,} more labels are in the data."] if more > 0 else [])]  # fmt: skip


def _check(info: Mapping[str, Any]) -> str:
    if not (check := info["test_label_check"]):
        return ""
    known = check["n_correct"] + check["n_wrong"]
    return f"{check['n_correct']:,} of {known:,} labels agree with their test label. "


def _period(labels: pl.DataFrame) -> str:
    if "annotated_at" not in labels.columns:
        return ""
    times = labels["annotated_at"].drop_nulls().sort()
    return f"Times of labels: {_md(times[0])} to {_md(times[-1])}. " if len(times) else ""


def _md(text: Any) -> str:
    """Text of others as text in Markdown: no markup, no line break."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(str(text).split()))

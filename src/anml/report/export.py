"""A run for others: Croissant 1.1, a data governance sheet, and PROV-JSON, with pseudonyms by default."""

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from anml.core.canonical import sha256
from anml.core.checks import one_of
from anml.core.errors import AnmlError
from anml.core.files import check_writable, write_file
from anml.core.text import pluralise
from anml.pipeline.read import Run, read_contributors, read_run
from anml.pipeline.review_queue import queue_input_from_run
from anml.pipeline.rounds import source_of
from anml.pipeline.write import as_json

CROISSANT, DATASHEET, PROV = FORMATS = ("croissant", "datasheet", "prov")
LABELS_FILE, RECORD = "labels.parquet", "croissant.json"
MAX_CONTRIBUTORS, MAX_CLASSES = 15, 20
SIGNAL_NAMES = {"q": "held-out predictions", "v": "verification levels", "r": "reputations"}
PROVIDER = "*To be stated by the provider: the run does not contain it.*"


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


def write_export(
    folder: Path, to: str, out: Path, *, names: bool = False, licence: str | None = None,
    data: Path | None = None,
) -> list[Path]:  # fmt: skip
    """Write a run in a format: a folder for Croissant, else a file; return the files."""
    one_of("to", to, FORMATS)
    exported = read_export(folder, names=names, licence=licence, data=data)
    if to != CROISSANT:
        text = datasheet(exported) if to == DATASHEET else as_json(prov_document(exported)) + "\n"
        write_file(out, text)
        return [out]
    check_writable(out / RECORD)
    table = io.BytesIO()
    exported.labels.write_parquet(table)
    write_file(out / LABELS_FILE, table.getvalue())
    write_file(out / RECORD, as_json(croissant(exported, sha256(table.getvalue()))) + "\n")
    return [out / RECORD, out / LABELS_FILE]


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


# JSON-LD terms of Croissant 1.1, and of the vocabularies that it refers to.
CONTEXT: dict[str, Any] = {
    "@language": "en", "@vocab": "https://schema.org/", "sc": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/", "rai": "http://mlcommons.org/croissant/RAI/",
    "dct": "http://purl.org/dc/terms/", "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo", "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "description": {"@container": "@language"}, "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in (
        "annotation", "arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract",
        "field", "fileObject", "fileProperty", "fileSet", "format", "includes", "isArray",
        "isLiveDataset", "jsonPath", "key", "md5", "parentField", "path", "recordSet", "references",
        "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField", "transform",
    )},
}  # fmt: skip
# Data type, PROV property and meaning of each column of the labels.
FIELDS = {
    "row": ("sc:Integer", None, "Position of the label in the audited table."),
    "key": ("sc:Text", None, "Name of the row."),
    "item": ("sc:Text", None, "Item that was labelled."),
    "label": ("sc:Text", None, "Label as given."),
    "contributor": ("sc:Text", "prov:wasAttributedTo", "Contributor who gave the label."),
    "annotated_at": ("sc:Text", "prov:generatedAtTime", "Time of the label."),
    "p_correct": ("sc:Float", None, "Estimated probability that the label is correct."),
    "suggested_label": ("sc:Text", None, "Most probable label of the item."),
    "sample_weight": ("sc:Float", None, "Weight of the row in training."),
    "kept": ("sc:Boolean", None, "True if the row is used in training."),
    "licence": ("sc:Text", "sc:license", "Licence of the row."),
}


def croissant(run: RunExport, digest: str) -> dict[str, Any]:
    """Return the Croissant 1.1 description of the labels, each attributed to its contributor."""
    info, labels = run.info, run.labels
    number = labels.schema["label"].is_numeric()
    fields = []
    for name in labels.columns:
        kind, equivalent, meaning = FIELDS[name]
        types: Any = "sc:Float" if number and name in ("label", "suggested_label") else kind
        field = _field(f"labels/{name}", name, types, meaning, equivalent)
        if name == "label":
            field["dataType"] = [types, "cr:Label"]
            own = _field("labels/label/annotator/id", "contributor", "sc:Text", "Contributor.", None)
            field["annotation"] = {
                "@type": "cr:Field", "@id": "labels/label/annotator", "name": "labels/label/annotator",
                "description": "Contributor who gave the label.", "dataType": "prov:Agent",
                "equivalentProperty": "prov:wasAttributedTo", "subField": [own],
            }  # fmt: skip
        fields.append(field)
    return {
        "@context": CONTEXT, "@type": "sc:Dataset", "name": run.name,
        "conformsTo": "http://mlcommons.org/croissant/1.1",
        "description": f"Labels of {info['data']['name']} with estimates of their correctness by anml "
                       f"{info['version']}. {_error_sentence(info)}",
        "version": "1.0.0", **({} if run.licence is None else {"license": run.licence}),
        "distribution": [{
            "@type": "cr:FileObject", "@id": LABELS_FILE, "name": LABELS_FILE, "contentUrl": LABELS_FILE,
            "encodingFormat": "application/x-parquet", "sha256": digest,
        }],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "labels", "name": "labels", "field": fields}],
        "prov:wasDerivedFrom": {"@id": f"urn:sha256:{_data_hash(info)}", "prov:label": info["data"]["name"]},
        "prov:wasGeneratedBy": {"@type": "prov:Activity", "prov:label": f"anml {info['version']} audit",
                                "prov:identifier": f"urn:sha256:{run.record}"},
        "rai:annotationsPerItem": _labels_per_item(labels),
        "rai:dataAnnotationProtocol": f"{pluralise(_n_contributors(run), 'contributor')} gave "
                                      f"{pluralise(labels.height, 'label')}.",
        "rai:dataAnnotationAnalysis": f"{_method(info)} {_error_sentence(info)}",
        "rai:machineAnnotationTools": f"anml {info['version']}",
        **({"rai:dataLimitations": " ".join(run.notes)} if run.notes else {}),
    }  # fmt: skip


def _field(name: str, column: str, kind: str, meaning: str, equivalent: str | None) -> dict[str, Any]:
    source = {"fileObject": {"@id": LABELS_FILE}, "extract": {"column": column}}
    same = {} if equivalent is None else {"equivalentProperty": equivalent}
    return {"@type": "cr:Field", "@id": name, "name": name, "description": meaning, "dataType": kind,
            **same, "source": source}  # fmt: skip


def prov_document(run: RunExport) -> dict[str, Any]:
    """Return the run as PROV-JSON: the labels of each contributor, the audit, and its result."""
    info = run.info
    prefix = {"prov": "http://www.w3.org/ns/prov#", "anml": "urn:anml:", "sha256": "urn:sha256:"}
    data, result, audit, tool = (
        f"sha256:{_data_hash(info)}",
        f"sha256:{run.record}",
        "anml:audit",
        "anml:anml",
    )
    entity: dict[str, Any] = {
        data: {"prov:label": str(info["data"]["name"]), "anml:rows": info["data"]["rows"]},
        result: {"prov:label": "run.json", "anml:label_error_rate": info["label_error_rate"]["mean"]},
    }
    agents: dict[str, Any] = {tool: {"prov:type": {"$": "prov:SoftwareAgent", "type": "xsd:QName"},
                                     "anml:version": info["version"]}}  # fmt: skip
    attributed, members = {}, {}
    counts = run.labels.group_by("contributor", maintain_order=True).len()
    known = (
        {} if run.contributors is None else {row["contributor"]: row for row in run.contributors.to_dicts()}
    )
    figures = ("accuracy", "accuracy_low", "accuracy_high")
    for number, (name, rows) in enumerate(counts.iter_rows(), start=1):
        one, by = f"anml:labels-{number}", f"anml:agent-{number}"
        about = {
            f"anml:{each}": known[name][each] for each in figures if known.get(name, {}).get(each) is not None
        }
        entity[one] = {"anml:n_labels": rows, **about}
        agents[by] = {"prov:label": name}
        attributed[f"_:a{number}"] = {"prov:entity": one, "prov:agent": by}
        members[f"_:m{number}"] = {"prov:collection": data, "prov:entity": one}
    return {
        "prefix": prefix, "entity": entity, "agent": agents,
        "activity": {audit: {"prov:label": f"anml {info['version']} audit"}},
        "used": {"_:u": {"prov:activity": audit, "prov:entity": data}},
        "wasGeneratedBy": {"_:g": {"prov:entity": result, "prov:activity": audit}},
        "wasAssociatedWith": {"_:w": {"prov:activity": audit, "prov:agent": tool}},
        "wasDerivedFrom": {"_:d": {"prov:generatedEntity": result, "prov:usedEntity": data}},
        "wasAttributedTo": attributed, "hadMember": members,
    }  # fmt: skip


def datasheet(run: RunExport) -> str:
    """Return the sheet on data governance, under the headings of article 10 of Regulation (EU) 2024/1689."""
    info, labels = run.info, run.labels
    number, n = labels.schema["label"].is_numeric(), labels.height
    unused = labels.filter(~pl.col("kept"))
    p, largest = labels["p_correct"], max(labels["contributor"].value_counts()["count"])
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
        f"{_data_hash(info)}. Licence: {_md(run.licence) if run.licence else PROVIDER} "
        f"{_period(labels)}Original purpose of collection: {PROVIDER}",
        "## Annotation, labelling and cleaning (2c)",
        f"Labelled by {pluralise(_n_contributors(run), 'contributor')}; labels per item: "
        f"{_labels_per_item(labels)}.", *_contributor_lines(run),
        f"Checked: {_method(info)} Review rounds: {len(info['data'].get('rounds', []))}.",
        f"Excluded from training: {pluralise(unused.height, 'row')} ({unused.height / n:.1%}), of which "
        f"{(unused['p_correct'] < 0.5).sum():,} have a probability of correctness below 0.5.",
        "## Assumptions (2d)",
        "Contributors err independently of each other except where the run reports a collective error; a "
        "probability of correctness refers to the label as the other labels, the true labels given and the "
        "features indicate it.",
        "## Availability, quantity and suitability (2e)", *([] if number else _class_lines(labels)),
        f"Suitability for the purpose: {PROVIDER}",
        "## Examination for biases (2f) and measures against them (2g)",
        f"Largest share of labels by one contributor: {largest / n:.0%}. Rows are weighted by the recipe "
        f"{_md(info['recipe']['name'])}. Bias with effects on persons: {PROVIDER}",
        "## Gaps and shortcomings (2h)",
        *([f"- {_md(note)}" for note in run.notes] or ["The run reports none."]),
        "## Errors and completeness (3)",
        f"{_error_sentence(info)} Expected among the rows used in training: "
        f"{1 - float(labels.filter('kept')['p_correct'].mean() or 0):.1%}. "  # type: ignore[arg-type]
        f"Labels with a probability below 0.5: {(p < 0.5).sum():,}. {_check(info)}"
        f"Representativeness and geographical, behavioural or functional setting (3, 4): {PROVIDER}",
        "## Personal data (5)",
        f"Contributors are shown as in the table above. Special categories of personal data: {PROVIDER}",
    ]  # fmt: skip
    text = ""
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        together = line.startswith(("|", "- ")) and following.startswith(("|", "- "))
        text += line + ("\n" if together else "\n\n")
    return text.rstrip() + "\n"


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


def _method(info: Mapping[str, Any]) -> str:
    used = " and ".join([SIGNAL_NAMES[name] for name in info["signals_used"] if name in SIGNAL_NAMES])
    return (
        "Each label has a probability of correctness from an annotator model of all contributors"
        f"{f', with {used}' if used else ''}."
    )


def _error_sentence(info: Mapping[str, Any]) -> str:
    rate = info["label_error_rate"]
    return (f"Estimated share of wrong labels: {rate['mean']:.1%} (95% interval {rate['low']:.1%} to "
            f"{rate['high']:.1%}).")  # fmt: skip


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


def _labels_per_item(labels: pl.DataFrame) -> str:
    if "item" not in labels.columns:
        return "1"
    counts = labels.group_by("item").len()["len"].to_list()
    low, high, mean = min(counts), max(counts), labels.height / len(counts)
    return f"{low}" if low == high else f"{low} to {high}, mean {mean:.1f}"


def _n_contributors(run: RunExport) -> int:
    return run.labels["contributor"].n_unique()


def _data_hash(info: Mapping[str, Any]) -> str:
    about = info["data"]
    return str(about.get("source_sha256", about.get("sha256")))


def _md(text: Any) -> str:
    """Text of others as text in Markdown: no markup, no line break."""
    return re.sub(r"([\\`*_{}\[\]<>#|~])", r"\\\1", " ".join(str(text).split()))

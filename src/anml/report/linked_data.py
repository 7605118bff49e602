"""A run as linked data: Croissant 1.1 and PROV-JSON."""

from typing import Any

from anml.core.text import pluralise
from anml.report.run_export import (
    RunExport,
    data_hash,
    error_sentence,
    labels_per_item,
    method_sentence,
    n_contributors,
)

LABELS_FILE = "labels.parquet"
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
                       f"{info['version']}. {error_sentence(info)}",
        "version": "1.0.0", **({} if run.licence is None else {"license": run.licence}),
        "distribution": [{
            "@type": "cr:FileObject", "@id": LABELS_FILE, "name": LABELS_FILE, "contentUrl": LABELS_FILE,
            "encodingFormat": "application/x-parquet", "sha256": digest,
        }],
        "recordSet": [{"@type": "cr:RecordSet", "@id": "labels", "name": "labels", "field": fields}],
        "prov:wasDerivedFrom": {"@id": f"urn:sha256:{data_hash(info)}", "prov:label": info["data"]["name"]},
        "prov:wasGeneratedBy": {"@type": "prov:Activity", "prov:label": f"anml {info['version']} audit",
                                "prov:identifier": f"urn:sha256:{run.record}"},
        "rai:annotationsPerItem": labels_per_item(labels),
        "rai:dataAnnotationProtocol": f"{pluralise(n_contributors(run), 'contributor')} gave "
                                      f"{pluralise(labels.height, 'label')}.",
        "rai:dataAnnotationAnalysis": f"{method_sentence(info)} {error_sentence(info)}",
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
        f"sha256:{data_hash(info)}",
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

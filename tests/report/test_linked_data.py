"""Croissant and PROV of a run, read by the libraries of these formats."""

import json
import re

import mlcroissant
import pytest
from prov.model import ProvDocument

import anml as package
from anml.pipeline.read import read_run
from anml.report.export import write_export
from made_up import WRONG

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mlcroissant_reads_the_weights_of_the_run(exported_run, tmp_path):
    write_export(exported_run, "croissant", tmp_path / "out")
    dataset = mlcroissant.Dataset(str(tmp_path / "out" / "croissant.json"))
    assert dataset.metadata.ctx.issues.errors == set()
    rows, samples = list(dataset.records("labels")), read_run(exported_run).samples
    assert [row["labels/sample_weight"] for row in rows] == samples["sample_weight"].to_list()
    assert [row["labels/p_correct"] for row in rows] == samples["p_correct"].to_list()
    assert [row["labels/label"].decode() for row in rows] == samples["label"].to_list()
    assert [row["labels/kept"] for row in rows] == samples["kept"].to_list()
    assert {row["labels/licence"] for row in rows} == {b"CC0"}
    assert [row["labels/annotated_at"].decode() for row in rows][:2] == ["2020-03-01", "2021-03-01"]
    aliases = {}
    for row, name in zip(rows, samples["contributor"], strict=True):
        assert aliases.setdefault(name, row["labels/contributor"]) == row["labels/contributor"]
    assert len(set(aliases.values())) == 4
    # The other way round, a table of the export is data of an audit.
    again = package.audit(
        tmp_path / "out" / "labels.parquet", label="label", contributor="contributor", evaluate=False
    )
    assert again.contributors.height == 4


def test_each_label_is_attributed_as_the_specification_says(exported_run, tmp_path):
    write_export(exported_run, "croissant", tmp_path / "out", licence="https://example.org/licence")
    made = json.loads((tmp_path / "out" / "croissant.json").read_text())
    assert made["conformsTo"] == "http://mlcommons.org/croissant/1.1"
    assert made["license"] == "https://example.org/licence"
    fields = {field["@id"]: field for field in made["recordSet"][0]["field"]}
    by = fields["labels/label"]["annotation"]
    assert (by["@type"], by["equivalentProperty"]) == ("cr:Field", "prov:wasAttributedTo")
    assert by["subField"][0]["source"]["extract"] == {"column": "contributor"}
    assert fields["labels/contributor"]["equivalentProperty"] == "prov:wasAttributedTo"
    assert fields["labels/annotated_at"]["equivalentProperty"] == "prov:generatedAtTime"
    ids = re.findall(r'"@id": "(labels/[^"]*)"', json.dumps(made))
    assert len(ids) == len(set(ids))
    assert {name for name in made if name.startswith("rai:")} >= {
        "rai:annotationsPerItem",
        "rai:dataAnnotationProtocol",
    }


def test_prov_reads_who_labelled_and_what_was_made_of_it(exported_run, tmp_path):
    write_export(exported_run, "prov", tmp_path / "run.prov.json", names=True)
    made = ProvDocument.deserialize(tmp_path / "run.prov.json")
    kinds = [str(record.get_type()) for record in made.get_records()]
    assert kinds.count("prov:Attribution") == kinds.count("prov:Membership") == 4
    assert kinds.count("prov:Derivation") == kinds.count("prov:Generation") == 1
    text = json.loads((tmp_path / "run.prov.json").read_text())
    agents = {agent["prov:label"] for agent in text["agent"].values() if "prov:label" in agent}
    assert agents == set(WRONG)
    counts = read_run(exported_run).samples["contributor"].value_counts()
    labels = [entity["anml:n_labels"] for entity in text["entity"].values() if "anml:n_labels" in entity]
    assert sorted(labels) == sorted(counts["count"].to_list())

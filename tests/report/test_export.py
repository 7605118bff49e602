"""A run in standard formats: read by their own libraries, and without names."""

import json
import re

import mlcroissant
import polars as pl
import pytest
from prov.model import ProvDocument

import anml as package
from anml.core.errors import AnmlError
from anml.pipeline.read import read_run
from anml.report.export import write_export
from made_up import WRONG, consortium

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = tmp_path_factory.mktemp("export")
    rows = consortium(120).with_columns(
        terms=pl.lit("CC0"), height=pl.when(pl.col("contributor") != "dan").then("height")
    )
    rows.write_csv(place / "data|x.csv")
    schema = {"time": "labeled_at", "licence": "terms"}
    package.audit(place / "data|x.csv", schema=schema, evaluate=False).save(place / "run")
    return place / "run"


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_mlcroissant_reads_the_weights_of_the_run(run, tmp_path):
    write_export(run, "croissant", tmp_path / "out")
    dataset = mlcroissant.Dataset(str(tmp_path / "out" / "croissant.json"))
    assert dataset.metadata.ctx.issues.errors == set()
    rows, samples = list(dataset.records("labels")), read_run(run).samples
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


def test_each_label_is_attributed_as_the_specification_says(run, tmp_path):
    write_export(run, "croissant", tmp_path / "out", licence="https://example.org/licence")
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


@pytest.mark.parametrize("to", ["croissant", "datasheet", "prov"])
def test_no_name_of_a_contributor_is_exported_unless_asked(run, tmp_path, to):
    named = re.compile("|".join(rf"\b{name}\b" for name in WRONG))
    for names in (False, True):
        files = write_export(run, to, tmp_path / f"out{names}", names=names)
        texts = [
            pl.read_parquet(file).write_csv() if file.suffix == ".parquet" else file.read_text()
            for file in files
        ]
        assert bool(named.search("\n".join(texts))) is names


def test_prov_reads_who_labelled_and_what_was_made_of_it(run, tmp_path):
    write_export(run, "prov", tmp_path / "run.prov.json", names=True)
    made = ProvDocument.deserialize(tmp_path / "run.prov.json")
    kinds = [str(record.get_type()) for record in made.get_records()]
    assert kinds.count("prov:Attribution") == kinds.count("prov:Membership") == 4
    assert kinds.count("prov:Derivation") == kinds.count("prov:Generation") == 1
    text = json.loads((tmp_path / "run.prov.json").read_text())
    agents = {agent["prov:label"] for agent in text["agent"].values() if "prov:label" in agent}
    assert agents == set(WRONG)
    counts = read_run(run).samples["contributor"].value_counts()
    labels = [entity["anml:n_labels"] for entity in text["entity"].values() if "anml:n_labels" in entity]
    assert sorted(labels) == sorted(counts["count"].to_list())


def test_the_sheet_has_the_figures_of_the_run_under_the_headings_of_article_10(run, tmp_path):
    write_export(run, "datasheet", tmp_path / "sheet.md")
    text, info = (tmp_path / "sheet.md").read_text(), read_run(run).info
    assert text.startswith("# Data governance sheet: data\\|x.csv\n")
    for point in ("2a", "2b", "2c", "2d", "2e", "2f", "2g", "2h", "(3)", "(5)"):
        assert point in text
    rate = info["label_error_rate"]
    assert f"{rate['mean']:.1%} (95% interval {rate['low']:.1%} to {rate['high']:.1%})" in text
    assert f"Excluded from training: {info['rows'] - info['kept']} rows" in text
    assert "Licence: CC0" in text
    assert text.count("| contributor-") == 4
    assert "To be stated by the provider" in text


def test_other_formats_and_places_are_refused(run, anml, tmp_path):
    with pytest.raises(AnmlError, match="unknown to 'csv'"):
        write_export(run, "csv", tmp_path / "x")
    assert anml("export", run, "--to", "prov", "--out", tmp_path).code == 2
    done = anml("export", run, "--to", "datasheet", "--out", tmp_path / "a.md", "--json")
    assert json.loads(done.out)["files"] == [str(tmp_path / "a.md")]

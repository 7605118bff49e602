"""An audit of spans, from marks to a consensus, to how people err, and back into the tool."""

import json

import polars as pl
import pytest
from marked_texts import marked, texts

import anml
from anml.annotators.words import FLAGGED
from anml.core.errors import UnsupportedError
from anml.io.source import read_source
from anml.pipeline.review_queue import ReviewQueue
from anml.review.files import format_queue

pytestmark = pytest.mark.slow

PEOPLE = {f"p{k}": {} for k in range(6)} | {
    "misser": {"miss": 0.7},
    "shifter": {"shift": 0.8},
    "swapper": {"swap": 0.8},
}


@pytest.fixture(scope="module")
def result():
    frame, right = marked(PEOPLE)
    return anml.audit(frame, contributor="annotator", task="spans"), right


def strict_f1(consensus, right):
    ours = set(consensus.select("document", "start", "end", "type").rows())
    return 2 * len(ours & set(right)) / (len(ours) + len(right))


def test_the_consensus_is_nearly_right_and_has_no_overlaps(result):
    consensus = result[0]._result.structured.tables["spans"]
    assert strict_f1(consensus, result[1]) > 0.9
    for document in consensus.partition_by("document"):
        ordered = document.sort("start")
        assert (ordered["start"][1:] >= ordered["end"][:-1]).all()


def test_people_err_as_they_do(result):
    people = {row["contributor"]: row for row in result[0].contributors.to_dicts()}
    assert people["misser"]["miss_rate"] > 0.5 > 0.3 > people["p0"]["miss_rate"]
    assert people["shifter"]["boundary_error_rate"] > 0.5 > 0.2 > people["p0"]["boundary_error_rate"]
    assert people["swapper"]["type_error_rate"] > 0.5 > 0.2 > people["p0"]["type_error_rate"]
    assert people["misser"]["notes"].startswith("has a miss rate of ")
    assert "has a boundary error rate of " in people["shifter"]["notes"]
    assert "has a type error rate of " in people["swapper"]["notes"]
    assert people["p0"]["notes"] == ""


def test_who_marks_nothing_or_swaps_types_is_accused_and_nobody_honest():
    frame, _ = marked(
        {f"p{k}": {} for k in range(7)} | {"idle": {"miss": 1.0, "invent": 0.0}, "swap": {"swap": 1.0}}
    )
    result = anml.audit(frame, contributor="annotator", task="spans")
    if result._result.disputed_share is None:
        words = dict(result.contributors.select("contributor", "verdict").iter_rows())
        accused = {name for name, word in words.items() if word in FLAGGED}
        assert accused == {"idle", "swap"}


def test_the_report_shows_documents_in_place(result, tmp_path):
    files = result[0].save(tmp_path / "run")
    assert "spans.csv" in files
    page = (tmp_path / "run" / "report.html").read_text()
    assert "consensus" in page
    assert "<mark>" in page
    assert result[0]._result.structured.sentences[0].split()[4] == "spans"


def test_text_that_looks_like_markup_stays_text(tmp_path):
    frame, _ = marked({f"p{k}": {} for k in range(3)}, count=12)
    frame = frame.with_columns(text=pl.col("text").str.replace_all("the", "<b>"))
    page = anml.audit(frame, contributor="annotator", task="spans").report(tmp_path / "r.html").read_text()
    assert "<b>" not in page.split("<main>")[1]


def exported(tmp_path):
    """The marks as Label Studio writes them."""
    frame, _ = marked({k: PEOPLE[k] for k in ("p0", "p1", "p2", "misser")}, count=15)
    documents = dict(texts(15)[0])
    tasks = []
    for number, (document, text) in enumerate(documents.items()):
        annotations = []
        for contributor, rows in frame.filter(pl.col("document") == document).group_by(
            "annotator", maintain_order=True
        ):
            result = [
                {"type": "labels", "from_name": "ner", "to_name": "text",
                 "value": {"start": row["start"], "end": row["end"], "labels": [row["type"]]}}
                for row in rows.drop_nulls("start").to_dicts()
            ]  # fmt: skip
            annotations.append(
                {"id": 100 * number + len(annotations), "completed_by": contributor[0], "result": result}
            )
        tasks.append({"id": number, "data": {"text": text}, "annotations": annotations})
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    return path


def test_an_export_is_recognised_and_goes_back_as_pre_annotations(tmp_path):
    path = exported(tmp_path)
    result = anml.audit(path)
    assert result._result.structured.kind == "spans"
    assert any("export.json is judged as spans" in note for note in result._result.notes)
    result.save(tmp_path / "run")
    anml.load_run(tmp_path / "run").export_review(tmp_path / "look.json", n=20)
    tasks = json.loads((tmp_path / "look.json").read_text())
    (prediction,) = tasks[0]["predictions"]
    region = prediction["result"][0]
    assert region["from_name"] == "ner"
    assert (
        region["value"]["text"] == tasks[0]["data"]["text"][region["value"]["start"] : region["value"]["end"]]
    )
    assert set(region["value"]["labels"]) <= {"PER", "LOC"}
    assert tasks[0]["data"]["anml_reason"]
    # A name that ends in .csv is a request for a table; no note claims predictions that were not given.
    anml.load_run(tmp_path / "run").export_review(tmp_path / "look.csv", n=20)
    assert {"start", "end", "new_label"} <= set(pl.read_csv(tmp_path / "look.csv").columns)
    assert not any("predictions are given" in note for note in result._result.notes)


def test_prodigys_lines_go_back_as_lines(tmp_path):
    frame, _ = marked({f"p{k}": {} for k in range(3)}, count=12)
    lines = []
    for (document, contributor), rows in frame.group_by("document", "annotator", maintain_order=True):
        spans = [
            {"start": r["start"], "end": r["end"], "label": r["type"]}
            for r in rows.drop_nulls("start").to_dicts()
        ]
        lines.append(
            {"text": rows["text"][0], "_input_hash": document, "_annotator_id": contributor, "spans": spans}
        )
    path = tmp_path / "out.jsonl"
    path.write_text("\n".join(json.dumps(line) for line in lines))
    anml.audit(path).save(tmp_path / "run")
    anml.load_run(tmp_path / "run").export_review(tmp_path / "look.jsonl", n=10)
    first = json.loads((tmp_path / "look.jsonl").read_text().splitlines()[0])
    # As it came, without who and when.
    assert {"text", "spans", "meta", "_input_hash"} == set(first)
    assert first["spans"][0].keys() == {"start", "end", "label"}


def test_boxes_end_to_end():
    rows = []
    for picture in range(15):
        for k, contributor in enumerate(("ann", "bob", "eve")):
            rows.append((f"p{picture}", contributor, 10.0 + k, 10.0, 20.0, 20.0, "car"))
            if contributor != "eve" or picture % 3:
                rows.append((f"p{picture}", contributor, 60.0 - k, 50.0, 15.0, 25.0, "dog"))
        rows.append((f"p{picture}", "eve", 80.0, 5.0, 4.0, 4.0, "car"))
    names = ["image", "annotator", "x", "y", "width", "height", "label"]
    result = anml.audit(pl.DataFrame(rows, schema=names, orient="row"), task="boxes")
    consensus = result._result.structured.tables["boxes"]
    assert consensus.filter(pl.col("x") > 70).height < 5
    assert consensus.filter(pl.col("type") == "dog").height >= 14


def test_frames_of_pandas_have_rows_of_their_own():
    pytest.importorskip("pandas")
    frame, _ = marked({f"p{k}": {} for k in range(3)}, count=12)
    result = anml.audit(
        frame.drop("text").to_pandas().set_index(pl.Series(range(7, 7 + frame.height)).to_numpy()),
        task="spans",
    )
    assert result.samples.index.tolist() == list(range(len(result.samples)))
    with pytest.raises(UnsupportedError, match="weights of spans belong to labels of candidates"):
        result.weights_for(frame)


def regions(kind, value, people=3, tasks=6, **more):
    made = []
    for number in range(tasks):
        annotations = [
            {"id": 10 * number + contributor, "completed_by": contributor, "result": [
                {"id": f"{number}-{contributor}", "type": kind, "from_name": "r", "to_name": "page",
                 "origin": "manual", "value": value(number, contributor), **more}]}
            for contributor in range(people)
        ]  # fmt: skip
        made.append({"id": number, "data": {"page": "<p>Ann met Bob</p>"}, "annotations": annotations})
    return made


def sent_back(tasks, tmp_path, kind, **asked):
    """All places as they go back to the tool, as if all were to be looked at and some."""
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    source = read_source(path, "auto", {"task": "auto", **asked})
    items = source.table.frame.select("item").unique(maintain_order=True)
    items = items.with_columns(consensus_label=pl.lit(kind), p_consensus=pl.lit(0.8))
    rows = items.select("item", p_label_wrong=pl.lit(0.2), reason=pl.lit("unsure"))
    looking = ReviewQueue(rows, rows.height, 1.0, 1.0, rows.height, None, items)
    return [task["predictions"][0]["result"] for task in json.loads(format_queue(looking, source))]


def test_hypertext_goes_back_with_its_paths(tmp_path):
    def value(number, contributor):
        start = (7 * number + 5 * contributor) % 4
        place = {
            "start": "/p[1]/text()[1]",
            "end": "/p[1]/text()[1]",
            "startOffset": start,
            "endOffset": start + 3,
        }
        return {
            **place,
            "globalOffsets": {"start": start, "end": start + 3},
            "text": "x",
            "hypertextlabels": ["A"],
        }

    back = sent_back(regions("hypertextlabels", value), tmp_path, "A")
    assert all(back)
    for region in (region for task in back for region in task):
        assert region["value"]["start"] == "/p[1]/text()[1]"
        assert region["value"]["globalOffsets"]["start"] == region["value"]["startOffset"]
        assert "origin" not in region


def test_boxes_go_back_with_the_size_of_their_picture(tmp_path):
    def value(number, contributor):
        return {
            "x": 10 + 60 * (contributor == 2),
            "y": 10 + number,
            "width": 20,
            "height": 20,
            "rectanglelabels": ["car"],
        }

    sizes = {"original_width": 640, "original_height": 480, "image_rotation": 0}
    back = sent_back(regions("rectanglelabels", value, **sizes), tmp_path, "car")
    assert all(back)
    assert all(sizes.items() <= region.items() for task in back for region in task)


def test_spans_within_spans_stay_in_the_queue_where_that_is_asked(tmp_path):
    def annotation(number, contributor):
        kinds = [(0, 11, "A"), (4 + (7 * number + 5 * contributor) % 3, 7, "B")]
        result = [{"type": "labels", "from_name": "r", "to_name": "page",
                   "value": {"start": s, "end": e, "labels": [k]}} for s, e, k in kinds]  # fmt: skip
        return {"id": 10 * number + contributor, "completed_by": contributor, "result": result}

    tasks = [
        {
            "id": number,
            "data": {"text": "Ann met Bob"},
            "annotations": [annotation(number, contributor) for contributor in range(3)],
        }
        for number in range(6)
    ]
    for nested in (True, False):
        back = sent_back(tasks, tmp_path, "A", nested=nested)
        assert all((len(task) > 1) == nested for task in back)


def test_ground_truth_in_an_export_is_known(tmp_path):
    box = {"y": 10, "width": 20, "height": 20, "rectanglelabels": ["car"]}
    tasks = regions("rectanglelabels", lambda _, contributor: {"x": 10 + 60 * (contributor == 2), **box})
    tasks[0]["annotations"][2]["ground_truth"] = True
    path = tmp_path / "export.json"
    path.write_text(json.dumps(tasks))
    known = anml.audit(path).samples.drop_nulls("true_label")
    assert dict(known.group_by("item").agg(pl.col("true_label").first()).sort("item").rows()) == {
        "0:10.0,10.0,20.0,20.0": "(nothing)",
        "0:70.0,10.0,20.0,20.0": "car",
    }

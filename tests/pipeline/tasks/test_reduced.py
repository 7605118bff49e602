"""Audits of tags and of grades, from a table to what is written."""

import json

import numpy as np
import polars as pl
import pytest

import anml
from anml.annotators.words import FLAGGED, GUESSING
from anml.core.errors import InputError, UnsupportedError
from anml.pipeline.review_queue import build_queue, queue_input_from_result
from anml.report.tasks import sentences
from anml.review.apply import apply_answers


def tagged(seed=0, items=80):
    rng = np.random.default_rng(seed)
    names = np.array(["war", "art", "sport", "trade"])
    truth = rng.random((items, 4)) < 0.35
    rows = []
    for contributor in range(6):
        for item in range(items):
            noise = rng.random(4) < (0.5 if contributor == 5 else 0.06)
            rows.append((f"i{item}", f"w{contributor}", ";".join(names[truth[item] ^ noise])))
    return pl.DataFrame(rows, schema=["item", "annotator", "tags"], orient="row"), truth, names


@pytest.fixture(scope="module")
def tags():
    frame, truth, names = tagged()
    return anml.audit(frame, label="tags"), truth, names


def test_sets_are_recognised_and_one_set_is_made_of_all(tags):
    result, truth, names = tags
    assert result._result.structured.kind == "tags"
    table = result._result.structured.tables["tags"]
    sets = dict(table.select("item", "tags").iter_rows())
    right = [set(sets[f"i{k}"].split(";")) - {""} == set(names[truth[k]]) for k in range(len(truth))]
    assert np.mean(right) > 0.85


def test_people_are_judged_by_tag(tags):
    result, _, _ = tags
    people = result.contributors.sort("accuracy")
    assert people["contributor"][0] == "w5"
    # Ticking at random is guessing, and contradicts nobody.
    assert people["verdict"][0] == GUESSING
    by_tag = result._result.structured.tables["contributor_tags"]
    assert by_tag.height == 24
    worst = by_tag.group_by("contributor").agg(pl.col("accuracy").mean()).sort("accuracy")["contributor"][0]
    assert worst == "w5"


def graded(seed=0, items=120):
    rng = np.random.default_rng(seed)
    truth = rng.integers(1, 6, items)
    rows = []
    for contributor, shift in (("kind", 1.2), ("harsh", -1.2), *((f"r{k}", 0.0) for k in range(6))):
        grade = np.clip(np.round(truth + shift + rng.normal(0, 0.5, items)), 1, 5).astype(int)
        rows += [(f"i{k}", contributor, int(grade[k])) for k in range(items)]
    narrow = np.round(3 + 0.3 * (truth - 3) + rng.normal(0, 0.3, items)).astype(int)
    rows += [(f"i{k}", "narrow", int(narrow[k])) for k in range(items)]
    return pl.DataFrame(rows, schema=["item", "rater", "stars"], orient="row"), truth


def test_grades_have_a_consensus_with_an_interval_and_people_lean(tmp_path):
    frame, truth = graded()
    result = anml.audit(frame, label="stars", contributor="rater", task="ordinal")
    table = result._result.structured.tables["ordinal"]
    known = dict(table.select("item", "grade").iter_rows())
    assert np.mean([int(known[f"i{k}"]) == truth[k] for k in range(len(truth))]) > 0.8
    assert (table["grade_low"].cast(int) <= table["grade_high"].cast(int)).all()
    notes = dict(result.contributors.select("contributor", "notes").iter_rows())
    assert notes["kind"].startswith("is lenient")
    assert notes["harsh"].startswith("is severe")
    assert "uses a narrow part of the scale" in notes["narrow"]
    assert all(notes[f"r{k}"] == "" for k in range(6))
    verdicts = dict(result.contributors.select("contributor", "verdict").iter_rows())
    assert not {verdicts[annotator] for annotator in ("kind", "harsh", "narrow")} & set(FLAGGED)
    assert result._result.structured.figures["ordered"]
    assert "are estimated by an ordinal model" in sentences(result._result.structured)[1]
    # The mean is on the scale of the stars.
    assert (table["grade_mean"] - table["grade"].cast(float)).abs().max() <= 1
    assert table["grade_mean"].max() > 4.5
    best = result._result.consensus.join(table, on="item")
    assert (best["consensus_label"] == best["grade"]).mean() > 0.9
    assert "ordinal.csv" in result.save(tmp_path / "run")
    assert "Grades" in (tmp_path / "run" / "report.html").read_text()


def test_raters_who_do_not_look_are_accused_and_those_who_lean_are_not():
    frame, truth = graded(seed=1)
    rng = np.random.default_rng(2)
    more = [(f"i{k}", annotator, int(rng.integers(1, 6)) if annotator == "coin" else 3)
            for annotator in ("coin", "middle") for k in range(len(truth))]  # fmt: skip
    frame = pl.concat([frame, pl.DataFrame(more, schema=frame.schema, orient="row")])
    people = anml.audit(frame, label="stars", contributor="rater", task="ordinal").contributors
    accused = people.filter(pl.col("verdict").is_in(FLAGGED))["contributor"]
    assert set(accused) == {"coin", "middle"}
    assert people["contributor"][:2].sort().to_list() == ["coin", "middle"]


def test_answers_to_tags_are_counted_as_known(tmp_path):
    path = tmp_path / "tags.csv"
    tagged(items=40)[0].write_csv(path)
    anml.audit(path, label="tags").save(tmp_path / "run")
    look = tmp_path / "look.csv"
    assert anml.load_run(tmp_path / "run").export_review(look, n=5) == look
    answers = pl.read_csv(look, schema_overrides={"new_label": pl.String})
    assert answers.height == 5
    answers.with_columns(new_label=pl.lit("yes")).write_csv(look)
    applied = apply_answers(tmp_path / "run", look)
    assert applied.rounds[-1]["n_answers"] == answers.height
    assert applied.after.structured.kind == "tags"


def test_answers_to_comparisons_are_counted_round_by_round(tmp_path):
    rng, rows = np.random.default_rng(0), []
    for judge in range(8):
        for _ in range(30):
            first, second = rng.permutation(6)[:2]
            better = rng.random() < 1 / (1 + np.exp(first - second))
            rows.append((f"c{first}", f"c{second}", f"j{judge}", "left" if better else "right"))
    path, look = tmp_path / "pairs.csv", tmp_path / "look.csv"
    names = ["first", "second", "judge", "choice"]
    pl.DataFrame(rows, schema=names, orient="row").write_csv(path)
    anml.audit(path, contributor="judge", task="preferences").save(tmp_path / "run")
    anml.load_run(tmp_path / "run").export_review(look, n=4)
    listed = pl.read_csv(look, schema_overrides={"new_label": pl.String})
    listed.with_columns(new_label=pl.lit("b")).write_csv(look)
    applied = apply_answers(tmp_path / "run", look)
    assert applied.rounds[-1]["n_answers"] == 4
    known = applied.after.samples.filter(pl.col("item").is_in(listed["item"].implode()))
    assert set(known["true_label"]) == {"second"}
    assert (known["label_is_correct"] == (known["label"] == "second")).all()
    left = set(build_queue(queue_input_from_result(applied.after)).rows["item"])
    assert not left & set(listed["item"])
    listed.with_columns(new_label=pl.lit("third")).write_csv(look)
    with pytest.raises(InputError, match="answers that are not labels of this table: 'third'"):
        apply_answers(tmp_path / "run", look)


def test_ticked_choices_go_back_to_label_studio_as_sets(tmp_path):
    rng, tasks = np.random.default_rng(0), []
    for number in range(40):
        right, annotations = rng.random(3) < 0.5, []
        for contributor in range(3):
            ticked = [tag for tag, one in zip("abc", right ^ (rng.random(3) < 0.15), strict=True) if one]
            result = [{"type": "choices", "from_name": "topic", "to_name": "t", "value": {"choices": ticked}}]
            annotations.append(
                {"id": 10 * number + contributor, "completed_by": contributor, "result": result}
            )
        tasks.append({"id": number, "data": {"text": f"text {number}"}, "annotations": annotations})
    (tmp_path / "choices.json").write_text(json.dumps(tasks))
    output = anml.audit(tmp_path / "choices.json")
    output.save(tmp_path / "run")
    anml.load_run(tmp_path / "run").export_review(tmp_path / "look.json", n=5)
    sets = dict(output._result.structured.tables["tags"].select("item", "tags").iter_rows())
    back = json.loads((tmp_path / "look.json").read_text())
    assert back
    for task in back:
        (result,) = task["predictions"][0]["result"]
        assert result["from_name"] == "topic"
        assert ";".join(result["value"]["choices"]) == sets[str(task["id"])]


@pytest.mark.parametrize(
    ("value", "shape"),
    [
        (["x", "y"], "tags"),
        ([{"value": "x", "rank": 1}, {"value": "y", "rank": 2}], "preferences"),
    ],
)
def test_several_labels_and_rankings_of_argilla_are_recognised(tmp_path, value, shape):
    other = value[:1] if shape == "tags" else [each | {"rank": 1} for each in value]
    answers = [{"user_id": f"u{k}", "status": "submitted", "value": value if k else other} for k in range(3)]
    records = [{"id": str(k), "fields": {"text": f"t{k}"}, "responses": {"q": answers}} for k in range(12)]
    (tmp_path / "records.json").write_text(json.dumps(records))
    result = anml.audit(tmp_path / "records.json")
    assert result._result.structured.kind == shape
    result.save(tmp_path / "run")
    anml.load_run(tmp_path / "run").export_review(tmp_path / "look.csv", n=5)


@pytest.mark.parametrize("task", ["ordinal", "tags"])
def test_accounts_of_one_person_are_one_voice(task):
    """Five honest people, and one who guesses under six names."""
    rng, rows, truth = np.random.default_rng(1), [], {}
    for item in range(100):
        grade, guess = (int(each) for each in rng.integers(1, 6, 2))
        own, ticked = rng.random((2, 4)) < 0.4
        truth[f"i{item}"] = str(grade) if task == "ordinal" else named(own)
        for contributor in range(5):
            near = int(np.clip(grade + rng.choice([-1, 0, 0, 1]), 1, 5))
            message = near if task == "ordinal" else named(own ^ (rng.random(4) < 0.1))
            rows.append((f"i{item}", f"h{contributor}", message))
        rows += [(f"i{item}", f"x{k}", guess if task == "ordinal" else named(ticked)) for k in range(6)]
    frame = pl.DataFrame(
        rows, schema=["item", "worker", "grade" if task == "ordinal" else "tags"], orient="row"
    )
    result = anml.audit(frame, task=task)
    assert any("x0, x1" in each and "one copy group" in each for each in result._result.warnings)
    verdicts = dict(result.contributors.select("contributor", "verdict").iter_rows())
    assert {verdicts[f"h{k}"] for k in range(5)} == {"reliable"}
    assert not {verdicts[f"x{k}"] for k in range(6)} & {"reliable"}
    table = result._result.structured.tables["ordinal" if task == "ordinal" else "tags"]
    message = dict(table.select("item", "grade" if task == "ordinal" else "tags").iter_rows())
    assert np.mean([message[item] == right for item, right in truth.items()]) > 0.7


def named(ticked):
    return ";".join(name for name, on in zip("abcd", ticked, strict=True) if on)


def argilla(question, value, tmp_path, records=12, people=4, **asked):
    users = range(people)
    made = [
        {"id": f"r{k}", "fields": {"text": f"t{k}"},
         "responses": {question: [{"value": value(k, user), "user_id": f"u{user}"} for user in users]}}
        for k in range(records)
    ]  # fmt: skip
    path = tmp_path / "export.json"
    path.write_text(json.dumps(made))
    anml.audit(path, **asked).save(tmp_path / "run")
    anml.load_run(tmp_path / "run").export_review(tmp_path / "look.json")
    return json.loads((tmp_path / "look.json").read_text())


def test_sets_go_back_to_argilla_as_suggestions(tmp_path):
    def value(record, contributor):
        return [tag for at, tag in enumerate("abc") if (7 * record + 5 * contributor + at) % 3]

    (first, *_) = argilla("topics", value, tmp_path)
    assert set(first["suggestions"]["topics"]["value"]) <= {"a", "b", "c"}
    assert first["responses"] == {}


def test_rankings_go_back_to_argilla_as_rankings(tmp_path):
    def value(record, contributor):
        order = ["x", "y", "z"] if (record + contributor) % 4 else ["z", "y", "x"]
        return [{"value": name, "rank": order.index(name) + 1} for name in ("x", "y", "z")]

    back = argilla("best", value, tmp_path)
    assert len({record["id"] for record in back}) == len(back)
    ranking = back[0]["suggestions"]["best"]["value"]
    assert {each["value"] for each in ranking} == {"x", "y", "z"}
    assert min(each["rank"] for each in ranking) == 1


def test_a_table_does_not_go_under_another_name(tmp_path):
    path = tmp_path / "tags.csv"
    tagged(items=40)[0].write_csv(path)
    anml.audit(path, label="tags").save(tmp_path / "run")
    with pytest.raises(UnsupportedError, match="is a table; the output must end in"):
        anml.load_run(tmp_path / "run").export_review(tmp_path / "look.json")
    assert not (tmp_path / "look.json").exists()


def test_ratings_go_back_to_argilla_as_numbers(tmp_path):
    back = argilla(
        "stars", lambda record, contributor: 1 + (7 * record + 5 * contributor) % 3, tmp_path, task="ordinal"
    )
    assert {type(record["suggestions"]["stars"]["value"]) for record in back} == {int}

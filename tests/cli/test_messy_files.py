"""Files as tools write them, typed as a new user types them: each is audited correctly or refused."""

import json

import numpy as np
import polars as pl
import pytest

from made_up import crowd_rows

GOOD, BAD = {"ann", "bob", "cat", "dan"}, "eve"


@pytest.fixture
def audit(anml, tmp_path):
    """Write rows as a file and audit it; return the record of the run, or the error."""

    def run(rows, *options, name="labels.csv", write=pl.DataFrame.write_csv):
        write(rows, tmp_path / name)
        done = anml("audit", tmp_path / name, *options, "--json", "--set", "evaluate=false")
        return json.loads(done.out) if done.code == 0 else done.err

    return run


def verdicts(record):
    """Return the verdicts of a record by contributor, in lower case."""
    return {each["contributor"].lower(): each["verdict"] for each in record["contributors"]}


def assert_right(record, people=frozenset({*GOOD, BAD})):
    """Require that the four good contributors are not flagged, the bad one is, and there is no other."""
    assert isinstance(record, dict), record
    result = verdicts(record)
    assert set(result) == set(people)
    flagged = {name for name, verdict in result.items() if verdict in FLAGGED}
    assert flagged == {BAD}, result


FLAGGED = ("no better than guessing", "contradicts the others", "less reliable")


def spell(rows, column, forms, seed=5):
    """Write each value of a column in one of several forms."""
    rng = np.random.default_rng(seed)
    values = [str(rng.choice(forms.get(value, [value]))) for value in rows[column]]
    return rows.with_columns(pl.Series(column, values))


YES_NO = {"yes": ["yes", "Yes", "YES", "yes ", "yes."], "no": ["no", "No", "NO", "no\u200b"]}
SPELLINGS = {
    "numbers and truth values": (["0", "1"], {"0": ["0", "0.0", "False"], "1": ["1", "1.0", "True"]}),
    "several systems": (["no", "yes"], {"yes": ["yes", "TRUE", "1"], "no": ["no", "FALSE", "0"]}),
    "capitals": (["yes", "no"], YES_NO),
    "separators": (["not spam", "spam"], {"not spam": ["not spam", "not-spam", "Not_Spam", "not  spam"]}),
    "saved as 1.0": (["1", "2", "x"], {"1": ["1", "1.0"], "2": ["2", "2.00"]}),
    "unicode": (["Café", "Bar"], {"Café": ["Caf\u00e9", "Cafe\u0301", "Caf\u00e9\u00a0"]}),
    "lists": (["a", "b", "c"], {each: [f'["{each}"]'] for each in "abc"}),
    "python lists": (["a", "b", "c"], {each: [f"['{each}']"] for each in "abc"}),
    "objects": (["a", "b"], {each: [f'{{"choices": ["{each}"]}}'] for each in "ab"}),
}


@pytest.mark.parametrize("case", SPELLINGS)
def test_one_class_in_several_spellings(case, audit):
    classes, forms = SPELLINGS[case]
    record = audit(spell(crowd_rows(classes), "label", forms))
    assert_right(record)
    assert len(record["classes"]) == len(classes)
    assert any("label" in note and (" as " in note) for note in record["notes"])


PEOPLE = {
    "capitals": {"ann": ["ann", "Ann", "ANN", "ann "]},
    "addresses": {name: [f"{name}@x.org", f"{name.title()}@X.org"] for name in (*GOOD, BAD)},
    "numbers saved as floats": {name: [f"{at}.0", f"{at}"] for at, name in enumerate((*sorted(GOOD), BAD))},
    "unicode": {"ann": ["Zo\u00eb", "Zoe\u0308"]},
}


@pytest.mark.parametrize("case", PEOPLE)
def test_one_contributor_in_several_spellings(case, audit):
    record = audit(spell(crowd_rows(["a", "b", "c"]), "annotator", PEOPLE[case]))
    assert isinstance(record, dict), record
    assert len(record["contributors"]) == 5
    assert [each["verdict"] in FLAGGED for each in record["contributors"]] == [True, *[False] * 4]
    if case != "numbers saved as floats":
        assert "contributor" in record["data"]["spellings"]


def test_ids_saved_as_floats_are_contributors(audit):
    names = {name: 11.0 + at for at, name in enumerate((*sorted(GOOD), BAD))}
    rows = crowd_rows(["a", "b", "c"])
    record = audit(rows.with_columns(pl.col("annotator").replace_strict(names, return_dtype=pl.Float64)))
    assert [each["verdict"] in FLAGGED for each in record["contributors"]] == [True, *[False] * 4]


def test_spellings_that_may_be_classes_remain_and_are_listed(audit):
    """Letters that every contributor uses in both cases are characters, not careless typing."""
    record = audit(crowd_rows(["a", "A", "b", "B"]))
    assert_right(record)
    assert record["classes"] == ["A", "B", "a", "b"]
    assert any("similar spellings" in each and "schema.clean=all" in each for each in record["warnings"])
    assert len(audit(crowd_rows(["a", "A", "b", "B"]), "--set", "schema.clean=all")["classes"]) == 2
    plain = audit(crowd_rows(["a", "A", "b", "B"]), "--set", "schema.clean=false")
    assert not any("similar spellings" in each for each in plain["warnings"])


def test_careless_capitals_of_every_contributor_are_one_class(audit):
    record = audit(spell(crowd_rows(["cat", "dog"]), "label", {"cat": ["cat", "Cat"], "dog": ["dog", "Dog"]}))
    assert_right(record)
    assert len(record["classes"]) == 2


def test_a_misspelling_is_listed_and_joined_on_request(audit):
    rows = crowd_rows(["complaint", "question"])
    labels = rows["label"].to_list()
    at = labels.index("complaint")
    rows = rows.with_columns(pl.Series("label", [*labels[:at], "complant", *labels[at + 1 :]]))
    record = audit(rows)
    assert any("'complaint' and 'complant'" in each for each in record["warnings"])
    assert audit(rows, "--set", "schema.clean=all")["classes"] == ["complaint", "question"]


def test_two_people_of_one_name_remain_two(audit):
    rows = crowd_rows(["a", "b", "c"]).with_columns(pl.col("annotator").replace({"bob": "Ann"}))
    record = audit(rows)
    assert {"ann", "Ann"} <= {each["contributor"] for each in record["contributors"]}
    assert any("'Ann' and 'ann'" in each for each in record["warnings"])


def test_random_identifiers_that_differ_in_capitals_remain_apart(audit):
    rows = crowd_rows(["a", "b", "c"]).with_columns(
        pl.col("annotator").replace({"ann": "aBx9", "bob": "AbX9"})
    )
    assert len(audit(rows)["contributors"]) == 5


@pytest.mark.parametrize("answer", ["skip", "unsure", "-", "don't know", "N/A", "#N/A", "?", "nan"])
def test_answers_that_are_missing_are_not_classes(answer, audit):
    rows = crowd_rows(["a", "b", "c"]).with_row_index("nr")
    rows = rows.with_columns(label=pl.when(pl.col("nr") % 9 == 0).then(pl.lit(answer)).otherwise("label"))
    record = audit(rows)
    assert_right(record)
    assert record["classes"] == ["a", "b", "c"]
    assert record["rows"] == rows.filter(pl.col("nr") % 9 != 0).height
    assert answer in audit(rows, "--set", "schema.missing=")["classes"]


def test_plus_and_minus_are_classes(audit):
    assert audit(crowd_rows(["+", "-"]))["classes"] == ["+", "-"]
    assert audit(crowd_rows(["skip", "play"]))["classes"] == ["play", "skip"]


def test_a_class_called_na_is_a_question(audit):
    rows = crowd_rows(["NA", "EU", "US"])
    assert "which may be a class or a missing answer" in audit(rows)
    record = audit(rows, "--set", "schema.missing=")
    assert_right(record)
    assert record["classes"] == ["EU", "NA", "US"]
    assert audit(rows, "--set", "schema.missing=NA")["classes"] == ["EU", "US"]


@pytest.mark.parametrize("name", ["consensus", "Majority vote", "gold", "TOTAL"])
def test_a_contributor_that_sums_up_others_is_excluded(name, audit):
    rows = crowd_rows(["a", "b", "c"])
    summed = rows.group_by("item").agg(label=pl.col("label").mode().first())
    summed = summed.select("item", annotator=pl.lit(name), label="label")
    record = audit(pl.concat([rows, summed]))
    assert_right(record)
    assert any(repr(name) in each for each in record["warnings"])


def test_a_last_row_of_totals_is_excluded(audit):
    rows = crowd_rows(["a", "b", "c"])
    total = pl.DataFrame({"item": ["Total"], "annotator": [None], "label": ["750"]}, schema=rows.schema)
    record = audit(pl.concat([rows, total]))
    assert_right(record)
    assert record["classes"] == ["a", "b", "c"]


def test_exact_copies_count_once(audit):
    rows = crowd_rows(["a", "b", "c"])
    record = audit(pl.concat([rows, rows.head(300)]))
    assert record["rows"] == rows.height
    assert any("300 rows excluded: exact copies" in each for each in record["warnings"])
    assert record["contributors"] == audit(rows)["contributors"]


ADDRESSES = [
    "img/{}.jpg",
    "https://x.org/a/{}.JPEG?size=2",
    "C:\\scans\\{}.png",
    "s3://lab/{}.tif",
    "/data/{}.webp",
]


@pytest.mark.parametrize("address", ADDRESSES)
@pytest.mark.parametrize("column", ["image", "file_url"])
def test_images_by_address_that_are_elsewhere(address, column, audit):
    rows = crowd_rows(["a", "b", "c"]).with_columns(pl.format(address, "item").alias(column))
    for table in (rows, rows.drop("item")):
        record = audit(table)
        assert_right(record)
        assert any("were not read" in each for each in record["warnings"])
        assert record["schema"]["features"] == []


def measured(**columns):
    """Rows with features, each labelled by one annotator, sorted by label as exports are."""
    rng = np.random.default_rng(4)
    rows = crowd_rows(["ham", "spam"], items=500)
    correct = rows.group_by("item").agg(pl.col("label").mode().first().alias("correct"))
    rows = rows.join(correct, on="item").filter(pl.int_range(pl.len()).shuffle(seed=1) % 5 == 0)
    spam = (rows["correct"] == "spam").to_numpy()
    rows = rows.with_columns(
        width=rng.normal(size=rows.height) + 3 * spam, height=rng.normal(size=rows.height) - spam
    )
    rows = rows.drop("item", "correct").sort("label", maintain_order=True)
    return rows.with_columns(**{name: make(rows.height) for name, make in columns.items()})


NUMBERS = {
    "nr": lambda n: pl.Series(range(1, n + 1)),
    "picture_no": lambda n: pl.Series(range(n + 40, 40, -1)),
    "saved": lambda n: pl.Series(np.arange(n) * 1.0),
    "record": lambda n: pl.Series(np.cumsum(np.random.default_rng(0).integers(1, 30, n))),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_running_number_is_not_a_feature(name, audit):
    record = audit(measured(**{name: NUMBERS[name]}))
    assert record["schema"]["features"] == ["width", "height"]
    assert verdicts(record)["eve"] in FLAGGED
    assert "feature columns: width, height" in record["notes"]
    alone = audit(measured(**{name: NUMBERS[name]}).drop("width", "height"))
    assert "no feature column is left" in alone


def test_numbers_with_a_few_other_values_are_numbers(audit):
    german = lambda n: pl.Series([f"{at % 97},{at % 10}" for at in range(n)])  # noqa: E731
    stray = lambda n: pl.Series(["n.d.", *(f"{at * 7 % 101}" for at in range(1, n))])  # noqa: E731
    record = audit(measured(price=german, size=stray))
    assert "column 'price' is read as numbers" in record["warnings"]
    assert any(
        "column 'size' is read as numbers; 1 value is taken as missing" in w for w in record["warnings"]
    )


def test_a_second_column_of_labels_is_refused_or_excluded(audit):
    rows = crowd_rows(["a", "b", "c"]).rename({"label": "annotation"})
    rows = rows.with_columns(label=pl.Series(np.random.default_rng(0).choice(["a", "b", "c"], rows.height)))
    error = audit(rows)
    assert "columns 'label' and 'annotation' hold the same classes" in error
    record = audit(rows, "--label", "annotation")
    assert_right(record)
    assert record["schema"]["features"] == []
    for name in ("model_prediction", "final", "gpt4"):
        record = audit(rows.rename({"annotation": "label", "label": name}), "--label", "label")
        assert name == "gpt4" or record["schema"]["features"] == []
        assert_right(record)


def test_columns_of_other_people_are_not_features(audit):
    rows = crowd_rows(["a", "b", "c"]).with_row_index("nr")
    rows = rows.with_columns(
        reviewer=pl.when(pl.col("nr") % 2 == 0).then(pl.lit("zoe")).otherwise(pl.lit("max")),
        team=pl.col("annotator").replace({"ann": "x", "bob": "y", "cat": "z"}),
        assigned=pl.col("annotator").shuffle(seed=1),
    )
    record = audit(rows.drop("nr"))
    assert_right(record)
    assert record["schema"]["features"] == []


def test_the_last_answer_replaces_earlier_ones(audit):
    rows = crowd_rows(["a", "b", "c"]).with_columns(date=pl.lit("2024-02-01"))
    wrong = rows.with_columns(label=pl.lit("a"), date=pl.lit("2024-01-01"))
    both = pl.concat([rows, wrong])
    assert any("schema.answers=last" in each for each in audit(both)["warnings"])
    record = audit(both, "--set", "schema.answers=last")
    assert_right(record)
    assert record["rows"] == rows.height


def test_item_numbers_that_begin_again_in_every_batch(audit):
    one, two = (crowd_rows(["a", "b", "c"], seed=seed) for seed in (1, 2))
    texts = [pl.format("the story of {} in part {} of it", "item", pl.lit(at)).alias("text") for at in (1, 2)]
    batches = [frame.with_columns(lot=pl.lit(at)) for at, frame in enumerate((one, two), 1)]
    both = pl.concat([frame.with_columns(text) for frame, text in zip(batches, texts, strict=True)])
    assert "has several values of 'text'" in audit(both)
    for rows in (both, both.drop("text")):
        record = audit(rows, "--column", "batch=lot", "--set", "evaluate=false")
        assert_right(record)
        assert record["n_items"] == 240


def test_comparisons_ratings_and_estimates_are_recognised(audit):
    rng = np.random.default_rng(0)
    rows = crowd_rows(["1", "2", "3", "4", "5"]).with_columns(pl.col("label").cast(pl.Int64))
    for name in ("stars", "rating"):
        record = audit(rows.rename({"label": name}))
        assert record["task"]["name"] == "ordinal"
        assert verdicts(record)["eve"] in FLAGGED
    assert audit(rows, "--label", "label")["task"]["name"] == "classification"
    numbers = rows.select("item", "annotator", estimate=pl.col("label") * 9.7 + rng.normal(size=rows.height))
    assert audit(numbers)["task"]["name"] == "regression"
    pairs = rows.select(
        "annotator",
        question=pl.col("item"),
        model_a=pl.lit("gpt") + (pl.col("label") % 2).cast(pl.String),
        model_b=pl.lit("llama"),
        winner=pl.when(pl.col("label") > 2).then(pl.lit("model_a")).otherwise(pl.lit("model_b")),
    )
    assert audit(pairs)["task"]["name"] == "preferences"

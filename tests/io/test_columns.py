"""Column roles: as named, else inferred from column names and reported."""

from typing import Any

import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io.columns import Columns, choose_columns
from anml.io.roles import GOLD_ALIASES, HONEYPOT_ALIASES, TIMES_SPENT
from intake_tables import ROWS, cycle, table


def test_by_hand() -> None:
    frame = table(worker=cycle("ann", "bob"), text_length=cycle(1, 2, 3))
    columns, notes = choose_columns(frame, label="label")
    assert columns == Columns(label="label", contributor="worker", features=("size", "text_length"))
    assert notes == ["using column 'worker' as contributor (guessed from its name)"]
    assert columns.to_dict() == {
        "label": "label",
        "contributor": "worker",
        "item": None,
        "verification": None,
        "reputation": None,
        "time": None,
        "derived_from": None,
        "test_label": None,
        "true_label": None,
        "reviewed": None,
        "retracted": None,
        "licence": None,
        "features": ["size", "text_length"],
    }


def test_the_most_telling_name_wins() -> None:
    columns, _ = choose_columns(
        table(category=cycle("u", "v", "w"), source=cycle("p", "q"), annotator=cycle("r", "s"))
    )
    assert columns.label == "label"
    assert columns.contributor == "annotator"
    assert columns.features == ("size", "category", "source")


def test_single_letters_beside_a_contributor() -> None:
    columns, _ = choose_columns(table(worker=cycle("a", "b"), v=cycle(0.2, 0.9), r=cycle("new", "top")))
    assert (columns.verification, columns.reputation) == ("v", "r")


def test_identifiers_are_not_features_and_not_items() -> None:
    frame = table(
        sample_id=range(ROWS),
        patientId=[f"p{at}" for at in range(ROWS)],
        code=[f"c{at}x" for at in range(ROWS)],
        plain_number=range(ROWS),
    )
    columns, notes = choose_columns(frame, label="label")
    assert columns.item is None
    assert columns.features == ("size",)
    assert notes == [
        "excluded columns 'sample_id', 'patientId', 'code': an identifier, different in every row",
        "excluded column 'plain_number': a running number",
    ]


@pytest.mark.parametrize("name", ["item", "Item_ID"])
def test_an_item_named_so_may_be_unique(name: str) -> None:
    assert choose_columns(table(**{name: range(ROWS)}))[0].item == name
    assert choose_columns(table(sample_id=range(ROWS)), item="sample_id")[0].item == "sample_id"


def test_a_saved_index_is_an_identifier() -> None:
    columns, _ = choose_columns(table(**{"": range(ROWS), "Unnamed: 0": range(ROWS)}))
    assert columns.features == ("size",)


def test_constants_gaps_truth_and_lists_are_left_out() -> None:
    frame = table(same=cycle(3), none=[None] * ROWS, truth=cycle("a", "b", "b"), parts=[[1]] * ROWS)
    columns, notes = choose_columns(frame, label="label")
    assert columns.features == ("size",)
    assert notes == [
        "excluded column 'same': the same value in every row",
        "excluded column 'none': no values",
        "excluded column 'truth': it looks like a true label; name it as true_label, as test_label or as a "
        "feature to use it",
        "excluded column 'parts': a column of List(Int64) is not a feature",
    ]
    assert choose_columns(frame, label="label", features=["truth", "same"])[0].features == ("truth", "same")


def test_text_that_never_repeats_is_a_feature() -> None:
    texts = [f"the weather of day {at} was fine" for at in range(ROWS)]
    assert choose_columns(table(tweet=texts))[0].features == ("size", "tweet")


def test_features_and_ignore() -> None:
    frame = table(worker=cycle("a", "b"), other=cycle(1, 2))
    assert choose_columns(frame, features=["other", "other"])[0].features == ("other",)
    assert choose_columns(frame, features="other")[0].features == ("other",)
    columns, _ = choose_columns(frame, ignore=["worker"])
    assert columns.contributor is None
    assert columns.features == ("size", "other")
    # A column that was named as a feature is not guessed as something else.
    assert choose_columns(frame, features=["worker"])[0].contributor is None


@pytest.mark.parametrize(
    ("named", "message"),
    [
        ({"label": "lable"}, r"there is no column 'lable' \(did you mean 'label'\?\); columns: size, label"),
        ({"contributor": "zzz"}, "there is no column 'zzz'; columns: size, label"),
        ({"features": ["size", "sise"]}, "no column 'sise'"),
        ({"ignore": ["nope"]}, "no column 'nope'"),
        ({"label": "label", "contributor": "label"}, "'label' is named as label and as contributor"),
        ({"label": "label", "features": ["label"]}, "'label' is named as label and as feature"),
        ({"label": "label", "ignore": ["label"]}, "'label' is named as label and as ignored"),
        ({"ignore": ["size"]}, "no feature column is left"),
        ({"features": []}, "no feature column is left"),
        ({"ignore": "label"}, "no column could be taken for the label; name one of size, label"),
    ],
)
def test_bad_names(named: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        choose_columns(table(), **named)
    assert "\n" not in str(raised.value)


def test_a_long_list_of_columns_is_shortened() -> None:
    frame = pl.DataFrame({f"c{at}": [1, 2] for at in range(100)})
    with pytest.raises(InputError, match=r"c10, c11 and 88 more$"):
        choose_columns(frame)


@pytest.mark.parametrize("role", ["contributor", "item", "verification", "reputation", "test_label"])
@pytest.mark.parametrize("value", [["a"], {"a": 1}], ids=["list", "record"])
def test_a_nested_column_plays_no_part(role, value):
    frame = pl.DataFrame({"size": [1.5, 2.0], "label": ["a", "b"], "odd": [value, value]})
    with pytest.raises(InputError, match=f"column 'odd' holds .*, which cannot be a {role}"):
        choose_columns(frame, **{role: "odd"})


def three_each(item: str, contributor: str, label: str) -> pl.DataFrame:
    """Twenty things, each labelled by the same three."""
    things = [number // 3 for number in range(60)]
    return pl.DataFrame({item: things, contributor: ["ann", "bob", "eve"] * 20, label: ["yes", "no"] * 30})


@pytest.mark.parametrize(
    ("item", "contributors", "label"),
    [
        ("question", "worker", "answer"),
        ("task", "performer", "label"),
        ("ticket_id", "labelled_by", "category"),
        ("tweet_id", "judge", "judgment"),
        ("sentence_id", "turker", "response"),
    ],
)
def test_labels_alone_are_recognised_by_the_names_people_use(
    item: str, contributors: str, label: str
) -> None:
    columns, _ = choose_columns(three_each(item, contributors, label))
    assert columns == Columns(label=label, contributor=contributors, item=item)


def test_an_identifier_that_contributors_share_is_the_item_whatever_it_is_called() -> None:
    frame = three_each("clip_id", "worker", "label")
    columns, notes = choose_columns(frame)
    assert columns.item == "clip_id"
    assert "using column 'clip_id' as item (several contributors have the same values)" in notes
    assert choose_columns(frame, ignore=["clip_id"], needs_features=False)[0].item is None
    # A patient of whom everybody has many rows is no item.
    patients = frame.select("worker", "label", patient_id=pl.int_range(60) % 4, size=pl.int_range(60) / 7)
    assert choose_columns(patients)[0].item is None


def test_a_text_that_is_the_item_stays_a_feature() -> None:
    texts = [f"the {word} came late and was cold" for word in "abcdefghijklmnopqrstuvwxyz" * 2]
    frame = pl.DataFrame({"text": texts, "worker": ["ann"] * 26 + ["bob"] * 26, "label": ["a", "b"] * 26})
    columns, _ = choose_columns(frame, item="text")
    assert (columns.item, columns.features) == ("text", ("text",))


@pytest.mark.parametrize("name", [*GOLD_ALIASES, *HONEYPOT_ALIASES, *TIMES_SPENT])
def test_what_a_name_means_is_no_feature_under_the_name_that_exports_give_it(name: str) -> None:
    frame = pl.DataFrame({"label": ["a", "b"] * 3, "size": [1.0, 2.0, 2.0, 1.0, 3.0, 1.0]})
    known = frame.with_columns(pl.col("size").alias(f"data_{name}"))
    chosen, notes = choose_columns(known)
    assert chosen.features == ("size",)
    assert any(f"'data_{name}'" in note for note in notes)

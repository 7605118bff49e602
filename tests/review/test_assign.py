"""Assignment of reviewers: accuracy by hand, no duplicates, no flagged contributor, prices."""

import polars as pl
import pytest

from anml.annotators.words import FLAGGED, RELIABLE
from anml.core.errors import AnmlError
from anml.pipeline.review_queue import ReviewQueue
from anml.review.assign import Prices, assign_annotators, class_accuracy, read_prices, with_prices

# ann is good at x and poor at y, bob the other way round; eve is accused, zoe has given one label.
SAMPLES = pl.concat(
    pl.DataFrame(
        {"contributor": [who] * n, "suggested_label": [label] * n, "p_correct": [p] * n,
         "item": [f"{who}{label}{at}" for at in range(n)]}
    )
    for who, label, p, n in [
        ("ann", "x", 0.95, 20), ("ann", "y", 0.55, 20), ("bob", "x", 0.60, 20), ("bob", "y", 0.90, 20),
        ("eve", "x", 0.99, 20), ("zoe", "x", 0.99, 1),
    ]
)  # fmt: skip
VERDICTS = {"ann": RELIABLE, "bob": RELIABLE, "eve": FLAGGED[0], "zoe": RELIABLE}


def rows(*labels, item="zoex0"):
    return pl.DataFrame({"item": [item] * len(labels), "label": labels, "suggested_label": labels})


def test_reliability_on_a_class_leans_on_all_labels_of_a_person():
    classes, result = class_accuracy(SAMPLES, ["ann", "bob"])
    assert classes == {"x": 0, "y": 1}
    # ann: all labels 0.75, of x (20 x 0.95 + 5 x 0.75) / 25.
    assert result[0].tolist() == pytest.approx([0.91, 0.59])
    assert result[1].tolist() == pytest.approx([0.63, 0.87])


def test_the_most_reliable_on_the_class_is_asked_and_work_is_shared():
    assert assign_annotators(rows("x", "y"), SAMPLES, VERDICTS, Prices()) == ["ann", "bob"]
    # Six of x: nobody gets more than one and a half times an equal part, which is four and a half.
    assert assign_annotators(rows(*"xxxxxx"), SAMPLES, VERDICTS, Prices()) == ["ann"] * 5 + ["bob"]


def test_nobody_labels_an_item_twice_and_nobody_else_is_asked_where_nobody_is_left():
    assert assign_annotators(rows("x", item="annx0"), SAMPLES, VERDICTS, Prices()) == ["bob"]
    alone = {"ann": RELIABLE, "bob": FLAGGED[0]}
    assert assign_annotators(rows("x", item="annx0"), SAMPLES, alone, Prices()) == [None]
    assert assign_annotators(rows("x"), SAMPLES, {}, Prices()) == [None]


def test_the_most_reliable_for_the_price_is_asked():
    assert assign_annotators(rows("x"), SAMPLES, VERDICTS, Prices(by={"ann": 0.30, "bob": 0.10})) == ["bob"]
    assert assign_annotators(rows("x"), SAMPLES, VERDICTS, Prices(by={"ann": 0.30})) == ["ann"]


def test_numbers_have_no_classes():
    plain = SAMPLES.drop("suggested_label")
    row = pl.DataFrame({"item": ["zoex0"], "label": [1.0], "suggested_label": [2.0]})
    assert assign_annotators(row, plain, VERDICTS, Prices()) == ["ann"]


def test_prices_are_a_number_or_a_table(tmp_path):
    assert read_prices(None) == Prices()
    assert read_prices("0.25").of("anybody") == 0.25
    file = tmp_path / "prices.csv"
    file.write_text("contributor,price\nann,0.3\n7,0.1\n")
    result = read_prices(str(file))
    assert (result.of("ann"), result.of("7"), result.of("bob")) == (0.3, 0.1, None)
    looking = ReviewQueue(
        rows("x", "y").with_columns(assigned_to=pl.Series(["ann", None])), 2, 1.0, 1.0, 2, None
    )
    assert with_prices(looking, result).rows["price"].to_list() == [0.3, None]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("who,price\nann,1\n", "has no column 'contributor'"),
        ("contributor,price\nann,free\n", "a price must be a number above 0, got 'free'"),
        ("contributor,price\nann,-1\n", "a price must be a number above 0, got '-1'"),
        ("contributor,price\nann,inf\n", "a price must be a number above 0, got 'inf'"),
        ("contributor,price\nann,1\nann,2\n", "prices.csv names a contributor twice"),
        ("contributor,price\n,1\n", "prices.csv has a price that belongs to no contributor"),
    ],
)
def test_prices_that_are_none_are_refused(tmp_path, text, message):
    file = tmp_path / "prices.csv"
    file.write_text(text)
    with pytest.raises(AnmlError, match=message):
        read_prices(str(file))


@pytest.mark.parametrize("given", ["0", "-1", "nan", "inf"])
def test_a_price_is_above_nothing(given):
    with pytest.raises(AnmlError, match="a price must be a number above 0"):
        read_prices(given)

"""Columns that number, identify or repeat rows are recognised by their values, not by their names."""

import numpy as np
import polars as pl
import pytest

from anml.io.columns import choose_columns
from anml.io.identifying import numbering_reason

N = 240
RNG = np.random.default_rng(0)
ITEMS = [f"t{at}" for at in range(N // 4) for _ in range(4)]
PEOPLE = [("ann", "bob", "cat", "dan")[at % 4] for at in range(N)]


def table(**columns):
    base = {
        "size": RNG.normal(size=N),
        "annotator": PEOPLE,
        "label": RNG.choice(["ham", "spam", "other"], N).tolist(),
    }
    return pl.DataFrame(base | columns)


EXCLUDED = {
    "from_1": range(1, N + 1),
    "downwards": range(N, 0, -1),
    "as_a_float": np.arange(N, dtype=float),
    "with_gaps_in_order": np.cumsum(RNG.integers(1, 90, N)),
    "shuffled": RNG.permutation(N) + 7000,
    "of_a_larger_table": RNG.choice(3000, N, replace=False),
    "begins_again": [*range(N // 2)] * 2,
    "twice_in_any_order": RNG.permutation([*range(N // 2)] * 2),
    "of_items_in_order": np.repeat(np.arange(N // 4), 4),
    "file_name": [f"scan_{at}_{RNG.integers(9)}.tif" for at in range(N)],
    "hash_with_one_copy": [f"h{max(at, 1):x}" for at in range(N)],
    "name_of_the_person": [f"{name.title()} Smith" for name in PEOPLE],
    "desk": [("ann", "bob", "cat", "dan").index(name) * 3 + 1 for name in PEOPLE],
}


@pytest.mark.parametrize("name", EXCLUDED)
def test_columns_that_say_nothing_of_an_item_are_excluded(name):
    columns, notes = choose_columns(table(**{name: EXCLUDED[name]}))
    assert columns.features == ("size",)
    assert any(note.startswith(f"excluded column {name!r}: ") for note in notes)


def test_codes_of_the_label_and_names_of_the_item_are_excluded():
    frame = table(item=ITEMS)
    codes = frame["label"].replace_strict({"ham": 3, "spam": 1, "other": 2})
    columns, notes = choose_columns(
        frame.with_columns(code=codes, address=pl.Series([f"x/{at}" for at in ITEMS]))
    )
    assert columns.features == ("size",)
    assert "excluded column 'code': it repeats the label column 'label'" in notes
    assert "excluded column 'address': it repeats the item column 'item'" in notes


KEPT = {
    "age": RNG.integers(18, 90, N),
    "price": np.round(np.exp(RNG.normal(9, 1, N))),
    "hour": [at % 24 for at in range(N)],
    "sorted_age": np.sort(RNG.integers(18, 90, N)),
    "pixel": RNG.integers(0, 256, N),
    "weight": np.arange(N) + RNG.random(N),
    "text": [f"the weather of day {at} was fine" for at in range(N)],
    "site": [("north", "south")[at % 4 // 2] for at in range(N)],
    "gender_of_patient": RNG.choice(["f", "m"], N).tolist(),
}


@pytest.mark.parametrize("name", KEPT)
def test_measurements_and_texts_remain_features(name):
    assert choose_columns(table(**{name: KEPT[name]}))[0].features == ("size", name)


def test_measurements_of_an_item_are_not_its_number():
    views = np.repeat(RNG.integers(10, 900_000, N // 4), 4)
    frame = table(item=ITEMS, views=views)
    assert choose_columns(frame)[0].features == ("size", "views")


def test_a_gap_or_a_fraction_does_not_number_rows():
    assert numbering_reason(pl.Series([*range(50), None])) is None
    assert numbering_reason(pl.Series(np.arange(50) + 0.5)) is None

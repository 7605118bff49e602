import numpy as np
import polars as pl
import pytest

from anml.core.errors import InputError
from anml.io.encode.text import MAX_DIMENSIONS, TextColumn
from intake_tables import labelled, prepared


def filled(column: TextColumn, *texts: str | None) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    out = np.zeros((len(texts), len(column.names)), dtype=np.float32)
    column.fill(pl.Series(texts, dtype=pl.String), out)
    return out


def test_by_hand() -> None:
    column = TextColumn.fit(pl.Series("c", ["Sun sun rain", "sun", "rain wind"]), "text", 0)
    # Wind occurs once and is left out; sun and rain occur in two texts each and so weigh the same.
    assert column.names == ["c: rain", "c: sun"]
    made = filled(column, "sun", "rain", "sun rain", "wind", None, "", "SUN!")
    unit = made[0, 1]
    assert unit > 0
    half = unit / np.sqrt(2)
    expected = [[0, unit], [unit, 0], [half, half], [0, 0], [0, 0], [0, 0], [0, unit]]
    np.testing.assert_allclose(made, expected, rtol=1e-6)


def test_words_that_no_two_texts_share_are_kept_where_there_are_no_others() -> None:
    column = TextColumn.fit(pl.Series("c", ["one two", "three four"]), "text", 0)
    assert column.words == ("four", "one", "three", "two")


def test_no_words_at_all() -> None:
    column = TextColumn.fit(pl.Series("c", ["!!", "??"]), "text", 0)
    assert column.names == []
    assert filled(column, "hello").shape == (1, 0)


def test_only_texts_without_words() -> None:
    marks = ["! " * 30 + "?" * at for at in range(60)]
    with pytest.raises(InputError, match="hold no word or number"):
        prepared(labelled(marks=marks), features=["marks"])


def test_large_vocabularies_are_reduced() -> None:
    random = np.random.default_rng(0)
    words = np.array([f"w{at}" for at in range(500)])
    texts = [" ".join(random.choice(words, 20)) for _ in range(400)]
    column = TextColumn.fit(pl.Series("c", texts), "text", 0)
    assert len(column.names) == MAX_DIMENSIONS
    made = filled(column, *texts)
    assert made.std(axis=0).max() == pytest.approx(1, rel=1e-4)
    assert column.names[0] == "c (direction 1)"
    small = TextColumn.fit(pl.Series("c", texts[:30]), "text", 0)
    assert len(small.names) == 30


def test_repeated_texts_count_once() -> None:
    texts = ["sun and rain", "rain and wind", "wind and sun"]
    once = TextColumn.fit(pl.Series("c", texts), "text", 0)
    often = TextColumn.fit(pl.Series("c", [*texts, *[texts[0]] * 20]), "text", 0)
    assert once.idf.tolist() == often.idf.tolist()
    assert once.words == often.words

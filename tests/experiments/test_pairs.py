"""Sessions of judges who compare: bad ones are planted, and what is measured of a method."""

import numpy as np
import pytest

from anml.annotators.preferences.davidson import FIRST, TIE
from experiments.data import DataMissingError
from experiments.measures import Outcome
from experiments.pairs import (
    INFORMED_REVERSED,
    JUDGES,
    METHODS,
    N_COPIES,
    load_pairs,
    load_session,
    measures,
    with_bad_judges,
)
from pair_worlds import world

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def plain():
    """Sixty careful judges with thirty comparisons each."""
    first, second, choice, contributor, _ = world(["careful"] * 60, rows=30)
    return load_session(first, second, choice, contributor)


@pytest.fixture(scope="module")
def bad(plain):
    return with_bad_judges(plain, np.random.default_rng(0))


def made_of(case):
    return case.seen.of_person(case.truth.group)


def test_bad_judges_of_every_kind_are_planted(plain, bad):
    made = made_of(bad)
    assert set(made) - {INFORMED_REVERSED, "reversed"} == {"", *JUDGES} - {"reversed"}
    first, turned = (np.flatnonzero(np.char.startswith(made, kind))[0] for kind in ("first", "reversed"))
    assert (bad.seen.y[bad.seen.who == first] == FIRST).mean() > 0.8
    before = plain.seen.y
    at = np.flatnonzero((bad.seen.who == turned) & (np.arange(len(bad.seen.y)) < len(before)))
    decided = before[at] != TIE
    assert (bad.seen.y[at][decided] == 1 - before[at][decided]).all()
    assert (bad.seen.y[at][~decided] == TIE).all()


def test_copies_are_further_accounts_with_the_same_choices(plain, bad):
    made, people = made_of(bad), len(plain.seen.rows)
    assert len(made) == people + N_COPIES * (made[:people] == "copies").sum()
    source, copy = np.flatnonzero(made == "copies")[[0, -1]]
    np.testing.assert_array_equal(bad.seen.y[bad.seen.who == source], bad.seen.y[bad.seen.who == copy])


@pytest.mark.parametrize("method", METHODS)
def test_methods_predict_or_rank(bad, method):
    result = measures(bad, METHODS[method](bad.seen))
    assert result.get("loss", 0.0) < np.log(3)
    assert result.get("ranked", 1.0) > 0.4
    assert {"loss", "ranked"} & set(result)


def test_held_out_choices_are_predicted_better_with_people_in_the_model(bad):
    ours, plain = (measures(bad, METHODS[name](bad.seen))["loss"] for name in ("anml", "Bradley-Terry"))
    assert ours < plain


def test_what_is_said_of_whom_is_counted(bad):
    made = made_of(bad)
    words = np.where(made == "first", "no better than guessing", "reliable")
    words[np.flatnonzero(made == "")[0]] = "contradicts the others"
    result = measures(bad, Outcome(verdict=words))
    assert result["first_found"] == result["first"] > 0
    assert result["honest_accused"] == 1
    assert result["established"] == result["honest"]
    assert result["established_known"] == result["honest"] - 1
    assert result["taste_guessing"] == result["coin_found"] == 0


@pytest.mark.parametrize("name", ["melodies", "topic 1"])
def test_sessions_are_loaded(name):
    try:
        result = load_pairs(name)
    except DataMissingError as missing:
        pytest.skip(str(missing))
    assert len(result.seen.x) == len(result.seen.y) == len(result.seen.contributor) > 1_000
    assert (result.seen.x[:, 0] != result.seen.x[:, 1]).all()

"""Sessions of judges who compare: bad ones are planted, and what is measured of a method."""

import numpy as np
import pytest
from tests.core.people.pair_worlds import world

from anml.core.people.davidson import FIRST, TIE
from anml.lab.data import DataMissingError
from anml.lab.pairs import COPIES, JUDGES, METHODS, Said, Session, load_pairs, measures, planted


@pytest.fixture(scope="module")
def session():
    """Sixty careful judges with thirty comparisons each."""
    first, second, choice, who, _ = world(["careful"] * 60, rows=30)
    return Session(first, second, choice, who, np.full(60, "", dtype="<U8"), np.zeros(60, dtype=bool))


@pytest.fixture(scope="module")
def bad(session):
    return planted(session, np.random.default_rng(0))


def test_bad_judges_of_every_kind_are_planted(session, bad):
    assert set(bad.made) == {"", *JUDGES}
    first, turned = (np.flatnonzero(bad.made == kind)[0] for kind in ("first", "reversed"))
    assert (bad.choice[bad.who == first] == FIRST).mean() > 0.8
    n = len(session.who)
    at = np.flatnonzero((bad.who == turned) & (np.arange(len(bad.who)) < n))
    decided = session.choice[at] != TIE
    assert (bad.choice[at][decided] == 1 - session.choice[at][decided]).all()
    assert (bad.choice[at][~decided] == TIE).all()


def test_copies_are_further_accounts_with_the_same_choices(session, bad):
    assert len(bad.made) == len(session.made) + COPIES * (bad.made[: len(session.made)] == "copies").sum()
    source, copy = np.flatnonzero(bad.made == "copies")[[0, -1]]
    np.testing.assert_array_equal(bad.choice[bad.who == source], bad.choice[bad.who == copy])


@pytest.mark.parametrize("method", METHODS)
def test_methods_predict_or_rank(bad, method):
    found = measures(bad, METHODS[method](bad))
    assert found.get("loss", 0.0) < np.log(3)
    assert found.get("ranked", 1.0) > 0.4
    assert {"loss", "ranked"} & set(found)


def test_held_out_choices_are_predicted_better_with_people_in_the_model(bad):
    ours, plain = (measures(bad, METHODS[name](bad))["loss"] for name in ("anml", "Bradley-Terry"))
    assert ours < plain


def test_what_is_said_of_whom_is_counted(bad):
    words = np.where(bad.made == "first", "no better than guessing", "reliable")
    words[np.flatnonzero(bad.made == "")[0]] = "contradicts the others"
    found = measures(bad, Said(words=words.tolist()))
    assert found["first_found"] == found["first"] > 0
    assert found["honest_accused"] == 1
    assert found["established"] == found["honest"]
    assert found["established_known"] == found["honest"] - 1
    assert found["taste_guessing"] == found["coin_found"] == 0


@pytest.mark.parametrize("name", ["melodies", "topic 1"])
def test_sessions_are_loaded(name):
    try:
        found = load_pairs(name)
    except DataMissingError as missing:
        pytest.skip(str(missing))
    assert len(found.first) == len(found.second) == len(found.choice) == len(found.who) > 1_000
    assert (found.first != found.second).all()

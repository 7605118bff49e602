"""Utility of coalitions: against scikit-learn, single and batched; row ownership."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score

from anml.attribution.games import all_coalitions
from anml.attribution.models import (
    METRICS,
    accuracy,
    estimator_utility,
    linear_utility,
    metric_of,
    minus_rmse,
    mlp_utility,
    r_squared,
)
from anml.attribution.row_ownership import parts_of
from anml.attribution.semivalues import banzhaf


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 150)
    x = rng.normal(size=(150, 5)) + 1.5 * np.eye(5)[y]
    return x[:100], y[:100], x[100:], y[100:], rng.integers(0, 4, 100)


def test_the_linear_model_is_least_squares_on_the_coalitions_rows(rows):
    x, y, x_test, y_test, who = rows
    worth = linear_utility(x, y, parts_of(who), x_test, y_test, classes=3, metric=accuracy)
    members = all_coalitions(4)
    found = worth(members)
    for place in (3, 7, 15):
        mine = np.isin(who, np.flatnonzero(members[place]))
        wide = np.column_stack([np.ones(mine.sum()), x[mine]])
        pull = np.diag([1e-3, *np.ones(5)])
        weights = np.linalg.solve(wide.T @ wide + pull, wide.T @ np.eye(3)[y[mine]])
        said = (np.column_stack([np.ones(len(x_test)), x_test]) @ weights).argmax(axis=1)
        assert found[place] == pytest.approx((said == y_test).mean())


def test_numbers(rows):
    x, _, x_test, _, who = rows
    y, y_test = x @ np.arange(5.0), x_test @ np.arange(5.0)
    worth = linear_utility(x, y, parts_of(who), x_test, y_test, classes=1, metric=r_squared)
    assert worth(np.ones((1, 4), dtype=bool))[0] > 0.95
    worth = linear_utility(x, y, parts_of(who), x_test, y_test, classes=1, metric=minus_rmse)
    theirs = Ridge(alpha=1.0).fit(x, y).predict(x_test)
    assert worth(np.ones((1, 4), dtype=bool))[0] == pytest.approx(
        -np.sqrt(np.mean((theirs - y_test) ** 2)), abs=0.02
    )


def test_networks_give_the_same_alone_and_in_company(rows):
    x, y, x_test, y_test, who = rows
    worth = mlp_utility(x, y, parts_of(who), x_test, y_test, classes=3, metric=accuracy, epochs=20)
    some = all_coalitions(4)[[1, 6, 15]]
    together = worth(some)
    alone = np.concatenate([worth(one[None]) for one in some])
    assert together == pytest.approx(alone, abs=0.021)
    assert together[2] > 0.6


def test_any_estimator(rows):
    x, y, x_test, y_test, who = rows
    worth = estimator_utility(
        x,
        y,
        parts_of(who),
        x_test,
        y_test,
        classes=3,
        make=lambda: LogisticRegression(),
        score=accuracy_score,
    )
    found = worth(all_coalitions(4)[[0, 15]])
    assert found[0] == (y_test == 0).mean()
    assert found[1] == accuracy_score(y_test, LogisticRegression().fit(x, y).predict(x_test))


def test_a_coalition_of_one_class_predicts_it(rows):
    x, y, x_test, y_test, _ = rows
    worth = estimator_utility(
        x, y, parts_of(y), x_test, y_test, classes=3, make=lambda: LogisticRegression(), score=accuracy_score
    )
    assert worth(np.array([[False, True, False]]))[0] == (y_test == 1).mean()


def values(x, y, x_test, y_test, who, copies=None, first=None):
    parts = parts_of([f"{code}" for code in who], copies, first)
    worth = linear_utility(x, y, parts, x_test, y_test, classes=3, metric=accuracy)
    return dict(zip(parts.names, banzhaf(worth, len(parts.names)).value, strict=True))


def test_splitting_oneself_in_two_changes_nothing(rows):
    x, y, x_test, y_test, who = rows
    before = values(x, y, x_test, y_test, who)
    mine = np.flatnonzero(who == 0)
    split = who.copy()
    split[mine[::2]] = 7
    after = values(x, y, x_test, y_test, split)
    assert after["0"] + after["7"] == pytest.approx(before["0"])


CURVES = {
    "exponential": lambda n: 1 - np.exp(-n),
    "root": np.sqrt,
    "log": np.log1p,
    "power": lambda n: n**0.2,
}


@pytest.mark.parametrize("curve", CURVES.values(), ids=CURVES)
@given(
    talents=st.lists(st.floats(0.05, 3.0), min_size=2, max_size=4),
    pieces=st.integers(2, 6),
    seed=st.integers(0, 99),
)
def test_splitting_into_many_does_not_raise_the_total_where_learning_slows(curve, talents, pieces, seed):
    """Any learning curve whose gains fall, ever more slowly: the first contributor splits as it likes."""
    cut = np.random.default_rng(seed).dirichlet(np.ones(pieces)) * talents[0]

    def game(weights):
        return lambda some: curve(some @ np.array(weights))

    alone = banzhaf(game(talents), len(talents)).value[0]
    split = banzhaf(game([*cut, *talents[1:]]), pieces + len(talents) - 1).value[:pieces].sum()
    assert split <= alone + 1e-9


def test_copying_does_not_raise_the_total_and_gives_nothing_to_who_came_later(rows):
    x, y, x_test, y_test, who = rows
    before = values(x, y, x_test, y_test, who)
    mine = np.flatnonzero(who == 0)
    more_x, more_y = np.vstack([x, x[mine]]), np.r_[y, y[mine]]
    more_who, copies = np.r_[who, np.full(len(mine), 9)], np.r_[np.arange(100), mine]
    after = values(more_x, more_y, x_test, y_test, more_who, copies)
    assert after["0"] + after["9"] == pytest.approx(before["0"])
    assert after["1"] == pytest.approx(before["1"], abs=0.05)
    late = values(
        more_x, more_y, x_test, y_test, more_who, copies, first=np.r_[np.zeros(100), np.ones(len(mine))]
    )
    assert late["9"] == pytest.approx(0)
    assert late["0"] == pytest.approx(before["0"])


def test_sending_a_row_twice_changes_nothing(rows):
    x, y, x_test, y_test, who = rows
    mine = np.flatnonzero(who == 0)
    twice = values(
        np.vstack([x, x[mine]]), np.r_[y, y[mine]], x_test, y_test, np.r_[who, who[mine]],
        np.r_[np.arange(100), mine],
    )  # fmt: skip
    assert twice == pytest.approx(values(x, y, x_test, y_test, who))


def test_metrics_by_name():
    assert metric_of(None, "classification") is METRICS["classification"]["accuracy"]
    y, outputs = np.array([0, 0, 0, 1]), np.array([[[1.0, 0.0]] * 4])
    assert accuracy(y, outputs).tolist() == [0.75]
    assert METRICS["classification"]["balanced-accuracy"](y, outputs).tolist() == [0.5]
    with pytest.raises(ValueError, match="unknown metric of regression 'accuracy'"):
        metric_of("accuracy", "regression")

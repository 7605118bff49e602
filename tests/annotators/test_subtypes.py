"""Subtypes of items: found where contributors slip together, and not where they slip alone."""

import numpy as np

from anml.annotators.population import e_step
from anml.annotators.population_fit import LABEL_STARTS, InMemoryLabels, fit
from anml.annotators.population_judge import by_class
from anml.annotators.rows import LabelData, make_label_data
from anml.annotators.subtypes import MAX_CELLS, choose_subtypes
from tests.annotators.people_cases import Crowd, crowd, flat

SLIP = 3


def slipping_together(seed: int = 0) -> Crowd:
    """Three of nine take the same fourth of the items of either class for the other; all label every item."""
    made = crowd([0.85] * 9, classes=2, items=500, per_item=9, seed=seed)
    hard = np.random.default_rng([seed, 1]).uniform(size=500) < 0.25
    together = hard[made.item] & (made.who < SLIP)
    return made._replace(y=np.where(together, 1 - made.truth, made.y))


def rows_of(made: Crowd, classes: int = 2) -> LabelData:
    return make_label_data(flat(len(made.y), classes), made.y, made.side)


def accuracy(rows: LabelData, made: Crowd) -> float:
    params = fit(InMemoryLabels(rows), LABEL_STARTS)
    result, _ = e_step(params, rows)
    return float((by_class(params, result.item).argmax(axis=1) == made.truth).mean())


def test_items_on_which_some_slip_together_are_a_subtype():
    made = slipping_together()
    result = choose_subtypes(rows_of(made))
    assert result.subtypes > 1
    hard = np.bincount(made.item[made.who < SLIP], (made.y != made.truth)[made.who < SLIP]) == SLIP
    share = result.posterior.max(axis=2) / np.maximum(result.posterior.sum(axis=2), 1e-9)
    assert share[hard].mean() > 0.9


def test_those_who_slip_together_are_not_followed():
    made = slipping_together()
    rows = rows_of(made)
    votes = np.bincount(made.item, made.y) / 9
    majority = ((votes > 0.5).astype(int)[made.item] == made.truth).mean()
    assert accuracy(rows, made) > majority


def test_there_are_none_where_errors_are_independent():
    for seed in range(3):
        assert choose_subtypes(rows_of(crowd([0.8] * 6, items=200, per_item=4, seed=seed), 3)).subtypes == 1


def test_the_posterior_is_of_every_item_and_sums_to_one():
    result = choose_subtypes(rows_of(slipping_together()))
    np.testing.assert_allclose(result.posterior.sum(axis=(1, 2)), 1.0)
    assert result.posterior.shape[:2] == (500, 2)


def test_the_same_table_gives_the_same_subtypes():
    rows = rows_of(slipping_together())
    one, two = choose_subtypes(rows), choose_subtypes(rows)
    np.testing.assert_array_equal(one.posterior, two.posterior)


def test_many_contributors_and_classes_have_one_subtype():
    """Cells of every contributor, class and subtype would not fit in memory."""
    made = slipping_together()
    rows = rows_of(made)
    two = LabelData(rows.log_p, rows.y, rows.who, MAX_CELLS, None, rows.item, rows.voice)
    two.count = MAX_CELLS // 4
    assert choose_subtypes(two).subtypes == 1

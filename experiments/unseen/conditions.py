"""Thirty conditions of failures that occur where people or machines annotate, each a function of a seed.

Bad contributors lie, answer without the item, or are right at least 25 points less often than the median.
Here each row has one label; those with several labels of an item are in `repeated`.
"""

from dataclasses import replace

import numpy as np

from experiments.bank.sources import TEST_ROWS, Make, build_case
from experiments.seen import Case
from experiments.unseen import parts
from experiments.unseen.annotators import (
    exact_accuracy,
    guesses,
    repeat_previous,
    session_progress,
    sibling,
    with_slips,
    with_slips_to,
)
from experiments.unseen.parts import Rng, listed_in
from experiments.unseen.repeated import REPEATED

CONDITIONS: dict[str, Make] = {**REPEATED}


@listed_in(CONDITIONS)
def _guideline_splits_a_class(rng: Rng) -> Case:
    """A new guideline divides class 1 into 1 and 2 at 60% of the time; four of twelve keep the old one."""
    rows, _ = parts.make_subtypes(rng, 1_200, 4)
    contributor, time = rng.integers(0, 12, 1_200), np.arange(1_200) / 1_200
    old = (time < 0.6) | (contributor < 4)
    label = np.where(old & (rows.y == 2), 1, with_slips(rng, rows.y, 0.05, 4))
    return build_case(rows, label, contributor, age=1 - time)


@listed_in(CONDITIONS)
def _fatigue_in_sessions(rng: Rng) -> Case:
    """Every contributor's error rate rises from 2 to 35% within a session of 40 rows."""
    rows = parts.make_waves(rng, 1_200)
    contributor = np.repeat(rng.permutation(np.repeat(np.arange(10), 3)), 40)
    rate = 0.02 + 0.33 * session_progress(contributor, 40) ** 2
    return build_case(rows, with_slips(rng, rows.y, rate, 3), contributor, age=1 - np.arange(1_200) / 1_200)


@listed_in(CONDITIONS)
def _region_experts(rng: Rng) -> Case:
    """Each contributor knows one of four regions (97%) and is right in 70% of the few rows elsewhere."""
    rows, cluster = parts.make_subtypes(rng, 1_200, 3, subtypes=4, apart=5.0)
    region, away = cluster % 4, rng.uniform(size=1_200) < 0.2
    contributor = 3 * np.where(away, rng.integers(0, 4, 1_200), region) + rng.integers(0, 3, 1_200)
    return build_case(
        rows, with_slips(rng, rows.y, np.where(contributor // 3 == region, 0.03, 0.30), 3), contributor
    )


@listed_in(CONDITIONS)
def _rare_class_never_seen(rng: Rng) -> Case:
    """Two of ten answer the common class (95%) to everything; one suspects the rare class in 12%."""
    rows, _ = parts.make_subtypes(rng, 1_500, 2, shares=[0.95, 0.05], apart=5.0)
    contributor = rng.integers(0, 10, 1_500)
    label = with_slips(rng, rows.y, 0.01, 2)
    label = np.where((contributor == 2) & (rng.uniform(size=1_500) < 0.12), 1, label)
    return build_case(rows, np.where(contributor < 2, 0, label), contributor, [0, 1])


@listed_in(CONDITIONS)
def _thirty_classes(rng: Rng) -> Case:
    """Thirty classes in pairs that all confuse in 6%; five of forty guess in half of their rows."""
    rows, _ = parts.make_subtypes(rng, 2_400, 30, apart=6.0, features=15)
    contributor = rng.integers(0, 40, 2_400)
    label = with_slips_to(rng, rows.y, 0.06, sibling(rows.y))
    careless = (contributor < 5) & (rng.uniform(size=2_400) < 0.5)
    return build_case(rows, np.where(careless, guesses(rng, 2_400, 30), label), contributor, range(5))


@listed_in(CONDITIONS)
def _weak_features(rng: Rng) -> Case:
    """One feature of 25 predicts the class a little; three of twelve give the other class in 60%."""
    rows, contributor = parts.make_weak(rng, 900), rng.integers(0, 12, 900)
    return build_case(
        rows, with_slips(rng, rows.y, np.where(contributor < 3, 0.6, 0.06), 2), contributor, range(3)
    )


@listed_in(CONDITIONS)
def _site_with_its_own_threshold(rng: Rng) -> Case:
    """Four sites measure with offsets; site 3 calls a case positive later; one at site 1 inverts half."""
    rows, severity, site = parts.make_sites(rng, 1_200)
    contributor = 4 * site + rng.integers(0, 4, 1_200)
    label = (severity > np.where(contributor >= 12, 0.35, 0.0)).astype(np.int64)
    return build_case(
        rows, with_slips(rng, label, np.where(contributor == 4, 0.5, 0.03), 2), contributor, [4]
    )


@listed_in(CONDITIONS)
def _colluders_in_one_region(rng: Rng) -> Case:
    """Three of eighteen invert the class where two features are high, and are otherwise always right."""
    rows, _ = parts.make_subtypes(rng, 1_500, 2, subtypes=3)
    contributor = rng.integers(0, 18, 1_500)
    target = rows.x[:, :2].sum(axis=1) > np.quantile(rows.x[:, :2].sum(axis=1), 0.6)
    label = np.where(
        (contributor < 3) & target, 1 - rows.y, with_slips(rng, rows.y, np.where(contributor < 3, 0, 0.05), 2)
    )
    return build_case(rows, label, contributor, range(3))


@listed_in(CONDITIONS)
def _previous_label_again(rng: Rng) -> Case:
    """Three of twelve give their previous label again in 45% of their rows."""
    rows, contributor = parts.make_topics(rng, 1_000, 5), rng.integers(0, 12, 1_000)
    again = (contributor < 3) & (rng.uniform(size=1_000) < 0.45)
    label = repeat_previous(with_slips(rng, rows.y, 0.05, 5), contributor, again)
    return build_case(rows, label, contributor, range(3), age=1 - np.arange(1_000) / 1_000)


@listed_in(CONDITIONS)
def _swapped_keys_until_corrected(rng: Rng) -> Case:
    """One of nine swaps two of six classes in the first third; all slip to a neighbouring key in 6%."""
    rows, _ = parts.make_subtypes(rng, 1_100, 6, apart=5.0)
    contributor, time = rng.integers(0, 9, 1_100), np.arange(1_100) / 1_100
    near = np.clip(rows.y + rng.choice([-1, 1], 1_100), 0, 5)
    label = with_slips_to(rng, rows.y, 0.06, near)
    swapped = (contributor == 0) & (time < 1 / 3) & (label < 2)
    return build_case(rows, np.where(swapped, 1 - label, label), contributor, age=1 - time)


@listed_in(CONDITIONS)
def _suggestion_accepted(rng: Rng) -> Case:
    """A model suggests a label (60% right, wrong by subtype); four of ten accept it in 98%."""
    rows, cluster = parts.make_subtypes(rng, 1_200, 4, subtypes=5)
    mistaken = np.isin(cluster % 5, [0, 1])
    suggested = np.where(mistaken, (rows.y + 1) % 4, rows.y)
    contributor = rng.integers(0, 10, 1_200)
    label = with_slips(rng, rows.y, 0.05, 4)
    label = with_slips_to(rng, label, np.where(contributor < 4, 0.98, 0.08), suggested)
    return build_case(rows, label, contributor, range(4))


@listed_in(CONDITIONS)
def _careful_on_test_questions(rng: Rng) -> Case:
    """Two of eleven recognise the clearest quarter of the items as tests and guess all others."""
    rows = parts.make_waves(rng, 1_000)
    distance = parts.distance_from_mean(rows)
    contributor, clear = rng.integers(0, 11, 1_000), distance < np.quantile(distance, 0.25)
    label = with_slips(rng, rows.y, np.where(clear, 0.01, 0.08), 3)
    return build_case(
        rows, np.where((contributor < 2) & ~clear, guesses(rng, 1_000, 3), label), contributor, [0, 1]
    )


@listed_in(CONDITIONS)
def _busiest_is_ordinary(rng: Rng) -> Case:
    """One contributor gives 65% of the labels and is right in 86%, the nine others in 95%."""
    rows, _ = parts.make_subtypes(rng, 1_000, 3)
    contributor = np.where(rng.uniform(size=1_000) < 0.65, 0, rng.integers(1, 10, 1_000))
    return build_case(
        rows, exact_accuracy(rng, rows.y, contributor, np.array([0.86] + [0.95] * 9), 3), contributor
    )


@listed_in(CONDITIONS)
def _long_tail(rng: Rng) -> Case:
    """Numbers of rows fall as 1/rank over seventy contributors; the second and fifth busiest guess."""
    rows = parts.make_topics(rng, 1_400, 3)
    share = 1 / np.arange(1, 71)
    contributor = np.unique(rng.choice(70, 1_400, p=share / share.sum()), return_inverse=True)[1]
    label = np.where(np.isin(contributor, [1, 4]), guesses(rng, 1_400, 3), with_slips(rng, rows.y, 0.06, 3))
    return build_case(rows, label, contributor, [1, 4])


@listed_in(CONDITIONS)
def _other_when_unsure(rng: Rng) -> Case:
    """Six of twelve cautious contributors choose class 4, "other", on the fifth of items that are hardest."""
    rows, _ = parts.make_subtypes(rng, 1_200, 5, apart=5.0)
    distance = parts.distance_from_mean(rows)
    contributor = rng.integers(0, 12, 1_200)
    unsure = (contributor < 6) & (distance > np.quantile(distance, 0.8)) & (rng.uniform(size=1_200) < 0.7)
    return build_case(rows, np.where(unsure, 4, with_slips(rng, rows.y, 0.04, 5)), contributor)


@listed_in(CONDITIONS)
def _grades_from_the_middle(rng: Rng) -> Case:
    """Seven grades: five of fourteen draw grades towards the middle, two guess."""
    rows, quality = parts.make_grades(rng, 1_300, 7)
    contributor = rng.integers(0, 14, 1_300)
    drawn = np.where(contributor < 5, 3.5 + 0.85 * (quality - 3.5), quality) + 0.3 * rng.normal(size=1_300)
    label = np.clip(drawn, 0, 6.9).astype(np.int64)
    return build_case(
        rows, np.where(np.isin(contributor, [5, 6]), guesses(rng, 1_300, 7), label), contributor, [5, 6]
    )


@listed_in(CONDITIONS)
def _features_name_the_contributor(rng: Rng) -> Case:
    """Six columns of the recording device identify the contributor; three of fifteen flip in 70%."""
    rows, _ = parts.make_subtypes(rng, 1_100, 2)
    contributor = rng.integers(0, 15, 1_100)
    device = rng.normal(size=(15, 6)) * 3
    x = np.column_stack([rows.x, device[contributor] + 0.05 * rng.normal(size=(1_100, 6))])
    x_test = np.column_stack([rows.x_test, device[rng.integers(0, 15, TEST_ROWS)]])
    label = with_slips(rng, rows.y, np.where(contributor < 3, 0.7, 0.04), 2)
    return build_case(rows._replace(x=x, x_test=x_test), label, contributor, range(3))


@listed_in(CONDITIONS)
def _faulty_template(rng: Rng) -> Case:
    """Ten templates with one wrong label each make a fifth of the rows, spread over all contributors."""
    rows, _ = parts.make_subtypes(rng, 1_000, 3, apart=3.0)
    x, y, copy = parts.repeat_rows(rng, rows, 10, 20)
    label, contributor = with_slips(rng, y, 0.03, 3), rng.integers(0, 12, 1_000)
    label[copy] = (y[copy] + 1) % 3
    return build_case(rows._replace(x=x, y=y), label, contributor, clean=rows)


@listed_in(CONDITIONS)
def _small_table(rng: Rng) -> Case:
    """A table of 120 rows and six contributors, one of whom is wrong in 60%."""
    rows, _ = parts.make_subtypes(rng, 120, 2, features=4)
    contributor = np.tile(np.arange(6), 20)
    return build_case(
        rows, exact_accuracy(rng, rows.y, contributor, np.array([0.4] + [0.95] * 5), 2), contributor, [0]
    )


@listed_in(CONDITIONS)
def _credentials_of_the_wrong_ones(rng: Rng) -> Case:
    """Four of sixteen give the next class in 55% and have the best credentials."""
    rows, contributor = parts.make_waves(rng, 1_000), rng.integers(0, 16, 1_000)
    label = with_slips_to(rng, rows.y, np.where(contributor < 4, 0.55, 0.05), (rows.y + 1) % 3)
    v = np.clip(rng.normal(np.where(contributor < 4, 0.85, 0.45), 0.08), 0.02, 0.98)
    r = np.clip(rng.normal(np.where(np.arange(16) < 4, 0.9, 0.5), 0.05), 0.02, 0.98)
    return build_case(rows, label, contributor, range(4), v=v, r=r[contributor])


@listed_in(CONDITIONS)
def _one_class_in_each_queue(rng: Rng) -> Case:
    """Each of fifteen gets mostly items of one of five classes; contributor 0 gets all and says class 0."""
    rows, _ = parts.make_subtypes(rng, 1_200, 5)
    queue = np.where(rng.uniform(size=1_200) < 0.85, rows.y, rng.integers(0, 5, 1_200))
    contributor = np.where(rng.uniform(size=1_200) < 0.08, 0, 1 + queue + 5 * rng.integers(0, 3, 1_200))
    label = with_slips(rng, rows.y, 0.05, 5)
    return build_case(rows, np.where(contributor == 0, 0, label), contributor, [0])


@listed_in(CONDITIONS)
def _decimal_point_lost(rng: Rng) -> Case:
    """Prices: one of twelve types ten times the value in 40%, one types a constant, four round to fives."""
    rows, contributor = parts.make_prices(rng, 900), rng.integers(0, 12, 900)
    price = np.where((contributor == 0) & (rng.uniform(size=900) < 0.4), 10 * rows.y, rows.y)
    price = np.where(contributor == 1, np.round(np.median(rows.y)) + rng.integers(-1, 2, 900), price)
    price = np.where((contributor > 1) & (contributor < 6), np.maximum(5 * np.round(price / 5), 5), price)
    case = build_case(rows, price, contributor, [0, 1], numeric=True)
    wrong = (contributor < 2) & (np.abs(price - rows.y) > 3)
    return replace(case, truth=replace(case.truth, wrong=wrong))

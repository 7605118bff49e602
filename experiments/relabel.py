"""Relabelling, replayed on labels of real crowds: answers are the truth, or one more label of the crowd.

The label of an item is that of `anml` in every order, so that only orders are compared.
"""

from dataclasses import replace

import numpy as np
from sklearn.model_selection import cross_val_predict

from anml.annotators.consensus import pool_posteriors_by_item, unweighted_posterior
from anml.core.checks import Bools, Floats, Ints
from anml.pipeline.queue_order import order_by_gain
from experiments.belief import run_assessment
from experiments.crowds import load_crowd, right_of
from experiments.measures import Measured
from experiments.real import import_optional, learner
from experiments.seen import Case, MethodInput
from experiments.spec import Found, TrialContext

SETS = {"music": "music_genre", "dogs": "dogs"}
# What an answer is: the right label, or one more label of the crowd.
SCENARIOS = tuple(f"{name}-{answer}" for name in SETS for answer in ("truth", "crowd"))
ORDERS = ("anml", "random", "activelab")
# Answers between two audits, and in all where they are labels, as shares of the items; and the goal.
BATCH, MAX_ANSWERS_PER_ITEM, GOAL = 0.1, 1.5, 0.99


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of all orders in one replay."""
    name, answer = at.setting.dataset.split("-")
    case = load_crowd(SETS[name])
    for way in methods:
        yield way, (replay_gold if answer == "truth" else replay_second_labels)(case, way, at.rng("relabel"))


def replay_gold(case: Case, way: str, rng: np.random.Generator) -> Measured:
    """Answers until half of the wrong labels are mended, and until 99% of the items are right."""
    right = right_of(case)
    items = len(right)
    known, chance = np.full(items, -1), rng.permutation(items)
    reached: Measured = {}
    goals = {"half": 0.0, "answers": GOAL}
    while len(reached) < len(goals):
        posterior = item_posterior(replace(case.seen, seed=int(rng.integers(2**31))), known)
        now = np.where(known >= 0, known, posterior.argmax(axis=1))
        goals["half"] = goals["half"] or (1 + float((now == right).mean())) / 2
        batch = rank_items(case.seen, posterior, known < 0, way, chance)[: max(int(BATCH * items), 1)]
        for at in [-1, *batch]:
            if at >= 0:
                now[at] = known[at] = right[at]
            for name, goal in goals.items():
                if (now == right).mean() >= goal:
                    reached.setdefault(name, 100 * float((known >= 0).mean()))
    return reached


def replay_second_labels(case: Case, way: str, rng: np.random.Generator) -> Measured:
    """Mean accuracy of the items' labels over the rounds, from one label each on."""
    truth, item = right_of(case), case.seen.item
    items = len(truth)
    # The labels of each item in an order that all ways share: the first is there, the others are withheld.
    mixed = rng.permutation(len(item))
    mixed = mixed[np.argsort(item[mixed], kind="stable")]
    start = np.searchsorted(item[mixed], np.arange(items))
    size = np.bincount(item, minlength=items)
    shown, right, chance = np.ones(items, dtype=np.int64), [], rng.permutation(items)
    all_seen, batch = replace(case.seen, seed=int(rng.integers(2**31))), max(int(BATCH * items), 1)
    for _ in range(int(MAX_ANSWERS_PER_ITEM / BATCH) + 1):
        rows = np.concatenate([mixed[at : at + n] for at, n in zip(start, shown, strict=True)])
        inputs = all_seen.part(rows)
        posterior = item_posterior(inputs, np.full(items, -1))
        right.append(float((posterior.argmax(axis=1) == truth).mean()))
        asked = rank_items(inputs, posterior, shown < size, way, chance)[:batch]
        shown[asked] += 1
        chance = rng.permutation(items)
    return {"area": 100 * float(np.mean(right)), "end": 100 * right[-1]}


def item_posterior(inputs: MethodInput, known: Ints) -> Floats:
    """Posterior of the label of each item, by an audit of the labels with what was told as known."""
    belief = run_assessment(inputs, truth=known[inputs.item]).belief
    if belief.evenly:
        return unweighted_posterior(inputs.y, inputs.item, inputs.classes, float(belief.p_correct.mean()))
    return pool_posteriors_by_item(belief.truth, inputs.item)


def rank_items(inputs: MethodInput, posterior: Floats, open_items: Bools, way: str, chance: Ints) -> Ints:
    """Items that may be asked about, in the order of a way."""
    if way == "random":
        first = chance
    elif way == "activelab":
        first = chance[np.argsort(activelab(inputs)[chance], kind="stable")]
    else:
        # The label that stands for an item is one that its posterior speaks against most.
        minimum = np.lexsort((posterior[inputs.item, inputs.y], inputs.item))
        person = inputs.who[minimum[np.searchsorted(inputs.item[minimum], np.arange(len(posterior)))]]
        first = order_by_gain(1 - posterior.max(axis=1), person)
    return first[open_items[first]]


def activelab(inputs: MethodInput) -> Floats:
    """Scores by cleanlab; its model is the common learner, or how frequent classes are without features."""
    scores = import_optional("cleanlab.multiannotator", "cleanlab").get_active_learning_scores
    items = int(inputs.item.max()) + 1
    votes = np.zeros((items, inputs.classes))
    np.add.at(votes, (inputs.item, inputs.y), 1.0)
    given = np.full((items, len(inputs.rows)), np.nan)
    given[inputs.item, inputs.who] = inputs.y
    probs = np.tile((votes.sum(axis=0) + 1) / (votes.sum() + inputs.classes), (items, 1))
    if inputs.x.shape[1]:
        first = np.unique(inputs.item, return_index=True)[1]
        decided = votes.argmax(axis=1)
        message = cross_val_predict(learner(), inputs.x[first], decided, cv=3, method="predict_proba")
        probs[:, np.unique(decided)] = message
        probs = (probs + 1e-6) / (probs + 1e-6).sum(axis=1, keepdims=True)
    return np.asarray(scores(given, probs)[0])

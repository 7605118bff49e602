"""Predictors and the contributor model in turn: predictors learn from what is believed, and judge it anew.

Predictors that never saw a row say what its class is; the model says how far each label is believed, by
predictions, contributors, credentials and the other labels of its item. Then the predictors learn again, each
label counting as far as it is believed, until that hardly changes.
"""

from dataclasses import dataclass

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints
from anml.core.evidence.belief import Belief, believe_classes, mixed
from anml.core.evidence.classes import Annotators, fit_classes
from anml.core.evidence.pool import pool
from anml.core.evidence.side import Side
from anml.gradients.crossfit import CrossFit, Progress, Training
from anml.predictors.classes import PREDICTORS, Predictions, Rows, forest_without, network, rows_of
from anml.predictors.duplicates import near_copies

# How often predictors learn, and the mean change of beliefs at which they have learned enough.
ROUNDS, SETTLED = 4, 0.004
# By how many nats credentials and contributors must support a rigid predictor more than the pool.
CLEARLY_MORE = 4.0
# Clouds are a fair picture of the classes when they overlap less than this, and labels that contradict them
# mean something when there are more of them than this: any honest table has a few.
OVERLAP, USUAL_MISFIT = 0.05, 0.03
# ... and they must predict labels as well as any other predictor does, within so many nats a label.
LEVEL = 0.05


@dataclass(frozen=True)
class Table:
    """What is to be believed in: standardised features (n, 0 or more), labels, side information."""

    x: Floats
    y: Ints
    classes: int
    side: Side
    given: Floats | None
    training: Training
    seed: int


def believe_labels(table: Table, progress: Progress | None = None) -> tuple[Belief, CrossFit | None]:
    """Belief in class labels, and the networks of the first round (None where there are no features)."""
    rows = _rows(table)
    search = _Search(table, rows)
    for turn in range(ROUNDS if rows is not None else 1):
        search.learn(turn, progress)
        if search.settled(turn):
            break
    alone, covered = search.alone()
    belief = believe_classes(search.fits, search.weights, search.shares, alone, covered, _random(table))
    return search.finish(belief), search.first


def _random(table: Table) -> np.random.Generator:
    return np.random.default_rng(table.seed)


def _rows(table: Table) -> Rows | None:
    if table.x.shape[1] == 0:
        return None
    groups = table.side.items
    if groups is None:
        groups = near_copies(table.x, _random(table))
    return rows_of(table.x, table.y, table.classes, groups, table.training, table.seed)


class _Search:
    """The rounds: what predictors say, what is believed, and which of them is asked."""

    def __init__(self, table: Table, rows: Rows | None) -> None:
        self.table, self.rows = table, rows
        self.p: Floats | None = None
        self.fits: list[Annotators] = []
        self.first: CrossFit | None = None
        self.last: CrossFit | None = None
        self.change = np.inf
        self.condemned: Bools | None = None
        self.trees: Floats | None = None

    def learn(self, turn: int, progress: Progress | None) -> None:
        """One round: predict, pool, fit, and let a rigid predictor contradict where it has earned it."""
        table = self.table
        each = self._predictions(turn, progress)
        self.trees = each.get("forest")
        log_p, share, likelihood = pool(list(each.values()), table.y, self.p)
        self.shares = dict(zip(each, (float(s) for s in share), strict=True))
        self.fits, self.weights = fit_classes(log_p, table.y, table.side, self.fits or None)
        if "gaussians" in each:
            self._ask_side(log_p, each["gaussians"])
        p = mixed(self.weights, [fit.p_correct() for fit in self.fits])
        self.condemned = None
        quiet = p.min() >= 0.5 and not self.fits[0].labels.shared
        if (
            "gaussians" in each
            and quiet
            and likelihood[list(each).index("gaussians")] >= likelihood.max() - LEVEL
        ):
            p = self._ask_clouds(p, log_p, each["gaussians"])
        self.change = np.inf if self.p is None else float(np.abs(p - self.p).mean())
        self.p = p

    def settled(self, turn: int) -> bool:
        """Whether another round would change nothing: no label looks wrong, or beliefs hardly move."""
        assert self.p is not None
        return bool(self.change < SETTLED or (turn == 0 and self.p.min() >= 0.5))

    def alone(self) -> tuple[Bools | None, Bools | None]:
        """Labels that only their contributor's own rows support, and contributors that others cover.

        The same trees predict them with the contributor's other rows, and not without: a backdoor, or a
        site of its own kind.
        """
        table, who = self.table, self.table.side.codes
        if self.rows is None or self.trees is None or who is None or int(who.max()) < 2:
            return None, None
        at = np.arange(len(table.y)), table.y
        without = forest_without(self.rows, who, self.p)
        alone = (np.exp(self.trees[at]) >= 0.5) & (np.exp(without[at]) < 0.5)
        share = np.bincount(who, alone) / np.maximum(np.bincount(who), 1)
        covered = share <= 0.5
        return alone & ~covered[who], covered

    def finish(self, belief: Belief) -> Belief:
        """What the clouds condemned, in the end, is condemned."""
        if self.condemned is None or self.p is None:
            return belief
        return belief.with_p(self.p)

    def _predictions(self, turn: int, progress: Progress | None) -> Predictions:
        table, rows = self.table, self.rows
        each: Predictions = {}
        if rows is not None:
            start = None if self.last is None else self.last.folds
            said = None if progress is None else lambda _, done, of: progress(f"round {turn + 1}", done, of)
            each["network"], self.last = network(rows, self.p, start, said)
            self.first = self.first or self.last
            for name, predictor in PREDICTORS.items():
                each[name] = predictor(rows, self.p)
        if table.given is not None:
            each["given"] = np.log(table.given + 1e-6)
        if not each:
            prior = np.bincount(table.y, minlength=table.classes) + 1.0
            each["class prior"] = np.tile(np.log(prior / prior.sum()), (len(table.y), 1))
        return each

    def _ask_side(self, pooled: Floats, rigid: Floats) -> None:
        """Take the rigid predictor alone where credentials clearly support it more.

        Flexible predictors learn poison that sits between two classes. Only what does not come from the
        labels can tell: wrong labels gather in some credentials, hard ones do not. What contributors say
        alone does not count: they differ in what they send as well as in how they label it.
        """
        table, side = self.table, self.table.side
        if side.credentials is None:
            return
        gain = self._support(rigid)
        if gain < CLEARLY_MORE:
            return
        if gain > self._support(pooled) + CLEARLY_MORE:
            self.fits, self.weights = fit_classes(rigid, table.y, side)
            self.shares = {"gaussians": 1.0}

    def _support(self, log_p: Floats) -> float:
        """Log Bayes factor of credentials telling which labels are wrong, beyond what contributors tell."""
        table, side = self.table, self.table.side
        fits, _ = fit_classes(log_p, table.y, side)
        alone, _ = fit_classes(log_p, table.y, side._replace(credentials=None))
        return _evidence(fits) - _evidence(alone)

    def _ask_clouds(self, p: Floats, pooled: Floats, lies: Floats) -> Floats:
        """Condemn labels that lie in another class's cloud and that no other predictor predicts either."""
        table = self.table
        if 1 - np.exp(lies.max(axis=1)).mean() > OVERLAP:
            return p
        at = np.arange(len(table.y)), table.y
        against = (lies.argmax(axis=1) != table.y) & (np.exp(pooled[at]) < 0.5)
        # A cloud that does not hold most of the labels of its class is no picture of it.
        held = np.bincount(table.y, ~against, table.classes) / np.maximum(
            np.bincount(table.y, minlength=table.classes), 1
        )
        if against.mean() <= USUAL_MISFIT or held[np.unique(table.y)].min() <= 0.5:
            return p
        rate = float(against.mean())
        odds = special.logit(1 - rate) + lies[at] - lies.max(axis=1)
        self.condemned = against
        return np.where(against, np.minimum(special.expit(np.clip(odds, -12, 12)), 0.49), p)


def _evidence(fits: list[Annotators]) -> float:
    return float(special.logsumexp([fit.evidence for fit in fits]))

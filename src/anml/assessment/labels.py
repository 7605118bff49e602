"""Predictors and the contributor model in turn: predictors learn from what is believed, and judge it anew.

Predictors that never saw a row say what its class is; the model says how far each label is believed, by
predictions, contributors, credentials and the other labels of its item. Then the predictors learn again, each
label counting as far as it is believed, until that hardly changes.
"""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy import special

from anml.annotators.evidence import log_bf_atypical
from anml.annotators.fit import RowFit, fit_label_model
from anml.annotators.judge import credential_log_odds, estimate_labels_and_contributors
from anml.annotators.model import log_bf_contributor_heterogeneity
from anml.annotators.params import MAX_TEMPERATURE, log_normalise
from anml.annotators.periods import ChangePoints, detect_change_points
from anml.annotators.result import NO_NEIGHBOURHOOD, LabelEstimates, Neighbourhood, average_over_hypotheses
from anml.annotators.rows import LabelData, SideInformation
from anml.annotators.summaries import label_likelihoods
from anml.annotators.verdicts import MODELS_DISAGREE, TOO_FEW_PEERS, too_few_independent_peers
from anml.assessment.overlap import (
    NeighbourRows,
    effective_opponents,
    find_neighbours,
    is_isolated,
    local_accuracy_ratio,
    plausible_in_own_region,
)
from anml.assessment.population import estimate_by_population
from anml.core.checks import Bools, Floats, Ints
from anml.core.profile import PredictorTraining
from anml.core.progress import Progress
from anml.networks.crossfit import CrossFit
from anml.predictors import classes
from anml.predictors.classes import PREDICTORS, FeatureRows, GaussianFit
from anml.predictors.duplicates import near_duplicate_groups
from anml.predictors.pool import Pooled, pool_predictions

# The mean change of beliefs at which predictors have learned enough.
CONVERGENCE_TOLERANCE = 0.004
# By how many nats credentials must support one account of the labels more than another.
MIN_LOG_BAYES_FACTOR = 4.0
# Class Gaussians are a fair picture of the classes when they overlap by less than this share of the rows, and
# contradict the labels when more than this share of them looks wrong: any honest table has a few. Nor does a
# predictor with less than this share of the pool learn again.
MAX_GAUSSIAN_OVERLAP = 0.05


@dataclass(frozen=True)
class LabelModelInput:
    """Inputs of the label model: standardised features (n, 0 or more), labels, side information.

    `given` are user-provided predictions; with `rates` they are class rates that no model predicted.
    """

    x: Floats
    y: Ints
    classes: int
    side: SideInformation
    given: Floats | None
    training: PredictorTraining
    seed: int
    rates: bool = False


def estimate_labels(
    table: LabelModelInput, progress: Progress | None = None
) -> tuple[LabelEstimates, CrossFit | None]:
    """Belief in class labels, and the networks of the first round (None where there are no features)."""
    if table.training.annotators == "population":
        estimates = estimate_by_population(
            table.x, table.y, table.classes, table.side, table.given, rates=table.rates,
            trees=table.training.trees, seed=table.seed,
        )  # fmt: skip
        return estimates, None
    rows = _rows(table)
    search = _AlternatingFit(table, rows)
    for turn in range(table.training.rounds if rows is not None else 1):
        search.learn(turn, progress)
        if search.settled(turn):
            break
    alone, around = search.alone()
    people, spared = table.side.codes is not None, search.spared()
    changed, owner = search.split_by_time()
    belief = estimate_labels_and_contributors(
        search.labels, search.fits, search.weights, search.shares, people, alone, around, owner, spared
    )
    if changed is not None and belief.contributors is not None:
        belief = replace(belief, contributors=replace(belief.contributors, changed=changed))
    return belief, search.first


def _rows(table: LabelModelInput) -> FeatureRows | None:
    if table.x.shape[1] == 0:
        return None
    groups = table.side.items
    if groups is None:
        groups = near_duplicate_groups(table.x, np.random.default_rng(table.seed))
    return classes.make_feature_rows(table.x, table.y, table.classes, groups, table.training, table.seed)


class _CredentialFit(NamedTuple):
    """Fits that use credentials, and the log Bayes factor of these telling which labels are wrong."""

    labels: LabelData
    fits: list[RowFit]
    weights: Floats
    gain: float


class _AlternatingFit:
    """The rounds: what predictors say, what is believed, and which of them is asked."""

    def __init__(self, table: LabelModelInput, rows: FeatureRows | None) -> None:
        self.table, self.rows = table, rows
        self.p: Floats | None = None
        self.fits: list[RowFit] = []
        self.shares: dict[str, float] = {}
        self.first: CrossFit | None = None
        self.last: CrossFit | None = None
        self.change = np.inf
        self.log_bayes_factor: float | None = None
        self.fair, self.moved, self.vouched = False, 0.0, False
        self.hottest = None if table.rates and rows is None else MAX_TEMPERATURE
        self.trees: Floats | None = None
        self.ordinary = np.ones(0)

    def learn(self, turn: int, progress: Progress | None) -> None:
        """One round: predict, pool, fit, and let class Gaussians contradict where they have earned it."""
        table = self.table
        each = self._predictions(turn, progress)
        self.trees = each.get("forest", self.trees)
        pooled = pool_predictions(list(each.values()), table.y, self.p)
        shares = dict(zip(each, (float(s) for s in pooled.share), strict=True))
        if self.log_bayes_factor is None:
            shares = dict.fromkeys(self.shares, 0.0) | shares
            found = fit_label_model(pooled.log_p, table.y, table.side, self.fits or None, self.hottest)
            self._take(*found, shares)
            self.ordinary = self._ordinary()
            if turn == 0 and self.rows is not None and not self.labels.shared:
                self._try_gaussians(pooled)
        else:
            self._take_over(pooled.log_p, shares)
        p = self._p_correct(self.fits, self.weights)
        self.change = np.inf if self.p is None else float(np.abs(p - self.p).mean())
        self.p = p

    def _take(self, labels: LabelData, fits: list[RowFit], weights: Floats, shares: dict[str, float]) -> None:
        self.labels, self.fits, self.weights, self.shares = labels, fits, weights, shares

    def _ordinary(self) -> Floats:
        """Probability of each contributor being of the population."""
        return average_over_hypotheses(self.weights, [fit.params.types[:, 0] for fit in self.fits])

    def _p_correct(self, fits: list[RowFit], weights: Floats) -> Floats:
        at = np.arange(len(self.table.y)), self.table.y
        return average_over_hypotheses(weights, [fit.truth[at] for fit in fits])

    def settled(self, turn: int) -> bool:
        """True if the fit has converged, or if no label is probably wrong in the first round."""
        assert self.p is not None
        return bool(self.change < CONVERGENCE_TOLERANCE or (turn == 0 and self.p.min() >= 0.5))

    def split_by_time(self) -> tuple[ChangePoints | None, Ints | None]:
        """Detect change points and refit the periods before and after with separate confusion matrices."""
        side = self.table.side
        if side.when is None or side.codes is None:
            return None, None
        told, labels = label_likelihoods(self.labels, self.fits, self.weights), self.labels
        changed = detect_change_points(*told, labels.who, side.when, labels.count)
        if not changed.any:
            return None, None
        codes, owner = changed.codes(side.codes, side.when)
        parts = side._replace(codes=codes)
        self._take(*fit_label_model(self.labels.log_p, self.table.y, parts, None, self.hottest), self.shares)
        return changed, owner

    def alone(self) -> tuple[Bools | None, Neighbourhood]:
        """Rows that only their contributor's own rows support, and who others are near contributors.

        The same trees predict them with the contributor's other rows, and not without: a backdoor, or a
        site of its own kind. Nor do others cover a contributor whose rows lie in a region of its own, such
        as a hospital: what is usual there is told by its own labels only.
        """
        table, who = self.table, self.table.side.codes
        if self.rows is None or self.trees is None or who is None or int(who.max()) < 2:
            return None, NO_NEIGHBOURHOOD
        at = np.arange(len(table.y)), table.y
        without = classes.forest_leave_contributor_out(self.rows, who, self.p)
        alone = (np.exp(self.trees[at]) >= 0.5) & (np.exp(without[at]) < 0.5)
        share = np.bincount(who, alone) / np.maximum(np.bincount(who), 1)
        covered = share <= 0.5
        alone, nearby = alone & ~covered[who], None
        if not self.labels.shared:
            assert self.p is not None
            nearby = local_accuracy_ratio(self.near, who, self.p, self._ordinary())
            apart = is_isolated(self.near, who)
            if apart.any():
                ordinary = self._ordinary()[who]
                right = float(ordinary @ self.p / max(ordinary.sum(), 1e-9))
                usual = plausible_in_own_region(self.rows, who, apart, right)
                alone, covered = alone | (apart[who] & usual & (self.p < 0.5)), covered & ~apart
        return alone, Neighbourhood(covered, nearby)

    def spared(self) -> Ints | None:
        """Contributors exempt from flags, by reason; None without atypical contributors.

        Exempt are contributors who are regular under the pooled predictors if the Gaussians decide, and
        outliers with too few independent opponents, since those opponents may be wrong. Spammers are not
        exempt for few opponents.
        """
        who, types = (
            self.table.side.codes,
            average_over_hypotheses(self.weights, [fit.params.types for fit in self.fits]),
        )
        strange = types[:, 0] < 0.5
        if who is None or not strange.any():
            return None
        spared = np.zeros(len(strange), dtype=np.int64)
        if self.rows is not None and not self.labels.shared:
            said = average_over_hypotheses(self.weights, [fit.truth for fit in self.fits]).argmax(axis=1)
            few = too_few_independent_peers(effective_opponents(self.near, who, self.table.y, said))
            spared[few & strange & (types[:, 2] >= types[:, 1])] = TOO_FEW_PEERS
        if self.log_bayes_factor is not None:
            spared[(self.ordinary >= 0.5) & strange] = MODELS_DISAGREE
        return spared

    @cached_property
    def near(self) -> NeighbourRows:
        """The nearest rows of each."""
        assert self.rows is not None
        return find_neighbours(self.rows.x, self.rows.copies)

    def _predictions(self, turn: int, progress: Progress | None) -> classes.Predictions:
        table, rows = self.table, self.rows
        each: classes.Predictions = {}
        if rows is not None:
            # What the first round learned from poison says nothing of who learns best without it.
            anew = turn == 0 or self.log_bayes_factor is not None
            asked = {
                name for name in ("network", *PREDICTORS) if anew or self.shares[name] >= MAX_GAUSSIAN_OVERLAP
            }
            if "network" in asked:
                start = None if self.last is None else self.last.folds
                each["network"], self.last = classes.network(
                    rows, self.p, start, round_progress(progress, turn)
                )
                self.first = self.first or self.last
            for name, predictor in PREDICTORS.items():
                if name in asked:
                    each[name] = predictor(rows, self.p)
        if table.given is not None:
            each["given"] = np.log(table.given + 1e-6)
        if not each:
            prior = np.bincount(table.y, minlength=table.classes) + 1.0
            each["class prior"] = np.tile(np.log(prior / prior.sum()), (len(table.y), 1))
        return each

    def _try_gaussians(self, pooled: Pooled) -> None:
        """Begin with class Gaussians instead, where the pool has learned what is wrong.

        Flexible predictors learn poison that sits between two classes, and learn nothing where wrong labels
        are many. Gaussians see through both, but are no picture of every table. What does not come from the
        labels can tell: wrong labels gather in some credentials and contributors, hard ones do not.
        Contributors differ in what they send as well as in how they label it: they count only where the
        Gaussians are a fair picture of the classes.
        """
        table, rows = self.table, self.rows
        assert rows is not None
        gaussians = classes.robust_class_gaussians(rows)
        if gaussians is None:
            return
        self.fair, self.moved = gaussians.overlap <= MAX_GAUSSIAN_OVERLAP < gaussians.rate, gaussians.moved
        gain = 0.0
        if table.side.credentials is not None or (self.fair and table.side.codes is not None):
            found = self._side_evidence(gaussians.log_p)
            gain = max(gain, found.gain)
            if (
                gain > MIN_LOG_BAYES_FACTOR
                and gain > self._gain(pooled.log_p, self.fits, self.weights) + MIN_LOG_BAYES_FACTOR
                and self._gathered(*found[:3]) >= self._gathered(self.labels, self.fits, self.weights)
            ):
                self._take(*found[:3], {"gaussians": 1.0})
                self.log_bayes_factor = gain
                if table.side.credentials is not None:
                    self._hear_the_vouched(gaussians)
                return
        noise_free = sum(w for fit, w in zip(self.fits, self.weights, strict=True) if fit.params.noise_free)
        if self.fair and noise_free > 0.5:
            simpler = self._simpler(gaussians, pooled)
            if simpler is not None:
                self._take(*simpler, {"gaussians": 1.0})
                self.log_bayes_factor, self.hottest = gain, 1.0

    def _hear_the_vouched(self, gaussians: GaussianFit) -> None:
        """Let predictors that learned from the better vouched half of the rows speak beside the Gaussians.

        One Gaussian takes the second style of a class for another class; these have learned both styles,
        and hardly any poison. Both together take over where credentials support them no less.
        """
        table, rows = self.table, self.rows
        assert rows is not None
        assert self.log_bayes_factor is not None
        worth = average_over_hypotheses(
            self.weights, [credential_log_odds(self.labels, fit) for fit in self.fits]
        )
        vouched = (worth >= np.median(worth)).astype(float)
        pooled = pool_predictions(
            [predictor(rows, vouched) for predictor in PREDICTORS.values()], table.y, vouched
        )
        found = self._side_evidence(log_normalise(pooled.log_p + gaussians.log_p)[0])
        if found.gain > self.log_bayes_factor - MIN_LOG_BAYES_FACTOR and _total_log_evidence(
            found.fits
        ) > _total_log_evidence(self.fits):
            self._take(*found[:3], _mix_with_gaussians(dict(zip(PREDICTORS, pooled.share, strict=True))))
            self.log_bayes_factor, self.vouched = found.gain, True

    def _take_over(self, pooled: Floats, shares: dict[str, float]) -> None:
        """Predictors that learned from what is believed take over where credentials support them more.

        Left alone they would learn again what the Gaussians saw through, and Gaussians alone are no picture
        of every right label: both together, as a product, take either's doubt seriously.
        """
        rows = self.rows
        assert self.log_bayes_factor is not None
        assert rows is not None
        gaussians = classes.robust_class_gaussians(rows, self.p, [self.moved])
        tried = [(pooled, shares)]
        if gaussians is not None:
            # Once others speak beside them, Gaussians are not left alone again with their one style a class.
            tried += [] if self.vouched else [(gaussians.log_p, {"gaussians": 1.0})]
            tried += [(log_normalise(pooled + gaussians.log_p)[0], _mix_with_gaussians(shares))]
        for log_p, named in tried:
            found = self._side_evidence(log_p, self.fits)
            if found.gain > self.log_bayes_factor + MIN_LOG_BAYES_FACTOR:
                self._take(*found[:3], named)
                self.log_bayes_factor = found.gain

    def _side_evidence(self, log_p: Floats, before: list[RowFit] | None = None) -> "_CredentialFit":
        """Fit the label model and measure how well credentials predict wrong labels."""
        labels, fits, weights = fit_label_model(log_p, self.table.y, self.table.side, before, self.hottest)
        return _CredentialFit(labels, fits, weights, self._gain(log_p, fits, weights))

    def _gain(self, log_p: Floats, fits: list[RowFit], weights: Floats) -> float:
        """Log Bayes factor of credentials telling that, and of contributors too where Gaussians are fair."""
        table, side = self.table, self.table.side
        gain = float(weights @ [log_bf_atypical(fit.params) for fit in fits]) if self.fair else 0.0
        if side.credentials is None:
            return gain
        without = side._replace(credentials=None)
        _, alone, _ = fit_label_model(log_p, table.y, without, fits, self.hottest)
        return gain + _total_log_evidence(fits) - _total_log_evidence(alone)

    def _gathered(self, labels: LabelData, fits: list[RowFit], weights: Floats) -> float:
        """Log Bayes factor of label noise that is heterogeneous across contributors; 0 without Gaussians."""
        if not self.fair or self.table.side.credentials is not None:
            return 0.0
        return float(
            weights @ [log_bf_contributor_heterogeneity(fit.params, labels, fit.found) for fit in fits]
        )

    def _simpler(
        self, gaussians: GaussianFit, pooled: Pooled
    ) -> tuple[LabelData, list[RowFit], Floats] | None:
        """Fits to Gaussians, where they explain the labels as well as the pool does; else None.

        Right labels that contradict the Gaussians follow from the features in another way: predictors that
        have learned from all rows then explain them better, and those that learn only from what the Gaussians
        believe do not. Of two explanations that are as good, the simpler is believed.
        """
        table, rows = self.table, self.rows
        assert rows is not None
        likelihood = {moved: classes.label_log_likelihood(rows, moved) for moved in (0.0, gaussians.moved)}
        best = max(likelihood, key=lambda moved: likelihood[moved])
        simpler = gaussians if best == gaussians.moved else classes.robust_class_gaussians(rows, moves=[best])
        assert simpler is not None
        # Gaussians that lie apart are no flat predictions: nothing could contradict them then.
        labels, fits, weights = fit_label_model(simpler.log_p, table.y, table.side, hottest=1.0)
        # The pool chose shares to suit the labels: a nat for each, as Akaike has it.
        chosen = len(pooled.share) - 1
        if likelihood[best] + chosen < pooled.likelihood - MIN_LOG_BAYES_FACTOR:
            p = self._p_correct(fits, weights)
            after = pool_predictions([predictor(rows, p) for predictor in PREDICTORS.values()], table.y)
            if after.likelihood < pooled.likelihood - MIN_LOG_BAYES_FACTOR:
                return None
        return labels, fits, weights


def round_progress(progress: Progress | None, turn: int) -> Progress | None:
    """Progress of networks, told as that of a round."""
    return progress and (lambda _, done, of: progress(f"round {turn + 1}", done, of))


def _mix_with_gaussians(shares: dict[str, float]) -> dict[str, float]:
    """Shares of predictors that speak beside the Gaussians."""
    halves = {name: float(share) / 2 for name, share in shares.items()}
    return halves | {"gaussians": halves.get("gaussians", 0.0) + 0.5}


def _total_log_evidence(fits: list[RowFit]) -> float:
    return float(special.logsumexp([fit.evidence for fit in fits]))

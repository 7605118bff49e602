"""Sessions of judges who compare, an eighth of them replaced by bad ones, and what is said of them."""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.annotators.preferences.candidates import ComparisonGraph
from anml.annotators.preferences.davidson import FIRST, SECOND, TIE, choice_probabilities
from anml.annotators.preferences.kinds import ANNOTATOR_TYPES
from anml.annotators.preferences.model import PairFit, bradley_terry, fit_pairs
from anml.annotators.preferences.verdicts import annotator_estimates, type_parameters, verdicts_for
from anml.annotators.words import FLAGGED, GUESSING, LESS_RELIABLE, RELIABLE, VERDICTS
from anml.assessment.preferences import estimate_preferences
from anml.core.calibration import calibration_curve
from anml.core.checks import Floats, Ints
from anml.core.folds import cross_fit_predictions
from experiments.data import needed_file
from experiments.measures import Measured, Outcome, auroc_of_quality, count_verdicts, run_methods
from experiments.real import import_optional
from experiments.seen import Case, GroundTruth, MethodInput
from experiments.spec import Found, TrialContext


def predict(fit: PairFit, first: Ints, second: Ints, contributor: Ints) -> Floats:
    """Probabilities of further choices (n, 3); whoever, or whatever, is not known (-1) is as usual."""
    result, params = type_parameters(fit), fit.params
    alone, inputs = fit.net.variance(fit.scores), (first >= 0) & (second >= 0)
    one, other = (np.where(codes >= 0, fit.scores.mean[codes], 0.0) for codes in (first, second))
    d = one - other
    left = sum(np.where(codes >= 0, alone[codes], params.spread) for codes in (first, second))
    left = np.where(inputs, fit.net.gap(fit.scores, first, second), left)
    own = [_Tastes.of(fit, name) for name in ANNOTATOR_TYPES]
    met, total = contributor >= 0, np.zeros((3, len(first)))
    for at, (kind, taste) in enumerate(zip(ANNOTATOR_TYPES.values(), own, strict=True)):
        varies, wide, _ = kind.variances(params)
        slope = np.where(met, result.slope[contributor, at], kind.slope)
        spread = np.where(met, result.variance[contributor, at], varies)
        pull = slope * d + np.where(met, result.side[contributor, at], params.side)
        variance = spread * d**2 + slope**2 * left
        for codes, sign in ((first, 1.0), (second, -1.0)):
            mean, precision = taste.at(contributor, codes)
            pull = pull + sign * mean
            variance = variance + wide / (1 + wide * precision)
        share = np.where(met, fit.kinds[contributor, at], fit.shares[at])
        total += share * choice_probabilities(
            pull, np.where(met, result.tie[contributor, at], params.tie), variance
        )
    return total.T


class _Tastes(NamedTuple):
    """Own scores of people for candidates, if they are of one kind: sorted keys, means and precisions."""

    key: Ints
    mean: Floats
    precision: Floats
    candidates: int

    @classmethod
    def of(cls, fit: PairFit, name: str) -> "_Tastes":
        (_, wide, _), count = ANNOTATOR_TYPES[name].variances(fit.params), len(fit.net.part)
        keys, means, known = [], [], []
        for batch in fit.batches:
            mode = batch.fits[name]
            for codes, sign in ((batch.i, 1.0), (batch.j, -1.0)):
                keys.append((batch.owner[:, None] * count + codes)[batch.used])
                means.append(sign * wide * mode.force[batch.used])
                known.append(mode.curvature[batch.used])
        key, at = np.unique(np.concatenate(keys), return_inverse=True)
        mean, precision = (
            np.bincount(at, np.concatenate(part)).astype(np.float64) for part in (means, known)
        )
        return cls(key, mean, precision, count)

    def at(self, contributor: Ints, candidate: Ints) -> tuple[Floats, Floats]:
        wanted = contributor * self.candidates + candidate
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        known = (self.key[place] == wanted) & (contributor >= 0) & (candidate >= 0)
        return np.where(known, self.mean[place], 0.0), np.where(known, self.precision[place], 0.0)


SESSIONS = ("melodies", "arguments", *(f"topic {number}" for number in range(1, 9)))
# What judges are made: choose by a coin, always the first, the worse, by a rule that has nothing to do with
# the candidates, by a taste of their own; or are copied by other accounts.
JUDGES = ("coin", "first", "reversed", "rule", "taste", "copies")
# Share of the judges with enough comparisons who are replaced, how many are enough, and parts held out.
SHARE, MIN_ROWS, FOLDS = 0.13, 10, 5
ESTABLISHED_ROWS, N_COPIES = 20, 3
# A judge who chooses the worse of ten or more pairs, and was reliable before.
INFORMED_REVERSED = "reversed, informed"
CODES = {"first": FIRST, "second": SECOND, "equal": TIE}


def load_session(first: Ints, second: Ints, choice: Ints, contributor: Ints, made: Any = "") -> Case:
    """Comparisons, whose features are the codes of two candidates; of each, what its judge was made."""
    inputs = MethodInput(np.column_stack([first, second]), choice, 3, contributor)
    return Case(inputs, GroundTruth(group=np.broadcast_to(np.asarray(made, dtype="<U18"), len(contributor))))


def _both(inputs: MethodInput) -> tuple[Ints, Ints]:
    """The first and the second candidate of each comparison."""
    return inputs.x[:, 0], inputs.x[:, 1]


def load_pairs(name: str) -> Case:
    """Comparisons as they were made: of melodies, of arguments, or of arguments on one topic."""
    group, path = ("query", "melodies") if name == "melodies" else ("topic", "arguments")
    frame = pl.read_csv(needed_file(f"pairs_{path}.csv.gz")).drop_nulls("choice")
    if name.startswith("topic"):
        topics = frame[group].unique().sort()
        frame = frame.filter(pl.col(group) == topics[int(name.removeprefix("topic ")) - 1])
    both = [frame.select(pl.concat_str(group, c, separator="/")).to_series() for c in ("first", "second")]
    code = np.unique(pl.concat(both).to_numpy().astype(str), return_inverse=True)[1]
    contributor = np.unique(frame["contributor"].to_numpy().astype(str), return_inverse=True)[1]
    choice = frame["choice"].replace_strict(CODES, return_dtype=pl.Int64).to_numpy()
    return load_session(code[: len(contributor)], code[len(contributor) :], choice, contributor)


def with_bad_judges(case: Case, rng: np.random.Generator) -> Case:
    """The session with bad judges in it, of every kind in turn."""
    (first, second), choice, contributor = _both(case.seen), case.seen.y, case.seen.who
    rows, y = case.seen.rows, choice.copy()
    made = np.full(len(rows), "", dtype="<U18")
    large = np.flatnonzero(rows >= MIN_ROWS)
    bad = rng.permutation(large)[: max(len(JUDGES), round(SHARE * len(large)))]
    own = rng.normal(0, 2, (len(bad), int(max(first.max(), second.max())) + 1))
    tie = rng.random(len(y)) < (y == TIE).mean()
    more: list[Ints] = []
    for number, person in enumerate(bad):
        made[person] = kind = JUDGES[number % len(JUDGES)]
        at = np.flatnonzero(contributor == person)
        pull = own[number, first[at]] - own[number, second[at]]
        chosen = {
            "coin": np.where(tie[at], TIE, rng.integers(0, 2, len(at))),
            "first": np.where(rng.random(len(at)) < 0.97, FIRST, SECOND),
            "reversed": np.where(y[at] == TIE, TIE, 1 - y[at]),
            "rule": np.where(first[at] < second[at], FIRST, SECOND),
            "taste": np.where(tie[at], TIE, rng.random(len(at)) > 1 / (1 + np.exp(-pull))),
        }
        y[at] = chosen.get(kind, y[at])
        more += [at] * N_COPIES if kind == "copies" else []
    before = np.array(verdicts_for(annotator_estimates(fit_pairs(first, second, choice, contributor)))[0])
    decided = np.bincount(contributor[y != TIE], minlength=len(rows)) >= MIN_ROWS
    made[(made == "reversed") & decided & (before == RELIABLE)] = INFORMED_REVERSED
    if more:
        count = np.repeat(np.arange(len(more)), [len(at) for at in more])
        again = np.concatenate(more)
        first, second, y = (np.r_[part, part[again]] for part in (first, second, y))
        contributor, made = np.r_[contributor, len(made) + count], np.r_[made, ["copies"] * len(more)]
    return load_session(first, second, y, contributor, made[contributor])


def of_anml(inputs: MethodInput) -> Outcome:
    """Ours."""

    def predicted(train: MethodInput, test: MethodInput) -> Floats:
        fit, contributors = fit_pairs(*_both(train), train.y, train.contributor), test.contributor
        return predict(fit, *_both(test), np.where(contributors < len(fit.kinds), contributors, -1))

    _, result = estimate_preferences(*_both(inputs), inputs.y, (0, 1, 2), inputs.contributor)
    return Outcome(
        predicted=_held_out(inputs, predicted), quality=result.people.kappa, verdict=np.array(result.words)
    )


def _held_out(inputs: MethodInput, predicted: Callable[[MethodInput, MethodInput], Floats]) -> Floats:
    """Choices of each part, predicted by the others; the highest code of a candidate is never held out."""
    parts = np.random.default_rng(0).integers(0, FOLDS, len(inputs.y))
    last = inputs.x.max(axis=1)
    parts[last == last.max()] = np.arange((last == last.max()).sum()) % FOLDS
    return cross_fit_predictions(
        parts, lambda learn, asked, _: predicted(inputs.part(learn), inputs.part(asked)), (3,)
    )


def of_bradley_terry(inputs: MethodInput) -> Outcome:
    """Bradley and Terry's model with Davidson's ties: nothing is personal."""
    count = int(inputs.x.max()) + 1

    def predicted(train: MethodInput, test: MethodInput) -> Floats:
        net = ComparisonGraph.of(*_both(train), count)
        params, scores = bradley_terry(net, *_both(train), train.y)
        one, other = _both(test)
        left = net.gap(scores, one, other)
        return choice_probabilities(scores.mean[one] - scores.mean[other] + params.side, params.tie, left).T

    return Outcome(predicted=_held_out(inputs, predicted))


def of_agreement(inputs: MethodInput) -> Outcome:
    """Score each annotator by agreement with the other choices of the same pair."""
    low, high = inputs.x.min(axis=1), inputs.x.max(axis=1)
    pair = np.unique(low * (high.max() + 1) + high, return_inverse=True)[1]
    turned = np.where((inputs.x[:, 0] > low) & (inputs.y != TIE), 1 - inputs.y, inputs.y)
    votes = np.zeros((pair.max() + 1, 3))
    np.add.at(votes, (pair, turned), 1.0)
    same = np.bincount(inputs.who, votes[pair, turned] - 1)
    total = np.bincount(inputs.who, votes[pair].sum(axis=1) - 1)
    return Outcome(quality=same / np.maximum(total, 1))


def of_noisy_bradley_terry(inputs: MethodInput) -> Outcome:
    """Skill of each judge by crowd-kit; ties are left out, for it has none."""
    import pandas as pd

    module = import_optional("crowdkit.aggregation", "crowd-kit")
    kept = inputs.y != TIE
    left, right = inputs.x[kept].T
    label = np.where(inputs.y[kept] == FIRST, left, right)
    table = pd.DataFrame({"worker": inputs.who[kept], "left": left, "right": right, "label": label})
    skills = module.NoisyBradleyTerry(n_iter=10).fit(table).skills_
    return Outcome(quality=skills.reindex(range(len(inputs.rows))).fillna(0.5).to_numpy(dtype=float))


METHODS: dict[str, Callable[[MethodInput], Outcome]] = {
    "anml": of_anml,
    "Bradley-Terry": of_bradley_terry,
    "noisy Bradley-Terry": of_noisy_bradley_terry,
    "agreement": of_agreement,
}


def measures(case: Case, answer: Outcome) -> Measured:
    """Measure predictions of choices, ranking of annotators, and verdicts, as far as the outcome has them."""
    rows, made = case.seen.rows, case.seen.of_person(case.truth.group)
    honest, kind_of = made == "", np.char.partition(made, ",")[:, 0]
    result: Measured = {}
    if answer.predicted is not None:
        right = np.eye(3)[case.seen.y]
        result["loss"] = float(-np.log(np.maximum((answer.predicted * right).sum(axis=1), 1e-12)).mean())
        result["calibration"] = calibration_curve(
            np.clip(answer.predicted.ravel(), 0, 1), right.ravel() > 0
        ).error
    if answer.quality is not None:
        # Copies of a good judge are no worse by what they choose.
        subset = (rows >= MIN_ROWS) & (kind_of != "copies")
        result["ranked"] = auroc_of_quality(answer.quality[subset], ~honest[subset])
    if answer.verdict is None:
        return result
    large, informed = honest & (rows >= ESTABLISHED_ROWS), made == INFORMED_REVERSED
    for kind in JUDGES:
        theirs = kind_of == kind
        result |= count_verdicts(
            answer.verdict, {kind: (theirs, VERDICTS), f"{kind}_found": (theirs, FLAGGED)}
        )
    return result | count_verdicts(answer.verdict, {
        "honest": (honest, VERDICTS), "honest_accused": (honest, FLAGGED),
        "few_accused": (rows < MIN_ROWS, FLAGGED), "established": (large, VERDICTS),
        "established_known": (large, (RELIABLE, LESS_RELIABLE)), "informed": (informed, VERDICTS),
        "informed_found": (informed, FLAGGED), "taste_guessing": (made == "taste", [GUESSING]),
    })  # fmt: skip


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of the methods on one session."""
    case = with_bad_judges(load_pairs(at.setting.dataset), at.rng("planted"))
    return run_methods(methods, lambda method: METHODS[method](case.seen), partial(measures, case))

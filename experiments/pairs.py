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


def predict(fit: PairFit, first: Ints, second: Ints, who: Ints) -> Floats:
    """Probabilities of further choices (n, 3); whoever, or whatever, is not known (-1) is as usual."""
    found, params = type_parameters(fit), fit.params
    alone, seen = fit.net.variance(fit.scores), (first >= 0) & (second >= 0)
    one, other = (np.where(codes >= 0, fit.scores.mean[codes], 0.0) for codes in (first, second))
    d = one - other
    left = sum(np.where(codes >= 0, alone[codes], params.spread) for codes in (first, second))
    left = np.where(seen, fit.net.gap(fit.scores, first, second), left)
    own = [_Tastes.of(fit, name) for name in ANNOTATOR_TYPES]
    met, total = who >= 0, np.zeros((3, len(first)))
    for at, (kind, taste) in enumerate(zip(ANNOTATOR_TYPES.values(), own, strict=True)):
        varies, wide, _ = kind.variances(params)
        slope = np.where(met, found.slope[who, at], kind.slope)
        spread = np.where(met, found.variance[who, at], varies)
        pull = slope * d + np.where(met, found.side[who, at], params.side)
        variance = spread * d**2 + slope**2 * left
        for codes, sign in ((first, 1.0), (second, -1.0)):
            mean, precision = taste.at(who, codes)
            pull = pull + sign * mean
            variance = variance + wide / (1 + wide * precision)
        share = np.where(met, fit.kinds[who, at], fit.shares[at])
        total += share * choice_probabilities(pull, np.where(met, found.tie[who, at], params.tie), variance)
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

    def at(self, who: Ints, candidate: Ints) -> tuple[Floats, Floats]:
        wanted = who * self.candidates + candidate
        place = np.minimum(np.searchsorted(self.key, wanted), len(self.key) - 1)
        known = (self.key[place] == wanted) & (who >= 0) & (candidate >= 0)
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


def load_session(first: Ints, second: Ints, choice: Ints, who: Ints, made: Any = "") -> Case:
    """Comparisons, whose features are the codes of two candidates; of each, what its judge was made."""
    seen = MethodInput(np.column_stack([first, second]), choice, 3, who)
    return Case(seen, GroundTruth(group=np.broadcast_to(np.asarray(made, dtype="<U18"), len(who))))


def _both(seen: MethodInput) -> tuple[Ints, Ints]:
    """The first and the second candidate of each comparison."""
    return seen.x[:, 0], seen.x[:, 1]


def load_pairs(name: str) -> Case:
    """Comparisons as they were made: of melodies, of arguments, or of arguments on one topic."""
    group, path = ("query", "melodies") if name == "melodies" else ("topic", "arguments")
    frame = pl.read_csv(needed_file(f"pairs_{path}.csv.gz")).drop_nulls("choice")
    if name.startswith("topic"):
        topics = frame[group].unique().sort()
        frame = frame.filter(pl.col(group) == topics[int(name.removeprefix("topic ")) - 1])
    both = [frame.select(pl.concat_str(group, c, separator="/")).to_series() for c in ("first", "second")]
    code = np.unique(pl.concat(both).to_numpy().astype(str), return_inverse=True)[1]
    who = np.unique(frame["contributor"].to_numpy().astype(str), return_inverse=True)[1]
    choice = frame["choice"].replace_strict(CODES, return_dtype=pl.Int64).to_numpy()
    return load_session(code[: len(who)], code[len(who) :], choice, who)


def with_bad_judges(case: Case, rng: np.random.Generator) -> Case:
    """The session with bad judges in it, of every kind in turn."""
    (first, second), choice, who = _both(case.seen), case.seen.y, case.seen.who
    rows, y = case.seen.rows, choice.copy()
    made = np.full(len(rows), "", dtype="<U18")
    many = np.flatnonzero(rows >= MIN_ROWS)
    bad = rng.permutation(many)[: max(len(JUDGES), round(SHARE * len(many)))]
    own = rng.normal(0, 2, (len(bad), int(max(first.max(), second.max())) + 1))
    tie = rng.random(len(y)) < (y == TIE).mean()
    more: list[Ints] = []
    for number, person in enumerate(bad):
        made[person] = kind = JUDGES[number % len(JUDGES)]
        at = np.flatnonzero(who == person)
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
    before = np.array(verdicts_for(annotator_estimates(fit_pairs(first, second, choice, who)))[0])
    decided = np.bincount(who[y != TIE], minlength=len(rows)) >= MIN_ROWS
    made[(made == "reversed") & decided & (before == RELIABLE)] = INFORMED_REVERSED
    if more:
        count = np.repeat(np.arange(len(more)), [len(at) for at in more])
        again = np.concatenate(more)
        first, second, y = (np.r_[part, part[again]] for part in (first, second, y))
        who, made = np.r_[who, len(made) + count], np.r_[made, ["copies"] * len(more)]
    return load_session(first, second, y, who, made[who])


def of_anml(seen: MethodInput) -> Outcome:
    """Ours."""

    def predicted(train: MethodInput, test: MethodInput) -> Floats:
        fit, who = fit_pairs(*_both(train), train.y, train.contributor), test.contributor
        return predict(fit, *_both(test), np.where(who < len(fit.kinds), who, -1))

    _, found = estimate_preferences(*_both(seen), seen.y, (0, 1, 2), seen.contributor)
    return Outcome(
        predicted=_held_out(seen, predicted), quality=found.people.kappa, verdict=np.array(found.words)
    )


def _held_out(seen: MethodInput, predicted: Callable[[MethodInput, MethodInput], Floats]) -> Floats:
    """Choices of each part, predicted by the others; the highest code of a candidate is never held out."""
    parts = np.random.default_rng(0).integers(0, FOLDS, len(seen.y))
    last = seen.x.max(axis=1)
    parts[last == last.max()] = np.arange((last == last.max()).sum()) % FOLDS
    return cross_fit_predictions(
        parts, lambda learn, asked, _: predicted(seen.part(learn), seen.part(asked)), (3,)
    )


def of_bradley_terry(seen: MethodInput) -> Outcome:
    """Bradley and Terry's model with Davidson's ties: nothing is personal."""
    count = int(seen.x.max()) + 1

    def predicted(train: MethodInput, test: MethodInput) -> Floats:
        net = ComparisonGraph.of(*_both(train), count)
        params, scores = bradley_terry(net, *_both(train), train.y)
        one, other = _both(test)
        left = net.gap(scores, one, other)
        return choice_probabilities(scores.mean[one] - scores.mean[other] + params.side, params.tie, left).T

    return Outcome(predicted=_held_out(seen, predicted))


def of_agreement(seen: MethodInput) -> Outcome:
    """Score each annotator by agreement with the other choices of the same pair."""
    low, high = seen.x.min(axis=1), seen.x.max(axis=1)
    pair = np.unique(low * (high.max() + 1) + high, return_inverse=True)[1]
    turned = np.where((seen.x[:, 0] > low) & (seen.y != TIE), 1 - seen.y, seen.y)
    votes = np.zeros((pair.max() + 1, 3))
    np.add.at(votes, (pair, turned), 1.0)
    same = np.bincount(seen.who, votes[pair, turned] - 1)
    of = np.bincount(seen.who, votes[pair].sum(axis=1) - 1)
    return Outcome(quality=same / np.maximum(of, 1))


def of_noisy_bradley_terry(seen: MethodInput) -> Outcome:
    """Skill of each judge by crowd-kit; ties are left out, for it has none."""
    import pandas as pd

    module = import_optional("crowdkit.aggregation", "crowd-kit")
    kept = seen.y != TIE
    left, right = seen.x[kept].T
    label = np.where(seen.y[kept] == FIRST, left, right)
    table = pd.DataFrame({"worker": seen.who[kept], "left": left, "right": right, "label": label})
    skills = module.NoisyBradleyTerry(n_iter=10).fit(table).skills_
    return Outcome(quality=skills.reindex(range(len(seen.rows))).fillna(0.5).to_numpy(dtype=float))


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
    found: Measured = {}
    if answer.predicted is not None:
        right = np.eye(3)[case.seen.y]
        found["loss"] = float(-np.log(np.maximum((answer.predicted * right).sum(axis=1), 1e-12)).mean())
        found["calibration"] = calibration_curve(
            np.clip(answer.predicted.ravel(), 0, 1), right.ravel() > 0
        ).error
    if answer.quality is not None:
        # Copies of a good judge are no worse by what they choose.
        some = (rows >= MIN_ROWS) & (kind_of != "copies")
        found["ranked"] = auroc_of_quality(answer.quality[some], ~honest[some])
    if answer.verdict is None:
        return found
    many, informed = honest & (rows >= ESTABLISHED_ROWS), made == INFORMED_REVERSED
    for kind in JUDGES:
        theirs = kind_of == kind
        found |= count_verdicts(
            answer.verdict, {kind: (theirs, VERDICTS), f"{kind}_found": (theirs, FLAGGED)}
        )
    return found | count_verdicts(answer.verdict, {
        "honest": (honest, VERDICTS), "honest_accused": (honest, FLAGGED),
        "few_accused": (rows < MIN_ROWS, FLAGGED), "established": (many, VERDICTS),
        "established_known": (many, (RELIABLE, LESS_RELIABLE)), "informed": (informed, VERDICTS),
        "informed_found": (informed, FLAGGED), "taste_guessing": (made == "taste", [GUESSING]),
    })  # fmt: skip


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of the methods on one session."""
    case = with_bad_judges(load_pairs(at.setting.dataset), at.rng("planted"))
    return run_methods(methods, lambda method: METHODS[method](case.seen), partial(measures, case))

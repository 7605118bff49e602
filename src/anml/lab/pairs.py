"""Sessions of judges who compare, an eighth of them replaced by bad ones, and what is said of them."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
import polars as pl

from anml.assess.pairs import believe_pairs
from anml.core.calibration import reliability
from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.people.candidates import Net
from anml.core.people.davidson import FIRST, SECOND, TIE, choices
from anml.core.people.pair_kinds import KINDS
from anml.core.people.pair_people import habits, judges, varies_by, words_for
from anml.core.people.pairs import PairFit, bradley_terry, fit_pairs
from anml.core.people.words import ACCUSED, GUESSING, LESS, RELIABLE
from anml.lab.cases import stream
from anml.lab.data import needed_file
from anml.lab.real import needed
from anml.lab.spec import At, Found, timed


def predict(fit: PairFit, first: Ints, second: Ints, who: Ints) -> Floats:
    """Probabilities of further choices (n, 3); whoever, or whatever, is not known (-1) is as usual."""
    found, params = habits(fit), fit.params
    alone, seen = fit.net.variance(fit.scores), (first >= 0) & (second >= 0)
    one, other = (np.where(codes >= 0, fit.scores.mean[codes], 0.0) for codes in (first, second))
    d = one - other
    left = sum(np.where(codes >= 0, alone[codes], params.spread) for codes in (first, second))
    left = np.where(seen, fit.net.gap(fit.scores, first, second), left)
    own = [_Tastes.of(fit, name) for name in KINDS]
    met, total = who >= 0, np.zeros((3, len(first)))
    for at, (kind, taste) in enumerate(zip(KINDS.values(), own, strict=True)):
        varies, wide = varies_by(kind, params), params.tastes if kind.taste is None else kind.taste
        slope = np.where(met, found.slope[who, at], kind.slope)
        spread = np.where(met, found.variance[who, at], varies)
        pull = slope * d + np.where(met, found.side[who, at], params.side)
        variance = spread * d**2 + slope**2 * left
        for codes, sign in ((first, 1.0), (second, -1.0)):
            mean, precision = taste.at(who, codes)
            pull = pull + sign * mean
            variance = variance + wide / (1 + wide * precision)
        share = np.where(met, fit.kinds[who, at], fit.shares[at])
        total += share * choices(pull, np.where(met, found.tie[who, at], params.tie), variance)
    return total.T


class _Tastes(NamedTuple):
    """Own scores of people for candidates, if they are of one kind: sorted keys, means and precisions."""

    key: Ints
    mean: Floats
    precision: Floats
    candidates: int

    @classmethod
    def of(cls, fit: PairFit, name: str) -> "_Tastes":
        kind, count = KINDS[name], len(fit.net.part)
        wide = fit.params.tastes if kind.taste is None else kind.taste
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
MEASURES = (
    *("loss", "calibration", "ranked", "honest", "honest_accused", "few_accused", "established"),
    *("established_known", "informed", "informed_found", "taste_guessing"),
    *(name for kind in JUDGES for name in (kind, f"{kind}_found")),
    "seconds",
)

# Share of the judges with enough comparisons who are replaced, how many are enough, and parts held out.
SHARE, LEAST, FOLDS = 0.13, 10, 5
MANY, COPIES = 20, 3
CODES = {"first": FIRST, "second": SECOND, "equal": TIE}


class Session(NamedTuple):
    """Comparisons: codes of candidates and people, choices; what people are made, "" where nothing."""

    first: Ints
    second: Ints
    choice: Ints
    who: Ints
    made: Array
    informed: Bools


def load_pairs(name: str) -> Session:
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
    people = int(who.max()) + 1
    made, informed = np.full(people, "", dtype="<U8"), np.zeros(people, dtype=bool)
    return Session(code[: len(who)], code[len(who) :], choice, who, made, informed)


def planted(session: Session, rng: np.random.Generator) -> Session:
    """The session with bad judges in it, of every kind in turn."""
    first, second, choice, who, made, _ = session
    rows, y, made = np.bincount(who), choice.copy(), made.copy()
    many = np.flatnonzero(rows >= LEAST)
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
        more += [at] * COPIES if kind == "copies" else []
    before = np.array(words_for(judges(fit_pairs(first, second, choice, who)))[0])
    decided = np.bincount(who[y != TIE], minlength=len(rows)) >= LEAST
    informed = (made == "reversed") & decided & (before == RELIABLE)
    if more:
        count = np.repeat(np.arange(len(more)), [len(at) for at in more])
        again = np.concatenate(more)
        first, second, y = (np.r_[part, part[again]] for part in (first, second, y))
        who = np.r_[who, len(made) + count]
        made, informed = np.r_[made, ["copies"] * len(more)], np.r_[informed, [False] * len(more)]
    return Session(first, second, y, who, made, informed)


class Said(NamedTuple):
    """What a method says: probabilities of held-out choices (n, 3), a score of each judge, and words."""

    p: Floats | None = None
    score: Floats | None = None
    words: list[str] | None = None


def of_anml(session: Session) -> Said:
    """Ours."""

    def predicted(train: Ints, test: Ints) -> Floats:
        first, second, choice, who = (part[train] for part in session[:4])
        fit, who = fit_pairs(first, second, choice, who), session.who[test]
        return predict(fit, session.first[test], session.second[test], np.where(who < fit.people, who, -1))

    _, found = believe_pairs(session.first, session.second, session.choice, (0, 1, 2), session.who)
    return Said(_held_out(session, predicted), found.people.kappa, found.words)


def _held_out(session: Session, predicted: Callable[[Ints, Ints], Floats]) -> Floats:
    """Choices of each part, predicted by the others; the highest code of a candidate is never held out."""
    parts = np.random.default_rng(0).integers(0, FOLDS, len(session.who))
    last = np.maximum(session.first, session.second)
    parts[last == last.max()] = np.arange((last == last.max()).sum()) % FOLDS
    p = np.zeros((len(session.who), 3))
    for fold in range(FOLDS):
        p[parts == fold] = predicted(np.flatnonzero(parts != fold), np.flatnonzero(parts == fold))
    return p


def of_bradley_terry(session: Session) -> Said:
    """Bradley and Terry's model with Davidson's ties: nothing is personal."""
    count = int(max(session.first.max(), session.second.max())) + 1

    def predicted(train: Ints, test: Ints) -> Floats:
        first, second, choice = (part[train] for part in session[:3])
        net = Net.of(first, second, count)
        params, scores = bradley_terry(net, first, second, choice)
        one, other = session.first[test], session.second[test]
        left = net.gap(scores, one, other)
        return choices(scores.mean[one] - scores.mean[other] + params.side, params.tie, left).T

    return Said(_held_out(session, predicted))


def of_agreement(session: Session) -> Said:
    """How often each judge chooses as the others of the same pair do."""
    low, high = np.minimum(session.first, session.second), np.maximum(session.first, session.second)
    pair = np.unique(low * (high.max() + 1) + high, return_inverse=True)[1]
    turned = np.where((session.first > low) & (session.choice != TIE), 1 - session.choice, session.choice)
    votes = np.zeros((pair.max() + 1, 3))
    np.add.at(votes, (pair, turned), 1.0)
    same = np.bincount(session.who, votes[pair, turned] - 1)
    of = np.bincount(session.who, votes[pair].sum(axis=1) - 1)
    return Said(score=same / np.maximum(of, 1))


def of_noisy_bradley_terry(session: Session) -> Said:
    """Skill of each judge by crowd-kit; ties are left out, for it has none."""
    import pandas as pd

    module = needed("crowdkit.aggregation", "crowd-kit")
    kept = session.choice != TIE
    left, right = session.first[kept], session.second[kept]
    label = np.where(session.choice[kept] == FIRST, left, right)
    table = pd.DataFrame({"worker": session.who[kept], "left": left, "right": right, "label": label})
    skills = module.NoisyBradleyTerry(n_iter=10).fit(table).skills_
    return Said(score=skills.reindex(range(len(session.made))).fillna(0.5).to_numpy(dtype=float))


METHODS: dict[str, Callable[[Session], Said]] = {
    "anml": of_anml,
    "Bradley-Terry": of_bradley_terry,
    "noisy Bradley-Terry": of_noisy_bradley_terry,
    "agreement": of_agreement,
}


def measures(session: Session, said: Said) -> dict[str, float]:
    """How well choices are predicted, judges ranked, and what is said of whom; nothing where none is."""
    rows, made = np.bincount(session.who, minlength=len(session.made)), session.made
    found: dict[str, float] = {}
    if said.p is not None:
        right = np.eye(3)[session.choice]
        found["loss"] = float(-np.log(np.maximum((said.p * right).sum(axis=1), 1e-12)).mean())
        found["calibration"] = reliability(np.clip(said.p.ravel(), 0, 1), right.ravel() > 0).error
    if said.score is not None:
        # Copies of a good judge are no worse by what they choose.
        low = said.score[(rows >= LEAST) & np.isin(made, JUDGES[:-1])]
        high = said.score[(rows >= LEAST) & (made == "")]
        found["ranked"] = float((low[:, None] < high).mean() + 0.5 * (low[:, None] == high).mean())
    if said.words is None:
        return found
    word, honest = np.array(said.words), made == ""
    accused, known = np.isin(word, ACCUSED), np.isin(word, (RELIABLE, LESS))
    many = honest & (rows >= MANY)
    for kind in JUDGES:
        found |= {kind: float((made == kind).sum()), f"{kind}_found": float((accused & (made == kind)).sum())}
    return found | {
        "honest": float(honest.sum()), "honest_accused": float((honest & accused).sum()),
        "few_accused": float((accused & (rows < LEAST)).sum()), "established": float(many.sum()),
        "established_known": float((many & known).sum()), "informed": float(session.informed.sum()),
        "informed_found": float((session.informed & accused).sum()),
        "taste_guessing": float(((made == "taste") & (word == GUESSING)).sum()),
    }  # fmt: skip


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the methods on one session."""
    name = at.setting.dataset
    session = planted(load_pairs(name), stream(at.experiment.seed, at.trial, "planted", name))
    for method in methods:
        said, seconds = timed(partial(METHODS[method], session))
        found = dict.fromkeys(MEASURES, float("nan")) | measures(session, said)
        yield method, {**found, "seconds": seconds}

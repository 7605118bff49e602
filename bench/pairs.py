"""`python bench/pairs.py [SET ...] [--seeds N]`: judges who compare, some of them replaced by bad ones.

An eighth of the judges with ten comparisons or more choose by a coin, always the first, the worse, by a rule
that has nothing to do with the candidates, or by a taste of their own. A tenth of all comparisons is held
out. Shown are the log-loss of those beside Bradley and Terry's, how well the judges are ranked (area under
the curve of bad against honest) beside agreement with the majority and crowd-kit's noisy Bradley-Terry, and
what is said of whom. The sets are those of ANML_DATA; sessions are single topics of the larger one.
"""

import argparse
import os
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from anml.core.checks import Floats, Ints
from anml.core.people.candidates import Net
from anml.core.people.davidson import FIRST, SECOND, TIE, choices
from anml.core.people.pair_kinds import KINDS, Batch
from anml.core.people.pair_people import habits, judges, varies_by
from anml.core.people.pair_verdicts import verdicts
from anml.core.people.pairs import Fit, bradley_terry, fit_pairs

SETS = {"pairs_melodies": "query", "pairs_arguments": "topic"}
BAD = ("coin", "first", "reversed", "rule", "taste")
SHARE, LEAST, OUT = 0.13, 10, 0.1
CODES = {"first": FIRST, "second": SECOND, "equal": TIE}


def predict(fit: Fit, first: Ints, second: Ints, who: Ints) -> Floats:
    """Probabilities of further choices (n, 3); whoever, or whatever, is not known (-1) is as usual."""
    found, params = habits(fit), fit.params
    seen = (first >= 0) & (second >= 0)
    d = np.where(first >= 0, fit.scores.mean[first], 0.0) - np.where(
        second >= 0, fit.scores.mean[second], 0.0
    )
    alone = fit.net.variance(fit.scores.covariance)
    left = np.where(first >= 0, alone[first], params.spread) + np.where(
        second >= 0, alone[second], params.spread
    )
    left = np.where(seen, fit.net.of_pairs(fit.scores.covariance, first, second, first, second), left)
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
    def of(cls, fit: Fit, name: str) -> "_Tastes":
        kind, count = KINDS[name], len(fit.net.part)
        wide = fit.params.tastes if kind.taste is None else kind.taste
        keys, means, known = [], [], []
        for batch in fit.batches:
            mode = batch.fits[name]
            for codes, sign in ((batch.i, 1.0), (batch.j, -1.0)):
                keys.append(_keys(batch, codes, count))
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


def _keys(batch: Batch, codes: Ints, count: int) -> Ints:
    return np.asarray((batch.owner[:, None] * count + codes)[batch.used])


class Session(NamedTuple):
    """Comparisons: codes of candidates and people, choices, and what each bad person was made."""

    name: str
    first: Ints
    second: Ints
    choice: Ints
    who: Ints
    bad: dict[int, str]


def sessions(name: str, seeds: int) -> Iterator[Session]:
    """A set as a whole and, of a large one, topic by topic, with other bad judges by each seed."""
    frame = pl.read_csv(Path(os.environ["ANML_DATA"]) / f"{name}.csv.gz").drop_nulls("choice")
    parts = [frame, *(frame.partition_by(SETS[name]) if frame.height > 10_000 else [])]
    for number, part in enumerate(parts):
        for seed in range(seeds if part.height < 10_000 else 1):
            yield planted(
                f"{name} {number or 'all'} {seed}", part, SETS[name], np.random.default_rng([seed, number])
            )


def planted(name: str, frame: pl.DataFrame, group: str, rng: np.random.Generator) -> Session:
    """The session with bad judges in it."""
    both = pl.concat(
        [frame.select(pl.concat_str(group, each, separator="/").alias("c")) for each in ("first", "second")]
    )
    code = np.unique(both["c"].to_numpy().astype(str), return_inverse=True)[1]
    n = frame.height
    first, second = code[:n], code[n:]
    who = np.unique(frame["contributor"].to_numpy().astype(str), return_inverse=True)[1]
    y = frame["choice"].replace_strict(CODES, return_dtype=pl.Int64).to_numpy().copy()
    many = np.flatnonzero(np.bincount(who) >= LEAST)
    chosen = rng.choice(many, max(1, round(SHARE * len(many))), replace=False)
    ties, bad = float((y == TIE).mean()), {}
    for number, person in enumerate(chosen):
        kind, rows = BAD[number % len(BAD)], np.flatnonzero(who == person)
        bad[int(person)] = kind
        own = rng.normal(0, 2, code.max() + 1)
        tied = rng.random(len(rows)) < ties
        if kind == "coin":
            y[rows] = np.where(tied, TIE, rng.integers(0, 2, len(rows)))
        elif kind == "first":
            y[rows] = np.where(rng.random(len(rows)) < 0.97, FIRST, SECOND)
        elif kind == "reversed":
            y[rows] = np.where(y[rows] == TIE, TIE, 1 - y[rows])
        elif kind == "rule":
            y[rows] = np.where(first[rows] < second[rows], FIRST, SECOND)
        else:
            pull = own[first[rows]] - own[second[rows]]
            y[rows] = np.where(tied, TIE, rng.random(len(rows)) > 1 / (1 + np.exp(-pull)))
    return Session(name, first, second, y, who, bad)


def agreement(session: Session) -> Floats:
    """How often each judge chooses as the others of the same pair do."""
    low = np.minimum(session.first, session.second)
    pair = np.unique(
        low * (session.first.max() + 1) + np.maximum(session.first, session.second), return_inverse=True
    )[1]
    turned = np.where((session.first > low) & (session.choice != TIE), 1 - session.choice, session.choice)
    votes = np.zeros((pair.max() + 1, 3))
    np.add.at(votes, (pair, turned), 1.0)
    same = votes[pair, turned] - 1
    return np.bincount(session.who, same, session.who.max() + 1) / np.maximum(
        np.bincount(session.who, votes[pair].sum(axis=1) - 1, session.who.max() + 1), 1
    )


def noisy_bradley_terry(session: Session) -> Floats:
    """Skill of each judge by crowd-kit; ties are left out, for it has none."""
    import pandas as pd
    from crowdkit.aggregation import NoisyBradleyTerry

    kept = session.choice != TIE
    left, right = session.first[kept], session.second[kept]
    label = np.where(session.choice[kept] == FIRST, left, right)
    frame = pd.DataFrame({"worker": session.who[kept], "left": left, "right": right, "label": label})
    model = NoisyBradleyTerry(n_iter=10).fit(frame)
    skills = model.skills_.reindex(range(session.who.max() + 1)).fillna(0.5)
    return skills.to_numpy(dtype=float)


def area(score: Floats, bad: Floats, used: Floats) -> float:
    """Probability that somebody bad scores below somebody honest."""
    low, high = score[used & bad], score[used & ~bad]
    if not len(low) or not len(high):
        return float("nan")
    return float((low[:, None] < high).mean() + 0.5 * (low[:, None] == high).mean())


def measure(session: Session, said: dict[str, Counter[str]]) -> dict[str, float]:
    """All figures of a session; verdicts are counted by what people are."""
    count = session.who.max() + 1
    out = np.random.default_rng(0).random(len(session.who)) < OUT
    train = [part[~out] for part in session[1:5]]
    begun = time.process_time()
    fit = fit_pairs(*train)
    seconds = time.process_time() - begun
    known = (session.first < len(fit.net.part)) & (session.second < len(fit.net.part))
    test = np.flatnonzero(out & known)
    first, second, y, who = (part[test] for part in session[1:5])
    ours = predict(fit, first, second, np.where(who < fit.people, who, -1))
    params, scores = bradley_terry(Net.of(train[0], train[1], len(fit.net.part)), *train[:3])
    gap = scores.mean[first] - scores.mean[second]
    left = fit.net.of_pairs(scores.covariance, first, second, first, second)
    plain = choices(gap + params.side, params.tie, left).T
    people = judges(fit)
    words, _ = verdicts(people)
    rows = np.bincount(train[3], minlength=count)
    bad = np.isin(np.arange(count), list(session.bad))
    for person, word in enumerate(words):
        honest = (
            "honest, 20 or more"
            if rows[person] >= 20
            else "honest, 10 to 19"
            if rows[person] >= 10
            else "honest, fewer"
        )
        said[session.bad.get(person, honest)][word] += 1
    used = (rows >= LEAST)[: fit.people]
    kept = np.arange(len(y))
    figures = {
        "log-loss": float(-np.log(ours[kept, y]).mean()),
        "Bradley-Terry": float(-np.log(plain[kept, y]).mean()),
        "calibration": calibration(ours, y), "area": area(people.kappa, bad[: fit.people], used),
        "agreement": area(agreement(session)[: fit.people], bad[: fit.people], used), "seconds": seconds,
    }  # fmt: skip
    try:
        figures["noisy BT"] = area(noisy_bradley_terry(session)[: fit.people], bad[: fit.people], used)
    except ImportError:
        figures["noisy BT"] = float("nan")
    return figures


def calibration(p: Floats, y: Ints, bins: int = 10) -> float:
    """Expected calibration error over all three choices."""
    right, place = np.eye(3)[y].ravel(), np.minimum((p.ravel() * bins).astype(int), bins - 1)
    gap = np.bincount(place, p.ravel() - right, bins)
    return float(np.abs(gap).sum() / p.size)


def main() -> None:
    """Print a line for each session, and what was said of whom."""
    parser = argparse.ArgumentParser()
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    said: dict[str, Counter[str]] = defaultdict(Counter)
    lines = []
    for name in asked.sets:
        for session in sessions(name, asked.seeds):
            figures = measure(session, said)
            lines.append(figures)
            print(session.name, " ".join(f"{key} {value:.3f}" for key, value in figures.items()), flush=True)
    for key in lines[0]:
        print(f"mean {key}: {np.nanmean([line[key] for line in lines]):.3f}")
    for kind, words in sorted(said.items()):
        total = words.total()
        print(
            f"{kind} ({total}):",
            ", ".join(f"{word} {count / total:.1%}" for word, count in words.most_common()),
        )


if __name__ == "__main__":
    sys.exit(main())

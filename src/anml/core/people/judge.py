"""From fits of the model to what is believed of labels and people: one posterior for both."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Bools, Floats, Ints
from anml.core.people import verdicts, worth
from anml.core.people.belief import NOBODY_NEAR, Around, Belief, Contributor, in_parts, mixed
from anml.core.people.collective import Collective, collective_error
from anml.core.people.consensus import equal_voices, join_posteriors
from anml.core.people.fit import Climbed, Fit
from anml.core.people.rows import Rows
from anml.core.people.told import Told, known_rows, tell
from anml.core.people.words import UNSURE
from anml.core.people.worth import GRID, Tally, Worth, WorthAtRates
from anml.core.stats import Estimate

# Shares of the posterior at which answers are imagined.
DRAWS = (np.arange(20) + 0.5) / 20
# A label that is less likely than this to be right is surely wrong.
NEVER = 1 - verdicts.SURELY


# What is said of all where nobody can tell who is right.
OPEN: dict[str, Callable[..., Any]] = {
    "quality": np.mean, "low": np.min, "high": np.max,
    "reliability": np.mean, "reliability_low": np.min, "reliability_high": np.max,
}  # fmt: skip


class Judged(NamedTuple):
    """What is believed of people and of all rows together.

    `people`: None where contributors are not known.
    `error`: how often the crowd errs together.
    `mirror`, `doubtful`: probability that those who contradict the others are right, and their share of the
    rows where nobody can be accused for it.
    `mean`, `contradicted`: share of right labels, and how many all else contradicts.
    """

    people: Contributor | None
    error: Collective
    mirror: float
    doubtful: float | None
    mean: float
    contradicted: int


def judge(
    told: Told, fits: Sequence[Climbed], weights: Floats, people: bool = True, around: Around = NOBODY_NEAR,
    owner: Ints | None = None, spared: Ints | None = None,
) -> Judged:  # fmt: skip
    """Judge people by what all rows tell; see `believe` for the parameters."""
    classes = len(told.people.share)
    error = collective_error(told.crowd, classes)
    judged, mirror, doubtful = None, 0.0, None
    if people:
        sums, types = told.people, mixed(weights, [fit.params.types for fit in fits])
        vouched = mixed(weights, [-(fit.params.means @ fit.params.strange_worth) for fit in fits])
        whole = parts = sums, types, vouched, told.voices, told.excused
        if owner is not None:
            voices, excused = (np.bincount(owner, part).astype(np.float64) for part in parts[3:])
            whole = *_by_owner(sums, types, vouched, owner), voices, excused
        alone = not fits[0].params.predicted
        judged, mirror, against = judge_people(*whole, error, around, spared, alone)
        doubtful = verdicts.share_in_doubt(mirror, against, whole[0].rows.sum(axis=1))
        if owner is not None:
            spared = None if spared is None else spared[owner]
            judged = _as_of_late(judged, judge_people(*parts, error, around.at(owner), spared)[0], owner)
    unknown, labels, right, rest = told.right
    mean = (error.share(unknown / max(labels, 1), classes) * labels + right) / (labels + rest)
    if judged is not None and mirror >= 0.5:
        # Of either side everybody may be right: what is said of one may be true of the other.
        each = {name: getattr(judged, name) for name in OPEN}
        judged = replace(judged, **{name: np.full_like(x, OPEN[name](x)) for name, x in each.items()})
    return Judged(judged, error, mirror, doubtful, mean, told.contradicted)


def believe(
    rows: Rows, fits: Sequence[Fit], weights: Floats, shares: dict[str, float], people: bool,
    alone: Bools | None = None, around: Around = NOBODY_NEAR, owner: Ints | None = None,
    spared: Ints | None = None,
) -> Belief:  # fmt: skip
    """Sum up the hypotheses.

    `people`: whether contributors are known.
    `alone`, `around`: labels that rest on their contributor alone, and who others are near contributors.
    `owner`: which contributor each of those in the fit is a part of; None where all are whole.
    `spared`: who is not to be accused, see `decide`; None: nobody.
    """
    judged = judge(tell(rows, fits, weights), fits, weights, people, around, owner, spared)
    return replace(believe_rows(rows, fits, weights, judged, shares, alone, owner), around=around)


def believe_rows(
    rows: Rows, fits: Sequence[Fit], weights: Floats, judged: Judged, shares: dict[str, float],
    alone: Bools | None = None, owner: Ints | None = None,
) -> Belief:  # fmt: skip
    """What is believed of the rows of a slice, given what all rows tell of people."""
    said = mixed(weights, [fit.truth for fit in fits])
    at, people = (np.arange(rows.n), rows.y), judged.people
    truth = np.where(known_rows(rows)[:, None], said, judged.error.truth(said))
    if rows.shared and rows.item is not None:
        # One truth for all rows of an item: two labels of it are not both likely.
        truth = join_posteriors(truth, rows.item)[rows.item]
    p = np.clip(truth[at], 1e-9, 1 - 1e-9)
    if judged.mirror >= 0.5:
        # Nobody's word counts for more than another's: labels are as right as they are usual for their item.
        p = np.full(rows.n, judged.mean)
        if rows.shared and rows.item is not None:
            truth = equal_voices(rows.y, rows.item, rows.classes, judged.mean)[rows.item]
            p = np.clip(truth[at], 1e-9, 1 - 1e-9)
    alone = np.zeros(rows.n, dtype=bool) if alone is None else alone
    # What rests on its contributor alone is as right as labels are on average: not condemned.
    p = np.where(alone, np.maximum(p, judged.mean), p)
    credentials = mixed(weights, [credentials_of(rows, fit) for fit in fits])
    who = rows.who if owner is None else owner[rows.who]
    return Belief(
        **in_parts(p, judged.mean, credentials, people, who), truth=truth, predicted=rows.log_p,
        shares=shares, wrong=wrong_share(p.sum(), (p < NEVER).sum(), judged.contradicted, rows.n),
        alone=alone, mirrored=judged.mirror, doubtful=judged.doubtful,
    )  # fmt: skip


def judge_people(
    sums: Tally, types: Floats, vouched: Floats, voices: Floats, excused: Floats, rate: Collective,
    around: Around, spared: Ints | None, alone: bool = False,
) -> tuple[Contributor, float, Floats]:  # fmt: skip
    """Verdicts, the probability that those who contradict the others are right, and who contradicts them.

    `excused`: labels that nothing but predictions speaks of, and these against: whether classes overlap there
    or all err nobody can tell, so that intervals go down to all of them being wrong.
    `alone`: no predictions tell what is right: of two people who differ either may be the one who guesses.
    """
    found = worth.worth_of(sums, types[:, 0], vouched, around.nearby)
    # Who looks, and is right less often than by chance, has another answer.
    below = (found.right * (found.guessed[:, None] > GRID)).sum(axis=1)
    against = (below * (1 - types[:, 1]) > 0.5).astype(np.float64)
    if alone:
        rest = np.square(voices.sum() - voices) < 2 * (np.square(voices).sum() - np.square(voices))
        against[rest & (types[:, 0] < 0.5)] = 1.0
    # Known labels tell which of two sides is right.
    open_ = sums.known.sum() < verdicts.ENOUGH_ROWS
    alike = bool(open_) and verdicts.in_the_same_way(sums.confused, against)
    mirror = verdicts.mirrored(against, voices, alike)
    stands = worth.standing(found, rate, len(sums.share))
    drawn = worth.standing(found._replace(right=found.drawn), rate, len(sums.share), these=True).posterior()
    # What is known of enough of somebody's rows needs nobody near.
    covered = None if around.covered is None else around.covered | (sums.known >= verdicts.ENOUGH_ROWS)
    judged = judged_by(found, stands, drawn, types[:, 1] > types[:, 2], covered, mirror, spared=spared)
    excess = np.maximum(excused, 0.0) / np.maximum(found.rows, 1)
    low, high = np.maximum(judged.low - excess, 0.0), judged.high
    if around.nearby is not None:
        # Where others look less right as well, it may be predictions that are wrong.
        high = np.minimum(high / around.nearby, 1.0)
    kappa_low, kappa_high = kappa_of(low, found.guessed), kappa_of(high, found.guessed)
    judged = replace(judged, low=low, high=high, reliability_low=kappa_low, reliability_high=kappa_high)
    return judged, mirror, against


def _by_owner(sums: Tally, types: Floats, vouched: Floats, owner: Ints) -> tuple[Tally, Floats, Floats]:
    """What is known of whole contributors, from that of their parts."""
    count = int(owner.max()) + 1

    def added(part: Floats) -> Floats:
        out = np.zeros((count, *part.shape[1:]))
        np.add.at(out, owner, part)
        return out

    rows = sums.rows.sum(axis=1)
    share = rows / np.maximum(added(rows)[owner], 1e-9)
    named = {
        name: added(getattr(sums, name)) for name in ("logs", "rows", "right", "given", "known", "confused")
    }
    whole = sums._replace(**named)
    return whole, added(types * share[:, None]), added(vouched * share)


def _as_of_late(judged: Contributor, parts: Contributor, owner: Ints) -> Contributor:
    """Who changed is judged by what came after: verdict and reliability; quality stays that of all rows."""
    words, late = list(judged.verdict), np.arange(len(judged.verdict), len(owner))
    for part in late:
        words[owner[part]] = parts.verdict[part]
    names = ("reliability", "reliability_low", "reliability_high", "expected", "settled_by")
    after = {name: getattr(judged, name).copy() for name in names}
    for name, values in after.items():
        values[owner[late]] = getattr(parts, name)[late]
    return replace(judged, verdict=words, **after)


def judged_by(
    found: Worth, stands: WorthAtRates, shares: Floats, blind: Bools, covered: Bools | None, mirror: float,
    against: Floats | None = None, spared: Ints | None = None,
) -> Contributor:  # fmt: skip
    """Verdicts on contributors whose labels are worth so much, beside what others have on comparable rows."""
    guessed = found.guessed
    above = stands.expected - guessed[:, None]
    chances = verdicts.Chances(
        stands.below(guessed + worth.HARDLY * (1 - guessed)),
        stands.below(guessed) if against is None else against,
        stands.below(guessed[:, None] + verdicts.WELL_BELOW * above),
        found.rows,
    )
    # Of who is alone so many rows must be known that nobody else is needed.
    lacking = verdicts.ENOUGH_ROWS - np.rint(found.known * found.rows).astype(np.int64)
    # Who is the only one cannot be compared with anybody, but with what is known.
    compared = (lacking <= 0) | (len(guessed) > 1)
    covered = compared if covered is None else covered & compared
    words, false = verdicts.decide(chances, blind, covered, mirror, spared)
    mean, (low, high) = shares @ GRID, worth.interval(shares)
    kappa, kappa_low, kappa_high = (kappa_of(x, guessed) for x in (mean, low, high))
    settled = np.maximum(_settled_by(found, words), np.where(covered, 0, lacking))
    rest = stands.usual(), *_resting_on(found), settled, false
    return Contributor(words, mean, low, high, kappa, kappa_low, kappa_high, *rest)


def kappa_of(right: Floats, guessed: Floats) -> Floats:
    """How far from guessing to always right.

    Where every guess is right it is nothing, and right less often than by any guess is as bad as can be.
    """
    room = np.where(guessed < 1 - 1e-9, 1 - guessed, np.inf)
    return np.asarray(np.maximum((right - guessed) / room, -1.0))


def _resting_on(found: Worth) -> tuple[Floats, Floats]:
    """Right and wrong labels that what rows say is as good as, what is known of people left aside."""
    mean = found.alone @ GRID
    spread = np.maximum(found.alone @ GRID**2 - mean**2, 1e-6)
    # No more than there are rows, beside the one of each that a flat start counts as.
    size = np.clip(mean * (1 - mean) / spread - 1, 2.0, found.rows + 2)
    return np.maximum(mean * size - 1, 0.0), np.maximum((1 - mean) * size - 1, 0.0)


def _settled_by(found: Worth, words: list[str]) -> Ints:
    """How many labels, if they were known, would settle an open verdict, for most shares that are likely."""
    out = np.zeros(len(words), dtype=np.int64)
    running = np.cumsum(found.right, axis=1)
    for k in np.flatnonzero([word == UNSURE for word in words]):
        above = max(float(found.expected[k] - found.guessed[k]), 0.0)
        limit = found.guessed[k] + verdicts.WELL_BELOW * above
        rates = GRID[np.minimum((running[k] < DRAWS[:, None]).sum(axis=1), len(GRID) - 1)]
        logs = rates[:, None] * np.log(GRID) + (1 - rates[:, None]) * np.log1p(-GRID)
        tried = np.unique(np.geomspace(1, max(10 * found.rows[k], 1000), 60).astype(np.int64))
        out[k] = tried[-1]
        for many in tried:
            # A known label takes the place of what the row said before.
            left = max(1 - many / found.rows[k], 0.0) * np.log(found.alone[k] + 1e-300)
            after = special.softmax(many * logs + left + np.log(found.prior[k] + 1e-300), axis=1)
            less = after[:, limit > GRID].sum(axis=1)
            if np.mean((less <= 1 - verdicts.PROBABLY) | (less >= verdicts.SURELY)) >= verdicts.SURELY:
                out[k] = many
                break
    return out


def credentials_of(rows: Rows, fit: Fit) -> Floats:
    """What credentials, of the row and of its contributor, add to the log-odds of being right."""
    params = fit.params
    return np.asarray(rows.features @ params.worth - (params.means @ params.strange_worth)[rows.who])


def wrong_share(right: float, surely: int, contradicted: int, rows: int) -> Estimate:
    """How many labels are wrong: at least those surely so, at most those that all else contradicts."""
    mean = 1 - float(right) / rows
    return Estimate(mean, min(float(surely) / rows, mean), max(float(contradicted) / rows, mean))

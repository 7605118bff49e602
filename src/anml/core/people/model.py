"""The model of contributors: Dawid and Skene's, with everybody's confusion matrix drawn from a population.

    z ~ p(z | x) ** (1 / temperature)       the truth of an item, by predictions that never saw its labels,
        * rho_k(z) / rho(z)                 and by which classes the contributor's items are of (specialists)
    y | z = c ~ theta_k[c]                  the label: a confusion matrix of the contributor's own
    theta_k[c] ~ Dirichlet(alike * m_k[c])  drawn from the population's m, tilted to how often k is right
    right_k ~ Beta(skill * e_k, ...)        drawn about what is expected of anybody on k's rows

A few contributors are not of this population: they answer without looking (labels follow a distribution
of their own, whatever the truth) or have a matrix that is like nobody's. n labels of one item count as
n / (1 + (n - 1) together), where errors on an item go together; copies of a label are one voice. A row is
left out of every count that judges it, and what is learned of a contributor from its own labels is paid for
(`occam`). Hypotheses differ in how labels of the population go wrong.

`e_step` gives the posterior of the truth of some rows with their statistics, which add up over slices of a
table, and `m_step` makes the next parameters of the sums. `anml.core.people.fit` runs them.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Floats
from anml.core.people.rows import Rows, newton

# How labels of the population go wrong: never, at one rate to any other class alike, or by class; and the log
# prior odds of each: that labels of ordinary contributors are wrong must be seen. Or all are of the
# population.
HYPOTHESES = {"none": 0.0, "even": -3.0, "classes": -3.0, "all ordinary": 0.0}

# Log-odds beforehand that a label is right (mean, variance), and that a contributor is not of the population.
RIGHT, STRANGE = (2.5, 4.0), -2.0
# Log-odds of a label against which nothing speaks.
SURE = 9.0
# Labels that a prior of cells counts as: where wrong labels go; twice that for a matrix that is like
# nobody's.
PSEUDO = 2.0
# How alike people are beforehand, in labels: in how often they are right, and in what they confuse; and the
# deviation of the logarithm of both.
SKILL, ALIKE, VARIES = 10.0, 30.0, 1.5
# In labels too: nobody differs.
ALL_ALIKE = 1e6
# Passes before contributors are judged, and rows that settings are chosen by.
FIRST, CHOSEN_BY = 6, 20_000
# Predictions may need to be so much flatter, or sharper, than they say.
HOTTEST, COLDEST = 4.0, 0.1


@dataclass(frozen=True, eq=False)
class Params:
    """What is believed of the population and of every contributor before a pass over the rows.

    `hypothesis`: one of `HYPOTHESES`.
    `size`, `given`, `share`: rows of each contributor (K,), its labels (K, C), share of each label in all.
    `temperature`, `together`, `skill`, `alike`, `own_prior`, `credited`: settings, chosen by how well labels
    are predicted without themselves; `own_prior` None is off, and so are credentials of rows that are not
    `credited`.
    `vouching`, `means`: mean credentials of each contributor's rows (K, p), and the same in standard units.
    `base`, `by_class`, `worth`: log-odds that a label is right, by class, and what credentials add.
    `strange`, `strange_worth`: log-odds of a contributor not being of the population, and what its mean
    credentials add.
    `types`: posterior of being ordinary, answering without looking, being like nobody (K, 3).
    `counts`, `expected`, `likelihood`: labels by truth [contributor, label, truth] for either type that looks
    (2, K, C, C), rights that the population would have on these rows (K,), log-likelihoods of the types (K,
    3); None before a pass.
    `steps`, `former`: how many passes there were, and `types` before the last of them.
    """

    hypothesis: str
    size: Floats
    given: Floats
    share: Floats
    vouching: Floats
    means: Floats
    usual: Floats
    types: Floats
    by_class: Floats
    worth: Floats
    strange_worth: Floats
    base: float = RIGHT[0]
    strange: float = STRANGE
    temperature: float = 1.0
    hottest: float = HOTTEST
    together: float = 0.0
    skill: float = SKILL
    alike: float = ALIKE
    own_prior: float | None = None
    credited: bool = True
    counts: Floats | None = None
    expected: Floats | None = None
    likelihood: Floats | None = None
    predicted: bool = True
    shared: bool = False
    steps: int = 0
    former: Floats | None = None

    @property
    def classes(self) -> int:
        """How many there are."""
        return len(self.share)

    @property
    def spotless(self) -> bool:
        """Whether labels of the population are never wrong."""
        return self.hypothesis in ("none", "all ordinary")

    @property
    def judging(self) -> bool:
        """Whether anybody may be of another kind."""
        return self.hypothesis != "all ordinary" and len(self.size) > 1

    def right(self, rows: Rows) -> Floats:
        """Log-odds that a label of each row is right, by class, for the mean of the population."""
        if self.spotless:
            return np.full((1, self.classes), SURE)
        odds = self.base + self.by_class[None, :]
        if len(self.worth):
            odds = odds + (rows.features @ self.worth)[:, None]
        return np.asarray(np.clip(odds, -12, 12))

    def usual_worth(self) -> Floats:
        """What credentials of each contributor's rows add on average (K,)."""
        return np.asarray(self.vouching @ self.worth)

    def usually_right(self) -> Floats:
        """Log-odds that a label of each contributor is right, by class, if it is as the population (K, C)."""
        odds = self.base + self.by_class[None, :] + self.usual_worth()[:, None]
        return np.asarray(np.clip(odds, -12, 12))

    def wrong_to(self) -> Floats:
        """Where wrong labels of the population go, [truth, label]; any other class alike at first."""
        even = PSEUDO / max(self.classes - 1, 1) * (1 - np.eye(self.classes))
        if self.hypothesis == "classes" and self.classes > 2 and self.counts is not None:
            counted = np.einsum("k,kyz->zy", self.types[:, 0], self.counts[0])
            even = even + counted * (1 - np.eye(self.classes))
        return np.asarray(even / np.maximum(even.sum(axis=1, keepdims=True), 1e-12))

    def pooled(self) -> Floats:
        """The matrix of the others who are like nobody, for each contributor [contributor, label, truth]."""
        assert self.counts is not None
        counted = self.types[:, 2][:, None, None] * self.counts[1]
        pooled = np.maximum(counted.sum(axis=0) - counted, 0) + 2 * PSEUDO * vague(self.classes)
        return np.asarray(pooled / pooled.sum(axis=1, keepdims=True))


class Posterior(NamedTuple):
    """Of each row the truth: if its contributor is ordinary, if like nobody, by all but itself (n, C)."""

    ordinary: Floats
    other: Floats
    seen: Floats


class Statistics(NamedTuple):
    """Sums over rows, which add up over slices; `moved` is how far beliefs are from the pass before."""

    counts: Floats
    expected: Floats
    likelihood: Floats
    seen: Floats
    slope: Floats
    curve: Floats
    by_class: Floats
    tried: Floats
    moved: Floats


def vague(classes: int) -> Floats:
    """Before anything is seen half of the labels of somebody like nobody are right, the rest is anything."""
    return np.asarray(0.5 / classes + 0.5 * np.eye(classes))


def emissions(params: Params, rows: Rows, before: Posterior | None) -> tuple[Floats, Floats]:
    """Probability of each label given every class, by an ordinary contributor and by one like nobody."""
    y, who = rows.y, rows.who
    if before is None or params.counts is None:
        return _emitted(params, special.expit(params.right(rows)), y), np.asarray(vague(params.classes)[y])
    other = _shrunk(params.counts[1], before.other, y, who, 2 * PSEUDO, params.pooled()[who, y])
    if params.spotless:
        return _emitted(params, special.expit(params.right(rows)), y), other
    right = special.expit(params.usually_right()[who] + _tilt(params, rows, before.ordinary)[:, None])
    ordinary = _shrunk(params.counts[0], before.ordinary, y, who, params.alike, _emitted(params, right, y))
    if len(params.worth):
        ordinary = _credited(params, rows, before.ordinary, ordinary, right)
    return ordinary, other


def _emitted(params: Params, right: Floats, y: Any) -> Floats:
    """Probability of each label given every class, where labels of a class are right so often (n or 1, C)."""
    at, to = np.arange(len(y)), params.wrong_to()[:, y].T
    right = np.broadcast_to(right, to.shape)
    emitted = (1 - right) * to
    emitted[at, y] = right[at, y]
    return np.asarray(emitted)


def _tilt(params: Params, rows: Rows, own: Floats) -> Floats:
    """By how much the contributor of each row is right more often than expected elsewhere, in log-odds."""
    assert params.counts is not None
    assert params.expected is not None
    mean = np.clip(params.expected / np.maximum(params.size, 1), 1e-4, 1 - 1e-4)[rows.who]
    rights = np.einsum("kcc->k", params.counts[0])[rows.who] - own[np.arange(rows.n), rows.y]
    rate = (np.maximum(rights, 0) + params.skill * mean) / (params.size[rows.who] - 1 + params.skill)
    return np.asarray(special.logit(np.clip(rate, 1e-4, 1 - 1e-4)) - special.logit(mean))


def _credited(params: Params, rows: Rows, own: Floats, ordinary: Floats, right: Floats) -> Floats:
    """The same, moved by what credentials of the row say beyond those of its contributor's other rows."""
    assert params.counts is not None
    at, gap = (np.arange(rows.n), rows.y), rows.features @ params.worth - params.usual_worth()[rows.who]
    rights = np.einsum("kcc->kc", params.counts[0])[rows.who]
    total = np.maximum(params.counts[0].sum(axis=1)[rows.who] - own, 0)
    usual = np.clip((rights + params.alike * right) / (total + params.alike), 1e-6, 1 - 1e-6)
    moved = ordinary * (1 - special.expit(special.logit(usual) + gap[:, None])) / (1 - usual)
    mine = np.clip(ordinary[at], 1e-9, 1 - 1e-9)
    moved[at] = special.expit(special.logit(mine) + gap)
    return np.asarray(np.minimum(moved, 1.0))


def _shrunk(counts: Floats, own: Floats, y: Any, who: Any, strength: float, mean: Floats) -> Floats:
    """Probability of each label by a contributor's other rows, drawn to a mean."""
    of = np.maximum(counts[who, y] - own, 0)
    total = np.maximum(counts.sum(axis=1)[who] - own, 0)
    return np.asarray((of + strength * mean) / (total + strength))


def look(params: Params, rows: Rows, ordinary: Floats, other: Floats) -> Floats:
    """Log-probability of each class by predictions, the other labels of the item, and known truth."""
    seen = normalised(rows.log_p / params.temperature)[0]
    if rows.shared:
        types = params.types[rows.who]
        voice = types[:, :1] * ordinary + types[:, 2:] * other + (types[:, 1] * blind(params, rows))[:, None]
        voice = np.log(voice + 1e-300) * rows.loudness[:, None]
        others = (rows.by_item @ voice)[rows.item] - (rows.by_voice @ voice)[rows.voice]
        seen = normalised(seen + rows.vote(params.together)[:, None] * others)[0]
    return rows.with_truth(seen)


def blind(params: Params, rows: Rows) -> Floats:
    """Probability of each label by a contributor who does not look, by its other labels."""
    own = params.given[rows.who, rows.y] - 1 + PSEUDO * params.share[rows.y]
    return np.asarray(own / (params.size[rows.who] - 1 + PSEUDO))


def _specialised(params: Params, rows: Rows, counts: Floats, belief: Floats) -> Floats:
    """Logs of how much more usual each class is with the contributor than with all, by its other rows."""
    prior = params.own_prior
    assert prior is not None
    of = np.maximum(counts.sum(axis=1)[rows.who] - belief, 0) + prior * params.usual
    return np.asarray(np.log(of / (params.size[rows.who] - 1 + prior)[:, None]) - np.log(params.usual))


def _joint(params: Params, rows: Rows, before: Posterior | None) -> tuple[Floats, Floats, Floats]:
    """Log-probability of every class by all but the label, and with it for either type that looks."""
    ordinary, other = emissions(params, rows, before)
    seen = look(params, rows, ordinary, other)
    first, second = seen, seen
    if params.own_prior is not None and before is not None and params.counts is not None:
        first = seen + _specialised(params, rows, params.counts[0], before.ordinary)
        second = seen + _specialised(params, rows, params.counts[1], before.other)
    return seen, first + np.log(ordinary + 1e-300), second + np.log(other + 1e-300)


def e_step(params: Params, rows: Rows, before: Posterior | None) -> tuple[Posterior, Statistics]:
    """Posterior of the truth of some rows, and their sums; `before` is the posterior of the last pass."""
    seen, first, second = _joint(params, rows, before)
    log_first, if_ordinary = normalised(first)
    log_second, if_other = normalised(second)
    if rows.shared and params.together > 0:
        # The label itself is one of the votes of its item.
        less = (1 - rows.vote(params.together))[:, None]
        log_first = normalised(first - less * (first - seen))[0]
        log_second = normalised(second - less * (second - seen))[0]
    found = Posterior(np.exp(log_first), np.exp(log_second), seen)
    each = np.column_stack([if_ordinary, np.log(blind(params, rows)), if_other])
    return found, _statistics(params, rows, before, found, each)


def _statistics(
    params: Params, rows: Rows, before: Posterior | None, found: Posterior, each: Floats
) -> Statistics:
    right, at = special.expit(params.right(rows)), np.arange(rows.n)
    believed = found.ordinary * params.types[rows.who, :1]
    left = -believed * right
    left[at, rows.y] += believed[at, rows.y]
    information = believed * right * (1 - right)
    counts = [rows.by_both @ part for part in (found.ordinary, found.other)]
    likelihood = np.asarray(rows.by @ each)
    return Statistics(
        counts=np.stack(counts).reshape(2, -1, params.classes, params.classes),
        expected=rows.by @ (found.ordinary * right).sum(axis=1),
        likelihood=likelihood,
        seen=np.exp(found.seen).sum(axis=0),
        slope=rows.features.T @ left.sum(axis=1),
        curve=(rows.features * information.sum(axis=1)[:, None]).T @ rows.features,
        by_class=np.stack([left.sum(axis=0), information.sum(axis=0)]),
        tried=_tried_likelihoods(params, rows, before, likelihood),
        moved=np.asarray(_change(params, rows, before, found)),
    )


def _change(params: Params, rows: Rows, before: Posterior | None, found: Posterior) -> float:
    """How far the posterior of all rows moved, summed; not asked before contributors have been judged."""
    if before is None or params.former is None or params.steps <= FIRST + 4:
        return np.inf
    last = posterior(replace(params, types=params.former), rows, before)
    return float(np.abs(posterior(params, rows, found) - last).sum())


def _tried_likelihoods(params: Params, rows: Rows, before: Posterior | None, now: Floats) -> Floats:
    """Log-likelihood of each contributor's labels by all others, under each setting tried (options, K, 3)."""
    options = tried(params)
    if not options:
        return np.zeros((0, *now.shape))
    some, then, found = rows, before, [now]
    which = rows.thinned(CHOSEN_BY)
    if which is not None:
        some, then, found = rows.some(which), before and Posterior(*(part[which] for part in before)), []
    for option in options[len(found) :]:
        _, first, second = _joint(option, some, then)
        each = [normalised(first)[1], np.log(blind(option, some)), normalised(second)[1]]
        found.append(np.asarray(some.by @ np.column_stack(each)))
    return np.stack(found)


def tried(params: Params) -> list[Params]:
    """The settings and some next to them, of which the next pass has the best: one at every other pass."""
    factor = 1.3 if params.steps < 15 else 1.12
    varied: list[list[dict[str, Any]]] = []
    if params.predicted:
        colder, hotter = params.temperature / factor, params.temperature * factor
        varied.append([{"temperature": t} for t in (max(colder, COLDEST), min(hotter, params.hottest))])
    if params.shared and params.steps >= FIRST:
        options = (params.together / 1.5 - 0.02, params.together * 1.5 + 0.03)
        varied.append([{"together": t} for t in options if 0 <= t < 1])
    if len(params.size) > 1 and not params.spotless:
        for name in ("skill", "alike"):
            options = (getattr(params, name) * 0.5, getattr(params, name) * 2)
            varied.append([{name: value} for value in options if 1 <= value <= 1000])
    if params.predicted and params.judging:
        varied.append([{"own_prior": prior} for prior in (5.0, 30.0, None) if prior != params.own_prior])
    if params.credited and params.worth.any() and params.steps >= 2 * FIRST:
        # Not before their worth is found: what is off stays off.
        varied.append([{"credited": False, "worth": np.zeros(len(params.worth))}])
    if params.steps % 2 or not varied or params.counts is None:
        return []
    return [params, *(replace(params, **one) for one in varied[params.steps // 2 % len(varied)])]


def prior_of(params: Params) -> float:
    """Log prior density of how alike people are."""
    far = np.log([params.skill / SKILL, params.alike / ALIKE]) / VARIES
    return float(-0.5 * (far**2).sum())


def m_step(params: Params, sums: Statistics) -> Params:
    """The next parameters, from the sums of all rows."""
    after, options = params, tried(params)
    if options:
        fits = [_scored(option, each, sums) for option, each in zip(options, sums.tried, strict=True)]
        after = options[int(np.argmax(fits))]
    usual = sums.seen / sums.seen.sum() + 1e-6
    after = replace(
        after, counts=sums.counts, expected=sums.expected, steps=params.steps + 1, usual=usual / usual.sum(),
        former=params.types,
    )  # fmt: skip
    after = replace(after, likelihood=sums.likelihood + learning_costs(after, sums.counts, sums.expected))
    if params.judging and params.steps >= FIRST:
        after = _judged(after)
    return after if params.spotless else _moved(after, sums)


def _scored(option: Params, likelihood: Floats, sums: Statistics) -> float:
    """Log-evidence of a setting, types summed out, up to what all that are tried have in common."""
    cost = _laplace(option.worth, sums.curve) if option.credited else 0.0
    learned = learning_costs(option, sums.counts, sums.expected)
    return _summed_out(option, likelihood + learned) + prior_of(option) + cost


def occam(counts: Floats, prior: Floats) -> Floats:
    """What it costs to learn a distribution from its own counts: marginal likelihood less leave-one-out.

    Labels that are predicted by the others of their contributor look as if its matrix had been known
    before any of them was seen. Counts and prior pseudo-counts are (..., outcomes).

    Examples
    --------
    >>> occam(np.array([4.0, 0.0]), np.array([1.0, 1.0])).round(2)
    np.float64(-0.72)
    """
    total, strength = counts.sum(axis=-1), prior.sum(axis=-1)
    marginal = special.gammaln(strength) - special.gammaln(total + strength)
    marginal = marginal + (special.gammaln(counts + prior) - special.gammaln(prior)).sum(axis=-1)
    left = np.log(np.maximum(counts - 1, 0) + prior) - np.log(np.maximum(total - 1, 0) + strength)[..., None]
    return np.asarray(np.minimum(marginal - (counts * left).sum(axis=-1), 0.0))


def learning_costs(params: Params, counts: Floats, expected: Floats) -> Floats:
    """What each type pays for what it has learned of a contributor from its own labels (K, 3)."""
    out = np.zeros((len(params.size), 3))
    out[:, 1] = occam(params.given, PSEUDO * params.share + 1e-9)
    by_truth = np.swapaxes(counts, -1, -2)
    out[:, 2] = occam(by_truth[1], 2 * PSEUDO * np.swapaxes(params.pooled(), -1, -2)).sum(axis=1)
    if not params.spotless:
        mean = np.clip(expected / np.maximum(params.size, 1), 1e-4, 1 - 1e-4)
        rights = np.einsum("kcc->k", counts[0])
        split = np.column_stack([rights, np.maximum(params.size - rights, 0)])
        out[:, 0] = occam(split, params.skill * np.column_stack([mean, 1 - mean]))
        rate = (rights + params.skill * mean) / (params.size + params.skill)
        tilt = special.logit(np.clip(rate, 1e-4, 1 - 1e-4)) - special.logit(mean)
        right = special.expit(params.usually_right() + tilt[:, None])
        drawn = (1 - right)[:, :, None] * params.wrong_to()[None]
        at = np.arange(params.classes)
        drawn[:, at, at] = right
        out[:, 0] += occam(by_truth[0], params.alike * drawn + 1e-9).sum(axis=1)
    return out


def _summed_out(params: Params, likelihood: Floats) -> float:
    """Log-likelihood of all labels, types of contributors summed out."""
    if not params.judging:
        return float(likelihood[:, 0].sum())
    usual = strange_odds(params)
    either = usual - np.log(2)
    prior = np.column_stack([np.zeros(len(usual)), either, either])
    return float((special.logsumexp(likelihood + prior, axis=1) - np.logaddexp(0, usual)).sum())


def strange_odds(params: Params) -> Floats:
    """Prior log-odds of each contributor not being of the population."""
    return np.asarray(params.strange + params.means @ params.strange_worth)


def _judged(params: Params) -> Params:
    """The posterior of types, and how usual it is not to be of the population, given credentials."""
    usual = strange_odds(params)
    assert params.likelihood is not None
    # Answering without looking is as usual as being like nobody.
    either = usual - np.log(2)
    prior = np.column_stack([np.zeros(len(usual)), either, either])
    types = special.softmax(params.likelihood + prior, axis=1)
    expected = special.expit(usual)
    left, information = 1 - types[:, 0] - expected, expected * (1 - expected)
    step = (left.sum() - (params.strange - STRANGE)) / (information.sum() + 1)
    strange, worth = float(np.clip(params.strange + np.clip(step, -1, 1), -6.0, 0.0)), params.strange_worth
    if len(worth):
        hessian = (params.means * information[:, None]).T @ params.means + np.eye(len(worth))
        worth = worth + newton(params.means.T @ left - worth, hessian)
    return replace(params, types=types, strange=strange, strange_worth=worth)


def _moved(params: Params, sums: Statistics) -> Params:
    """One Newton step for how often labels of the population are right, under its prior."""
    (mean, variance), (left, information) = RIGHT, sums.by_class
    step = (left.sum() - (params.base - mean) / variance) / (information.sum() + 1 / variance)
    # That most labels are wrong cannot be told from predictors that are wrong themselves.
    base, by_class = float(np.clip(params.base + np.clip(step, -1, 1), 0.0, SURE)), params.by_class
    if params.hypothesis == "classes":
        by_class = np.maximum(by_class + np.clip((left - by_class) / (information + 1), -1, 1), -base)
    worth = params.worth
    if len(worth) and params.credited:
        worth = worth + newton(sums.slope - worth, sums.curve + np.eye(len(worth)))
    return replace(params, base=base, by_class=by_class, worth=worth)


def log_evidence(params: Params, sums: Statistics) -> float:
    """Evidence for a hypothesis: likelihood with types summed out, coefficients by Laplace's method."""
    learned = learning_costs(params, sums.counts, sums.expected) if params.counts is not None else 0.0
    total = _summed_out(params, sums.likelihood + learned) + HYPOTHESES[params.hypothesis] + prior_of(params)
    if params.judging:
        expected = special.expit(strange_odds(params))
        curve = (params.means * (expected * (1 - expected))[:, None]).T @ params.means
        total += _laplace(params.strange_worth, curve)
    if not params.spotless:
        (mean, variance), information = RIGHT, sums.by_class[1]
        total -= 0.5 * (params.base - mean) ** 2 / variance + 0.5 * np.log1p(variance * information.sum())
        total += _laplace(params.worth, sums.curve) if params.credited else 0.0
        if params.hypothesis == "classes":
            total -= 0.5 * float((params.by_class**2 + np.log1p(information)).sum())
    return total


def accusing(params: Params) -> float:
    """Log Bayes factor of some contributors not being of the population."""
    if params.likelihood is None or not params.judging:
        return 0.0
    return _summed_out(params, params.likelihood) - float(params.likelihood[:, 0].sum())


def told_by_people(params: Params, rows: Rows, found: Posterior) -> float:
    """Log Bayes factor of wrong labels gathering in some contributors, against all being alike."""
    if params.likelihood is None or len(params.size) < 2:
        return 0.0
    everybody = np.tile([1.0, 0.0, 0.0], (len(params.size), 1))
    alike = replace(params, skill=ALL_ALIKE, alike=ALL_ALIKE, types=everybody)
    same = e_step(alike, rows, found)[1].likelihood[:, 0].sum()
    return _summed_out(params, params.likelihood) - float(same)


def _laplace(weights: Floats, curve: Floats) -> float:
    """What assuming these weights, each N(0, 1) beforehand, costs."""
    if not len(weights):
        return 0.0
    return float(-0.5 * weights @ weights - 0.5 * np.linalg.slogdet(curve + np.eye(len(weights)))[1])


def posterior(params: Params, rows: Rows, found: Posterior) -> Floats:
    """Probability of every class, the label itself counted as far as its contributor is believed."""
    if not params.judging:
        return found.ordinary
    types = params.types[rows.who]
    seen = np.exp(found.seen)
    return np.asarray(types[:, :1] * found.ordinary + types[:, 1:2] * seen + types[:, 2:] * found.other)


def normalised(logs: Floats) -> tuple[Floats, Floats]:
    """Log-probabilities that sum to one in each row, and the logarithm of what they summed to."""
    # Column by column: reducing many short rows is slow.
    most = logs[:, 0].copy()
    for column in logs.T[1:]:
        np.maximum(most, column, out=most)
    moved = logs - most[:, None]
    total = np.log(np.exp(moved) @ np.ones(logs.shape[1]))
    moved -= total[:, None]
    return moved, total + most

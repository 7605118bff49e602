"""The annotator model: the truth of items, and contributors who are draws from one population.

Notation: item g, row i with item g(i), contributor k(i) and label y_i; C classes.

    z_g ~ p(z | x_g) ** (1 / T)              truth of an item, by predictions that saw none of its labels
    m_g | z_g ~ pi                           subtype of the item within its class
    type_k ~ (regular, spammer, outlier)
    y_i | z, regular: a_k I + (1 - a_k) off  kappa of a_k ~ Beta on (0, 1)
    y_i | z, spammer: xi_k                   independent of the truth
    y_i | z, outlier: a_k I + (1 - a_k) off  a_k uniform on (0, 1): may be inverted
    theta_k[z, m] ~ Dirichlet(alpha * the mean of these)
    z_g of contributor k ~ rho_k / rho       shares of classes among the items of a contributor

Dawid and Skene (1979) with held-out predictions as the prior of the truth (Raykar et al. 2010), hierarchical
as in Kim and Ghahramani (2012) and Paun et al. (2018), spammers as in Hovy et al. (2013), subtypes as in Li,
Rubinstein and Cohn (2019). n labels of one item count as n / (1 + (n - 1) rho). A row is excluded from
everything that judges it.

`e_step` depends on the parameters alone, so that its sums add up over slices of a table; `m_step` makes the
next parameters from the sums.
"""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.annotators.rows import LabelData
from anml.core.checks import Floats, Ints

# AccuracyPosteriors at which posteriors are kept. The last one stands for contributors who are never wrong.
ACCURACY = np.append((np.arange(99) + 0.5) / 100, 0.999)
# Log-odds of a label being right by everything else, in bins of a quarter.
LIMIT, STEP = 12.0, 0.25
ODDS = np.arange(-LIMIT, LIMIT + STEP / 2, STEP)
# Log-likelihood of a row with such odds for every accuracy, up to what does not depend on the accuracy.
LOG_LIKELIHOOD = np.log(
    special.expit(ODDS)[:, None] * ACCURACY + (1 - special.expit(ODDS))[:, None] * (1 - ACCURACY)
)
# Prior shares of spammers and of outliers each, and contributors that the prior of the shares counts as.
ATYPICAL, STRENGTH = 0.06, 10.0
# Rows that the prior of a distribution over classes counts as.
PSEUDO_COUNT = 2.0
# The same for the labels of a spammer, about those of all: one answer to everything, or any at random.
SPAMMER_COUNTS = np.array([2.0, 10.0])
# Passes before contributors are judged.
BURN_IN = 6
# Log-odds against wrong labels of regular contributors before anything is seen.
NOISE_COST = 3.0
# Rows that the expected matrix counts as in a contributor's own cells, and deviation of its logarithm.
CELL_STRENGTH, LOG_SD = 30.0, 1.5
# Strengths that are tried for class shares of a contributor's own; 0 has none.
OWN_SHARES = (0.0, 5.0, 30.0)
# Means of kappa in the population and concentrations of it that are averaged over.
KAPPA_MEANS = (0.3, 0.5, 0.65, 0.75, 0.82, 0.88, 0.92, 0.95, 0.97, 0.985, 0.995, 0.999)
KAPPA_COUNTS = (2, 4, 8, 16, 32, 64, 128, 256)
# Those with less weight than this are excluded.
MIN_WEIGHT = 1e-4


def _nothing() -> Floats:
    return np.zeros(0)


@dataclass(frozen=True, eq=False)
class PopulationParams:
    """Parameters before a pass.

    `given`: labels of each contributor by class (K, C). `pair`: number of each contributor and label that
    occur together (K * C). `vouched`: mean credentials of contributors in standard units (K, p).
    `temperature`, `together`, `alpha`, `own`: T, the correlation of labels of an item, strength of cells and
    of class shares. `never`: regular contributors are never wrong.
    `types`: shares of the types; `worth`: what credentials add to the log-odds of being atypical.
    `off`: distribution of wrong labels [truth, label]; `by_class`: log-odds of right labels by class.
    `subtype`: log-shares of subtypes within classes (C, subtypes).
    `counts`: expected labels by truth (pairs, states); `of_state`: the same by contributor (K, states).
    `logs`: log-likelihood of accuracies (K, grid); `blind`: log-evidence of class shares for a spammer;
    `mixed`: class shares of a contributor's items by predictions (K, C); `prior`: log-prior of regular
    accuracies (K, grid). Empty before a pass.
    """

    given: Floats
    pair: Ints
    vouched: Floats
    class_shares: Floats
    foreseen: Floats
    off: Floats
    by_class: Floats
    subtype: Floats
    worth: Floats
    types: Floats
    temperature: float = 1.0
    together: float = 0.0
    alpha: float = CELL_STRENGTH
    own: float = 0.0
    never: bool = False
    accuracy: float = 0.9
    predicted: bool = True
    shared: bool = False
    start: Floats = field(default_factory=_nothing)
    counts: Floats = field(default_factory=_nothing)
    of_state: Floats = field(default_factory=_nothing)
    logs: Floats = field(default_factory=_nothing)
    blind: Floats = field(default_factory=_nothing)
    mixed: Floats = field(default_factory=_nothing)
    luck: Floats = field(default_factory=_nothing)
    prior: Floats = field(default_factory=_nothing)
    gain: float = 0.0
    moved: float = np.inf
    steps: int = 0

    @property
    def classes(self) -> int:
        """Number of classes."""
        return int(self.given.shape[1])

    @property
    def size(self) -> Floats:
        """Rows of each contributor."""
        return np.asarray(self.given.sum(axis=1))

    @property
    def judging(self) -> bool:
        """True once contributors are judged; a single one is regular."""
        return self.steps > BURN_IN and len(self.given) > 1

    @property
    def share(self) -> Floats:
        """Share of each label in all."""
        total = self.given.sum(axis=0) + 1e-3
        return np.asarray(total / total.sum())

    @property
    def of_class(self) -> Ints:
        """Class of each state."""
        return np.repeat(np.arange(self.classes), self.subtype.shape[1])

    @property
    def guessed(self) -> Floats:
        """Share of right labels that the same labels have on items dealt at random (K,)."""
        result = (self.given + PSEUDO_COUNT * self.class_shares) @ self.class_shares
        return np.asarray(result / (self.size + PSEUDO_COUNT))

    @property
    def log_types(self) -> Floats:
        """Log-prior of the type of each contributor (K, 3)."""
        logs = np.log(self.types) + np.outer(self.vouched @ self.worth, [0, 1, 1])
        return log_normalise(logs)


class PassSums(NamedTuple):
    """PassSums over rows, which add up over slices; see `PopulationParams`.

    `hist`: rows by bin of log-odds (K, bins). `scale`: their log-likelihood that no accuracy changes.
    """

    counts: Floats
    hist: Floats
    scale: Floats
    blind: Floats
    mixed: Floats
    luck: Floats
    class_counts: Floats
    foreseen: Floats
    slope: Floats
    curve: Floats
    gain: Floats
    fits: Floats


class RowPosteriors(NamedTuple):
    """Posteriors of rows.

    `item`: posterior of the states of the row's item (n, states).
    `cavity`: log-posterior by everything but the row's own vote, with shares of the contributor (n, states).
    `others`: the same without these shares.
    `emission`: log-probability of the label in every state (n, states).
    """

    item: Floats
    cavity: Floats
    others: Floats
    emission: Floats


def log_sum(logs: Floats) -> Floats:
    """Logarithm of the sum of exponentials of each row."""
    top = logs.max(axis=1, keepdims=True)
    return np.asarray(np.log(np.exp(logs - top) @ np.ones(logs.shape[1])) + top[:, 0])


def log_normalise(logs: Floats) -> Floats:
    """Log-probabilities that sum to one in each row."""
    return np.asarray(logs - log_sum(logs)[:, None])


# ------------------------------------------------------------------------------------------------ E-step


def e_step(params: PopulationParams, rows: LabelData, tune: bool = False) -> tuple[RowPosteriors, PassSums]:
    """Posteriors of some rows under these parameters, and their sums."""
    if not params.counts.size:
        start = np.full((params.classes, params.classes), (1 - params.accuracy) / params.classes)
        start += params.accuracy * np.eye(params.classes)
        emission = np.log(start[:, rows.y].T)[:, params.of_class]
        if params.start.size:
            emission = params.start[rows.pair(params.pair)]
        shift, table, own = np.zeros((rows.n, len(params.of_class))), None, None
        result = _beliefs(params, rows, emission, shift)
        mean = emission
    else:
        table = _leave_one_out(params)
        mean = _expected_emission(params, rows, table, None)
        first = _beliefs(
            params, rows, np.log(_cells(params, rows, mean, 0.0, params.alpha)), _shift(params, rows, None)
        )
        own = first.item
        mean = _expected_emission(params, rows, table, first.cavity)
        emission = np.log(_cells(params, rows, mean, own, params.alpha))
        result = _beliefs(params, rows, emission, _shift(params, rows, own))
    return result, _sums(params, rows, result, mean, own, tune)


def _beliefs(
    params: PopulationParams, rows: LabelData, emission: Floats, shift: Floats,
    temperature: float | None = None, together: float | None = None,
) -> RowPosteriors:  # fmt: skip
    """Posterior of items, and of the truth of each row by everything but its own vote."""
    heat = params.temperature if temperature is None else temperature
    base = log_normalise(rows.log_p / heat)[:, params.of_class] + params.subtype.ravel()
    vote_logs = rows.vote_weight_at(params.together if together is None else together)[:, None] * (
        emission + shift
    )
    if not rows.shared:
        return RowPosteriors(_known(rows, base + vote_logs, params), base + shift, base, emission)
    prior = (rows.by_item @ base) / rows.item_size[:, None]
    item = prior + rows.by_item @ vote_logs
    others = log_normalise(item[rows.item] - (rows.by_voice @ vote_logs)[rows.voice])
    return RowPosteriors(_known(rows, item[rows.item], params), others + shift, others, emission)


def _known(rows: LabelData, logs: Floats, params: PopulationParams) -> Floats:
    """Posterior of states; a true label of a row is that of its item."""
    posterior = np.exp(log_normalise(logs))
    subtypes = params.subtype.shape[1]
    if rows.truth is not None:
        gold = rows.truth if not rows.shared else rows.item_truth[rows.item]
        at = np.flatnonzero(gold >= 0)
        if len(at):
            own_class = params.of_class[None, :] == gold[at][:, None]
            posterior[at] = np.where(own_class, np.maximum(posterior[at], 1e-12), 0.0)
            posterior[at] /= posterior[at].sum(axis=1, keepdims=True)
    if rows.wrong is not None and rows.wrong.any():
        banned = rows.banned()
        posterior[np.repeat(banned, subtypes, axis=1)] = 1e-13
        posterior /= posterior.sum(axis=1, keepdims=True)
    return posterior


class _LeaveOneOut(NamedTuple):
    """Log-evidence and mean accuracy of contributors without a row of each bin, if regular and if outlier.

    The last column leaves none out.
    """

    regular: Floats
    regular_accuracy: Floats
    outlier: Floats
    outlier_accuracy: Floats


def _leave_one_out(params: PopulationParams) -> _LeaveOneOut:
    less = np.vstack([np.exp(-LOG_LIKELIHOOD), np.ones(len(ACCURACY))]).T
    result = []
    for prior in (params.prior, np.full((1, len(ACCURACY)), -np.log(len(ACCURACY)))):
        joint = params.logs + prior
        top = joint.max(axis=1, keepdims=True)
        p = np.exp(joint - top) + 1e-290
        total = p @ less
        result += [np.log(total) + top, (p * ACCURACY) @ less / total]
    return _LeaveOneOut(*result)


def _expected_emission(
    params: PopulationParams, rows: LabelData, table: _LeaveOneOut, cavity: Floats | None
) -> Floats:
    """Probability of each label in every class by the other rows of its contributor (n, C)."""
    bins, scale = (
        (np.full(rows.n, len(ODDS)), np.zeros(rows.n)) if cavity is None else row_odds(params, rows, cavity)
    )
    at, contributor, y = np.arange(rows.n), rows.who, rows.y
    spam, one = spammer_evidence(params, rows)
    left = cavity is not None
    logs = np.stack(
        [
            table.regular[contributor, bins] - scale,
            spam[contributor] - one * left,
            table.outlier[contributor, bins] - scale,
        ],
        axis=1,
    )
    types = np.exp(log_normalise(logs + params.log_types[contributor]))
    if not params.judging:
        types = np.tile([1.0, 0.0, 0.0], (rows.n, 1))
    informed = types[:, 0] + types[:, 2]
    rate = types[:, 0] * table.regular_accuracy[contributor, bins]
    rate = rate + types[:, 2] * table.outlier_accuracy[contributor, bins]
    rate = np.clip(rate / np.maximum(informed, 1e-9), 1e-4, 1 - 1e-4)
    right = informed[:, None] * special.expit(special.logit(rate)[:, None] + params.by_class)
    mean = (informed[:, None] - right) * params.off[:, y].T + (types[:, 1] * np.exp(one))[:, None]
    mean[at, y] += right[at, y]
    return np.asarray(mean)


def spammer_evidence(params: PopulationParams, rows: LabelData) -> tuple[Floats, Floats]:
    """Log-evidence of labels that are independent of the truth: of each contributor's, and of each label."""
    each, size = _spammers(params), params.size[rows.who, None]
    mine = params.given[rows.who, rows.y, None] - 1 + params.share[rows.y, None] * SPAMMER_COUNTS
    p = mine / (size - 1 + SPAMMER_COUNTS)
    return _spammer(params), np.log((special.softmax(each, axis=1)[rows.who] * p).sum(axis=1))


def row_odds(params: PopulationParams, rows: LabelData, cavity: Floats) -> tuple[Ints, Floats]:
    """Bin of the log-odds of each label being right by everything else, and the likelihood they share."""
    p = np.exp(cavity)
    if params.subtype.shape[1] > 1:
        p = p.reshape(rows.n, params.classes, -1).sum(axis=2)
    at = np.arange(rows.n)
    if rows.truth is not None:
        gold = np.flatnonzero(rows.truth >= 0)
        p[gold] = 0.0
        p[gold, rows.truth[gold]] = 1.0
    right, wrong = p[at, rows.y], (p * params.off[:, rows.y].T).sum(axis=1)
    if rows.wrong is not None:
        right, wrong = np.where(rows.wrong, 1e-9, right), np.where(rows.wrong, 1.0, wrong)
    odds = np.nan_to_num(np.log(right + 1e-12) - np.log(wrong + 1e-12))
    bins = np.rint((np.clip(odds, -LIMIT, LIMIT) + LIMIT) / STEP).astype(np.int64)
    return bins, np.log(right + wrong + 1e-12)


def _cells(params: PopulationParams, rows: LabelData, mean: Floats, own: Any, alpha: float) -> Floats:
    """Probability of each label in every state by the contributor's own cells, drawn to the expected ones."""
    mine = np.maximum(params.counts[rows.pair(params.pair)] - own, 0)
    total = np.maximum(params.of_state[rows.who] - own, 0)
    return np.asarray((mine + alpha * mean[:, params.of_class]) / (total + alpha) + 1e-12)


def _shift(
    params: PopulationParams, rows: LabelData, own: Floats | None, strength: float | None = None
) -> Floats:
    """Logs of how much more usual each class is among the contributor's other rows than among all."""
    strength = params.own if strength is None else strength
    if not strength:
        return np.zeros((rows.n, 1))
    subtypes = params.subtype.shape[1]
    mine = params.of_state.reshape(len(params.given), params.classes, subtypes).sum(axis=2)[rows.who]
    left = 0.0
    if own is not None:
        mine = np.maximum(mine - own.reshape(rows.n, params.classes, subtypes).sum(axis=2), 0)
        left = 1.0
    share = (mine + strength * params.foreseen) / (params.size[rows.who] - left + strength)[:, None]
    return np.asarray(np.log(share / params.foreseen)[:, params.of_class])


def _sums(
    params: PopulationParams,
    rows: LabelData,
    result: RowPosteriors,
    mean: Floats,
    own: Floats | None,
    tune: bool,
) -> PassSums:
    bins, scale = row_odds(params, rows, result.cavity)
    count, at = len(params.given), np.arange(rows.n)
    weight = rows.votes_of_rows

    def total(values: Floats) -> Floats:
        return np.bincount(rows.who, values, count).astype(np.float64)

    hist = np.bincount(rows.who * len(ODDS) + bins, weight, count * len(ODDS)).astype(np.float64)
    by_class = result.item.reshape(rows.n, params.classes, -1).sum(axis=2)
    others = np.exp(result.others).reshape(rows.n, params.classes, -1).sum(axis=2)
    mixed, blind, look = np.zeros((count, params.classes)), np.zeros(count), others
    if params.own:
        share = params.foreseen if not params.mixed.size else params.mixed[rows.who]
        r = others * (share / params.foreseen)
        r /= r.sum(axis=1, keepdims=True)
        mixed = np.asarray(rows.by @ r)
        size = params.size[rows.who] - 1 + params.own
        left = np.maximum(share * (size + 1)[:, None] - r, 1e-9) / size[:, None]
        blind = total(np.log((others * left / params.foreseen).sum(axis=1)) * weight)
        look = r
    # Each contributor is one draw from the population, however many rows it has.
    slope, curve = _by_class_slope(params, rows, by_class, mean)
    gain = np.zeros(1)
    if own is not None:
        # By how much cells of a contributor's own tell its labels better than its accuracy does.
        expected = log_sum(result.cavity + np.log(mean + 1e-12)[:, params.of_class])
        gain = np.array([weight @ (log_sum(result.cavity + result.emission) - expected)])
    return PassSums(
        np.asarray(rows.by_pair(params.pair) @ result.item), hist.reshape(count, len(ODDS)),
        total(scale * weight), blind, mixed, total(look[at, rows.y]), result.item.sum(axis=0),
        others.sum(axis=0), slope, curve, gain,
        _fits(params, rows, result, mean, own) if tune else np.zeros(0),
    )  # fmt: skip


def _by_class_slope(
    params: PopulationParams, rows: LabelData, by_class: Floats, mean: Floats
) -> tuple[Floats, Floats]:
    if params.never or not params.logs.size:
        return np.zeros(params.classes), np.zeros(params.classes)
    p_regular = type_posteriors(params)[:, 0][rows.who] * rows.votes_of_rows
    each = by_class * p_regular[:, None] / (1 + params.size[rows.who] / params.alpha)[:, None]
    rate = np.clip((ACCURACY * np.exp(log_normalise(params.logs + params.prior))).sum(axis=1), 1e-4, 1 - 1e-4)
    right = special.expit(special.logit(rate)[:, None] + params.by_class)[rows.who]
    at = np.arange(rows.n)
    hit = np.bincount(rows.y, each[at, rows.y], params.classes)
    return hit - (each * right).sum(axis=0), (each * right * (1 - right)).sum(axis=0)


def settings(params: PopulationParams) -> list[dict[str, float]]:
    """Settings next to those in use, of which each pass that tunes takes the best of every name."""
    out: list[dict[str, float]] = [{}]
    if params.predicted:
        out += [
            {"temperature": t} for t in (params.temperature * 0.87, params.temperature * 1.15) if 0.1 < t < 4
        ]
    if params.shared:
        out += [{"together": t} for t in (max(params.together - 0.07, 0.0), min(params.together + 0.07, 1.0))]
    if not params.never:
        out += [{"alpha": a} for a in (params.alpha / 2, params.alpha * 2) if 2 <= a <= 1000]
    if len(params.given) > 1 and params.predicted:
        out += [{"own": s} for s in OWN_SHARES if s != params.own]
    return out


def _fits(
    params: PopulationParams, rows: LabelData, result: RowPosteriors, mean: Floats, own: Floats | None
) -> Floats:
    """Log-likelihood of labels by everything but themselves, under every setting."""
    weight, out = rows.votes_of_rows, []
    shift = result.cavity - result.others
    for option in settings(params):
        emission, cavity = result.emission, result.cavity
        if "alpha" in option:
            emission = np.log(_cells(params, rows, mean, own, option["alpha"]))
        elif "own" in option:
            cavity = _beliefs(params, rows, emission, _shift(params, rows, own, option["own"])).cavity
        elif option:
            cavity = _beliefs(params, rows, emission, shift, **option).cavity
        out.append(weight @ log_sum(cavity + emission))
    return np.array(out)


# ------------------------------------------------------------------------------------------------ M-step


def m_step(params: PopulationParams, sums: PassSums, tuned: bool = False) -> PopulationParams:
    """The next parameters, from the sums of all rows."""
    after = params
    if tuned:
        after = _take_best(params, sums.fits)
    classes, subtypes = params.classes, params.subtype.shape[1]
    by_class = sums.class_counts.reshape(classes, subtypes)
    class_shares, foreseen = by_class.sum(axis=1) + 1e-6, sums.foreseen + 1e-6
    of_state = np.zeros((len(params.given), len(sums.class_counts)))
    owner = np.flatnonzero(params.given.ravel() > 0) // classes
    np.add.at(of_state, owner, sums.counts)
    rows = float(params.size.sum())
    moved = np.inf if not params.counts.size else float(np.abs(sums.counts - params.counts).sum()) / rows
    mixed = _nothing()
    if after.own and params.own:
        mixed = (sums.mixed + after.own * foreseen / foreseen.sum()) / (params.size + after.own)[:, None]
    after = replace(
        after, counts=sums.counts, of_state=of_state, class_shares=class_shares / class_shares.sum(),
        foreseen=foreseen / foreseen.sum(),
        subtype=np.log((by_class + 0.05) / (by_class + 0.05).sum(axis=1, keepdims=True)),
        logs=sums.hist @ LOG_LIKELIHOOD + sums.scale[:, None], blind=sums.blind, mixed=mixed,
        luck=np.clip(sums.luck / params.size, 0.005, 0.995), steps=params.steps + 1, moved=moved,
        gain=float(sums.gain[0]),
    )  # fmt: skip
    if tuned or not after.prior.size:
        after = _population(after)
    types = type_posteriors(after)
    if after.judging:
        start = STRENGTH * np.array([1 - 2 * ATYPICAL, ATYPICAL, ATYPICAL])
        shares = types.sum(axis=0) + start
        after = replace(after, types=shares / shares.sum(), worth=_newton_credentials(after, types))
    if not after.never:
        after = replace(after, by_class=_newton_by_class(after, sums), off=_wrong_labels(after, types))
    return after


def type_posteriors(params: PopulationParams) -> Floats:
    """Posterior of regular, spammer, outlier (K, 3)."""
    return np.exp(log_normalise(_type_logs(params)))


def _type_logs(params: PopulationParams) -> Floats:
    """Log-evidence of the labels of each contributor under each type, with its prior (K, 3)."""
    regular, outlier = log_sum(params.logs + params.prior), log_sum(params.logs - np.log(len(ACCURACY)))
    if not params.judging:
        return np.stack([regular, *np.full((2, len(regular)), -np.inf)], axis=1)
    return np.stack([regular, _spammer(params), outlier], axis=1) + params.log_types


def _spammers(params: PopulationParams) -> Floats:
    """Log-evidence of each contributor's labels under either prior of a spammer's labels (K, 2)."""
    prior = SPAMMER_COUNTS[:, None] * params.share
    ways = special.gammaln(params.given[:, None, :] + prior) - special.gammaln(prior)
    total = special.gammaln(SPAMMER_COUNTS) - special.gammaln(params.size[:, None] + SPAMMER_COUNTS)
    return np.asarray(ways.sum(axis=2) + total)


def _spammer(params: PopulationParams) -> Floats:
    """Log-evidence of each contributor's labels if they are independent of the truth (K,)."""
    result = log_sum(_spammers(params)) - np.log(len(SPAMMER_COUNTS))
    return np.asarray(result + (params.blind if params.blind.size else 0.0))


def _take_best(params: PopulationParams, fits: Floats) -> PopulationParams:
    """The best setting of every name; strengths of cells have a prior."""
    options = settings(params)

    def value(option: dict[str, float], fit: float) -> float:
        return float(fit - 0.5 * (np.log(option.get("alpha", params.alpha) / CELL_STRENGTH) / LOG_SD) ** 2)

    each = [value(option, fit) for option, fit in zip(options, fits, strict=True)]
    chosen: dict[str, Any] = {}
    for name in ("temperature", "together", "alpha", "own"):
        named = [(fit, option[name]) for option, fit in zip(options, each, strict=True) if name in option]
        if named and max(named)[0] > each[0] + 1e-9:
            chosen[name] = max(named)[1]
    return replace(params, **chosen)


def log_evidence(params: PopulationParams) -> float:
    """JudgingSums for a fit: accuracies and types of contributors summed out, given all other contributors.

    Errors that differ by class are a parameter of the population for each class, and each contributor is one
    draw of them.
    """
    start = np.array([1 - 2 * ATYPICAL, ATYPICAL, ATYPICAL])
    total = params.gain + float(log_sum(_type_logs(params)).sum())
    total += STRENGTH * float(start @ np.log(params.types / start))
    draws = len(params.given) if len(params.given) > 1 else params.size.sum()
    cost = NOISE_COST + 0.5 * params.classes * float(np.log(draws))
    return float(total if params.never else total - cost)


def _population(params: PopulationParams) -> PopulationParams:
    """Prior of regular accuracies, averaged over means and concentrations of kappa by their evidence."""
    guessed = params.guessed[:, None]
    if params.never:
        return replace(params, prior=np.where(ACCURACY > 0.995, 0.0, -690.0) * np.ones((len(guessed), 1)))
    kappa = (ACCURACY - guessed) / np.maximum(1 - guessed, 1e-9)
    inside, k = kappa > 1e-3, np.clip(kappa, 1e-3, 1 - 1e-3)
    yes, no = np.log(k), np.log1p(-k)
    logs, rest = params.log_types, np.zeros(len(guessed))
    spam, outlier = _spammer(params) + logs[:, 1], log_sum(params.logs - np.log(len(ACCURACY))) + logs[:, 2]
    top = params.logs.max(axis=1)
    if params.judging:
        top = np.maximum(top, np.maximum(spam, outlier))
        rest = np.exp(spam - top) + np.exp(outlier - top)
    rows = np.exp(params.logs - top[:, None])
    share = np.exp(logs[:, 0])
    grid = [(mean, count) for mean in KAPPA_MEANS for count in KAPPA_COUNTS]

    def prior_of(mean: float, count: float) -> Floats:
        p = np.exp((count * mean - 1) * yes + (count * (1 - mean) - 1) * no) * inside
        # No accuracy is above guessing where one class is all there is.
        p[:, -1] += 1e-300
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def log_likelihood(prior: Floats) -> float:
        return float(np.log((rows * prior).sum(axis=1) * share + rest + 1e-300).sum())

    def log_prior(mean: float, count: float) -> float:
        near = 0.5 * (np.log(count / STRENGTH) / LOG_SD) ** 2 + (special.logit(mean) - 2.5) ** 2 / 8
        return -float(near + np.log(len(grid)))

    sure = np.where(ACCURACY > 0.995, 1.0, 1e-300) * np.ones((len(rows), 1))
    fits = [log_likelihood(prior_of(*one)) + log_prior(*one) for one in grid]
    weight = special.softmax([*fits, log_likelihood(sure)])
    mixed = weight[-1] * sure
    for one, part in zip(grid, weight, strict=False):
        if part > MIN_WEIGHT:
            mixed = mixed + part * prior_of(*one)
    accuracy = float(weight @ [*(mean for mean, _ in grid), ACCURACY[-1]])
    return replace(params, prior=np.log(mixed + 1e-300), accuracy=accuracy)


def _newton_credentials(params: PopulationParams, types: Floats) -> Floats:
    """One Newton step for what mean credentials add to the log-odds of being atypical; N(0, 1) weights."""
    x = params.vouched
    if not x.shape[1]:
        return params.worth
    p = 1 - np.exp(params.log_types[:, 0])
    curve = (x * (p * (1 - p))[:, None]).T @ x + np.eye(x.shape[1])
    step = np.linalg.solve(curve, x.T @ (1 - types[:, 0] - p) - params.worth)
    return np.asarray(params.worth + np.clip(step, -1, 1))


def _newton_by_class(params: PopulationParams, sums: PassSums) -> Floats:
    """One Newton step for accuracies by class, which are 0 on average."""
    step = np.clip((sums.slope - params.by_class) / (sums.curve + 1), -1, 1)
    result = params.by_class + step
    return np.asarray(np.clip(result - params.class_shares @ result, -3, 3))


def _wrong_labels(params: PopulationParams, types: Floats) -> Floats:
    """Distribution of wrong labels [truth, label], in which each contributor is one draw."""
    classes, off = params.classes, 1 - np.eye(params.classes)
    there = np.flatnonzero(params.given.ravel() > 0)
    owner, label = there // classes, there % classes
    counts = params.counts.reshape(len(there), classes, -1).sum(axis=2)
    total = params.of_state.reshape(len(types), classes, -1).sum(axis=2)
    each = counts * types[owner, :1] / (1 + total[owner] / params.alpha)
    result = np.zeros((classes, classes))
    np.add.at(result, label, each)
    result = result.T * off + PSEUDO_COUNT / max(classes - 1, 1) * off
    return np.asarray(result / np.maximum(result.sum(axis=1, keepdims=True), 1e-12))

"""Class labels: a latent truth seen through predictors, and contributors of latent types.

The truth z of a row follows held-out predictions p(z | x), sharpened by a temperature, and the other labels
of its item. A contributor is of one of three types:

    honest      labels follow a confusion matrix that all honest contributors share
    spammer     labels follow a distribution of its own, whatever the truth: answers without looking
    deviant     labels follow a confusion matrix of its own, drawn to that of the other deviants

Honest and deviant contributors have a class prior of their own: p(z | x, k) = p(z | x) rho_k(z) / rho(z), up
to a constant, which is kept: whose items these are counts. It tells a specialist, whose items look like its
class, from somebody who always gives one answer. A contributor's own row is left out of every count that
judges it. Expectation-maximisation; the hypotheses on how honest labels go wrong are in `NOISES`.
"""

import numpy as np
from scipy import sparse, special

from anml.core.checks import Floats, Ints
from anml.core.copying import camps
from anml.core.evidence.side import BEFOREHAND, ENOUGH, Side, design, newton

# Pseudo-counts, in labels: of where wrong labels go and of a label distribution, twice that of pooled rows of
# a confusion matrix.
PSEUDO = 2.0
# Log-odds beforehand that an honest label is right (mean, variance), and that a contributor is not honest.
RIGHT, NOT_HONEST = (2.5, 4.0), -2.0
# Log-odds of a label against which nothing speaks.
SURE = 9.0
# Sharp predictions with many wrong labels, and flat ones with few: temperature and log-odds to start from;
# and the coldest and hottest temperature that predictions may need.
STARTS, TEMPERATURES = ((1.0, 2.5), (0.45, 1.2), (0.2, 0.8)), (0.1, 4.0)
# Steps: a sixth before types are told apart, a third to find which start is best; below this mean change of
# beliefs in a step the fit is done.
STEPS, STILL = 40, 1e-4

# How honest labels go wrong: never, at one rate to any other class alike, or by class; and the log prior odds
# of each: that labels of honest contributors are wrong must be seen. Or nobody is anything but honest.
NOISES = {"none": 0.0, "even": -3.0, "classes": -3.0, "all honest": 0.0}


class Labels:
    """What does not change while the model is fitted: labels, who gave them, and sums over them."""

    def __init__(self, log_p: Floats, y: Ints, side: Side) -> None:
        n, classes = log_p.shape
        # Sums over classes are what costs most, and are twice as fast with the rows of a class together.
        log_p = np.asfortranarray(log_p)
        self.log_p, self.y, self.side, self.n, self.classes = log_p, y, side, n, classes
        self.rows = np.arange(n)
        self.predicted = bool(np.ptp(log_p, axis=0).any())
        self.people = side.codes is not None
        self.who = np.zeros(n, dtype=np.int64) if side.codes is None else side.codes
        self.count = int(self.who.max()) + 1
        self.size = np.bincount(self.who, minlength=self.count).astype(np.float64)
        self.features = design(side.credentials, n, y, side.codes)
        self.by = _sums(self.who, self.count)
        self.by_label = _sums(y, classes)
        self.by_both = _sums(self.who * classes + y, self.count * classes)
        self.share = (np.bincount(y, minlength=classes) + 1e-3) / (n + 1e-3 * classes)
        given = np.bincount(self.who * classes + y, minlength=self.count * classes).reshape(-1, classes)
        own = given[self.who, y] - 1 + PSEUDO * self.share[y]
        self.spam = np.log(own / (self.size[self.who] - 1 + PSEUDO))
        self.means = np.zeros((self.count, 0))
        if self.people and self.features.shape[1]:
            means = self.by @ self.features / np.maximum(self.size, 1)[:, None]
            spread = means.std(axis=0)
            self.means = means / np.where(spread > 1e-6, spread, 1.0)
        self.shared = side.items is not None and bool(np.bincount(side.items).max() > 1)
        if self.shared and side.items is not None:
            # Nobody confirms himself: labels of one item by one contributor, or by copies, are one voice.
            self.item = side.items
            self.by_item = _sums(side.items, int(side.items.max()) + 1)
            self.voice = self.rows
            if self.people:
                camp = camps(side.items, self.who, y)[self.who]
                self.voice = np.unique(side.items * self.count + camp, return_inverse=True)[1]
            self.by_voice = _sums(self.voice, int(self.voice.max()) + 1)
            self.loudness = 1 / np.bincount(self.voice)[self.voice]

    def with_truth(self, seen: Floats) -> Floats:
        """Log-probabilities of the classes, certain where the right label is known."""
        truth, wrong = self.side.truth, self.side.wrong
        if truth is not None:
            known = np.flatnonzero(truth >= 0)
            seen[known] = -4 * SURE
            seen[known, truth[known]] = 0.0
        if wrong is not None and wrong.any():
            seen[wrong, self.y[wrong]] = -np.inf
            seen[wrong] = normalised(seen[wrong])[0]
            seen[wrong, self.y[wrong]] = -4 * SURE
        return seen


def _sums(codes: Ints, groups: int) -> sparse.csr_array:
    """A matrix that sums rows by group."""
    n = len(codes)
    return sparse.csr_array((np.ones(n), (codes, np.arange(n))), shape=(groups, n))


class Annotators:
    """One fit of the model: parameters, and what is believed of every row.

    Attributes
    ----------
    types
        Posterior of each contributor being honest, a spammer, a deviant (contributors, 3).
    seen, honest, deviant
        Log-probability of each class by predictions and other labels of the item; the posterior of the
        truth with the label itself, if the contributor is honest, and if it is deviant (n, classes).
    odds
        Log Bayes factor of every type against honest (contributors, 3).
    accusing
        Log Bayes factor of some contributors not being honest.
    evidence
        Log-likelihood with types summed out and coefficients integrated by Laplace's method.
    """

    def __init__(
        self, labels: Labels, noise: str, temperature: float, base: float, hottest: float = TEMPERATURES[1]
    ) -> None:
        self.labels, self.noise, self.hottest = labels, noise, hottest
        # A class prior alone is no prediction, to be taken for sharper or flatter than it is.
        self.temperature = temperature if labels.predicted else 1.0
        self.people = labels.people and noise != "all honest"
        self.spotless = noise in ("none", "all honest")
        self.base = SURE if self.spotless else base
        self.by_class = np.zeros(labels.classes)
        self.worth = np.zeros(labels.features.shape[1])
        self.bad_base, self.bad_worth = NOT_HONEST, np.zeros(labels.means.shape[1])
        self.types = np.tile([0.88, 0.06, 0.06] if self.people else [1.0, 0.0, 0.0], (labels.count, 1))
        self.odds = np.zeros((labels.count, 3))
        self.class_prior: float | None = None
        self.usual = labels.share
        self.steps, self.accusing = 0, 0.0
        self.wrong_to: Floats | None = None
        self.matrices: Floats | None = None
        self.expect()
        self._maximise()

    def again(self, labels: Labels, hottest: float) -> "Annotators":
        """A fit to other rows or predictions that starts from what this one found."""
        other = Annotators(labels, self.noise, self.temperature, self.base, hottest)
        other.types, other.class_prior, other.by_class = self.types, self.class_prior, self.by_class
        other.steps = STEPS // 6
        return other

    def climb(self, steps: int) -> "Annotators":
        """Expectation-maximisation, until beliefs hardly change."""
        before = self.p_correct()
        for _ in range(steps):
            given = self._emissions()
            if self.steps % 3 == 2 and self.labels.predicted:
                self._tune(*given)
            self.expect(given)
            if self.people and self.steps >= STEPS // 6:
                self.judge()
            now = self.p_correct()
            if self.steps > STEPS // 4 and np.abs(now - before).mean() < STILL:
                break
            before = now
            self._maximise()
            self.steps += 1
        self._weigh()
        return self

    def right(self) -> Floats:
        """Probability that an honest label of each row is right, by class."""
        if self.spotless:
            return np.broadcast_to(special.expit(SURE), (self.labels.n, self.labels.classes))
        odds = self.base + self.by_class + (self.labels.features @ self.worth)[:, None]
        odds = np.broadcast_to(odds, (self.labels.n, self.labels.classes))
        return np.asarray(special.expit(np.clip(odds, -12, 12)))

    def p_correct(self) -> Floats:
        """Probability that each label is right."""
        return np.asarray(self.posterior()[self.labels.rows, self.labels.y])

    def posterior(self) -> Floats:
        """Probability of every class, the label itself counted as far as its contributor is trusted."""
        if not self.people:
            return self.honest
        types = self.types[self.labels.who]
        return np.asarray(
            types[:, :1] * self.honest + types[:, 1:2] * np.exp(self.seen) + types[:, 2:] * self.deviant
        )

    def features_worth(self) -> Floats:
        """What credentials, of the row and of its contributor, add to the log-odds of being right."""
        rows = self.labels.features @ self.worth
        return np.asarray(rows - (self.labels.means @ self.bad_worth)[self.labels.who])

    def deviating(self) -> float:
        """Share of rows by deviants, if their labels together tell anything of the truth."""
        if self.matrices is None:
            return 0.0
        counted = np.einsum("k,kyz->yz", self.types[:, 2], self.matrices) + 1e-9
        agreed = counted.max(axis=0).sum() / counted.sum()
        return float(self.types[self.labels.who, 2].mean()) if agreed > 0.5 else 0.0

    def opposed(self) -> float:
        """Share of rows by deviants of one mind whose labels are mostly wrong.

        A class goes by the name that most of its labels give it. Where one does not, the classes are not
        those of the labels, and no deviant may be said to be right.
        """
        if self.matrices is None:
            return 0.0
        everybody = self.matrices.sum(axis=0)
        named = everybody.argmax(axis=0) == np.arange(self.labels.classes)
        against = self.types[:, 2]
        if named[everybody.sum(axis=0) >= 1].all():
            size = np.maximum(self.matrices.sum(axis=(1, 2)), 1e-9)
            right = np.einsum("kcc->k", self.matrices) / size
            agreed = self.matrices.max(axis=1).sum(axis=1) / size
            against = against * ((right < 0.5) & (agreed > 0.5))
        return float(against[self.labels.who].mean())

    def _emissions(self) -> tuple[Floats, Floats | None]:
        """Probability of each label given every class, by an honest and by a deviant contributor."""
        labels, right = self.labels, self.right()
        y, k = labels.y, labels.who
        if self.wrong_to is None:
            honest = (1 - right) / max(labels.classes - 1, 1)
        else:
            # Where wrong labels of a class go, by the other rows.
            mine = self.honest * self.types[k, :1]
            mine[labels.rows, y] = 0.0
            to = np.maximum(self.wrong_to[:, y].T - mine, 0) + PSEUDO / (labels.classes - 1)
            honest = (1 - right) * to / (np.maximum(self.wrong_to.sum(axis=1) - mine, 0) + PSEUDO)
        honest[labels.rows, y] = right[labels.rows, y]
        if not self.people:
            return honest, None
        if self.matrices is None:
            return honest, _usual_matrix(labels.classes)[y]
        own = np.maximum(self.matrices[k, y] - self.deviant, 0)
        total = np.maximum(self.matrices.sum(axis=1)[k] - self.deviant, 0)
        return honest, (own + 2 * PSEUDO * self.pooled[k, y]) / (total + 2 * PSEUDO)

    def _look(self, temperature: float, honest: Floats, deviant: Floats | None) -> Floats:
        """Log-probability of each class by predictions, the other labels of the item, and known truth."""
        labels = self.labels
        seen = normalised(labels.log_p / temperature)[0]
        if labels.shared:
            types = self.types[labels.who]
            voice = types[:, :1] * honest
            if deviant is not None:
                voice = voice + types[:, 2:] * deviant + (types[:, 1] * np.exp(labels.spam))[:, None]
            voice = np.log(voice + 1e-300) * labels.loudness[:, None]
            others = (labels.by_item @ voice)[labels.item] - (labels.by_voice @ voice)[labels.voice]
            seen = normalised(seen + others)[0]
        return labels.with_truth(seen)

    def _joint(
        self, seen: Floats, honest: Floats, deviant: Floats | None, prior: float | None
    ) -> tuple[Floats, Floats | None]:
        """Log-probability of every class together with the label, for either type that looks."""
        first = seen + np.log(honest + 1e-300)
        second = None if deviant is None else seen + np.log(deviant + 1e-300)
        if prior is None or second is None:
            return first, second
        return first + self._specialised(self.honest, prior), second + self._specialised(self.deviant, prior)

    def _specialised(self, belief: Floats, prior: float) -> Floats:
        """Logs of how much more usual each class is with the contributor than with all, by its other rows."""
        who, size = self.labels.who, self.labels.size
        counts = np.maximum((self.labels.by @ belief)[who] - belief, 0) + prior * self.usual
        return np.asarray(np.log(counts / (size[who] - 1 + prior)[:, None]) - np.log(self.usual))

    def expect(self, given: tuple[Floats, Floats | None] | None = None) -> None:
        """The posterior of the truth, and how likely each label is, for every type."""
        honest, deviant = self._emissions() if given is None else given
        self.seen = self._look(self.temperature, honest, deviant)
        first, second = self._joint(self.seen, honest, deviant, self.class_prior)
        belief, self.if_honest = normalised(first)
        self.honest = np.exp(belief)
        if second is not None:
            belief, self.if_deviant = normalised(second)
            self.deviant = np.exp(belief)

    def judge(self) -> None:
        """The posterior of types, and how usual it is not to be honest, given credentials."""
        labels = self.labels
        self.odds[:, 1] = labels.by @ (labels.spam - self.if_honest)
        self.odds[:, 2] = labels.by @ (self.if_deviant - self.if_honest)
        usual = self._bad_odds()
        self.types = special.softmax(self.odds + _prior_odds(usual), axis=1)
        expected = special.expit(usual)
        left, information = 1 - self.types[:, 0] - expected, expected * (1 - expected)
        step = (left.sum() - (self.bad_base - NOT_HONEST)) / (information.sum() + 1)
        self.bad_base = float(np.clip(self.bad_base + np.clip(step, -1, 1), -6.0, 0.0))
        if len(self.bad_worth):
            hessian = (labels.means * information[:, None]).T @ labels.means + np.eye(len(self.bad_worth))
            self.bad_worth = self.bad_worth + newton(labels.means.T @ left - self.bad_worth, hessian)

    def _bad_odds(self) -> Floats:
        return np.asarray(self.bad_base + self.labels.means @ self.bad_worth)

    def _maximise(self) -> None:
        """Confusion matrices, and the coefficients of honest labels being right."""
        labels, classes = self.labels, self.labels.classes
        if self.people:
            self.count_matrices()
            counted = self.types[:, 2][:, None, None] * self.matrices
            # The pool of the other deviants, for each.
            pooled = np.maximum(counted.sum(axis=0) - counted, 0) + 2 * PSEUDO * _usual_matrix(classes)
            self.pooled = pooled / pooled.sum(axis=1, keepdims=True)
        if self.spotless:
            return
        believed = self.honest * self.types[labels.who, :1]
        if self.noise == "classes" and classes > 2:
            self.wrong_to = (labels.by_label @ believed).T
            np.fill_diagonal(self.wrong_to, 0.0)
        right = self.right()
        left = -believed * right
        left[labels.rows, labels.y] += believed[labels.rows, labels.y]
        information = believed * right * (1 - right)
        self._move(left, information)

    def count_matrices(self) -> None:
        """Labels of each contributor by the truth, were it deviant: [contributor, label, truth]."""
        shape = (self.labels.count, self.labels.classes, self.labels.classes)
        self.matrices = (self.labels.by_both @ self.deviant).reshape(shape)
        usual = np.exp(self.seen).mean(axis=0) + 1e-6
        self.usual = usual / usual.sum()

    def _move(self, left: Floats, information: Floats) -> None:
        """One Newton step for each coefficient, under its prior."""
        mean, variance = RIGHT
        by_row = information.sum(axis=1)
        step = (left.sum() - (self.base - mean) / variance) / (by_row.sum() + 1 / variance)
        # That most labels are wrong cannot be told from predictors that are wrong themselves.
        self.base = float(np.clip(self.base + np.clip(step, -1, 1), 0.0, SURE))
        if self.noise == "classes":
            by_class = (left.sum(axis=0) - self.by_class) / (information.sum(axis=0) + 1)
            self.by_class = np.maximum(self.by_class + np.clip(by_class, -1, 1), -self.base)
        if len(self.worth):
            features = self.labels.features
            hessian = (features * by_row[:, None]).T @ features + np.eye(len(self.worth))
            self.worth = self.worth + newton(features.T @ left.sum(axis=1) - self.worth, hessian)
        self.information = information

    def _tune(self, honest: Floats, deviant: Floats | None) -> None:
        """A sharper or flatter temperature, and how far contributors specialise, where it is likelier."""

        def likelihood(temperature: float, prior: float | None) -> float:
            first, second = self._joint(self._look(temperature, honest, deviant), honest, deviant, prior)
            total = normalised(first)[1]
            if second is not None:
                types = self.types[self.labels.who]
                total = types[:, 0] * total + types[:, 2] * normalised(second)[1]
            return float(total.sum())

        factor = 1.3 if self.steps < 15 else 1.12
        tried = (
            max(self.temperature / factor, TEMPERATURES[0]),
            self.temperature,
            min(self.temperature * factor, self.hottest),
        )
        self.temperature = max(tried, key=lambda t: likelihood(t, self.class_prior))
        if deviant is not None and self.steps % 2:
            # Its own, weaker or stronger, or that of all.
            priors = (BEFOREHAND / 2, 3 * BEFOREHAND, None)
            self.class_prior = max(priors, key=lambda prior: likelihood(self.temperature, prior))

    def _weigh(self) -> None:
        """Evidence for this hypothesis: likelihood with types summed out, coefficients by Laplace."""
        total = float(self.if_honest.sum())
        if self.people:
            usual = self._bad_odds()
            mixed = special.logsumexp(self.odds + _prior_odds(usual), axis=1) - np.logaddexp(0, usual)
            expected = special.expit(usual)
            self.accusing = float(mixed.sum())
            total += self.accusing + _laplace(self.bad_worth, self.labels.means, expected * (1 - expected))
        if not self.spotless:
            mean, variance = RIGHT
            by_row = self.information.sum(axis=1)
            total -= 0.5 * (self.base - mean) ** 2 / variance + 0.5 * np.log1p(variance * by_row.sum())
            total += _laplace(self.worth, self.labels.features, by_row)
        if self.noise == "classes":
            total -= 0.5 * float((self.by_class**2 + np.log1p(self.information.sum(axis=0))).sum())
        self.evidence = total + NOISES[self.noise]


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


def _usual_matrix(classes: int) -> Floats:
    """Before anything is seen half of a deviant's labels are right, and the rest is anything."""
    return np.asarray(0.5 / classes + 0.5 * np.eye(classes))


def _prior_odds(usual: Floats) -> Floats:
    """Prior log-odds of every type against honest: a spammer is as usual as a deviant."""
    either = usual - np.log(2)
    return np.column_stack([np.zeros(len(usual)), either, either])


def _laplace(weights: Floats, features: Floats, information: Floats) -> float:
    """What assuming these weights, each N(0, 1) beforehand, costs."""
    if not len(weights):
        return 0.0
    hessian = (features * information[:, None]).T @ features + np.eye(len(weights))
    return float(-0.5 * weights @ weights - 0.5 * np.linalg.slogdet(hessian)[1])


def fit_classes(
    log_p: Floats,
    y: Ints,
    side: Side,
    before: list[Annotators] | None = None,
    hottest: float = TEMPERATURES[1],
) -> tuple[list[Annotators], Floats]:
    """The best fit under every hypothesis on noise, and the posterior of each.

    `before` are the fits to earlier predictions: types are started from what they found. Predictions are
    taken for flatter than they say up to the `hottest` temperature.
    """
    labels = Labels(log_p, y, side)
    few = _some(labels)
    fits = []
    for place, noise in enumerate(NOISES if labels.people else list(NOISES)[:-1]):
        starts = STARTS if before is None else STARTS[:1]
        tried = [Annotators(few, noise, *start, hottest) for start in starts]
        if before is not None:
            tried.append(before[place].again(few, hottest))
        best = max((fit.climb(STEPS // 3) for fit in tried), key=lambda fit: fit.evidence)
        fits.append((best if few is labels else best.again(labels, hottest)).climb(STEPS - STEPS // 3))
    evidence = np.array([fit.evidence for fit in fits])
    # Most define what is usual: deviants cannot be the majority while another account is at hand.
    most = np.array([fit.deviating() > 0.5 for fit in fits])
    if not all(most[place] for place, fit in enumerate(fits) if fit.people):
        evidence[most] = -np.inf
    return fits, special.softmax(evidence)


def _some(labels: Labels) -> Labels:
    """Enough rows to tell where to start from."""
    if labels.n <= 100 * ENOUGH:
        return labels
    rows = np.arange(0, labels.n, -(-labels.n // (100 * ENOUGH)))
    # Contributors keep their numbers.
    rows = np.union1d(rows, [labels.who.argmax()])
    side = Side(*(None if part is None else part[rows] for part in labels.side))
    return Labels(labels.log_p[rows], labels.y[rows], side)

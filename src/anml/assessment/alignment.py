"""Tests of whether predictions and embeddings belong to the rows that they are given for.

The tests compare three sources of information on a row: its label, a reference from the features or from
other labels of its item, and the predictions. A row is clear if the label and the reference agree.
Predictions of other rows contradict clear rows at random. Errors of a model are more frequent where the
reference is unsure, and near other errors.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.stats import rankdata
from sklearn.decomposition import PCA
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.neighbors import NearestNeighbors

from anml.core.checks import Array, Floats, Ints
from anml.core.stats import standardise

# Rows that are tested at most, in the order of the table.
MAX_ROWS = 4000
# Fewer rows decide nothing.
MIN_ROWS = 40
# Standard errors from which a difference is not chance.
MIN_Z = 4.0
# Standard deviations by which rows at another distance agree better than rows at the same place.
MIN_LAG_Z = 7.0
# Kappa of the labels and the reference from which the features say what the label is.
MIN_KAPPA = 0.15
NEIGHBOURS = 5
# Share of contradictions to clear rows, AUC of the reference for them, and their correlation with those of
# neighbours, at which contradictions are random.
MIN_CONTRADICTED, MAX_AUC, MAX_CLUSTERING = 0.08, 0.56, 0.2
# Rate of random contradictions beyond the claimed rate from which predictions are refused.
MIN_EXCESS = 0.05
# Largest distance of a Brownian bridge by chance, once in 10,000.
MIN_WALK = 2.23
# Predictions without probabilities in between have errors of any kind.
HARD = 0.999


class Mismatch(NamedTuple):
    """A sign that inputs belong to other rows: the reason, and True if it is beyond doubt."""

    reason: str
    certain: bool


class Evidence(NamedTuple):
    """Rows to test, one for each item: their places, the label, and the reference with its neighbours."""

    rows: Ints
    y: Ints
    reference: Floats | None
    neighbours: Ints | None


def gather(x: Array, y: Ints, n_classes: int, item: Ints | None, seed: int) -> Evidence:
    """Return the rows to test with a reference from features, or from other labels of the same items."""
    first = np.arange(len(y)) if item is None else np.sort(np.unique(item, return_index=True)[1])
    rows = _evenly(first)
    if x.shape[1] and len(rows) >= MIN_ROWS:
        scaled = standardise(np.asarray(x[rows], dtype=np.float64))
        near = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(scaled).kneighbors(return_distance=False)
        return Evidence(rows, y[rows], held_out_reference(scaled, y[rows], n_classes, seed), near)
    if item is None or x.shape[1]:
        return Evidence(rows, y[rows], None, None)
    counts = np.zeros((int(item.max()) + 1, n_classes))
    np.add.at(counts, (item, y), 1.0)
    rows = _evenly(np.flatnonzero(counts[item].sum(axis=1) > 1))
    others = counts[item[rows]]
    others[np.arange(len(rows)), y[rows]] -= 1
    return Evidence(rows, y[rows], (others + 0.05) / (others + 0.05).sum(axis=1, keepdims=True), None)


def held_out_reference(x: Floats, y: Ints, n_classes: int, seed: int) -> Floats:
    """Return held-out class probabilities of a forest or of a linear model, whichever agrees more."""
    classes, counts = np.unique(y, return_counts=True)
    flat = np.full((len(y), n_classes), 1 / n_classes)
    if len(classes) < 2 or len(y) - counts.max() < NEIGHBOURS:
        return flat
    forest = RandomForestClassifier(
        120, min_samples_leaf=2, oob_score=True, max_samples=0.7, random_state=seed
    ).fit(x, y)
    folds = StratifiedKFold(NEIGHBOURS, shuffle=True, random_state=seed)
    kept = np.isin(y, classes[counts >= NEIGHBOURS])
    linear = np.full((len(y), len(classes)), 1 / len(classes))
    columns = np.flatnonzero(counts >= NEIGHBOURS)
    if len(columns) > 1:
        model = LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")
        linear_p = cross_val_predict(model, x[kept], y[kept], cv=folds, method="predict_proba")
        linear[np.ix_(kept, np.arange(len(classes)))] = 0.0
        linear[np.ix_(kept, columns)] = linear_p
    trees = np.nan_to_num(forest.oob_decision_function_, nan=1 / len(classes))
    best = max((trees, linear), key=lambda p: (classes[p.argmax(axis=1)] == y).mean())
    flat[:] = 0.0
    flat[:, classes] = best
    return flat


def check_predictions(
    p: Floats, y: Ints, evidence: Evidence, item: Ints | None, saw_labels: bool = True
) -> list[Mismatch]:
    """Return signs that class probabilities (rows, classes) are not held-out predictions of these rows.

    `saw_labels` also tests whether the models were trained on the labels of these rows.
    """
    if len(y) < MIN_ROWS:
        return []
    best = p.argmax(axis=1)
    agreement, chance = float((best == y).mean()), _chance(best, y)
    message = f"they agree with {agreement:.0%} of the labels"
    findings = [*_check_order(p, y), *_check_columns(best, y, p.shape[1]), *_check_items(p, item)]
    rows, labels, reference = evidence.rows, evidence.y, evidence.reference
    hard = float((p.max(axis=1) > HARD).mean()) > 0.9
    beyond_claim = False
    if reference is not None and len(rows) >= MIN_ROWS:
        guess = reference.argmax(axis=1)
        other = float((guess == labels).mean())
        message = f"{message}, a reference without them with {other:.0%}"
        if _kappa(guess, labels) >= MIN_KAPPA and (excess := _random_errors(best[rows], p[rows], evidence)):
            beyond_claim = excess > MIN_EXCESS
            why = f"{message}, and they contradict clear labels at random, as predictions of other rows do"
            findings.append(Mismatch(why, beyond_claim and not hard))
        if _kappa(guess, labels) >= MIN_KAPPA and _wrong_block(best[rows], guess, evidence):
            why = f"{message}, but only by chance in one block of rows"
            findings.append(Mismatch(why, True))
        own = float((best[rows] == labels).mean())
        if saw_labels and own > 0.98 and (own - other > 0.05 or _follow_conflicts(best, y, item)):
            findings.append(Mismatch(f"{message}; models that were trained on these labels do so", True))
    claim = float(p.max(axis=1).mean()) - float(np.bincount(y, minlength=p.shape[1]).max() / len(y))
    if claim > 0.1 and agreement < chance + MIN_Z * (chance * (1 - chance) / len(y)) ** 0.5:
        why = f"{message}, which is as many as by chance ({chance:.0%})"
        findings.append(Mismatch(why, beyond_claim and not hard))
    return findings


def check_embeddings(
    e: Array, y: Ints, n_classes: int, evidence: Evidence, item: Ints | None
) -> list[Mismatch]:
    """Return signs that vectors (rows, dimensions) belong to other rows."""
    if len(y) < MIN_ROWS:
        return []
    scaled = standardise(np.asarray(e, dtype=np.float64))
    # Equal vectors of all rows have no order to test.
    if not np.ptp(scaled, axis=0).any():
        return []
    parts = PCA(min(8, *scaled.shape), random_state=0).fit_transform(scaled)
    findings = [*_check_order(parts, y, squared=True), *_check_items(parts, item)]
    rows, labels, reference = evidence.rows, evidence.y, evidence.reference
    if len(rows) < MIN_ROWS:
        return findings
    own = held_out_reference(scaled[rows], labels, n_classes, 0)
    guess = own.argmax(axis=1)
    same, chance = float((guess == labels).mean()), _chance(guess, labels)
    message = f"a model of them agrees with {same:.0%} of the labels"
    if reference is not None:
        other = reference.argmax(axis=1)
        message = f"{message}, a reference without them with {(other == labels).mean():.0%}"
        if _kappa(other, labels) >= MIN_KAPPA and _random_errors(guess, own, evidence):
            why = f"{message}, and it contradicts clear labels at random, as vectors of other rows do"
            findings.append(Mismatch(why, _kappa(guess, labels) < 0.25 * _kappa(other, labels)))
    elif same < chance + MIN_Z * (chance * (1 - chance) / len(rows)) ** 0.5:
        findings.append(Mismatch(f"{message}, which is as many as by chance ({chance:.0%})", False))
    return findings


def _evenly(rows: Ints) -> Ints:
    """Return at most `MAX_ROWS` rows, at even distances."""
    return rows if len(rows) <= MAX_ROWS else rows[np.linspace(0, len(rows) - 1, MAX_ROWS).astype(np.int64)]


def _chance(one: Ints, two: Ints) -> float:
    k = int(max(one.max(), two.max())) + 1
    return float(np.bincount(one, minlength=k) @ np.bincount(two, minlength=k)) / len(one) ** 2


def _kappa(one: Ints, two: Ints) -> float:
    chance = _chance(one, two)
    return (float((one == two).mean()) - chance) / max(1 - chance, 1e-9)


def _check_order(values: Floats, y: Ints, squared: bool = False) -> list[Mismatch]:
    """Compare values with the labels at every distance, forwards and backwards, by Fourier transforms."""
    n, k = len(y), int(y.max()) + 1
    size, furthest = 1 << (2 * n - 1).bit_length(), n // 2
    labels = np.eye(k)[y] - np.bincount(y, minlength=k) / n
    common = np.argsort(-labels.std(axis=0))[:8]
    given = np.fft.rfft((values - values.mean(axis=0)) / np.maximum(values.std(axis=0), 1e-12), size, axis=0)
    lag = np.r_[0:furthest, -furthest:0]
    own, findings = 0.0, []
    for order, targets in (("", labels), ("in reverse order", labels[::-1])):
        score = np.zeros(size)
        for c in common if squared else range(k):
            shifted = np.conj(np.fft.rfft(targets[:, c], size))
            if squared:
                score += np.square(np.fft.irfft(shifted[:, None] * given, size, axis=0)).sum(axis=1)
            else:
                score += np.fft.irfft(shifted * given[:, c], size)
        score = score[lag]
        own = own if order else float(score[0])
        best = int(score[1:].argmax()) + 1 if not order else int(score.argmax())
        # Sums of squares are nearly normal as cube roots.
        plain = np.cbrt(score) if squared else score
        middle = np.median(plain)
        deviation = max(1.4826 * float(np.median(np.abs(plain - middle))), 1e-12)
        # Labels in sorted order fit at many distances alike.
        next_best = np.sort(score[np.abs(lag - lag[best]) <= 2])[:-1].max(initial=0.0)
        if (plain[best] - middle) / deviation > MIN_LAG_Z and score[best] > max(1.5 * own, 1.3 * next_best):
            where = order or f"{abs(lag[best])} rows {'earlier' if lag[best] < 0 else 'later'}"
            findings.append(
                Mismatch(f"they fit the labels {where} better than the labels of the same rows", True)
            )
    return findings


def _check_columns(best: Ints, y: Ints, k: int) -> list[Mismatch]:
    """Find class columns in another order: another assignment agrees far better."""
    counts = np.zeros((k, k))
    np.add.at(counts, (best, y), 1.0)
    order = linear_sum_assignment(-counts)[1]
    moved = np.flatnonzero(order != np.arange(k))
    own, other = counts[moved, moved].sum(), counts[moved, order[moved]].sum()
    if other - own < max(20.0, 0.05 * len(y)) or other < 2.5 * own or _kappa(order[best], y) < 0.3:
        return []
    return [Mismatch("their columns fit the labels better in another order of the classes", True)]


def _check_items(values: Floats, item: Ints | None) -> list[Mismatch]:
    """Require that rows of one item have similar values."""
    if item is None:
        return []
    order = np.argsort(item, kind="stable")
    pair = np.flatnonzero(np.diff(item[order]) == 0)
    if len(pair) < MIN_ROWS:
        return []
    apart = np.square(values[order[pair]] - values[order[pair + 1]]).sum(axis=1)
    share = float(apart.mean()) / max(2 * float(values.var(axis=0).sum()), 1e-12)
    equal = float((apart < 1e-12).mean())
    if share > 0.9 or (0.02 < equal < 0.9 and share > 0.2):
        return [Mismatch("rows of one item have values as different as rows of different items", equal < 0.9)]
    return []


def _follow_conflicts(best: Ints, y: Ints, item: Ints | None) -> bool:
    """Return True if predictions follow each of the different labels of one item."""
    if item is None:
        return False
    order = np.argsort(item, kind="stable")
    pair = np.flatnonzero((np.diff(item[order]) == 0) & (np.diff(y[order]) != 0))
    both = (best[order[pair]] == y[order[pair]]) & (best[order[pair + 1]] == y[order[pair + 1]])
    return len(pair) >= 10 and float(both.mean()) > 0.8


def _wrong_block(best: Ints, guess: Ints, evidence: Evidence) -> bool:
    """Return True if predictions agree by chance in the first or last rows, and the reference does not."""
    y, near, n = evidence.y, evidence.neighbours, len(best)
    gain = (best == y).astype(np.float64) - (guess == y)
    walk = np.cumsum(gain - gain.mean()) / max(gain.std() * n**0.5, 1e-12)
    cut = int(np.abs(walk).argmax()) + 1
    if np.abs(walk).max() < MIN_WALK or not MIN_ROWS <= cut <= n - MIN_ROWS:
        return False
    block = np.arange(n) < cut if walk[cut - 1] < 0 else np.arange(n) >= cut
    if _kappa(best[block], y[block]) > 0.1 or _kappa(best[~block], y[~block]) < MIN_KAPPA:
        return False
    # Rows of another region of the features may be harder for a model.
    return near is None or float((~block)[near[block]].mean()) > 0.5 * float((~block).mean())


def _random_errors(best: Ints, p: Floats, evidence: Evidence) -> float:
    """Return the rate of contradictions to clear rows beyond the claimed rate; 0 if they are not random.

    They are random if neither the reference nor the contradictions of neighbours predict them.
    """
    y, reference, near = evidence.y, evidence.reference, evidence.neighbours
    assert reference is not None
    trust = reference[np.arange(len(y)), y]
    clear = (reference.argmax(axis=1) == y) & (trust >= np.median(trust))
    support = trust + (0.0 if near is None else (y[near] == y[:, None]).mean(axis=1))
    if clear.sum() < MIN_ROWS:
        return 0.0
    safe = clear & (support >= np.median(support[clear]))
    wrong = best != y
    marginal = np.bincount(best, minlength=p.shape[1]) / len(best)
    share = float(wrong[safe].mean()) / max(1 - float(marginal[y[safe]].mean()), 1e-9)
    if wrong[safe].sum() < 10 or share < MIN_CONTRADICTED:
        return 0.0
    excess = max(float(wrong[safe].mean()) - 1.25 * float((1 - p.max(axis=1))[safe].mean()), 1e-9)
    # The reference ranks errors of a model; those of other rows it does not.
    total = np.bincount(y[clear], support[clear], minlength=p.shape[1])
    mean = total / np.maximum(np.bincount(y[clear], minlength=p.shape[1]), 1)
    ranks = rankdata(mean[y[clear]] - support[clear])
    n_wrong = int(wrong[clear].sum())
    n_right = int(clear.sum()) - n_wrong
    auc = (ranks[wrong[clear]].sum() - n_wrong * (n_wrong + 1) / 2) / max(n_wrong * n_right, 1)
    if auc > MAX_AUC:
        return 0.0
    if near is None:
        return excess
    usable = safe[near] & safe[:, None]
    one, two = np.broadcast_to(wrong[:, None], near.shape)[usable], wrong[near][usable]
    clustered = len(one) >= MIN_ROWS and one.std() > 0 and two.std() > 0
    return 0.0 if clustered and np.corrcoef(one, two)[0, 1] > MAX_CLUSTERING else excess

"""Aggregation rules of the literature: updates of clients (clients, parameters) to one update with scores.

Mean as in FedAvg (McMahan et al., AISTATS 2017), median and trimmed mean (Yin et al., ICML 2018), Krum and
Multi-Krum (`anml.federated.client_krum`), Bulyan (El Mhamdi et al., ICML 2018), FLTrust (Cao et al., NDSS
2021) and RECESS (Yan et al., NeurIPS 2023). `recess` takes the `abnormality` of the replies to a probe.
"""

from typing import Any

import numpy as np

from anml.core.checks import Array, Floats, Ints, as_vector
from anml.core.errors import InputError
from anml.federated.client_krum import krum, krum_scores_from_distances, multi_krum
from anml.federated.updates import (
    Aggregated,
    Updates,
    as_updates,
    check_malicious,
    column_blocks,
    combine,
    norms,
    squared_distances,
)
from anml.weighting.combine import softmax

__all__ = [
    "abnormality", "bulyan", "fltrust", "krum", "mean", "median", "multi_krum", "recess", "trimmed_mean",
]  # fmt: skip

# Decrease of trust by abnormality. The paper of RECESS does not print its constants; this is ours.
PENALTY = 1.0


def mean(updates: Any, rows: Any = None) -> Aggregated:
    """Average the updates, weighted by the number of rows of each client where it is known. No defence."""
    given = as_updates(updates)
    counts = np.ones(len(given)) if rows is None else as_vector("rows", rows, len(given))
    if (counts < 0).any() or counts.sum() <= 0:
        raise InputError("rows must not be negative, and at least one client must have some")
    weights = counts / counts.sum()
    return Aggregated(combine(given, weights), np.ones(len(given)), weights)


def median(updates: Any) -> Aggregated:
    """Take the median of each parameter.

    A client's score is minus its distance to the result, its weight the share of parameters in which it is
    the median (or one of the two in the middle). Weakness: a parameter that most clients leave at zero is
    zero in the result, so knowledge of a minority of the clients is lost.
    """
    given = as_updates(updates)
    n, parameters = given.shape
    result = np.empty(parameters, dtype=given.dtype)
    squares, middle = np.zeros(n), np.zeros(n)
    for block in column_blocks(given):
        part = np.ascontiguousarray(given[:, block].T)
        ordered = np.sort(part, axis=1)
        low, high = ordered[:, (n - 1) // 2], ordered[:, n // 2]
        # Halved first: the sum of two large values may not be finite.
        result[block] = low if n % 2 else low / 2 + high / 2
        off = part - result[block, None]
        squares += np.einsum("ij,ij->j", off, off)
        middle += np.count_nonzero((part >= low[:, None]) & (part <= high[:, None]), axis=0)
    return Aggregated(result, -np.sqrt(squares), middle / middle.sum())


def trimmed_mean(updates: Any, malicious: int) -> Aggregated:
    """Drop the f lowest and the f highest values of each parameter, and average the rest.

    A client's score is the share of parameters in which it is not dropped. Weakness: a client that changes
    every parameter by a small amount is dropped in few of them.
    """
    given = as_updates(updates)
    n, parameters = given.shape
    f = check_malicious(malicious, n, (n - 1) // 2, "the trimmed mean", "2 f < n")
    result = np.empty(parameters, dtype=given.dtype)
    stays = np.zeros(n)
    for block in column_blocks(given):
        part = np.ascontiguousarray(given[:, block].T)
        ordered = np.sort(part, axis=1)
        result[block] = ordered[:, f : n - f].mean(axis=1)
        inside = (part >= ordered[:, f, None]) & (part <= ordered[:, n - f - 1, None])
        stays += np.count_nonzero(inside, axis=0)
    return Aggregated(result, stays / parameters, stays / stays.sum())


def bulyan(updates: Any, malicious: int) -> Aggregated:
    """Let Krum choose n - 2 f clients one after the other, then average the values nearest their median.

    For each parameter, the n - 4 f values nearest the median of the chosen clients are averaged. The score of
    a client is higher the earlier it was chosen. Weakness: the rule needs n >= 4 f + 3 clients, more than
    other rules.
    """
    given = as_updates(updates)
    n = len(given)
    f = check_malicious(malicious, n, (n - 3) // 4, "Bulyan", "n >= 4 f + 3")
    chosen = _krum_selection(squared_distances(given), f)
    scores = np.zeros(n)
    scores[chosen] = 1 - np.arange(len(chosen)) / n
    update = _near_median(given, np.sort(chosen), len(chosen) - 2 * f)
    return Aggregated(update, scores, (scores > 0) / len(chosen))


def _krum_selection(distances: Floats, f: int) -> Ints:
    """Return the winners of Krum, each removed before the next is sought, until n - 2 f are chosen."""
    n = len(distances)
    left = np.arange(n)
    winners: list[int] = []
    while len(winners) < n - 2 * f:
        # With few clients left there are fewer neighbours, but always one.
        count = max(len(left) - f - 2, 1)
        rest = distances[np.ix_(left, left)]
        scores = krum_scores_from_distances(rest, 0, count) if len(left) > 2 else rest.sum(axis=1)
        # Two clients that are each other's only neighbour have equal scores: the nearer one to all wins.
        level = np.flatnonzero(scores <= scores.min() * (1 + 1e-9))
        place = int(level[distances[left[level]].sum(axis=1).argmin()])
        winners.append(int(left[place]))
        left = np.delete(left, place)
    return np.array(winners)


def _near_median(updates: Updates, chosen: Ints, keep: int) -> Array:
    """Return the mean of the chosen values nearest their median, for each parameter.

    Nearest values are neighbours once they are sorted, so only the start of their window is sought.
    """
    count = len(chosen)
    result = np.empty(updates.shape[1], dtype=updates.dtype)
    for block in column_blocks(updates):
        ordered = np.sort(np.ascontiguousarray(updates[:, block][chosen].T), axis=1)
        middle = ordered[:, (count - 1) // 2] / 2 + ordered[:, count // 2] / 2
        first, last = ordered[:, : count - keep + 1], ordered[:, keep - 1 :]
        # Of windows of `keep` neighbours the nearest is where the far end changes from left to right of the
        # median, or the one before it.
        twice = 2 * middle
        start = np.minimum(np.count_nonzero(first + last < twice[:, None], axis=1), count - keep)
        before = np.maximum(start - 1, 0)
        row = np.arange(len(start))
        right, left = last[row, start] - middle, middle - first[row, before]
        start = np.where(left <= np.maximum(right, middle - first[row, start]), before, start)
        window = start[:, None] + np.arange(keep)
        result[block] = np.take_along_axis(ordered, window, axis=1).mean(axis=1)
    return result


def fltrust(updates: Any, server: Any) -> Aggregated:
    """Weight clients by the cosine of their update with the server's, all at the length of the server's.

    `server` is the update that the server trained on its own small clean set. A client's score is the cosine,
    and 0 where it is negative. Weakness: clients that make the same errors as the server's set are trusted.
    """
    given = as_updates(updates)
    own = np.asarray(server, dtype=given.dtype).reshape(-1)
    if len(own) != given.shape[1]:
        raise InputError(f"the server's update has {len(own)} values, those of clients {given.shape[1]}")
    if not np.isfinite(own).all():
        raise InputError("the server's update has missing or infinite values")
    length = float(np.linalg.norm(own.astype(np.float64)))
    if length == 0:
        raise InputError("the server's update is zero, so no client's can be compared with it")
    lengths = norms(given)
    positive = np.maximum(lengths, 1e-300)
    cosine = np.where(lengths > 0, (given @ own).astype(np.float64) / (positive * length), 0.0)
    trust = np.clip(cosine, 0.0, 1.0)
    total = trust.sum()
    if total <= 0:
        # Every update points away from the server's: none is used.
        return Aggregated(np.zeros_like(own), trust, np.zeros(len(given)))
    weights = trust / total
    return Aggregated(combine(given, weights * length / positive), trust, weights)


def abnormality(sent: Any, replies: Any) -> Floats:
    """Return the abnormality of each reply to a probe: minus their cosine, by its relative length.

    The server sends each client a constructed update (`sent`). Clients that train on data continue in its
    direction; clients that optimise an attack reverse it. Lengths are relative to the median reply, so the
    score does not depend on the scale of updates.
    """
    probes, answers = as_updates(sent), as_updates(replies)
    if probes.shape != answers.shape:
        raise InputError(f"{probes.shape} values were sent and {answers.shape} came back")
    length = np.linalg.norm(answers.astype(np.float64), axis=1)
    typical = float(np.median(length))
    both = length * np.linalg.norm(probes.astype(np.float64), axis=1)
    product = np.einsum("ij,ij->i", probes, answers).astype(np.float64)
    cosine = np.divide(product, both, out=np.zeros(len(both)), where=both > 0)
    relative = np.divide(length, typical, out=np.ones(len(both)), where=(length > 0) & (typical > 0))
    return np.asarray(-cosine / relative)


def recess(updates: Any, abnormal: Any, trust: Any = 0.0, penalty: float = PENALTY) -> Aggregated:
    """Weight updates by the softmax of trust, which every round lowers by the abnormality of a client.

    `trust` is the score that the last round returned. Weakness: a client with wrong data continues from any
    probe as an honest client does.
    """
    given = as_updates(updates)
    before = as_vector("trust", trust, len(given))
    after = before - penalty * as_vector("abnormality", abnormal, len(given))
    weights = softmax(after)
    return Aggregated(combine(given, weights), after, weights)

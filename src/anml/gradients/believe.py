"""How far each label is believed: networks and clusters, judged by what is known of the rows.

Two views of which labels are wrong: networks that predict what they did not see, and the clusters of the
classes. Neither is always right, so credentials and contributors judge between them: wrong labels gather
in some of those, samples that are merely hard do not. Then networks are trained on what is believed,
and what they predict is believed, in turn.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Array, Floats, Ints
from anml.core.clusters import WIDEST_ODDS, at_rate, contradictions
from anml.core.domain import Task
from anml.core.evidence import (
    SURELY_RIGHT,
    Evidence,
    by_contributor,
    classify,
    clearly_noisy,
    company,
    knowing,
    nothing_wrong,
    weigh_view,
)
from anml.core.noise import Noise, label_noise, residual_noise
from anml.core.numbers import weigh_numbers

# How often networks are trained on what the evidence believes: once on everything, then on that.
ROUNDS = 3
# Where more rows than this have other labels of their item, these are asked rather than more networks.
MOSTLY = 0.5

# How sharp and how severe a view may be taken, and by how much (in nats) another must be better supported.
CLUSTER_TEMPERATURES = (1.0, 3.0)
NETWORK_TEMPERATURES = (0.3, 1.0, 3.0)
SEVERITIES = (1.0, 0.7)
CLEARLY_MORE = 4.0

# Held-out predictions of networks trained with these weights, in this round.
Refit = Callable[[Floats, int], Floats]


class Told(NamedTuple):
    """What was said of the rows, as arrays: credentials (n, p), codes of contributors and of items."""

    credentials: Floats | None
    contributor: Ints | None
    item: Ints | None

    @property
    def anything(self) -> bool:
        """Whether there is something beside features and labels to judge a view by."""
        return self.credentials is not None or self.contributor is not None


class View(NamedTuple):
    """One way to see which labels are wrong, and how far what was said of the rows supports it."""

    name: str
    support: float
    found: Evidence


def believe(
    x: Floats, y: Array, task: Task, classes: int, held_out: Floats, told: Told, refit: Refit
) -> tuple[View, Floats]:
    """Evidence on every label, and the held-out predictions it ended with."""
    noise = estimate_noise(held_out, y, task)
    found = networks_say(held_out, y, task, noise, told)
    if task == "regression":
        plain = View("networks", 0.0, found), held_out
        # Nothing speaks against any of the numbers: the simplest answer.
        return plain if found.base >= SURELY_RIGHT else _in_rounds(found, y, task, held_out, told, refit)
    labels = np.asarray(y, dtype=np.int64)
    view = choose_view(x, labels, classes, told, found)
    # The simplest answer first: a rate of wrong labels must explain more than it costs to assume one,
    # or what is known of the rows must point at some. Else hard samples would pay for it.
    support, _ = weigh_view(found.model, _rate(found.clean), told.credentials, told.contributor)
    clear = clearly_noisy(noise, len(y)) or support > CLEARLY_MORE
    if view.name == "networks" and not clear:
        return view._replace(found=nothing_wrong(found)), held_out
    if view.name != "networks":
        view, held_out = _supported_rounds(view, labels, held_out, told, refit)
    elif _others_tell_more(labels, held_out, told, found):
        view, held_out = _from_other_starts(labels, held_out, told, refit)
    else:
        view, held_out = _in_rounds(found, y, task, held_out, told, refit)
    if told.contributor is not None:
        view = view._replace(found=by_contributor(view.found, held_out, labels, told.contributor))
    return view, held_out


def _in_rounds(
    found: Evidence, y: Array, task: Task, held_out: Floats, told: Told, refit: Refit
) -> tuple[View, Floats]:
    """Train networks on what is believed, and believe what they predict, in turn."""
    for turn in range(1, ROUNDS):
        held_out = refit(found.clean, turn)
        found = networks_say(held_out, y, task, estimate_noise(held_out, y, task), told)
    return View("networks", 0.0, found), held_out


def _others_tell_more(labels: Ints, held_out: Floats, told: Told, found: Evidence) -> bool:
    """Whether most items have several labels, and networks do not know their classes well.

    Networks trained on what is believed would then only confirm it.
    """
    shared = told.item is not None and company(told.item).mean() > MOSTLY
    return bool(shared and not knowing(held_out, labels, found))


def _from_other_starts(labels: Ints, held_out: Floats, told: Told, refit: Refit) -> tuple[View, Floats]:
    """Train the same networks from other starts, so that no single one decides."""
    starts = [held_out, *(refit(np.ones(len(labels)), turn) for turn in range(1, ROUNDS))]
    together = np.asarray(special.logsumexp(starts, axis=0) - np.log(len(starts)))
    noise = estimate_noise(together, labels, "classification")
    return View("networks", 0.0, networks_say(together, labels, "classification", noise, told)), together


def _supported_rounds(
    view: View, labels: Ints, held_out: Floats, told: Told, refit: Refit
) -> tuple[View, Floats]:
    """Train networks on what the clusters believe; they take over only as far as they are supported more.

    Left alone they would learn again what the clusters saw through.
    """
    for turn in range(1, ROUNDS if told.anything else 1):
        held_out = refit(view.found.clean, turn)
        odds = _margin(held_out, labels)
        trained = _supported("clusters", odds, _rate(view.found.clean), told, NETWORK_TEMPERATURES)
        view = _clearly_best([view, trained])
    return view, held_out


def networks_say(held_out: Floats, y: Array, task: Task, noise: Noise, told: Told) -> Evidence:
    """Evidence by held-out predictions."""
    if task == "classification":
        labels = np.asarray(y, dtype=np.int64)
        return classify(held_out, labels, noise, told.credentials, told.contributor, told.item)
    values = np.asarray(y, dtype=np.float64)
    return weigh_numbers(values, held_out, told.credentials, told.contributor, told.item)


def estimate_noise(held_out: Floats, y: Array, task: Task) -> Noise:
    """Share of wrong labels, and each label's probability of being right, from held-out predictions."""
    if task == "classification":
        return label_noise(held_out, np.asarray(y, dtype=np.int64))
    values = np.asarray(y, dtype=np.float64)
    return residual_noise(values - held_out)


def choose_view(x: Floats, labels: Ints, classes: int, told: Told, networks: Evidence) -> View:
    """Begin with the networks or with the clusters of the classes.

    Clusters where they are a fair picture of the classes, else networks; the other of the two where
    credentials and contributors clearly support it more. Contributors differ in what they send as well
    as in how they label it: they speak for clusters only where those are a fair picture.
    """
    seen = contradictions(x, labels, classes)
    if not seen.rate:
        return View("networks", 0.0, networks)
    if not seen.separated:
        told = told._replace(contributor=None)
    support, _ = weigh_view(networks.model, _rate(networks.clean), told.credentials, told.contributor)
    views = [
        View("networks", support, networks),
        _supported("clusters", seen.odds, seen.rate, told, CLUSTER_TEMPERATURES),
    ]
    return _clearly_best(views[::-1] if seen.separated else views)


def _supported(name: str, odds: Floats, rate: float, told: Told, temperatures: Sequence[float]) -> View:
    """One view, as sharp and as severe as credentials and contributors support it."""
    choices = [(temperature, share * rate) for temperature in temperatures for share in SEVERITIES]
    weighed = [
        weigh_view(at_rate(odds / temperature, wrong), wrong, told.credentials, told.contributor)
        for temperature, wrong in (choices if told.anything else choices[:1])
    ]
    views = [View(name, support, found) for support, found in weighed]
    return _clearly_best(views)


def _clearly_best(views: Sequence[View]) -> View:
    """The first view, or another that is clearly better supported; without a clear reason nothing changes."""
    best = max(views, key=lambda view: view.support)
    return best if best.support > views[0].support + CLEARLY_MORE else views[0]


def _rate(clean: Floats) -> float:
    return float(np.clip(1 - clean.mean(), 1e-3, 0.5))


def _margin(log_probabilities: Floats, labels: Ints) -> Floats:
    """Log-odds of the label against the likeliest other class."""
    rows = np.arange(len(labels))
    others = log_probabilities.copy()
    others[rows, labels] = -np.inf
    odds = log_probabilities[rows, labels] - others.max(axis=1)
    return np.asarray(np.clip(odds, -WIDEST_ODDS, WIDEST_ODDS))

"""Real crowds whose truth is known: what is said of people and items, beside what they are."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy import stats

from anml.assess.assess import Known
from anml.core.calibration import reliability
from anml.core.checks import Array, Bools, Floats, Ints, as_codes
from anml.core.people.consensus import join_posteriors
from anml.core.people.words import ACCUSED, LESS, RELIABLE
from anml.lab.belief import assessed
from anml.lab.cases import stream
from anml.lab.data import crowd_of, load_contributed
from anml.lab.real import needed
from anml.lab.spec import At, Found, timed

CROWDS = ("dogs", "companies", "music_genre", "weather_sentiment")
MEASURES = (
    *("consensus", "calibration", "cover", "width", "fine", "fine_accused", "fine_reliable"),
    *("bad", "bad_found", "bad_reliable", "seconds"),
)
ENOUGH = 10


class Crowd(NamedTuple):
    """Labels of items by people, features of each row (none where there are none), and the truth."""

    x: Floats
    y: Ints
    who: Ints
    item: Ints
    truth: Ints
    classes: int

    @property
    def right(self) -> Ints:
        """The right label of each item."""
        return self.truth[np.unique(self.item, return_index=True)[1]]


class Said(NamedTuple):
    """What a method says: posterior of each item; of people a verdict and the interval of their accuracy."""

    items: Floats
    verdict: list[str] | None = None
    low: Floats | None = None
    high: Floats | None = None
    known: Ints | None = None


def load_crowd(name: str) -> Crowd:
    """Read a crowd from the folder of data sets."""
    if name in ("dogs", "companies"):
        frame = crowd_of(name)
        label, truth, who, item = (frame[c].to_numpy() for c in ("label", "truth", "contributor", "item"))
        x = np.zeros((len(frame), 0))
    else:
        data = load_contributed(name, np.random.default_rng(0))
        assert data.truth is not None
        assert data.item is not None
        label, truth, who, item = data.label, data.truth, data.contributor, data.item
        # Words of a tweet tell little beside twenty labels, and cost much.
        x = data.x if name == "music_genre" else np.zeros((len(label), 0))
    classes, codes = np.unique(np.concatenate([label, truth]).astype(str), return_inverse=True)
    people, items = as_codes("contributor", who, len(label))[0], as_codes("item", item, len(label))[0]
    return Crowd(x, codes[: len(label)], people, items, codes[len(label) :], len(classes))


def of_evidence(crowd: Crowd, seed: int, known: int = 0) -> Said:
    """Ours, with so many items whose truth is told."""
    told = np.random.default_rng(seed).permutation(int(crowd.item.max()) + 1)[:known]
    truth = np.where(np.isin(crowd.item, told), crowd.truth, -1) if known else None
    # Names in the order of their numbers, as verdicts come back in the order of names.
    about = Known(np.char.zfill(crowd.who.astype(str), 9), crowd.item, truth=truth)
    found = assessed(crowd.x, crowd.y, crowd.classes, about, seed).belief
    people = found.contributors
    assert people is not None
    return Said(join_posteriors(found.truth, crowd.item), people.verdict, people.low, people.high, told)


def of_crowdkit(name: str, crowd: Crowd, seed: int) -> Said:
    """An aggregation of crowd-kit."""
    import pandas as pd

    table = pd.DataFrame({"task": crowd.item, "worker": crowd.who, "label": crowd.y})
    module = needed("crowdkit.aggregation", "crowd-kit")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = getattr(module, name)().fit_predict_proba(table)
    out = np.zeros((int(crowd.item.max()) + 1, crowd.classes))
    for column in found.columns:
        out[found.index.to_numpy(), int(column)] = found[column].fillna(0).to_numpy()
    return Said(out)


METHODS: dict[str, Callable[[Crowd, int], Said]] = {
    "anml": of_evidence,
    "anml, 50 known": lambda crowd, seed: of_evidence(crowd, seed, 50),
    "majority vote": partial(of_crowdkit, "MajorityVote"),
    "Dawid-Skene": partial(of_crowdkit, "DawidSkene"),
    "GLAD": partial(of_crowdkit, "GLAD"),
    "MACE": partial(of_crowdkit, "MACE"),
}


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the methods on one crowd."""
    crowd = load_crowd(at.setting.dataset)
    seed = int(stream(at.experiment.seed, at.trial, "known", at.setting.dataset).integers(2**31))
    for method in methods:
        said, seconds = timed(partial(METHODS[method], crowd, seed))
        yield method, {**measures(crowd, said), "seconds": seconds}


def measures(crowd: Crowd, said: Said) -> dict[str, float]:
    """How true a consensus is, and what is said of people beside what they are; NaN where nothing is said."""
    found = dict.fromkeys(MEASURES, float("nan"))
    scored = np.ones(len(crowd.right), dtype=bool)
    if said.known is not None:
        scored[said.known] = False
    right = (said.items.argmax(axis=1) == crowd.right)[scored]
    found["consensus"] = 100 * float(right.mean())
    found["calibration"] = reliability(np.clip(said.items.max(axis=1), 0, 1)[scored], right).error
    if said.verdict is None or said.low is None or said.high is None:
        return found
    fine, bad, accuracy, rows = truly(crowd)
    many = rows >= ENOUGH
    covered = (accuracy >= said.low) & (accuracy <= said.high)
    verdict = np.array(said.verdict)
    accused, less, reliable = np.isin(verdict, ACCUSED), verdict == LESS, verdict == RELIABLE
    return found | {
        "cover": 100 * float(covered[many].mean()), "width": float((said.high - said.low)[many].mean()),
        "fine": float(fine.sum()), "fine_accused": float((fine & accused).sum()),
        "fine_reliable": float((fine & reliable).sum()), "bad": float(bad.sum()),
        "bad_found": float((bad & (accused | less)).sum()), "bad_reliable": float((bad & reliable).sum()),
    }  # fmt: skip


def truly(crowd: Crowd) -> tuple[Bools, Bools, Floats, Array]:
    """Who is fine and who is bad with the truth in hand; how often each is right, of how many labels.

    Fine is a kappa above 0.30 with 90% probability, bad one below 0.15 with 95%, of ten labels or more.
    """
    rows = np.bincount(crowd.who)
    right = np.bincount(crowd.who, crowd.y == crowd.truth)
    share = np.bincount(crowd.right, minlength=crowd.classes) / len(crowd.right)
    given = np.zeros((len(rows), crowd.classes))
    np.add.at(given, (crowd.who, crowd.y), 1.0)
    guessed = given @ share / rows
    above, below = (guessed + limit * (1 - guessed) for limit in (0.30, 0.15))
    fine = stats.beta.sf(above, right + 1, rows - right + 1) > 0.9
    bad = stats.beta.cdf(below, right + 1, rows - right + 1) > 0.95
    many = rows >= ENOUGH
    return np.asarray(fine & many), np.asarray(bad & many), np.asarray(right / rows), rows

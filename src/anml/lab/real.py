"""Real contributors: every method sees features, labels and who gave them; truth is for scoring only.

Each trains the same learner. crowd-kit and cleanlab come with the extra `peers`, and load when asked for.
"""

import importlib
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import spearmanr
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anml.core.checks import Array, Floats, Ints
from anml.core.combine import correlation
from anml.core.domain import Recipe
from anml.core.errors import UnsupportedError
from anml.lab.belief import against_truth
from anml.lab.cases import stream
from anml.lab.data import Contributed, load_contributed
from anml.lab.spec import At, Experiment, Found, timed

FOLDS = 5
# How many labels a contributor must have given for its true accuracy to mean much.
ENOUGH = 20
MEASURES = ("accuracy", "correlation", "ranks", "calibration", "gap", "ranking")


class PeerAnswer(NamedTuple):
    """Labels predicted for the test part; how good each contributor and how likely right each label is."""

    predicted: Array
    quality: dict[str, float] | None = None
    p_correct: Floats | None = None


def learner() -> Any:
    """The one model that every method trains: logistic regression, C = 0.05, on standardised features."""
    return make_pipeline(StandardScaler(), LogisticRegression(C=0.05, max_iter=2_000))


class Votes(NamedTuple):
    """Labels by item: features of each item, and how many gave it which class."""

    x: Floats
    counts: Ints
    classes: Array
    item_of: Ints
    label_of: Ints

    def share_agreeing(self, decided: Ints, contributor: Array) -> dict[str, float]:
        """How often each contributor's labels are those decided on."""
        agrees = self.label_of == decided[self.item_of]
        return {str(name): float(agrees[contributor == name].mean()) for name in np.unique(contributor)}


def votes_of(data: Contributed, items: Array) -> Votes:
    """Count labels by item."""
    classes, label = np.unique(data.label, return_inverse=True)
    _, first, item = np.unique(items, return_index=True, return_inverse=True)
    counts = np.zeros((len(first), len(classes)), dtype=np.int64)
    np.add.at(counts, (item, label), 1)
    return Votes(data.x[first], counts, classes, item, label)


def decide(counts: Ints, rng: np.random.Generator) -> Ints:
    """The class with the most votes; ties are broken by chance."""
    return np.asarray((counts + rng.uniform(0, 0.5, counts.shape)).argmax(axis=1))


def majority_vote(data: Contributed, seed: int) -> PeerAnswer | None:
    """Train on the label most contributors gave; a contributor is as good as they agree with it."""
    if data.item is None:
        return None
    votes = votes_of(data, data.item)
    decided = decide(votes.counts, np.random.default_rng(seed))
    model = learner().fit(votes.x, votes.classes[decided])
    return PeerAnswer(model.predict(data.x_test), votes.share_agreeing(decided, data.contributor))


def dawid_skene(data: Contributed, seed: int) -> PeerAnswer | None:
    """Train on what crowd-kit's Dawid-Skene decides; quality is the chance of its worker's right label."""
    if data.item is None:
        return None
    import pandas as pd

    model = needed("crowdkit.aggregation.classification.dawid_skene", "crowd-kit").DawidSkene(n_iter=100)
    table = pd.DataFrame({"task": data.item, "worker": data.contributor, "label": data.label})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls what newer pandas deprecates
        model.fit(table)
    votes = votes_of(data, data.item)
    items = np.unique(data.item)
    fitted = learner().fit(votes.x, model.labels_.loc[items].to_numpy())
    quality: dict[str, float] = dict.fromkeys(np.unique(data.contributor), 0.0)
    for (worker, said), chances in model.errors_.iterrows():
        quality[worker] += float(chances[said]) * float(model.priors_[said])
    return PeerAnswer(fitted.predict(data.x_test), quality)


def cleanlab(data: Contributed, seed: int) -> PeerAnswer:
    """cleanlab: consensus of annotators where labels overlap, else pruning by confident learning."""
    return _clean_learning(data, seed) if data.item is None else _consensus(data, data.item, seed)


def _consensus(data: Contributed, items: Array, seed: int) -> PeerAnswer:
    import pandas as pd

    votes = votes_of(data, items)
    decided = decide(votes.counts, np.random.default_rng(seed))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    table = (
        pd.DataFrame({"item": votes.item_of, "who": data.contributor, "label": votes.label_of})
        .drop_duplicates(["item", "who"])
        .pivot(index="item", columns="who", values="label")
    )
    package = needed("cleanlab.multiannotator", "cleanlab")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer items than folds
        chances = cross_val_predict(learner(), votes.x, decided, cv=folds, method="predict_proba")
        found = package.get_label_quality_multiannotator(table, chances, verbose=False)
    consensus = found["label_quality"]["consensus_label"].to_numpy().astype(np.int64)
    quality = found["annotator_stats"]["annotator_quality"]
    fitted = learner().fit(votes.x, votes.classes[consensus])
    return PeerAnswer(fitted.predict(data.x_test), {str(who): float(q) for who, q in quality.items()})


def _clean_learning(data: Contributed, seed: int) -> PeerAnswer:
    classes, label = np.unique(data.label, return_inverse=True)
    package = needed("cleanlab.classification", "cleanlab")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # In one process: its own pool hands rows over in globals, which a pool of trials does not share.
        once = {"n_jobs": 1}
        model = package.CleanLearning(
            learner(), seed=seed, cv_n_folds=FOLDS, verbose=False, find_label_issues_kwargs=once
        )
        model.fit(data.x, label)
    kept = ~model.label_issues_df["is_label_issue"].to_numpy()
    quality = {str(who): float(kept[data.contributor == who].mean()) for who in np.unique(data.contributor)}
    return PeerAnswer(classes[model.predict(data.x_test)], quality)


def best_set(data: Contributed, seed: int) -> PeerAnswer | None:
    """Train on the best contributor's labels of everything: a bound that needs to know who is best."""
    if data.best is None:
        return None
    return PeerAnswer(learner().fit(data.x, data.best).predict(data.x_test))


def truth(data: Contributed, seed: int) -> PeerAnswer | None:
    """Train on the right labels, one for each thing: the bound."""
    if data.truth is None:
        return None
    first = np.arange(len(data.label)) if data.item is None else np.unique(data.item, return_index=True)[1]
    return PeerAnswer(learner().fit(data.x[first], data.truth[first]).predict(data.x_test))


def needed(module: str, package: str) -> Any:
    """Load what the extra `peers` brings, or say that it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UnsupportedError(
            f"{package} is not installed; `pip install 'attribution-native-ml[peers]'` brings it"
        ) from error


Peer = Callable[[Contributed, int], PeerAnswer | None]
PEERS: dict[str, Peer] = {
    "majority vote": majority_vote,
    "Dawid-Skene": dawid_skene,
    "cleanlab": cleanlab,
    "best set alone": best_set,
    "truth": truth,
}


def run_trial(at: At, methods: list[str]) -> Found:
    """Rows of the methods that apply to a set of contributions."""
    dataset = at.setting.dataset
    data = load_contributed(dataset, stream(at.experiment.seed, at.trial, "labels", dataset))
    seed = int(stream(at.experiment.seed, at.trial, "network", dataset).integers(2**31))
    for method in methods:
        answer, seconds = timed(partial(_answer, at.experiment, method, data, seed))
        if answer is not None:
            yield method, {**measures(data, answer), "seconds": seconds}


def _answer(experiment: Experiment, method: str, data: Contributed, seed: int) -> PeerAnswer | None:
    if method in experiment.methods:
        return with_recipe(data, experiment.methods[method], seed)
    return PEERS[method](data, seed)


def with_recipe(data: Contributed, recipe: Recipe, seed: int) -> PeerAnswer:
    """Train through the public estimator."""
    from anml.adapters.sklearn.estimators import AnmlClassifier

    model = AnmlClassifier(learner(), recipe=recipe, random_state=seed)
    model.fit(data.x, data.label, contributor=data.contributor, item=data.item)
    predicted, found = model.predict(data.x_test), model.contributors_
    if recipe.combine != "evidence" or found is None:  # others make no claim about labels
        return PeerAnswer(predicted)
    return PeerAnswer(predicted, dict(found.select("contributor", "quality").iter_rows()), model.p_correct_)


def measures(data: Contributed, answer: PeerAnswer) -> dict[str, float]:
    """How good the model is, and how well contributors and labels were judged; NaN where not known."""
    found = dict.fromkeys(MEASURES, float("nan"))
    found["accuracy"] = 100 * float((answer.predicted == data.y_test).mean())
    if data.truth is None:
        return found
    right = np.asarray(data.label == data.truth)
    if answer.quality is not None:
        found |= _judged(data.contributor, right, answer.quality)
    if answer.p_correct is not None:
        found |= against_truth(answer.p_correct, right)
    return found


def _judged(contributor: Any, right: Any, quality: dict[str, float]) -> dict[str, float]:
    """Learned quality against true accuracy: correlation where labels are enough, and ranks of all."""
    names, codes, counts = np.unique(contributor, return_inverse=True, return_counts=True)
    true = np.bincount(codes, right) / counts
    learned = np.array([quality[str(name)] for name in names])
    enough = counts >= ENOUGH
    linear = correlation(learned[enough], true[enough])
    ranks = float(spearmanr(learned, true).statistic) if np.ptp(learned) > 0 else float("nan")
    return {"correlation": float("nan") if linear is None else linear, "ranks": ranks}

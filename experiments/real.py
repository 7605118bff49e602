"""Real contributors: every method sees features, labels and who gave them; truth is for scoring only.

Each trains the same learner. crowd-kit and cleanlab come with the extra `peers`, and load when asked for.
"""

import importlib
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from anml.core.checks import Array, Floats, Ints
from anml.core.errors import UnsupportedError
from anml.core.types import Recipe
from experiments.data import load_contributed
from experiments.measures import Measured, Outcome, of_labels, of_quality, percent, run_methods
from experiments.seen import Case, MethodInput
from experiments.spec import Found, TrialContext

FOLDS = 5


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


def votes_of(inputs: MethodInput) -> Votes:
    """Count labels by item."""
    classes, label = np.unique(inputs.y, return_inverse=True)
    _, first, item = np.unique(inputs.item, return_index=True, return_inverse=True)
    counts = np.zeros((len(first), len(classes)), dtype=np.int64)
    np.add.at(counts, (item, label), 1)
    return Votes(inputs.x[first], counts, classes, item, label)


def majority_label(counts: Ints, rng: np.random.Generator) -> Ints:
    """The class with the most votes; ties are broken by chance."""
    return np.asarray((counts + rng.uniform(0, 0.5, counts.shape)).argmax(axis=1))


def majority_vote(case: Case) -> Outcome | None:
    """Train on the label most contributors gave; a contributor is as good as they agree with it."""
    inputs = case.seen
    if inputs.item is None:
        return None
    votes = votes_of(inputs)
    decided = majority_label(votes.counts, np.random.default_rng(inputs.seed))
    quality = inputs.mean(votes.label_of == decided[votes.item_of])
    return _predicted(case, votes.x, votes.classes[decided], quality)


def dawid_skene(case: Case) -> Outcome | None:
    """Train on what crowd-kit's Dawid-Skene decides; quality is the chance of its worker's right label."""
    inputs = case.seen
    if inputs.item is None:
        return None
    import pandas as pd

    model = import_optional("crowdkit.aggregation.classification.dawid_skene", "crowd-kit").DawidSkene(
        n_iter=100
    )
    table = pd.DataFrame({"task": inputs.item, "worker": inputs.who, "label": inputs.y})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it calls what newer pandas deprecates
        model.fit(table)
    quality = np.zeros(len(inputs.rows))
    for (worker, message), chances in model.errors_.iterrows():
        quality[worker] += float(chances[message]) * float(model.priors_[message])
    decided = model.labels_.loc[np.unique(inputs.item)].to_numpy()
    return _predicted(case, votes_of(inputs).x, decided, quality)


def cleanlab(case: Case) -> Outcome:
    """cleanlab: consensus of annotators where labels overlap, else pruning by confident learning."""
    return _clean_learning(case) if case.seen.item is None else _consensus(case)


def _consensus(case: Case) -> Outcome:
    import pandas as pd

    inputs = case.seen
    votes = votes_of(inputs)
    decided = majority_label(votes.counts, np.random.default_rng(inputs.seed))
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=inputs.seed)
    table = (
        pd.DataFrame({"item": votes.item_of, "who": inputs.who, "label": votes.label_of})
        .drop_duplicates(["item", "who"])
        .pivot(index="item", columns="who", values="label")
    )
    package = import_optional("cleanlab.multiannotator", "cleanlab")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of classes with fewer items than folds
        chances = cross_val_predict(learner(), votes.x, decided, cv=folds, method="predict_proba")
        result = package.get_label_quality_multiannotator(table, chances, verbose=False)
    consensus = result["label_quality"]["consensus_label"].to_numpy().astype(np.int64)
    quality = result["annotator_stats"]["annotator_quality"].sort_index().to_numpy()
    return _predicted(case, votes.x, votes.classes[consensus], quality)


def _clean_learning(case: Case) -> Outcome:
    inputs = case.seen
    classes, label = np.unique(inputs.y, return_inverse=True)
    package = import_optional("cleanlab.classification", "cleanlab")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # In one process: its own pool hands rows over in globals, which a pool of trials does not share.
        once = {"n_jobs": 1}
        model = package.CleanLearning(
            learner(), seed=inputs.seed, cv_n_folds=FOLDS, verbose=False, find_label_issues_kwargs=once
        )
        model.fit(inputs.x, label)
    kept = ~model.label_issues_df["is_label_issue"].to_numpy()
    return Outcome(predicted=classes[model.predict(case.truth.x_test)], quality=inputs.mean(kept))


def train_on_best_contributor(case: Case) -> Outcome | None:
    """Train on the best contributor's labels of everything: a bound that needs to know who is best."""
    return None if case.truth.best is None else _predicted(case, case.seen.x, case.truth.best)


def train_on_truth(case: Case) -> Outcome | None:
    """Train on the right labels, one for each thing: the bound."""
    inputs, right = case.seen, case.truth.y
    if right is None:
        return None
    first = np.arange(len(inputs.y)) if inputs.item is None else np.unique(inputs.item, return_index=True)[1]
    return _predicted(case, inputs.x[first], right[first])


def _predicted(case: Case, x: Floats, y: Array, quality: Floats | None = None) -> Outcome:
    """Train the common learner on some labels and predict the test part."""
    return Outcome(predicted=learner().fit(x, y).predict(case.truth.x_test), quality=quality)


def import_optional(module: str, package: str) -> Any:
    """Load what the extra `peers` brings, or say that it is not there."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise UnsupportedError(
            f"{package} is not installed; `pip install 'attribution-native-ml[peers]'` brings it"
        ) from error


# The bounds are those of the methods that look at the truth; the test part is for what they predict of it.
PEERS: dict[str, Callable[[Case], Outcome | None]] = {
    "majority vote": majority_vote,
    "Dawid-Skene": dawid_skene,
    "cleanlab": cleanlab,
    "best set alone": train_on_best_contributor,
    "truth": train_on_truth,
}


def run_trial(at: TrialContext, methods: list[str]) -> Found:
    """Rows of the methods that apply to a set of contributions."""
    recipes, case = at.experiment.methods, load_contributed(at.setting.dataset, at.rng("labels"))
    case = case.seeded(int(at.rng("network").integers(2**31)))
    return run_methods(
        methods,
        lambda method: with_recipe(case, recipes[method]) if method in recipes else PEERS[method](case),
        partial(measures, case),
    )


def with_recipe(case: Case, recipe: Recipe) -> Outcome:
    """Train through the public estimator."""
    from anml.sklearn.estimators import AnmlClassifier

    inputs = case.seen
    model = AnmlClassifier(learner(), recipe=recipe, random_state=inputs.seed)
    model.fit(inputs.x, inputs.y, contributor=inputs.contributor, item=inputs.item)
    predicted, result = model.predict(case.truth.x_test), model.contributors_
    if recipe.combine != "evidence" or result is None:  # others make no claim about labels
        return Outcome(predicted=predicted)
    quality = result["accuracy"].to_numpy()
    return Outcome(predicted=predicted, quality=quality, p_correct=model.p_correct_)


def measures(case: Case, answer: Outcome) -> Measured:
    """Measure the accuracy of the model, and the estimates of labels and contributors if truth is known."""
    assert answer.predicted is not None
    result = {"accuracy": percent(answer.predicted == case.truth.y_test)}
    if case.truth.y is not None:
        result |= of_labels(case, answer)
        result |= {} if answer.quality is None else of_quality(case, answer.quality)
    return result

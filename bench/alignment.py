"""Count the inputs of other rows, and the honest ones, that are refused on conditions of the bank.

    python bench/alignment.py            # all conditions of classes
    python bench/alignment.py NAME ...   # some of them

Honest inputs are held-out predictions of good and of bad models, and transformed features. The same inputs in
another order must be refused or doubted.
"""

import sys

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from anml.assessment.alignment import check_embeddings, check_predictions, gather
from experiments.bank import conditions
from experiments.bank.conditions import make_condition

MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=300)),
    "naive Bayes": GaussianNB(var_smoothing=1e-3),
    "one neighbour": make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
    "two splits": DecisionTreeClassifier(max_depth=2),
    "all splits": DecisionTreeClassifier(random_state=0),
}


def inputs(x, y, item, n_classes, rng):
    """Yield honest predictions and embeddings of a table, by name."""
    groups = np.arange(len(y)) if item is None else item
    parts = {"all": x, "half": x[:, ::2]}
    for name, model in MODELS.items():
        for part, features in parts.items():
            p = np.zeros((len(y), n_classes))
            # A class that is absent from a fold has probability zero.
            p[:, np.unique(y)] = cross_val_predict(
                model, features, y, groups=groups, cv=GroupKFold(5, shuffle=True, random_state=0),
                method="predict_proba",
            )  # fmt: skip
            yield f"{name}, {part} features", p, check_predictions
    scaled = StandardScaler().fit_transform(x)
    turned = scaled @ rng.normal(size=(x.shape[1], 16))
    for name, e in {"features": x, "projection": turned, "half": scaled[:, ::2]}.items():
        yield name, e, lambda *given: check_embeddings(given[0], given[1], n_classes, *given[2:])


def main(names):
    """Print the counts of honest and of shuffled inputs that are refused or doubted."""
    counts = {"honest": [0, 0, 0], "shuffled": [0, 0, 0], "one row later": [0, 0, 0]}
    for name in names:
        case = make_condition(name, 0).seen
        if case.y.dtype.kind == "f":
            continue
        rng, y = np.random.default_rng(0), np.unique(case.y, return_inverse=True)[1]
        item = None if case.item is None else np.unique(case.item, return_inverse=True)[1]
        n_classes = int(y.max()) + 1
        evidence = gather(case.x, y, n_classes, item, 0)
        for what, values, check in inputs(case.x, y, item, n_classes, rng):
            orders = {"honest": np.arange(len(y)), "shuffled": rng.permutation(len(y)),
                      "one row later": np.roll(np.arange(len(y)), 1)}  # fmt: skip
            for kind, order in orders.items():
                findings = check(values[order], y, evidence, item)
                refused = any(each.certain for each in findings)
                counts[kind][0] += 1
                counts[kind][1] += refused
                counts[kind][2] += bool(findings) and not refused
                if kind == "honest" and refused:
                    print(f"{name}: {what}: refused: {findings[0].reason}")
    for kind, (total, refused, doubted) in counts.items():
        print(f"{kind}: {total} inputs, {refused} refused, {doubted} doubted")


if __name__ == "__main__":
    main(sys.argv[1:] or [*conditions.CONDITIONS])

"""`python bench/audit.py`: cost and precision of an audit beside cleanlab, and the cost of a large table.

CPU seconds of this process, one thread: `anml.audit` with ten contributors, against cleanlab's Datalab with
three models and CleanLearning. AP is the average precision of the wrong labels, of the audit and of the
alternative.
"""

import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from sklearn.base import ClassifierMixin
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score
from sklearn.model_selection import cross_val_predict

import anml
from anml.core.checks import Bools, Floats, Ints
from anml.core.profile import PROFILES
from anml.core.stats import standardise
from anml.networks.crossfit import cross_fit
from anml.networks.mlp import softmax
from anml.networks.threads import limit_threads
from bench import row

# Rows, and the largest ratio of the CPU time of an audit to that of Datalab with the same network.
SIZES, MOST = (1_000, 10_000, 50_000), 1.0
# A large table, with the most CPU seconds and GiB that it may take.
LARGE, SECONDS, GIBIBYTES = (200_000, 54, 7, 50), 90, 1.5


def made(
    n: int, width: int = 20, classes: int = 3, contributors: int = 10
) -> tuple[Floats, Ints, Ints, Bools]:
    """Clouds of normal samples; one in twenty labels is wrong, and every other one of one contributor."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, width)) * 1.2 / np.sqrt(width / 8)
    truth, contributor = rng.integers(0, classes, n), rng.integers(0, contributors, n)
    x = rng.normal(size=(n, width)) + centres[truth]
    wrong = (rng.uniform(size=n) < 0.05) | ((contributor == 0) & (rng.uniform(size=n) < 0.5))
    y = np.where(wrong, (truth + rng.integers(1, classes, n)) % classes, truth)
    return x, y, contributor, wrong


def audited(x: Floats, y: Ints, contributor: Ints, *, compare: bool = False) -> tuple[float, Floats]:
    """CPU seconds of an audit, and `p_correct` of each label."""
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]).assign(
        label=y, contributor=contributor
    )
    start = time.process_time()
    result = anml.audit(frame, label="label", contributor="contributor", evaluate=compare)
    return time.process_time() - start, result.samples["p_correct"].to_numpy()


def network_probabilities(x: Floats, y: Ints) -> Floats:
    inputs = standardise(x)
    fit = cross_fit(inputs, y, "classification", int(y.max()) + 1, None, PROFILES["default"], 0)
    return softmax(fit.held_out)


def sklearn_probabilities(x: Floats, y: Ints, estimator: ClassifierMixin) -> Floats:
    return cross_val_predict(estimator, x, y, cv=5, method="predict_proba")


def datalab(x: Floats, y: Ints, held_out: Callable[[Floats, Ints], Floats]) -> Floats:
    """Label scores of Datalab, from held-out probabilities and the features."""
    from cleanlab import Datalab

    lab = Datalab({"label": y}, label_name="label", verbosity=0)
    lab.find_issues(features=x, pred_probs=held_out(x, y))
    return lab.get_issues("label")["label_score"].to_numpy()


def clean_learning(x: Floats, y: Ints) -> Floats:
    """Label scores of CleanLearning with its own model, a logistic regression."""
    from cleanlab.classification import CleanLearning

    return CleanLearning(verbose=False).find_label_issues(x, y)["label_quality"].to_numpy()


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(100, random_state=0)


# Each alternative scores the labels; the target holds for the one that fits the same network.
SAME_NETWORK = "Datalab, same network"
ALTERNATIVES: dict[str, Callable[[Floats, Ints], Floats]] = {
    SAME_NETWORK: lambda x, y: datalab(x, y, network_probabilities),
    "Datalab, logistic regression": lambda x, y: datalab(
        x, y, lambda x, y: sklearn_probabilities(x, y, LogisticRegression(max_iter=1_000))
    ),
    "Datalab, forest of 100 trees": lambda x, y: datalab(
        x, y, lambda x, y: sklearn_probabilities(x, y, forest())
    ),
    "CleanLearning": clean_learning,
}


def timed(score: Callable[[Floats, Ints], Floats], x: Floats, y: Ints) -> tuple[float, Floats]:
    """CPU seconds of an alternative, and its score of each label."""
    start = time.process_time()
    with limit_threads(1):
        scores = score(x, y)
    return time.process_time() - start, scores


def beside_cleanlab(n: int) -> bool:
    """Time and average precision of wrong labels beside each alternative, and the cost of the comparison."""
    x, y, contributor, wrong = made(n)
    seconds, p_correct = audited(x, y, contributor)
    both, _ = audited(x, y, contributor, compare=True)
    met = row(
        f"the comparison vs the audit, {n:,} x 20",
        f"{both / seconds - 1:.2f}x", "at most 1x", both / seconds - 1 <= 1,
    )  # fmt: skip
    precision = average_precision_score(wrong, -p_correct)
    for name, score in ALTERNATIVES.items():
        theirs, quality = timed(score, x, y)
        target = name == SAME_NETWORK
        ratio = f"{seconds / theirs:.2f}x ({seconds:.1f} s, {theirs:.1f} s)"
        aps = f"AP {precision:.3f}, {average_precision_score(wrong, -quality):.3f}"
        met &= row(
            f"audit vs {name}, {n:,} x 20 ({aps})", ratio,
            f"at most {MOST}x" if target else "reported", not target or seconds / theirs <= MOST,
        )  # fmt: skip
    return met


def large() -> bool:
    """CPU seconds and peak memory of a large table, in a process of its own."""
    code = (
        "import audit, resource\n"
        f"x, y, contributor, _ = audit.made(*{LARGE})\n"
        "seconds = audit.audited(x, y, contributor)[0]\n"
        "print(seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True, cwd=sys.path[0]
    )
    seconds, peak = map(float, ran.stdout.split()[-2:])
    return row(
        f"audit of {LARGE[0]:,} x {LARGE[1]}, {LARGE[3]} contributors",
        f"{seconds:.0f} s, {peak:.2f} GiB", f"at most {SECONDS} s, {GIBIBYTES} GiB",
        seconds <= SECONDS and peak <= GIBIBYTES,
    )  # fmt: skip


def main() -> None:
    warnings.filterwarnings("ignore")
    # First: a process that is started begins with the peak of the one that starts it.
    met = [large()]
    # What is imported on the first call costs neither.
    x, y, contributor, _ = made(300)
    audited(x, y, contributor, compare=True)
    for score in ALTERNATIVES.values():
        timed(score, x, y)
    met += [beside_cleanlab(n) for n in SIZES]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()

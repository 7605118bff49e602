"""`python bench/audit.py`: what an audit costs beside Datalab with the same network, and on a large table.

CPU seconds of this process, one thread: `anml.audit(compare=False)` with ten contributors, against a
cross-fit of the same network, whose predictions and the features go to cleanlab's Datalab.
"""

import subprocess
import sys
import time
import warnings

import numpy as np
import pandas as pd

import anml
from anml.core.checks import Bools, Floats, Ints
from anml.core.profile import PROFILES
from anml.core.stats import standardise
from anml.networks.crossfit import cross_fit
from anml.networks.mlp import softmax
from anml.networks.threads import limit_threads
from bench import row

# Rows, and the most that an audit may cost in units of Datalab's cost.
SIZES, MOST = (1_000, 10_000, 50_000), 1.0
# A large table, with the most CPU seconds and GiB that it may take.
LARGE, SECONDS, GIBIBYTES = (200_000, 54, 7, 50), 90, 1.5


def made(n: int, width: int = 20, classes: int = 3, people: int = 10) -> tuple[Floats, Ints, Ints, Bools]:
    """Clouds of normal samples; one in twenty labels is wrong, and every other one of one contributor."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(classes, width)) * 1.2 / np.sqrt(width / 8)
    truth, who = rng.integers(0, classes, n), rng.integers(0, people, n)
    x = rng.normal(size=(n, width)) + centres[truth]
    wrong = (rng.uniform(size=n) < 0.05) | ((who == 0) & (rng.uniform(size=n) < 0.5))
    y = np.where(wrong, (truth + rng.integers(1, classes, n)) % classes, truth)
    return x, y, who, wrong


def audited(x: Floats, y: Ints, who: Ints, *, compare: bool = False) -> tuple[float, Floats]:
    """CPU seconds of an audit, and what it believes of each label."""
    frame = pd.DataFrame(x, columns=[f"x{i}" for i in range(x.shape[1])]).assign(label=y, who=who)
    start = time.process_time()
    found = anml.audit(frame, label="label", contributor="who", evaluate=compare)
    return time.process_time() - start, found.samples["p_correct"].to_numpy()


def by_datalab(x: Floats, y: Ints) -> tuple[float, Floats]:
    """CPU seconds of a cross-fit and Datalab's checks, and its score of each label."""
    from cleanlab import Datalab

    start = time.process_time()
    inputs, classes = standardise(x), int(y.max()) + 1
    with limit_threads(1):
        fit = cross_fit(inputs, y, "classification", classes, None, PROFILES["default"], 0)
        lab = Datalab({"label": y}, label_name="label", verbosity=0)
        lab.find_issues(features=x, pred_probs=softmax(fit.held_out))
    return time.process_time() - start, lab.get_issues("label")["label_score"].to_numpy()


def beside_datalab(n: int) -> bool:
    """The whole job at one size."""
    from sklearn.metrics import average_precision_score

    x, y, who, wrong = made(n)
    ours, believed = audited(x, y, who)
    both, _ = audited(x, y, who, compare=True)
    theirs, score = by_datalab(x, y)
    precision = [average_precision_score(wrong, -values) for values in (believed, score)]
    met = row(
        f"audit vs Datalab with the same network, {n:,} x 20 (AP {precision[0]:.3f}, {precision[1]:.3f})",
        f"{ours / theirs:.2f}x ({ours:.1f} s, {theirs:.1f} s)", f"at most {MOST}x", ours / theirs <= MOST,
    )  # fmt: skip
    return met & row(
        f"the comparison vs the audit, {n:,} x 20",
        f"{both / ours - 1:.2f}x", "at most 1x", both / ours - 1 <= 1,
    )  # fmt: skip


def large() -> bool:
    """CPU seconds and peak memory of a large table, in a process of its own."""
    code = (
        "import audit, resource\n"
        f"x, y, who, _ = audit.made(*{LARGE})\n"
        "print(audit.audited(x, y, who)[0], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)"
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
    x, y, who, _ = made(300)
    audited(x, y, who, compare=True)
    by_datalab(x, y)
    met += [beside_datalab(n) for n in SIZES]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()

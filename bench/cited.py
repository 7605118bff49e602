"""Aggregation and values beside other packages, on the same input, in one run.

    python bench/cited.py            # both
    python bench/cited.py values     # one

Aggregation: 100 clients x 1,000,000 parameters in single precision. Values: Shapley of 20 contributors on
Digits, at the same number of utility evaluations, and against all 2^10 coalitions of ten. Times are the
best of some runs in one process; flwr, byzfl and pydvl are compared where they are installed.
"""

import gc
import importlib.util
import os
import resource
import sys
import time
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
# Experiments and tests are no part of the package that is installed.
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]
CLIENTS, PARAMETERS, F = 100, 1_000_000, 20
EVALUATIONS = 1_000


def best(run, times=3):
    """Seconds of the fastest run, and what it gave."""
    results = []
    for _ in range(times):
        gc.collect()
        start = time.perf_counter()
        result = run()
        results.append(time.perf_counter() - start)
    return min(results), result


def peak():
    """Most memory that the process has had, in GiB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def installed(name):
    return importlib.util.find_spec(name) is not None


def aggregation():
    from anml.federated.client_krum import krum, multi_krum
    from anml.federated.rules import bulyan, median, trimmed_mean

    updates = np.random.default_rng(0).standard_normal((CLIENTS, PARAMETERS), dtype=np.float32)
    print(f"updates: {updates.nbytes / 2**30:.2f} GiB; memory so far {peak():.2f} GiB")
    ours = {
        "krum": lambda: krum(updates, F),
        "multi-krum": lambda: multi_krum(updates, F),
        "median": lambda: median(updates),
        "trimmed mean": lambda: trimmed_mean(updates, F),
        "bulyan": lambda: bulyan(updates, F),
    }
    times = {name: {"anml": best(run)[0]} for name, run in ours.items()}
    print(f"memory after ours {peak():.2f} GiB")
    if installed("byzfl"):
        _byzfl(updates, times)
    if installed("flwr"):
        _flower(updates, times)
    columns = ["anml", "ByzFL numpy", "ByzFL torch", "Flower", "Flower, older"]
    print(f"{'seconds':<14}" + "".join(f"{name:>15}" for name in columns))
    for name, result in times.items():
        cells = [f"{result[column]:.2f}" if column in result else "" for column in columns]
        print(f"{name:<14}" + "".join(f"{cell:>15}" for cell in cells))
    print(f"memory at the end {peak():.2f} GiB")


def _byzfl(updates, times):
    import torch

    from other_packages import byzfl_aggregators

    rules = byzfl_aggregators()
    theirs = {
        "krum": rules.Krum(F), "multi-krum": rules.MultiKrum(F), "median": rules.Median(),
        "trimmed mean": rules.TrMean(F),
    }  # fmt: skip
    for name, rule in theirs.items():
        times[name]["ByzFL torch"] = best(lambda rule=rule: rule(torch.as_tensor(updates)), 1)[0]
        times[name]["ByzFL numpy"] = best(lambda rule=rule: rule(updates), 1)[0]


def _flower(updates, times):
    from flwr.app import Array, ArrayRecord, MetricRecord, RecordDict
    from flwr.server.strategy import aggregate
    from flwr.serverapp.strategy import bulyan, multikrum

    older = [([row], 1) for row in updates]
    times["median"]["Flower, older"] = best(lambda: aggregate.aggregate_median(older), 1)[0]
    times["trimmed mean"]["Flower, older"] = best(
        lambda: aggregate.aggregate_trimmed_avg(older, F / CLIENTS), 1
    )[0]
    records = [
        RecordDict(
            {"arrays": ArrayRecord({"flat": Array(row)}), "metrics": MetricRecord({"num-examples": 1})}
        )
        for row in updates
    ]
    times["krum"]["Flower"] = best(lambda: multikrum.select_multikrum(records, F, 1), 1)[0]
    times["multi-krum"]["Flower"] = best(lambda: multikrum.select_multikrum(records, F, CLIENTS - F), 1)[0]
    times["bulyan"]["Flower"] = best(lambda: _flowers_bulyan(records, bulyan, multikrum), 1)[0]


def _flowers_bulyan(records, bulyan, multikrum):
    """Run Flower's Bulyan strategy on the arrays of the replies."""
    theta = CLIENTS - 2 * F
    chosen = multikrum.select_multikrum(records, F, theta)
    rows = [content["arrays"].to_numpy_ndarrays() for content in chosen]
    middle = [np.median(arrays, axis=0) for arrays in zip(*rows, strict=True)]
    return bulyan.aggregate_n_closest_weights(middle, rows, theta - 2 * F)


def values():
    from sklearn.linear_model import RidgeClassifier

    from anml.attribution.models import accuracy, linear_utility
    from anml.attribution.row_ownership import parts_of
    from anml.attribution.semivalues import shapley as shapley_by_regression
    from experiments.cases import make_case
    from experiments.spec import Setting
    from experiments.valuation.data_shapley import shapley

    def game(contributors):
        case = make_case(Setting(dataset="digits", contributors=contributors), 0, 0)
        inputs, truth = case.seen, case.truth
        parts = parts_of([f"{code:03d}" for code in inputs.contributor])
        utility = linear_utility(
            inputs.x, inputs.y, parts, truth.x_test, truth.y_test, classes=10, metric=accuracy
        )
        return case, utility

    case, utility = game(20)
    for name, way in (("orders", shapley), ("regression", shapley_by_regression)):
        seconds, result = best(lambda way=way: way(utility, 20, n_evaluations=EVALUATIONS))
        print(f"anml, {name}: {result.evaluations} coalitions of 20 in {seconds:.3f} s")
        ours = seconds / result.evaluations
    if installed("pydvl"):
        seconds, count = _pydvl(case, RidgeClassifier(alpha=1.0))
        print(f"pyDVL, the same model in scikit-learn: {count} coalitions in {seconds:.1f} s")
        each = seconds / count
        print(f"per coalition: {1e3 * ours:.3f} ms against {1e3 * each:.2f} ms: {each / ours:.0f} times")
    _, small = game(10)
    seconds, exact = best(lambda: shapley(small, 10))
    print(f"anml, exact: all {exact.evaluations} coalitions of 10 in {seconds:.3f} s")
    for budget in (500, 900):
        result = shapley_by_regression(small, 10, n_evaluations=budget)
        off = np.abs(result.value - exact.value)
        limit = 100 * off.max() / exact.value.sum()
        length = 100 * np.linalg.norm(off) / np.linalg.norm(exact.value)
        print(f"  {result.evaluations} coalitions: off by {limit:.2f}% of the total, {length:.2f}% in length")


def _pydvl(case, model):
    """Its permutation Shapley of grouped data, in one process, until as many coalitions were evaluated."""
    from other_packages import pydvl_methods

    package = pydvl_methods()
    from pydvl.valuation.dataset import GroupedDataset
    from pydvl.valuation.scorers import SupervisedScorer

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train = GroupedDataset(case.seen.x, case.seen.y, data_groups=case.seen.contributor)
        test = package.Dataset(case.truth.x_test, case.truth.y_test)
        scorer = SupervisedScorer("accuracy", test, default=0.0, range=(0, 1))
        counted = {"n": 0}

        class Counting(type(model)):
            def fit(self, x, y):
                counted["n"] += 1
                return super().fit(x, y)

        worth = package.ModelUtility(
            Counting(alpha=model.alpha), scorer, catch_errors=True, show_warnings=False
        )
        sampler = package.PermutationSampler(package.NoTruncation(), seed=0)
        orders = EVALUATIONS // 20
        method = package.ShapleyValuation(worth, sampler, is_done=package.MinUpdates(orders), progress=False)
        start = time.perf_counter()
        method.fit(train)
        return time.perf_counter() - start, counted["n"]


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "2")
    for name in sys.argv[1:] or ["aggregation", "values"]:
        print(f"## {name}")
        {"aggregation": aggregation, "values": values}[name]()

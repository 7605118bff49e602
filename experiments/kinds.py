"""Kinds of experiments: what makes their rows, on which data sets, beside whom, with which metrics."""

from collections.abc import Callable, Collection, Iterable
from itertools import product
from typing import Any, NamedTuple

from anml.gradients.threads import limit_threads
from experiments import belief, crowds, pairs, real, relabel, reuse, trial
from experiments.bank import run as bank
from experiments.bank.conditions import CONDITIONS, make_condition
from experiments.cases import ATTACKS
from experiments.cells import missing_cells
from experiments.cited import systems as cited
from experiments.cited.trials import ATTACKS as ON_SYSTEMS
from experiments.data import CONTRIBUTED, DATASETS, cifar10n, load_contributed, load_dataset
from experiments.longitudinal import fairness, transfer
from experiments.longitudinal import simulate as longitudinal
from experiments.measures import BINS
from experiments.modules import approximate
from experiments.modules import run as modules
from experiments.modules.cases import CASES
from experiments.spec import Experiment, Found, TrialContext, random_stream, report_texts


class TrialKind(NamedTuple):
    """Kind of trial: function that makes rows in one condition, data sets, and methods other than recipes.

    Kinds with `peers` do not simulate their rows from a setting. `load` loads a data set that may not be
    there. Without `run` the networks of all trials are trained together (`experiments.trial`).
    """

    run: Callable[[TrialContext, list[str]], Found] | None
    data: Collection[str]
    peers: Collection[str] = ()
    load: Callable[[str], Any] | None = None
    attacks: Collection[str] = ATTACKS


def _modules(name: str) -> Any:
    loads = {"cifar10n": cifar10n, "covertype": lambda: load_dataset("covertype")}
    return loads.get(name.partition("-")[0], lambda: None)()


def _replayed(simulate: Callable[..., dict[str, Any]], setting: str = "dataset") -> Callable[..., Found]:
    """All ways in one scenario, which a setting names, from one simulation."""
    return lambda at, methods: simulate(
        getattr(at.setting, setting), methods, at.experiment.seed, at.trial
    ).items()


KINDS: dict[str, TrialKind] = {
    "simulated": TrialKind(None, DATASETS, load=load_dataset),
    "real": TrialKind(
        real.run_trial, CONTRIBUTED, real.PEERS,
        lambda name: load_contributed(name, random_stream(0, 0, "labels", name)),
    ),
    "crowds": TrialKind(crowds.run_trial, crowds.CROWDS, crowds.METHODS, crowds.load_crowd),
    "pairs": TrialKind(pairs.run_trial, pairs.SESSIONS, pairs.METHODS, pairs.load_pairs),
    "calibration": TrialKind(belief.run_trial, DATASETS, load=load_dataset),
    "bank": TrialKind(bank.run_trial, CONDITIONS, bank.PEERS, lambda name: make_condition(name, 0)),
    "modules": TrialKind(modules.run_trial, CASES, modules.PEERS, _modules),
    "approximations": TrialKind(approximate.run_trial, CASES, approximate.APPROXIMATIONS, _modules),
    "cited": TrialKind(
        cited.run_trial, [name for name in DATASETS if name not in ("diabetes", "friedman")], cited.PEERS,
        load_dataset, ON_SYSTEMS,
    ),
    "longitudinal": TrialKind(longitudinal.run_trial, longitudinal.SCENARIOS, longitudinal.RULES),
    "reuse": TrialKind(_replayed(reuse.simulate), reuse.SCENARIOS, reuse.DECAY_RULES),
    "shift": TrialKind(_replayed(reuse.simulate_arrival), reuse.CLOCKS, reuse.SHIFT_WAYS),
    "transfer": TrialKind(_replayed(transfer.simulate, "correlation"), ("digits",), transfer.TRANSFER_RULES),
    "fairness": TrialKind(fairness.run_trial, fairness.GROUPS, fairness.SHARING_RULES),
    "relabel": TrialKind(
        relabel.run_trial, relabel.SCENARIOS, relabel.ORDERS,
        lambda name: crowds.load_crowd(relabel.SETS[name.partition("-")[0]]),
    ),
}  # fmt: skip

# Metrics that the rows of each kind have, NaN where they are not defined.
MEASURES: dict[str, list[str]] = report_texts("measures")
# Metrics that are there only where there is something to measure: of simulated rows, and of bins of beliefs.
OF_EVIDENCE = ("calibration",)
OF_TIERS = tuple(f"kept_{tier}" for tier in trial.TIERS)
OF_TIME = ("scoring_s", "krum_s", "combine_ms", "train_s")
BINNED = ("real", "calibration")

# In words, for who reads a table of them.
MEANING = report_texts("metrics")


def metrics_of(experiment: Experiment) -> list[str]:
    """Names of the metrics that the rows of an experiment have."""
    results = list(MEASURES[experiment.kind])
    if experiment.kind == "simulated":
        if any(recipe.combine == "evidence" for recipe in experiment.methods.values()):
            results += OF_EVIDENCE
        if any(setting.scenario == "tiers" for _, setting in experiment.conditions()):
            results += OF_TIERS
        if experiment.timed:
            results += OF_TIME
    return [*results, *BINS] if experiment.kind in BINNED else results


def run_block(
    experiment: Experiment, trials: Iterable[int], dataset: str, device: str = "cpu", *,
    cells: Collection[str] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Rows of some trials on one data set: one for each condition and method, or some `cells`.

    A row has the metrics of its kind, NaN where they are not defined.
    """
    kind, rows = KINDS[experiment.kind], []
    places = list(product(trials, missing_cells(experiment, dataset, cells).items()))
    if kind.run is None:
        rows = trial.run_batch(experiment, places, device)
    else:
        for number, (key, (setting, methods)) in places:
            with limit_threads(1):
                results = list(kind.run(TrialContext(experiment, setting, number), methods))
            rows += [{"trial": number, **dict(key), "method": method, **row} for method, row in results]
    undefined = dict.fromkeys(MEASURES[experiment.kind], float("nan"))
    named = {"trial", *experiment.axes, "method", *metrics_of(experiment)}
    return [undefined | {name: value for name, value in row.items() if name in named} for row in rows]

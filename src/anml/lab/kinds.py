"""Kinds of experiments: what makes their rows, on which data sets, beside whom, with which metrics."""

from collections.abc import Callable, Collection, Iterable
from typing import Any, NamedTuple

import numpy as np

from anml.core.calibration import in_columns, reliability
from anml.gradients.threads import one_thread_for_tables, threads
from anml.lab import belief, crowds, pairs, real, relabel, reuse, trial
from anml.lab.bank import run as bank
from anml.lab.bank.conditions import CONDITIONS, make_condition
from anml.lab.cases import ATTACKS, stream
from anml.lab.cells import wanted
from anml.lab.cited import systems as cited
from anml.lab.cited.outcome import MEASURES as OF_SYSTEMS
from anml.lab.cited.trials import ATTACKS as ON_SYSTEMS
from anml.lab.contributed import CONTRIBUTED, cifar10n, load_contributed
from anml.lab.data import DATASETS, load_dataset
from anml.lab.longitudinal import simulate as longitudinal
from anml.lab.longitudinal.people import SCENARIOS
from anml.lab.modules import approximate
from anml.lab.modules import run as modules
from anml.lab.modules.cases import CASES
from anml.lab.peers import PEERS as REAL_PEERS
from anml.lab.spec import At, Experiment, Found

_BINS = tuple(in_columns(reliability(np.array([0.5]), np.array([True]))))


class TrialKind(NamedTuple):
    """What makes rows in one condition, its data sets, metrics, and the methods beside the recipes.

    Kinds with `peers` do not simulate their rows from a setting. `load` loads a data set to see whether it is
    there. Without `run` the networks of all trials are trained together (`anml.lab.trial`).
    """

    run: Callable[[At, list[str]], Found] | None
    data: Collection[str]
    metrics: tuple[str, ...]
    peers: Collection[str] = ()
    load: Callable[[str], Any] = load_dataset
    attacks: Collection[str] = ATTACKS


def _photographs(name: str) -> Any:
    return cifar10n() if name.startswith("cifar10n") else None


def _digits(name: str) -> Any:
    return load_dataset("digits")


KINDS: dict[str, TrialKind] = {
    "simulated": TrialKind(None, DATASETS, trial.MEASURES),
    "real": TrialKind(
        real.run_trial, CONTRIBUTED, (*real.MEASURES, "seconds", *_BINS), REAL_PEERS,
        lambda name: load_contributed(name, stream(0, 0, "labels", name)),
    ),
    "crowds": TrialKind(
        crowds.run_trial, crowds.CROWDS, crowds.MEASURES, crowds.METHODS, crowds.load_crowd
    ),
    "pairs": TrialKind(pairs.run_trial, pairs.SESSIONS, pairs.MEASURES, pairs.METHODS, pairs.load_pairs),
    "calibration": TrialKind(belief.run_trial, DATASETS, ("calibration", "gap", "ranking", *_BINS)),
    "bank": TrialKind(
        bank.run_trial, CONDITIONS, bank.MEASURES, bank.PEERS, lambda name: make_condition(name, 0)
    ),
    "modules": TrialKind(modules.run_trial, CASES, modules.MEASURES, modules.PEERS, _photographs),
    "approximations": TrialKind(
        approximate.run_trial, CASES, approximate.MEASURES, approximate.WAYS, _photographs
    ),
    "cited": TrialKind(
        cited.run_trial, [name for name in DATASETS if name not in ("diabetes", "friedman")], OF_SYSTEMS,
        cited.PEERS, attacks=ON_SYSTEMS,
    ),
    "longitudinal": TrialKind(
        longitudinal.run_trial, SCENARIOS, longitudinal.MEASURES, longitudinal.RULES, _digits
    ),
    "reuse": TrialKind(reuse.run_trial, reuse.SCENARIOS, reuse.MEASURES, reuse.WAYS, _digits),
    "relabel": TrialKind(
        relabel.run_trial, relabel.SCENARIOS, relabel.MEASURES, relabel.ORDERS,
        lambda name: crowds.load_crowd(relabel.SETS[name.partition("-")[0]]),
    ),
}  # fmt: skip

# Metrics of simulated rows that are there only where there is something to measure.
OF_EVIDENCE = ("calibration",)
OF_TIERS = ("kept_attacker", "kept_novice", "kept_intermediate", "kept_expert")
OF_TIME = ("scoring_s", "krum_s", "combine_ms", "train_s")

# In words, for who reads a table of them.
MEANING = {
    "error": "test error in percent, or mean absolute error where labels are numbers",
    "error_lr": "test error of a linear model in percent; of numbers, RMSE in percent of their spread",
    "error_rf": "test error of a forest in percent; of numbers, RMSE in percent of their spread",
    "right_dropped": "percent of the right labels that are not trained on",
    "wrong_kept": "percent of the wrong labels that are trained on",
    "honest_convicted": "honest contributors who are accused",
    "honest": "honest contributors",
    "honest_reliable": "honest contributors who are called reliable",
    "liars_found": "contributors of wrong labels who are accused or less reliable",
    "liars": "contributors of wrong labels",
    "liars_reliable": "contributors of wrong labels who are called reliable",
    "attack_lr": "percent of rows with the backdoor for which the linear model predicts its target",
    "attack_rf": "percent of rows with the backdoor for which the forest predicts its target",
    "consensus": "percent of the items whose likeliest class is right",
    "cover": "percent of people whose true accuracy lies in its 95% interval",
    "width": "mean width of these intervals",
    "fine": "people who are truly fine",
    "fine_accused": "of these, accused",
    "fine_reliable": "of these, called reliable",
    "bad": "people who are truly bad",
    "bad_found": "of these, accused or less reliable",
    "bad_reliable": "of these, called reliable",
    "loss": "mean log-loss of choices that were held out",
    "honest_accused": "of the honest contributors, accused",
    "few_accused": "accused on fewer than ten comparisons",
    "established": "honest judges with twenty comparisons or more",
    "established_known": "of these, called reliable or less reliable",
    "informed": "judges who choose the worse, with ten decided choices that were reliable before",
    "informed_found": "of these, accused",
    "taste_guessing": "judges with a taste of their own who are called no better than guessing",
    **{
        name: text
        for kind, does in {
            "coin": "choose by a coin",
            "first": "always choose the first",
            "reversed": "choose the worse",
            "rule": "choose by a rule that has nothing to do with the candidates",
            "taste": "choose by a taste of their own",
            "copies": "are copied by three accounts, or copy",
        }.items()
        for name, text in ((kind, f"judges who {does}"), (f"{kind}_found", f"judges accused who {does}"))
    },
    "precision": "percent of the kept labels that are right",
    "backdoor": "percent of rows with the backdoor for which the model predicts its target",
    "error_natural": "test error in percent when values of at most zero are dropped, not a told number",
    "honest_lost": "percent of the rows of honest contributors that are not trained on",
    "lr": "the rate of learning that the validation part chose",
    "harm": "percent of the weight that is on wrong labels (over time: after the turn)",
    "off": "mean distance of r from how often an account is right, of q from exact q, or of T from its truth",
    "found": "rounds until r of an account that is bad falls below that of somebody new",
    "honest_low": "percent of honest accounts' rounds, after ten, with r below that of somebody new",
    "start": "r of accounts in their first ten rounds, in percent of that of the established",
    "ranked": "chance that an honest contributor is ranked above a bad one",
    "paid_bad": "percent of all positive value or trust that goes to bad contributors",
    "kept": "percent of the labels kept",
    "rho_c": "correlation of q with v r",
    "rho_d": "how far the loss ranks bad samples last, from -1 to 1",
    "uniform_branch": "percent of trials in which the gate keeps everything",
    "krum_branch": "percent of trials in which the gate goes by q alone",
    "doubtful": "percent of trials in which the gate says that it must not be relied on",
    "calibration": "expected calibration error of p_correct",
    "gap": "mean p_correct minus the share that is right; above zero is too trusting",
    "ranking": "chance that a right label is believed more than a wrong one",
    "accuracy": "percent of the test part that is predicted right",
    "correlation": "of learned contributor quality with true accuracy",
    "ranks": "rank correlation of learned contributor quality with true accuracy",
    "seconds": "processor time",
    "answers": "answers until 99% of the items are right, in percent of the items",
    "half": "answers until half of the wrong labels are mended, in percent of the items",
    "area": "percent of the items that are right, on average over the rounds",
    "end": "percent of the items that are right after the last round",
    **{name: f"percent of the labels of {name.removeprefix('kept_')}s kept" for name in OF_TIERS},
    "scoring_s": "seconds to train the scoring model",
    "krum_s": "seconds to score by Krum",
    "combine_ms": "milliseconds to combine signals",
    "train_s": "seconds to train the final model",
    "attack": "percent of test rows with the backdoor that are given its target",
    **{f"loss_{epoch}": f"loss on test data after {epoch} epochs" for epoch in modules.LOOKS},
    "mebibytes": "what the gradients of all samples take while they are compared",
}


def metrics_of(experiment: Experiment) -> list[str]:
    """Names of the metrics that the rows of an experiment have."""
    found = list(KINDS[experiment.kind].metrics)
    if experiment.kind == "simulated":
        if any(recipe.combine == "evidence" for recipe in experiment.methods.values()):
            found += OF_EVIDENCE
        if any(setting.scenario == "tiers" for _, setting in experiment.conditions()):
            found += OF_TIERS
        if experiment.timed:
            found += OF_TIME
    return found


def run_block(
    experiment: Experiment, trials: Iterable[int], dataset: str, device: str = "cpu", *,
    cells: Collection[str] | None = None,
) -> list[dict[str, Any]]:  # fmt: skip
    """Rows of some trials on one data set: one for each condition and method, or some `cells`."""
    run = KINDS[experiment.kind].run
    if run is None:
        return trial.run_block(experiment, trials, dataset, device, cells=cells)
    rows = []
    for number in trials:
        for key, (setting, methods) in wanted(experiment, dataset, cells).items():
            with threads(1), one_thread_for_tables():
                found = list(run(At(experiment, setting, number), methods))
            rows += [{"trial": number, **dict(key), "method": method, **row} for method, row in found]
    return rows

"""Kinds of experiments: what makes their rows, on which data sets, and which metrics the rows have."""

from collections.abc import Collection

import numpy as np

from anml.core.calibration import in_columns, reliability
from anml.lab.contributed import CONTRIBUTED
from anml.lab.data import DATASETS
from anml.lab.spec import Experiment

# A module with `run_block`, loaded when needed (torch is slow to load).
KINDS = {
    "simulated": "anml.lab.trial",
    "real": "anml.lab.real",
    "calibration": "anml.lab.calibration",
}

DATA: dict[str, Collection[str]] = {"simulated": DATASETS, "real": CONTRIBUTED, "calibration": DATASETS}

_BINS = tuple(in_columns(reliability(np.array([0.5]), np.array([True]))))
_BELIEF = ("calibration", "gap", "ranking")
METRICS: dict[str, tuple[str, ...]] = {
    "simulated": (
        *("error", "precision", "kept", "rho_c", "rho_d"),
        *("uniform_branch", "doubtful", "krum_branch"),
    ),
    "real": ("accuracy", "correlation", "ranks", *_BELIEF, "seconds", *_BINS),
    "calibration": (*_BELIEF, *_BINS),
}
# Those that rows have only where there is something to measure.
OF_EVIDENCE = ("calibration",)
OF_TIERS = ("kept_attacker", "kept_novice", "kept_intermediate", "kept_expert")
OF_TIME = ("scoring_s", "krum_s", "combine_ms", "train_s")

# In words, for who reads a table of them.
MEANING = {
    "error": "test error in percent, or mean absolute error where labels are numbers",
    "precision": "percent of the kept labels that are right",
    "kept": "percent of the labels kept",
    "rho_c": "correlation of q with v r",
    "rho_d": "how far the loss ranks bad samples last, from -1 to 1",
    "uniform_branch": "percent of trials in which the gate keeps everything",
    "krum_branch": "percent of trials in which the gate goes by q alone",
    "doubtful": "percent of trials in which the gate says that it must not be relied on",
    "calibration": "expected calibration error of P(right)",
    "gap": "mean P(right) minus the share that is right; above zero is too trusting",
    "ranking": "chance that a right label is believed more than a wrong one",
    "accuracy": "percent of the test part that is predicted right",
    "correlation": "of learned contributor quality with true accuracy",
    "ranks": "rank correlation of learned contributor quality with true accuracy",
    "seconds": "processor time",
    "kept_attacker": "percent of the labels of attackers kept",
    "kept_novice": "percent of the labels of novices kept",
    "kept_intermediate": "percent of the labels of intermediates kept",
    "kept_expert": "percent of the labels of experts kept",
    "scoring_s": "seconds to train the scoring model",
    "krum_s": "seconds to score by Krum",
    "combine_ms": "milliseconds to combine signals",
    "train_s": "seconds to train the final model",
}


def metrics_of(experiment: Experiment) -> list[str]:
    """Names of the metrics that the rows of an experiment have."""
    found = list(METRICS[experiment.kind])
    if experiment.kind == "simulated":
        if any(recipe.combine == "evidence" for recipe in experiment.methods.values()):
            found += OF_EVIDENCE
        if any(setting.scenario == "tiers" for _, setting in experiment.conditions()):
            found += OF_TIERS
        if experiment.timed:
            found += OF_TIME
    return found

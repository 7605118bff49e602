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
METRICS: dict[str, tuple[str, ...]] = {
    "simulated": (
        *("error", "precision", "kept", "rho_c", "rho_d"),
        *("uniform_branch", "doubtful", "krum_branch"),
    ),
    "real": (
        *("accuracy", "correlation", "ranks", "calibration", "gap", "ranking", "seconds"),
        *_BINS,
    ),
    "calibration": ("calibration", "gap", "ranking", *_BINS),
}
# Those that rows have only where there is something to measure.
OF_EVIDENCE = ("calibration",)
OF_TIERS = ("kept_attacker", "kept_novice", "kept_intermediate", "kept_expert")
OF_TIME = ("scoring_s", "krum_s", "combine_ms", "train_s")


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

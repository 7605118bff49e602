"""Does P(right) hold in simulated data, where every wrong label is known? No final model is trained."""

from collections.abc import Iterable
from typing import Any

from anml.core.calibration import in_columns, ranking, reliability
from anml.gradients.threads import threads
from anml.lab.belief import believed
from anml.lab.cases import make_case
from anml.lab.spec import Experiment


def run_block(
    experiment: Experiment, trials: Iterable[int], dataset: str, device: str = "cpu"
) -> list[dict[str, Any]]:
    """Rows of some trials: belief against truth in bins, one row per condition."""
    rows = []
    for trial in trials:
        for key, setting in experiment.conditions():
            if setting.dataset != dataset:
                continue
            case = make_case(setting, trial, experiment.seed)
            with threads(1):
                clean = believed(setting, case)
            bins = reliability(clean, ~case.wrong)
            found = {"calibration": bins.error, "gap": bins.gap, "ranking": ranking(clean, ~case.wrong)}
            rows.append({"trial": trial, **dict(key), "method": "evidence", **found, **in_columns(bins)})
    return rows

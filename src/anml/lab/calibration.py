"""Does p_correct hold in simulated data, where every wrong label is known? No final model is trained."""

from collections.abc import Collection, Iterable
from typing import Any

from anml.core.calibration import in_columns, ranking, reliability
from anml.gradients.threads import threads
from anml.lab.belief import believed
from anml.lab.cases import make_case
from anml.lab.cells import wanted
from anml.lab.spec import Experiment


def run_block(
    experiment: Experiment,
    trials: Iterable[int],
    dataset: str,
    device: str = "cpu",
    *,
    cells: Collection[str] | None = None,
) -> list[dict[str, Any]]:
    """Rows of some trials: belief against truth in bins, one row per condition, or some `cells` of them."""
    rows = []
    chosen = wanted(experiment, dataset, cells)
    for trial in trials:
        for key, (setting, methods) in chosen.items():
            case = make_case(setting, trial, experiment.seed)
            with threads(1):
                p_correct = believed(setting, case).p_correct
            bins = reliability(p_correct, ~case.wrong)
            found: dict[str, Any] = {
                "calibration": bins.error,
                "gap": bins.gap,
                "ranking": ranking(p_correct, ~case.wrong),
            }
            found |= in_columns(bins)
            # The other recipes make no claim about labels.
            claim = [method for method in methods if experiment.methods[method].combine == "evidence"]
            rows += [{"trial": trial, **dict(key), "method": method, **found} for method in claim]
    return rows

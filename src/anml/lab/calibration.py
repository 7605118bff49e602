"""Does p_correct hold in simulated data, where every wrong label is known? No final model is trained."""

from anml.core.calibration import in_columns, ranking, reliability
from anml.lab.belief import believed
from anml.lab.block import At, Found
from anml.lab.cases import make_case


def run_trial(at: At, methods: list[str]) -> Found:
    """Belief against truth in bins."""
    case = make_case(at.setting, at.trial, at.experiment.seed)
    p_correct = believed(at.setting, case).p_correct
    bins = reliability(p_correct, ~case.wrong)
    found = {"calibration": bins.error, "gap": bins.gap, "ranking": ranking(p_correct, ~case.wrong)}
    # The other recipes make no claim about labels.
    claim = [method for method in methods if at.experiment.methods[method].combine == "evidence"]
    return [(method, {**found, **in_columns(bins)}) for method in claim]

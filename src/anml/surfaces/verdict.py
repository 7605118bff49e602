"""The verdict in words: which branch, what was kept, what would change without it."""

from anml.app.audit import Audited
from anml.app.compare import Compared, Comparison

BRANCHES = {
    "uniform": "All rows count alike",
    "blend": "Credentials and model agree, so both are used",
    "krum": "Only what the model sees is used",
    "multiplicative": "All signals are multiplied",
}


def verdict(result: Audited) -> str:
    """One line, for the terminal and the top of the report."""
    kept, rows = result.kept, result.samples.height
    parts = [f"{BRANCHES.get(result.gate.branch, result.gate.branch)} ({result.gate.reason})."]
    parts.append(
        f"Kept {kept:,} of {rows:,} rows ({kept / rows:.0%}); about {result.noise:.0%} of labels look wrong."
    )
    if result.comparison is not None:
        parts.append(_change(result.comparison))
    return " ".join(parts)


def _change(comparison: Comparison) -> str:
    uniform, only_q, chosen = comparison.ways
    said = ", ".join(
        f"{shown_error(way, comparison)} {words}"
        for way, words in ((uniform, "without anml"), (only_q, "with q alone"), (chosen, "as chosen"))
    )
    return f"Error on {comparison.on}: {said}{_significance(chosen)}."


def _significance(chosen: Compared) -> str:
    if chosen.difference is None or not (chosen.difference.low <= 0 <= chosen.difference.high):
        return ""
    return " (the difference is within chance)"


def shown_error(way: Compared, comparison: Comparison) -> str:
    """An error with its interval: per cent for classes, plain for numbers."""
    mean, low, high = way.error
    if comparison.metric == "mean absolute error":
        return f"{mean:.3g} [{low:.3g}, {high:.3g}]"
    return f"{mean:.1%} [{low:.1%}, {high:.1%}]"

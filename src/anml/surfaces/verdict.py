"""The verdict in words: which branch, what was kept, what would change without it."""

import math
from typing import NamedTuple

from anml.app.compare import Compared, Comparison
from anml.app.result import Audited

BRANCHES = {
    "uniform": "All rows count alike",
    "blend": "Credentials and model agree, so both are used",
    "krum": "Only what the model sees is used",
    "multiplicative": "All signals are multiplied",
    "doubtful": "The labels disagree too much to tell who is right",
}


class Verdict(NamedTuple):
    """What decided, what was kept, what that changes, and the errors this rests on."""

    branch: str
    kept: str
    change: str = ""
    errors: str = ""


def verdict(result: Audited) -> str:
    """One line, for the terminal and the top of the report."""
    return " ".join(part for part in verdict_parts(result) if part)


def verdict_parts(result: Audited) -> Verdict:
    """Say the same part by part; the last two are empty where nothing was compared."""
    kept, rows = result.kept, result.samples.height
    share = f"all {rows:,} rows" if kept == rows else f"{kept:,} of {rows:,} rows ({kept / rows:.0%})"
    said = Verdict(
        branch=_branch(result),
        kept=f"Kept {share}; {looks_wrong(result)} of labels look wrong.",
    )
    comparison = result.comparison
    if comparison is None:
        return said
    uniform, only_q, chosen = comparison.ways
    change = against_uniform(uniform, chosen, result.gate.branch)
    change += _against_q(only_q, chosen, result.gate.branch)
    return said._replace(change=f"{change}.", errors=_errors(comparison))


def _branch(result: Audited) -> str:
    if result.gate.branch == "evidence":
        return f"Labels are judged by {_judges(result)}: {result.gate.reason}."
    return f"{BRANCHES.get(result.gate.branch, result.gate.branch)}: {result.gate.reason}."


def _judges(result: Audited) -> str:
    """What the evidence recipe had to go by."""
    used = set(result.signals_given) & set(result.policy.recipe.use)
    judges = ["held-out predictions"] if result.columns.features or "predictions" in result.data else []
    judges += ["other labels of the same item"] if result.items is not None else []
    judges += ["credentials"] if used & {"v", "r", "t"} else []
    judges += ["what is known of their contributors"] if not result.contributors.is_empty() else []
    *rest, last = judges or ["how usual they are"]
    return f"{', '.join(rest)} and {last}" if rest else last


def wrong_share(result: Audited) -> tuple[str, str]:
    """The share of labels that look wrong, and its interval."""
    mean, low, high = (f"{value:.0%}" for value in result.wrong)
    return mean, f"{low} to {high}"


def looks_wrong(result: Audited) -> str:
    """Say both in one go."""
    mean, interval = wrong_share(result)
    return f"about {mean} ({interval})"


def _errors(comparison: Comparison) -> str:
    words = ("without anml", "with q alone", "as chosen")
    said = (
        f"{shown_error(way, comparison)} {way_of}" for way, way_of in zip(comparison.ways, words, strict=True)
    )
    return f"Error on {comparison.on}: {', '.join(said)}."


def against_uniform(uniform: Compared, chosen: Compared, branch: str) -> str:
    """Say what the chosen weights do to the error, against training on all rows alike."""
    if branch == "uniform":
        return "Nothing changes without anml: the chosen way is plain training"
    gap = chosen.against.get("uniform")
    if gap is None or gap.low <= 0 <= gap.high:
        return "The chosen weights make no difference beyond chance"
    if gap.mean > 0:
        return "The chosen weights make it worse: plain training has the lower error"
    return f"The chosen weights lower the error{_by(uniform, chosen)}"


def _by(uniform: Compared, chosen: Compared) -> str:
    cut = 1 - chosen.error.mean / uniform.error.mean if uniform.error.mean > 0 else math.nan
    return f" by {cut:.0%}" if math.isfinite(cut) and round(cut, 2) > 0 else ""


def advice(comparison: Comparison, branch: str) -> str:
    """Say what to try where the chosen way did worse than a simpler one; empty where it did not."""
    _, only_q, chosen = comparison.ways
    if branch != "uniform" and chosen.against["uniform"].low > 0:
        return "Training on all rows alike did better here: try the recipe “uniform”, or keep more rows."
    if branch == "krum" and q_alone_wins(only_q, chosen):
        return "q without freshness did better here: try a longer half-life, and look at the ages below."
    if q_alone_wins(only_q, chosen):
        return "q alone did better here: try the recipe “krum”, and look at the credentials below."
    return ""


def _against_q(only_q: Compared, chosen: Compared, branch: str) -> str:
    if branch == "krum" and math.isclose(only_q.error.mean, chosen.error.mean):
        return ", and they are q alone"
    if chosen.error.mean <= only_q.error.mean:
        return ""
    if q_alone_wins(only_q, chosen):
        return ", but q alone does better"
    return "; with q alone it is a little lower"


def q_alone_wins(only_q: Compared, chosen: Compared) -> bool:
    """Whether q alone is better beyond chance, on the same rows."""
    return chosen.against[only_q.name].low > 0


def shown_error(way: Compared, comparison: Comparison) -> str:
    """Write an error with its interval: per cent for classes, plain for numbers."""
    mean, low, high = way.error
    if comparison.metric == "mean absolute error" and not math.isfinite(low):
        return f"{mean:.3g}"
    if comparison.metric == "mean absolute error":
        return f"{mean:.3g} [{low:.3g}, {high:.3g}]"
    return f"{mean:.1%} [{low:.1%}, {high:.1%}]"

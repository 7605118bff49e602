"""What was decided and what that changes, in words: the branch, what was kept, the error with and without."""

import math
from typing import NamedTuple

from anml.app.audit.compare import Comparison, Way
from anml.app.audit.result import Audited
from anml.core.domain import PREFERENCE
from anml.core.words import listed
from anml.surfaces.accused import kind_of, noun
from anml.surfaces.todo import reason_for_doubt, sampled

BRANCHES = {
    "uniform": "All rows count alike",
    "blend": "Credentials and model agree, so both are used",
    "krum": "Only what the model sees is used",
    "multiplicative": "All signals are multiplied",
    "doubtful": "The labels disagree too much to tell who is right",
}


class Change(NamedTuple):
    """What weighing the rows changes: one figure, what it counts, sentences, and the two errors to draw."""

    headline: str
    metric: str
    said: list[str]
    # Name, value and interval as text, and length up to 1.
    bars: list[tuple[str, str, str, float]]

    def __str__(self) -> str:
        figure = f"{self.headline}, {self.metric}." if self.metric else ""
        return " ".join(part for part in (figure, *self.said) if part)


def change_of(result: Audited) -> Change:
    """What would be different without anml."""
    comparison = result.comparison
    if comparison is None:
        return Change("Not measured", "", [_why_not(result)], [])
    uniform, chosen = comparison.ways[0], comparison.ways[-1]
    metric = "wrong predictions" if result.task == "classification" else "mean absolute error"
    where = "test data" if comparison.on == "test data" else "held-out rows"
    said = [f"{against_uniform(uniform, chosen, result.gate.branch)}."]
    if comparison.on != "test data":
        said.append("Counted against the labels as given, wrong ones included; real errors differ.")
        if reason_for_doubt(result):
            said.append("As the result is doubtful, do not quote this figure.")
    if result.gate.branch != "uniform" and chosen.against["uniform"].low > 0:
        said.append(
            "Training on all rows alike did better here: try the recipe “uniform”, or keep more rows."
        )
    most = max(uniform.error.mean, chosen.error.mean) or 1.0
    bars = [
        (name, *shown_error(way, comparison), way.error.mean / most)
        for name, way in (("without anml", uniform), ("with anml", chosen))
    ]
    return Change(f"{bars[0][1]} → {bars[1][1]}", f"{metric} on {where}", said, bars)


def _why_not(result: Audited) -> str:
    if sampled(result):
        return "Models are not compared where rows are judged slice by slice."
    if result.shape is not None:
        return f"No model is trained here: {noun(result)}s and people are judged."
    if not result.columns.features and "embeddings" not in result.data:
        rest = "labels and predictions" if "predictions" in result.data else "labels"
        return f"There are no features to train a model on, only {rest}."
    return "No model was trained with and without: the comparison was switched off."


def decided(result: Audited) -> list[str]:
    """How it was decided, and how many rows were kept."""
    kept, rows = result.kept, result.samples.height
    if sampled(result):
        kept, rows = result.data["kept"], result.data["rows"]
    share = f"all {rows:,} rows" if kept == rows else f"{kept:,} of {rows:,} rows ({kept / rows:.0%})"
    judged = result.gate.branch == "evidence"
    how = (
        f"{noun(result).capitalize()}s are judged by {_judges(result)}"
        if judged
        else BRANCHES.get(result.gate.branch, result.gate.branch)
    )
    choices = "choices were made without looking"
    wrong = choices if kind_of(result) == PREFERENCE else f"{noun(result)}s look wrong"
    # The reason is a sentence of ours, and of labels.
    reason = result.gate.reason if result.shape is None else result.gate.reason.replace("label", noun(result))
    return [f"{how}: {reason}.", f"Kept {share}; {looks_wrong(result)} of {wrong}."]


def _judges(result: Audited) -> str:
    """What the evidence recipe had to go by."""
    used = set(result.signals_given) & set(result.policy.recipe.use)
    judges = ["held-out predictions"] if result.columns.features or "predictions" in result.data else []
    judges += [f"other {noun(result)}s of the same item"] if result.items is not None else []
    judges += ["credentials"] if used & {"v", "r", "t"} else []
    judges += ["what is known of their contributors"] if not result.contributors.is_empty() else []
    return listed(judges or ["how usual they are"])


def looks_wrong(result: Audited) -> str:
    """The share of labels that look wrong, with its interval; of a run slice by slice there is none."""
    mean, low, high = result.wrong
    interval = f" ({low:.0%} to {high:.0%})" if math.isfinite(low) and math.isfinite(high) else ""
    return f"about {mean:.0%}{interval}"


def against_uniform(uniform: Way, chosen: Way, branch: str) -> str:
    """Say what the chosen weights do to the error, against training on all rows alike."""
    if branch == "uniform":
        return "Nothing changes: all rows count alike"
    gap = chosen.against.get("uniform")
    if gap is None or gap.low <= 0 <= gap.high:
        return "Weighing the rows makes no difference beyond chance"
    if gap.mean > 0:
        return "Weighing the rows makes it worse"
    cut = 1 - chosen.error.mean / uniform.error.mean if uniform.error.mean > 0 else math.nan
    by = f" by {cut:.0%}" if math.isfinite(cut) and round(cut, 2) > 0 else ""
    return f"Weighing the rows lowers the error{by}"


def shown_error(way: Way, comparison: Comparison) -> tuple[str, str]:
    """An error and its interval: per cent for classes, plain for numbers; none of a mean of one value."""
    form = ".3g" if comparison.metric == "mean absolute error" else ".1%"
    mean, low, high = (format(value, form) for value in way.error)
    return mean, f"{low}–{high}" if math.isfinite(way.error.low) else ""

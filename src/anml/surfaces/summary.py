"""What every surface begins with: what to know first, who, what to do, what was decided and changes."""

import math
from typing import NamedTuple

import polars as pl

from anml.app.audit.compare import Comparison, Way
from anml.app.audit.result import Audited
from anml.core.domain import PREFERENCE
from anml.core.people.consensus import CLEAR
from anml.core.people.words import ACCUSED, LESS
from anml.core.words import counted, listed
from anml.surfaces.accused import NAME, Sentence, noun, who
from anml.surfaces.names import names_listed, shortened

LONGEST = 400
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
        if result.doubtful is not None:
            said.append("As the result is doubtful, do not quote this figure.")
    if result.gate.branch != "uniform" and chosen.against["uniform"].low > 0:
        better = "Training on all rows alike did better here"
        said.append(f"{better}: try the recipe “uniform”, or keep more rows.")
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
    how = BRANCHES.get(result.gate.branch, result.gate.branch)
    if result.gate.branch == "evidence":
        used = set(result.signals_given) & set(result.policy.recipe.use)
        judges = {
            "held-out predictions": result.columns.features or "predictions" in result.data,
            f"other {noun(result)}s of the same item": result.items is not None,
            "credentials": used & {"v", "r", "t"},
            "what is known of their contributors": not result.contributors.is_empty(),
        }
        named = [judge for judge, asked in judges.items() if asked]
        how = f"{noun(result).capitalize()}s are judged by {listed(named or ['how usual they are'])}"
    choices = "choices were made without looking"
    wrong = choices if result.kind == PREFERENCE else f"{noun(result)}s look wrong"
    # The reason is a sentence of ours, and of labels.
    reason = result.gate.reason if result.shape is None else result.gate.reason.replace("label", noun(result))
    return [f"{how}: {reason}.", f"Kept {share}; {looks_wrong(result)} of {wrong}."]


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


class Gain(NamedTuple):
    """Items in the queue, how many of their labels are expected to be wrong, and shares before and after."""

    rows: int
    wrong: float
    before: float
    after: float


def todo(result: Audited) -> list[str]:
    """What to do, most useful first, in sentences."""
    if result.doubtful is not None:
        needed = _needed(result) or "right labels for some rows of both sides"
        until = "Until then, do not drop, relabel or pay by this result."
        return [f"Get {needed}: that would settle it.", until]
    said = []
    if accused := result.judged(*ACCUSED):
        them = names_listed(accused, NAME)
        said.append(f"Talk to {them}, with examples of their rows; hold back new items until then.")
    if less := result.judged(LESS):
        said.append(f"Show {names_listed(less, NAME)} which of their labels look wrong.")
    said.append(_checks(result))
    if needed := _needed(result):
        said.append(f"To judge those left open, get {needed}.")
    return said


def gain(result: Audited) -> Gain:
    """What working through the queue is expected to gain; counts are of all rows judged."""
    first = result.queue
    # Of a run slice by slice the rows at hand are a sample.
    factor = result.data["rows"] / result.samples.height if sampled(result) else 1.0
    before, after = first.expected / first.units, (first.expected - first.gain) / first.units
    return Gain(round(first.candidates * factor), first.gain * factor, before, after)


def sampled(result: Audited) -> bool:
    """Whether the rows at hand are a sample of those that were judged."""
    return "kept" in result.data


def reason_for_doubt(doubtful: float | str) -> str:
    """Why a result must not be relied on, by the share of the rows in doubt; runs of old say it in words."""
    if isinstance(doubtful, str):
        return doubtful.rstrip(".")
    camps = f"two camps: contributors of {doubtful:.0%} of the rows contradict the others"
    return f"the labels split into {camps}, and the labels alone cannot tell which side is right"


def _checks(result: Audited) -> str:
    found = gain(result)
    what = "item" if "item" in result.samples.columns else "row"
    one = "label" if result.shape is None else "answer"
    if not found.rows:
        return f"No {what} needs a second look: every {one} is at least {CLEAR:.0%} sure, or settled."
    about = "about " if sampled(result) else ""
    if found.rows == 1:
        labels = f"its {one} may be wrong" if found.wrong < 0.5 else f"its {one} is likely to be wrong"
    elif found.wrong < 1:
        labels = "fewer than one is expected to be wrong"
    else:
        labels = f"about {found.wrong:,.0f} {'is' if round(found.wrong) == 1 else 'are'} expected to be wrong"
    before, after = _share(found.before), _share(found.after)
    mended = f"That cuts {what}s with a wrong {one} from {before} to {after}."
    if before == after:
        mended = f"After that {after} of the {what}s would still have a wrong {one}."
    return f"Check {about}{counted(found.rows, what)}: {labels}. {mended}"


def _share(share: float) -> str:
    return "under 1%" if share < 0.01 else f"about {share:.0%}"


def _needed(result: Audited) -> str:
    """What would settle what cannot be told: known labels, or more rows; empty where that is not known."""
    people = result.contributors
    if "settled_by" not in people.columns:
        return ""
    asked = people.filter(pl.col("settled_by") > 0)
    if result.kind == PREFERENCE and asked.height:
        more = counted(int(asked["settled_by"].sum()), "more comparison")
        return f"about {more} by {counted(asked.height, 'contributor')}"
    some = asked.filter(pl.col("settled_by") <= pl.col("rows"))
    few, known = asked.height - some.height, counted(int(some["settled_by"].sum()), "row")
    said = [f"known labels for about {known} of {counted(some.height, 'contributor')}"] if some.height else []
    return " and ".join([*said, *([f"more rows of {counted(few, 'contributor')}"] if few else [])])


class Summary(NamedTuple):
    """Doubt and warnings, then the answers; the same words on the page, in a terminal and in a notebook."""

    doubt: str
    warnings: list[str]
    who: list[Sentence]
    todo: list[str]
    change: Change

    def lines(self) -> list[tuple[str, str]]:
        """Each answer under its question, as plain text."""
        who, todo = " ".join(map(str, self.who)), " ".join(self.todo)
        return [("Who", who), ("What to do", todo), ("What it changes", str(self.change))]


def summary(result: Audited) -> Summary:
    """Make the answers from what an audit found."""
    doubtful = result.doubtful
    doubt = "" if doubtful is None else f"Do not rely on this result: {reason_for_doubt(doubtful)}."
    warnings = [_sentence(said) for said in result.warnings]
    return Summary(doubt, warnings, who(result), todo(result), change_of(result))


def _sentence(text: str) -> str:
    text = shortened(text, LONGEST).strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '…')) else '.'}"

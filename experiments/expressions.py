"""Figures computed from rows, as data: `{saving = ["softmax.error", "krum.error"]}`.

A reference is `method.metric`, with `@axis=value,…` where an axis does not stand where the row or claim
puts it; `*` is the row's own method, and an axis named nowhere stands at its first value. Every expression
is worked out on the means over all trials and over all but one of them in turn (the same for all methods,
which keeps pairs together): the jackknife. Of a mean or a difference of means that gives the t interval of
paired trials itself, of any other figure one like it. A trial is one split of the data: whatever shares the
split, in every condition and for every method, is excluded together.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import stats

from anml.core.checks import Floats, one_of, repr_short
from anml.core.errors import InputError
from anml.core.stats import Estimate, paired
from experiments.fields import a_number, error_context, listed, text
from experiments.spec import Experiment, label_of

Place = Mapping[str, str]
# A figure within a sentence.
FIGURE = re.compile(r"\{([^{}]+)\}")


class NoRowsError(InputError):
    """An expression has no rows: its name does not exist, or its data set was skipped."""


@dataclass(frozen=True)
class Results:
    """Rows of one experiment, ready for expressions."""

    experiment: Experiment
    rows: pl.DataFrame
    # Whether everything that may be named has rows; where an experiment was run in part, not all of it does.
    whole: bool = False

    @classmethod
    def made_up(cls, experiment: Experiment, metrics: Sequence[str]) -> "Results":
        """Two trials of everything that may be named, to see whether what is said of rows is sound."""
        places = [
            {**dict(key), "method": method}
            for key, _ in experiment.conditions()
            for method in experiment.compared or [""]
        ]
        drawn = np.random.default_rng(0).uniform(1, 2, (2, len(places), len(metrics)))
        rows = [
            {"trial": trial, **place, **dict(zip(metrics, values, strict=True))}
            for trial in range(2)
            for place, values in zip(places, drawn[trial].tolist(), strict=True)
        ]
        return cls(experiment, pl.DataFrame(rows), whole=True)

    @cached_property
    def named(self) -> dict[str, list[str]]:
        """Labels of every axis."""
        return {axis: [label_of(v) for v in values] for axis, values in self.experiment.vary.items()}

    @cached_property
    def axes(self) -> dict[str, list[str]]:
        """Labels of every axis that occur in the rows."""
        return {a: [v for v in vs if (self.rows[a] == v).any()] for a, vs in self.named.items()}

    @cached_property
    def _vectors(self) -> dict[tuple[str, ...], pl.DataFrame]:
        by = [*self.axes, "method"]
        parts = self.rows.sort(self.units).partition_by(by, as_dict=True)
        return {tuple(str(k) for k in key): frame for key, frame in parts.items()}

    @cached_property
    def units(self) -> list[str]:
        """Columns that name a trial: rows of one trial share a split and are excluded together."""
        return [name for name in ("seed", "trial") if name in self.rows.columns]

    @cached_property
    def count(self) -> int:
        """Number of trials, of all seeds."""
        return self.rows.select(self.units).n_unique()

    @cached_property
    def weights(self) -> Floats:
        """Weights of trials: all alike first, then all but one, (1 + trials, trials)."""
        trials = self.count
        but_one = (1 - np.eye(trials)) / max(trials - 1, 1)
        return np.vstack([np.full(trials, 1 / trials), but_one])

    def trials(self, reference: str, at: Place) -> Floats:
        """Per-trial values of a metric, in the order of trials."""
        method, metric, place = self._resolve(reference, at)
        key = (*(place[axis] for axis in self.axes), method)
        if key not in self._vectors:
            raise NoRowsError(f"{self.experiment.name} has no rows for {reference!r} at {place}")
        return self._vectors[key][metric].cast(pl.Float64).fill_null(np.nan).to_numpy()

    def has(self, method: str, at: Place) -> bool:
        """True if a method was run in this condition."""
        return (*(at[axis] for axis in self.axes), method) in self._vectors

    def value(self, expression: Any, at: Place) -> Floats:
        """Value of an expression on all trials (first) and on all but each."""
        if isinstance(expression, str):
            method, metric, place = self._resolve(expression, at)
            if metric in self.experiment.derived:
                return self.value(self.experiment.derived[metric], {**place, "method": method})
            return np.asarray(self.weights @ self.trials(expression, at))
        if not isinstance(expression, Mapping):
            plain = a_number("a term that is no reference and no expression", expression)
            return np.full(len(self.weights), float(plain))
        operator, terms = self._parts(expression)
        if "over" in expression:
            places = [{**at, axis: value} for axis, value in self._along(expression["over"])]
            return REDUCTIONS[operator](*[np.stack([self.value(t, p) for p in places]) for t in terms])
        if operator in PAIRED_TESTS:
            for term in terms:
                # Tests look at single trials, which only metrics have.
                if not isinstance(term, str) or split(term)[1] in self.experiment.derived:
                    raise InputError(
                        f"{operator} takes metrics of methods such as 'krum.error', got {repr_short(term)}"
                    )
            each = [self.trials(term, at) for term in terms]
            return np.array(
                [PAIRED_TESTS[operator](*(total[subset] for total in each)) for subset in self.weights > 0]
            )
        values = self._there(terms, at) if operator == "least" else [self.value(t, at) for t in terms]
        with np.errstate(divide="ignore", invalid="ignore"):
            return FORMS[operator](*values)

    def _parts(self, expression: Mapping[str, Any]) -> tuple[str, list[Any]]:
        """The operator of an expression, and as many terms as it takes."""
        operators = [key for key in expression if key not in ("methods", "once", "over")]
        if len(operators) != 1:
            raise InputError(f"an expression has one operator, got {', '.join(operators) or 'none'}")
        [operator], along = operators, "over" in expression
        if operator in REDUCTIONS and not along:
            raise InputError(
                f"{operator} goes along an axis; say which with over, one of {', '.join(self.named)}"
            )
        forms = REDUCTIONS if along else {**FORMS, **PAIRED_TESTS}
        one_of("operator along an axis" if along else "operator", operator, forms)
        given = expression[operator]
        given = [given] if along and not isinstance(given, list) else given
        terms = listed(lambda _, term: term)(operator, given)
        parameters = inspect.signature(forms[operator]).parameters.values()
        several = any(each.kind is each.VAR_POSITIONAL for each in parameters)
        if several and not terms:
            raise InputError(f"{operator} has one term or more, got none")
        if not several and len(terms) != len(parameters):
            raise InputError(
                f"{operator} has {len(parameters)} terms, got {len(terms)}: {repr_short(list(terms))}"
            )
        return operator, list(terms)

    def _along(self, over: Any) -> list[tuple[str, str]]:
        """The axis that an operator goes along, with each of its values, or some of them, that has rows."""
        if not isinstance(over, Mapping):
            over = {one_of("axis in over", text("over", over), self.named): "*"}
        if len(over) != 1:
            raise InputError(f"an operator goes along one axis, got {', '.join(over) or 'none'}")
        [(axis, values)] = over.items()
        chosen = self.labels("over", axis, values)
        there = [(axis, value) for value in self.axes[axis] if value in chosen]
        if not there:
            raise NoRowsError(f"{self.experiment.name} has no rows for any of {values}")
        return there

    def labels(self, where: str, axis: str, values: Any) -> list[str]:
        """Labels of some values of an axis, or of all that have rows (`*`)."""
        allowed = self.named[one_of(f"axis in {where}", axis, self.named)]
        if values == "*":
            return self.axes[axis]
        if not isinstance(values, list):
            raise InputError(f"{where}.{axis} must be a list of values or '*', got {repr_short(values)}")
        if not values:
            raise InputError(f"{where}.{axis} is an empty list; '*' takes every value")
        given = [repr_short(value) if isinstance(value, dict) else label_of(value) for value in values]
        return [self._known(f"value in {where}.{axis}", value, allowed) for value in given]

    def said(self, sentence: str) -> str:
        """A sentence with its figures from the rows: `{krum.error@bad=0.5}` becomes the mean there."""
        return FIGURE.sub(lambda result: f"{float(self.value(result[1], {})[0]):.3g}", sentence)

    def in_percent(self, expression: Any) -> bool:
        """True if the result of an expression is in percent."""
        if isinstance(expression, str):
            derived = self.experiment.derived.get(split(expression)[1])
            return derived is not None and self.in_percent(derived)
        if not isinstance(expression, Mapping):
            return False
        operator, terms = self._parts(expression)
        return operator in PERCENT or (operator in SAME_UNIT and self.in_percent(terms[0]))

    def _there(self, terms: Sequence[Any], at: Place) -> list[Floats]:
        """Values of the terms that have rows: not every method applies everywhere."""
        results = []
        for term in terms:
            with suppress(NoRowsError):
                results.append(self.value(term, at))
        if not results:
            raise NoRowsError(f"{self.experiment.name} has no rows for any of {terms} at {dict(at)}")
        return results

    def _resolve(self, reference: str, at: Place) -> tuple[str, str, dict[str, str]]:
        method, metric, conditions = split(reference)
        place = {axis: at.get(axis, values[0]) for axis, values in self.axes.items()}
        with error_context(f"{reference!r}"):
            if not metric:
                raise InputError("a reference is written method.metric or method.metric@axis=value")
            if method == "*" and "method" not in at:
                raise InputError("'*' stands for a row's own method, and there is none here; name a method")
            method = (
                at["method"] if method == "*" else self._known("method", method, self.experiment.compared)
            )
            metrics = [
                name for name in self.rows.columns if name not in ("seed", "trial", "method", *self.named)
            ]
            one_of("metric", metric, [*metrics, *self.experiment.derived])
            for axis, value in conditions:
                known = self.named[one_of("axis", axis, self.named)]
                place[axis] = self._known(f"value of {axis}", value, known)
        return method, metric, place

    def _known(self, what: str, name: str, known: Sequence[str]) -> str:
        return one_of(what, name, known) if self.whole else name


def split(reference: str) -> tuple[str, str, list[list[str]]]:
    """Method, metric, and axes with their values."""
    name, _, conditions = reference.partition("@")
    method, _, metric = name.strip().partition(".")
    placed = [condition.partition("=")[::2] for condition in conditions.split(",") if condition]
    return method, metric, [[part.strip() for part in each] for each in placed]


def interval(values: Floats, level: float = 0.05) -> Estimate:
    """Point and 1 - level interval of an expression's value; NaN where some choice of trials has none."""
    without = values[1:]
    if len(without) < 2 or not np.isfinite(values).all():
        return Estimate(float(values[0]), float("nan"), float("nan"))
    n = len(without)
    error = float(np.sqrt((n - 1) / n * np.square(without - without.mean()).sum()))
    half = float(stats.t.ppf(1 - level / 2, n - 1)) * (error if error > 1e-12 else 0.0)
    return Estimate(float(values[0]), float(values[0]) - half, float(values[0]) + half)


def _each_saving(a: Floats, b: Floats) -> float:
    """Mean over trials of each trial's own saving; trials in which b made no error are left out."""
    subset = b > 0
    return float(np.mean(100 * (1 - a[subset] / b[subset]))) if subset.any() else float("nan")


def _percent_of_gap(start: Floats, reached: Floats, goal: Floats) -> Floats:
    """Percent of the way from start to goal; undefined where the means are at most a point apart."""
    gone = 100 * (start - reached) / (start - goal)
    return gone if start[0] - goal[0] > 1 else np.full_like(gone, np.nan)


def _mean_defined(a: Floats) -> Floats:
    defined = np.isfinite(a)
    with np.errstate(invalid="ignore"):
        return np.asarray(np.where(defined, a, 0).sum(axis=0) / defined.sum(axis=0))


def _pearson(a: Floats, b: Floats) -> Floats:
    """Correlation over the first axis, for each choice of trials."""
    # A ratio may be infinite without some trial; its correlation is then undefined, not an error.
    with np.errstate(divide="ignore", invalid="ignore"):
        da, db = a - a.mean(axis=0), b - b.mean(axis=0)
        return np.asarray((da * db).sum(axis=0) / np.sqrt((da**2).sum(axis=0) * (db**2).sum(axis=0)))


FORMS: dict[str, Callable[..., Floats]] = {
    "minus": lambda a, b: a - b,
    "plus": lambda *terms: np.sum(terms, axis=0),
    "ratio": lambda a, b: a / b,
    # Percent of b that a saves, and percent by which a exceeds b.
    "saving": lambda a, b: 100 * (1 - a / b),
    "rise": lambda a, b: 100 * (a / b - 1),
    "percent": lambda a, b: 100 * a / b,
    # The lowest of those terms that have rows, chosen in hindsight.
    "least": lambda *terms: np.min(terms, axis=0),
    "way_gone": _percent_of_gap,
}

# Of values along an axis: `over = "bad"`, or of some of them, `over = { bad = [0.1, 0.3] }`.
REDUCTIONS: dict[str, Callable[..., Floats]] = {
    "lowest": lambda a: a.min(axis=0),
    "highest": lambda a: a.max(axis=0),
    "sum": lambda a: a.sum(axis=0),
    "mean": lambda a: a.mean(axis=0),
    # ... of those values that are defined.
    "mean_defined": _mean_defined,
    "pearson": _pearson,
}

# Of the per-trial values of plain metrics.
PAIRED_TESTS: dict[str, Callable[..., float]] = {
    "p_value": lambda a, b: paired(a, b).p,
    "cohens_d": lambda a, b: paired(a, b).d,
    "shapiro": lambda a: float(stats.shapiro(a).pvalue) if len(a) > 2 and np.ptp(a) > 0 else float("nan"),
    "each_saving": _each_saving,
}


PERCENT = ("saving", "rise", "percent", "way_gone", "each_saving")
SAME_UNIT = ("minus", "plus", "least", "lowest", "highest", "sum", "mean", "mean_defined")

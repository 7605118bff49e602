"""Are derived figures, claims and the paper's numbers sound? Asked before anything runs, of names alone.

Their forms are those of `anml.lab.expressions` and `anml.lab.claims`, which work them out on rows.
"""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.lab.claims import APART, CAUSES, KEYS, LEAST_TRIALS, LEVEL, LIMITS, REGIONS
from anml.lab.expressions import ACROSS, FIGURE, FORMS, TESTS, split
from anml.lab.fields import flag, listed, number, shown, table, text, within
from anml.lab.spec import Experiment, label_of

a_number = number(-1e15, 1e15)


@dataclass(frozen=True)
class KnownNames:
    """What references may name: methods, metrics of the rows, derived figures, axes and their labels."""

    methods: list[str]
    metrics: list[str]
    derived: Mapping[str, Any]
    axes: dict[str, list[str]]


def check_statements(experiment: Experiment, metrics: list[str]) -> None:
    """Check everything that is said about the rows, whose `metrics` are given."""
    axes = {axis: [label_of(value) for value in values] for axis, values in experiment.vary.items()}
    known = KnownNames(experiment.compared, metrics, experiment.derived, axes)
    for name in experiment.metrics:
        one_of("metric", name, metrics)
    for column in experiment.columns:
        method, _, metric = column.rpartition(".")
        with within(f"columns: {column!r}"):
            one_of("metric", metric, [*experiment.metrics, *experiment.derived])
            one_of("method", method or next(iter(experiment.compared), ""), experiment.compared)
    for name, expression in experiment.derived.items():
        with within(f"derived.{name}"):
            _derived(name, expression, known)
    for name in experiment.derived:
        _no_circle(experiment.derived[name], experiment.derived, (name,))
    if experiment.claims and experiment.trials < LEAST_TRIALS:
        raise InputError(f"claims need at least {LEAST_TRIALS} trials, got {experiment.trials}")
    for place, note in enumerate(experiment.notes, start=1):
        with within(f"note {place}"):
            _sentence(note, known)
    for place, claim in enumerate(experiment.claims, start=1):
        with within(f"claim {place}"):
            check_claim(claim, known)
    for place, printed in enumerate(experiment.paper, start=1):
        with within(f"paper {place}"):
            _printed(printed, known)


def _sentence(sentence: str, known: KnownNames) -> None:
    for reference in FIGURE.findall(sentence):
        _reference(reference, known, own=False)


def _derived(name: str, expression: Any, known: KnownNames) -> None:
    if name in known.metrics or "@" in name:
        raise InputError("a derived figure must not have the name of a metric, nor '@' in it")
    if not isinstance(expression, Mapping):
        raise InputError(
            f'it must be a table such as {{ minus = ["a.error", "b.error"] }}, got {shown(expression)}'
        )
    once = flag("once", expression.get("once", False))
    for method in listed(text)("methods", expression.get("methods", [])):
        one_of("method", method, known.methods)
    plain = {key: value for key, value in expression.items() if key not in ("once", "methods")}
    _expression(plain, known, own=not once)


def _no_circle(expression: Any, derived: Mapping[str, Any], above: tuple[str, ...]) -> None:
    """Follow references to derived figures, from those of the names `above`."""
    if isinstance(expression, Mapping):
        expression = [term for key, term in expression.items() if key not in ("once", "methods", "over")]
    if isinstance(expression, list):
        for term in expression:
            _no_circle(term, derived, above)
    elif isinstance(expression, str) and (name := split(expression)[1]) in derived:
        if name in above:
            raise InputError(f"derived.{name} is defined by itself: {' -> '.join([*above, name])}")
        _no_circle(derived[name], derived, (*above, name))


def _expression(expression: Any, known: KnownNames, *, own: bool) -> None:
    """Check one; `own` where `*` has a method to stand for."""
    if isinstance(expression, str):
        _reference(expression, known, own=own)
        return
    if not isinstance(expression, Mapping):
        a_number("a term that is no reference and no expression", expression)
        return
    over = expression.get("over")
    operators = [key for key in expression if key != "over"]
    if len(operators) != 1:
        raise InputError(f"an expression has one operator, got {', '.join(operators) or 'none'}")
    if over is not None:
        _along(over, known)
    [operator] = operators
    forms: Mapping[str, Callable[..., Any]] = ACROSS if over is not None else {**FORMS, **TESTS}
    if over is None and operator in ACROSS:
        raise InputError(
            f"{operator} goes along an axis; say which with over, one of {', '.join(known.axes)}"
        )
    form = forms[one_of("operator" if over is None else "operator along an axis", operator, forms)]
    terms = expression[operator]
    if over is not None and not isinstance(terms, list):
        terms = [terms]
    _count(operator, form, listed(lambda _, term: term)(operator, terms))
    for term in terms:
        if operator in TESTS:
            _plain(operator, term, known)
        _expression(term, known, own=own)


def _along(over: Any, known: KnownNames) -> None:
    """Check the axis of an operator, or some values of one: those of one axis."""
    if not isinstance(over, Mapping):
        one_of("axis in over", text("over", over), known.axes)
        return
    if len(over) != 1:
        raise InputError(f"an operator goes along one axis, got {', '.join(over) or 'none'}")
    _over(over, known)


def _over(over: Mapping[str, Any], known: KnownNames) -> None:
    for axis, values in over.items():
        _labels("over", axis, [] if values == "*" else values, known)
        if values == []:
            raise InputError(f"over.{axis} is an empty list; '*' takes every value")


def _count(operator: str, form: Callable[..., Any], terms: tuple[Any, ...]) -> None:
    parameters = inspect.signature(form).parameters.values()
    several = any(each.kind is each.VAR_POSITIONAL for each in parameters)
    if several and not terms:
        raise InputError(f"{operator} has one term or more, got none")
    if not several and len(terms) != len(parameters):
        raise InputError(f"{operator} has {len(parameters)} terms, got {len(terms)}: {shown(list(terms))}")


def _plain(operator: str, term: Any, known: KnownNames) -> None:
    """Tests look at single trials, which only metrics have."""
    if not isinstance(term, str) or split(term)[1] not in known.metrics:
        raise InputError(f"{operator} takes metrics of methods such as 'krum.error', got {shown(term)}")


def _reference(reference: str, known: KnownNames, *, own: bool) -> None:
    method, metric, conditions = split(reference)
    with within(f"{reference!r}"):
        if not metric:
            raise InputError("a reference is written method.metric or method.metric@axis=value")
        if method != "*":
            one_of("method", method, known.methods)
        elif not own:
            raise InputError("'*' stands for a row's own method, and there is none here; name a method")
        one_of("metric", metric, [*known.metrics, *known.derived])
        for axis, value in conditions:
            one_of(f"value of {axis}", value, known.axes[one_of("axis", axis, known.axes)])


# How many terms a claim has, and from which on they are plain numbers; `better` has two or more.
_TERMS = {"equal": (2, 2), "no_worse": (2, 2), "between": (3, 1), "at_most": (2, 1), "at_least": (2, 1)}


def check_claim(claim: Mapping[str, Any], known: KnownNames) -> None:
    """Check the shape of one claim, its margin and its limit, and the names in it."""
    for key in claim:
        one_of("key", key, (*KEYS, *REGIONS))
    forms = [key for key in claim if key in REGIONS]
    if "text" not in claim or len(forms) != 1:
        raise InputError(
            f"a claim has a text and one of {', '.join(REGIONS)}, got {', '.join(claim) or 'none'}"
        )
    for key, check in (("text", text), ("why", text), ("over", table), ("where", table)):
        if key in claim:
            check(key, claim[key])
    _sentence(claim.get("why", ""), known)
    one_of("cause", claim.get("cause", ""), CAUSES)
    one_of("apart", claim.get("apart", ""), ("", *APART))
    number(0, 1, open_low=True)("p", claim.get("p", LEVEL))
    [form] = forms
    _margin(form, claim)
    terms = listed(lambda _, term: term)(form, claim[form])
    many, first_number = _TERMS.get(form, (len(terms), len(terms)))
    if len(terms) != many or many < 2:
        raise InputError(
            f"{form} has {many if form in _TERMS else '2 or more'} terms, got {shown(list(terms))}"
        )
    for place, term in enumerate(terms):
        if place >= first_number:
            a_number(f"{form}[{place}]", term)
        else:
            _expression(term, known, own=False)
    for axis, value in claim.get("where", {}).items():
        _labels("where", axis, [value], known)
    _over(claim.get("over", {}), known)


def _margin(form: str, claim: Mapping[str, Any]) -> None:
    """What could not fail without one has a margin, and whoever sets a limit says where it comes from."""
    if form in ("equal", "no_worse"):
        if "margin" not in claim:
            raise InputError(f"{form} needs a margin: without one a claim holds because little was tried")
        number(0, np.inf, open_low=True)("margin", claim["margin"])
    elif "margin" in claim:
        raise InputError(f"a margin goes with equal and no_worse, got {form}")
    if form == "better":
        if "limit" in claim:
            raise InputError("limit goes with a limit or a margin; better has none")
    elif "limit" not in claim:
        raise InputError(
            f"{form} has a limit; say where it comes from, with limit = one of {', '.join(LIMITS)}"
        )
    else:
        one_of("limit", claim["limit"], LIMITS)


def _labels(where: str, axis: str, values: Any, known: KnownNames) -> None:
    allowed = known.axes[one_of(f"axis in {where}", axis, known.axes)]
    if not isinstance(values, list):
        raise InputError(f"{where}.{axis} must be a list of values or '*', got {shown(values)}")
    for value in values:
        label = shown(value) if isinstance(value, dict) else label_of(value)
        one_of(f"value in {where}.{axis}", label, allowed)


def _printed(printed: Mapping[str, Any], known: KnownNames) -> None:
    for key, value in printed.items():
        if key == "method":
            one_of("method", text(key, value), known.methods)
        elif key == "implied":
            flag(key, value)
        elif key in known.axes:
            _labels("paper", key, [value], known)
        else:
            one_of("key", key, ["method", "implied", *known.axes, *known.metrics, *known.derived])
            number(-np.inf, np.inf)(key, value)

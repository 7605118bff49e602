"""Are derived figures, claims and the paper's numbers sound? Asked before anything runs, of made-up rows.

Their forms are those of `experiments.expressions` and `experiments.claims`, which work them out on rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from anml.core.checks import one_of, repr_short
from anml.core.errors import InputError
from experiments.claims import (
    CAUSES,
    KEYS,
    LEAST_TRIALS,
    LEVEL,
    LIMITS,
    REGIONS,
    SEPARATE_GROUPS,
    evaluate_claim,
    evaluate_effect,
)
from experiments.expressions import Results, split
from experiments.fields import a_number, error_context, flag, listed, number, table, text
from experiments.spec import Experiment


def check_statements(experiment: Experiment, metrics: list[str]) -> None:
    """Check everything that is said about the rows, whose `metrics` are given."""
    results, derived = Results.made_up(experiment, metrics), experiment.derived
    for name in experiment.metrics:
        one_of("metric", name, metrics)
    for column in experiment.columns:
        method, _, metric = column.rpartition(".")
        with error_context(f"columns: {column!r}"):
            one_of("metric", metric, [*experiment.metrics, *derived])
            one_of("method", method or next(iter(experiment.compared), ""), experiment.compared)
    for axis in experiment.across:
        one_of("axis in across", axis, [*experiment.axes, "method"])
    for name, expression in derived.items():
        with error_context(f"derived.{name}"):
            _derived(name, expression, metrics, experiment.compared)
    for name, expression in derived.items():
        _no_circle(expression, derived, (name,))
        own = {} if expression.get("once") else {"method": next(iter(experiment.compared), "")}
        with error_context(f"derived.{name}"):
            results.value(expression, own)
    if experiment.claims and experiment.trials * len(experiment.draws) < LEAST_TRIALS:
        raise InputError(f"claims need at least {LEAST_TRIALS} trials, got {experiment.trials}")
    if experiment.headline:
        with error_context("headline"):
            check_headline(experiment.headline, results)
    for place, effect in enumerate(experiment.effects, start=1):
        with error_context(f"effect {place}"):
            check_effect(effect, results)
    for what, sentences in (("note", experiment.notes), ("finding", experiment.findings)):
        for place, sentence in enumerate(sentences, start=1):
            with error_context(f"{what} {place}"):
                results.said(sentence)
    for place, claim in enumerate(experiment.claims, start=1):
        with error_context(f"claim {place}"):
            check_claim(claim, results)
    for place, printed in enumerate(experiment.paper, start=1):
        with error_context(f"paper {place}"):
            _printed(printed, metrics, results)


def _derived(name: str, expression: Any, metrics: list[str], methods: list[str]) -> None:
    if name in metrics or "@" in name:
        raise InputError("a derived figure must not have the name of a metric, nor '@' in it")
    if not isinstance(expression, Mapping):
        raise InputError(
            f'it must be a table such as {{ minus = ["a.error", "b.error"] }}, got {repr_short(expression)}'
        )
    flag("once", expression.get("once", False))
    for method in listed(text)("methods", expression.get("methods", [])):
        one_of("method", method, methods)


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


# How many terms a claim has, and from which on they are plain numbers; `better` has two or more.
_TERMS = {"equal": (2, 2), "no_worse": (2, 2), "between": (3, 1), "at_most": (2, 1), "at_least": (2, 1)}


def check_claim(claim: Mapping[str, Any], results: Results) -> None:
    """Check the shape of one claim, its margin and its limit, and whether rows can decide it."""
    for key in claim:
        one_of("key", key, (*KEYS, *REGIONS))
    forms = [key for key in claim if key in REGIONS]
    if "text" not in claim or len(forms) != 1:
        raise InputError(
            f"a claim has a text and one of {', '.join(REGIONS)}, got {', '.join(claim) or 'none'}"
        )
    for key, sound in (("text", text), ("why", text), ("over", table), ("where", table)):
        if key in claim:
            sound(key, claim[key])
    one_of("cause", claim.get("cause", ""), CAUSES)
    one_of("apart", claim.get("apart", ""), ("", *SEPARATE_GROUPS))
    one_of("ahead", claim.get("ahead", ""), ("", "below", "above"))
    number(0, 1, open_low=True)("p", claim.get("p", LEVEL))
    [form] = forms
    _margin(form, claim)
    terms = listed(lambda _, term: term)(form, claim[form])
    large, first_number = _TERMS.get(form, (len(terms), len(terms)))
    if len(terms) != large or large < 2:
        raise InputError(
            f"{form} has {large if form in _TERMS else '2 or more'} terms, got {repr_short(list(terms))}"
        )
    for place, term in enumerate(terms[first_number:], start=first_number):
        a_number(f"{form}[{place}]", term)
    evaluate_claim(claim, results)


# Keys of a headline, and how many words its reason may have.
EFFECT, HEADLINE, MOST_WORDS = ("name", "figure", "where", "paper"), ("claim", "reason"), 8


def check_headline(headline: Mapping[str, Any], results: Results) -> None:
    """Check the main figure of an experiment: what it is, the paper's, the claim it stands for, a reason."""
    check_effect(headline, results, HEADLINE)
    for key in HEADLINE:
        text(key, headline.get(key))
    one_of("claim", headline["claim"], [claim["text"] for claim in results.experiment.claims])
    if len(headline["reason"].split()) > MOST_WORDS:
        raise InputError(f"the reason has more than {MOST_WORDS} words: {headline['reason']!r}")


def check_effect(effect: Mapping[str, Any], results: Results, more: Sequence[str] = ()) -> None:
    """Check a figure of the paper beside ours: its name, its expression, the printed number or range."""
    for key in effect:
        one_of("key", key, (*EFFECT, *more))
    text("name", effect.get("name"))
    printed = effect.get("paper")
    for place, each in enumerate(printed if isinstance(printed, list) else [printed]):
        a_number(f"paper[{place}]", each)
    table("where", effect.get("where", {}))
    evaluate_effect(effect, results)


def _margin(form: str, claim: Mapping[str, Any]) -> None:
    """Validate margins and limits: equal and no_worse need a margin, and a limit needs its source."""
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


def _printed(printed: Mapping[str, Any], metrics: list[str], results: Results) -> None:
    known = results.experiment
    for key, value in printed.items():
        if key == "method":
            one_of("method", text(key, value), known.compared)
        elif key == "implied":
            flag(key, value)
        elif key in results.named:
            results.labels("paper", key, [value])
        else:
            one_of("key", key, ["method", "implied", *known.axes, *metrics, *known.derived])
            number(-np.inf, np.inf)(key, value)

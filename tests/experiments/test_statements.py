"""Validation of claims before anything runs, by names only."""

from dataclasses import replace

import pytest

from anml.core.errors import AnmlError
from experiments.claims import REGIONS
from experiments.expressions import FORMS, PAIRED_TESTS, REDUCTIONS, Results
from experiments.kinds import metrics_of
from experiments.spec import list_experiments, parse
from experiments.statements import check_claim, check_statements

pytestmark = pytest.mark.slow

EVERY = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}
BASE = {"title": "x", "vary": {"bad": [0.1, 0.3]}, "methods": {"krum": {"like": "krum"}, "mine": {}}}
KNOWN = Results.made_up(
    parse("x", {**BASE, "derived": {"gain": {"saving": ["*.error", "krum.error"]}}}), ["error", "kept"]
)


def said(**table):
    check_statements(parse("x", {**BASE, **table}), ["error", "kept"])


@pytest.mark.parametrize("name", EVERY)
def test_everything_that_is_said_by_ours_is_sound(name):
    check_statements(EVERY[name], metrics_of(EVERY[name]))


@pytest.mark.parametrize("name", [name for name in EVERY if EVERY[name].methods])
def test_a_claim_about_a_method_that_is_gone_is_found(name):
    """An experiment that loses all its methods can keep nothing that speaks of one."""
    result = EVERY[name]
    if not result.claims and not result.derived:
        pytest.skip("it says nothing about single methods")
    with pytest.raises(AnmlError, match=r"method|'\\*'"):
        check_statements(replace(result, methods={}, peers=()), metrics_of(result))


@pytest.mark.parametrize("form", [*FORMS, *PAIRED_TESTS])
def test_every_form_is_taken_with_its_number_of_terms(form):
    large = {"way_gone": 3, "shapiro": 1}.get(form, 2)
    said(derived={"d": {form: ["krum.error", "mine.error", "krum.kept"][:large]}})
    if form not in ("plus", "least"):
        with pytest.raises(AnmlError, match=f"derived.d: {form} has {large} terms, got {large + 1}"):
            said(derived={"d": {form: ["krum.error"] * (large + 1)}})
    else:
        with pytest.raises(AnmlError, match=f"{form} has one term or more, got none"):
            said(derived={"d": {form: []}})


@pytest.mark.parametrize("form", REDUCTIONS)
def test_every_form_along_an_axis_needs_one(form):
    terms = ["krum.error", "mine.error"] if form == "pearson" else "krum.error"
    said(derived={"d": {form: terms, "over": "bad"}})
    with pytest.raises(AnmlError, match=f"{form} goes along an axis; say which with over, one of bad"):
        said(derived={"d": {form: terms}})
    with pytest.raises(AnmlError, match="unknown axis in over 'worse'"):
        said(derived={"d": {form: terms, "over": "worse"}})
    said(derived={"d": {form: terms, "over": {"bad": [0.3]}}})
    for over, says in (
        ({"bad": [0.5]}, "unknown value in over.bad '0.5'"),
        ({"bad": []}, "over.bad is an empty list"),
        ({"worse": "*"}, "unknown axis in over 'worse'"),
        ({"bad": "*", "size": "*"}, "an operator goes along one axis, got bad, size"),
        ({}, "an operator goes along one axis, got none"),
    ):
        with pytest.raises(AnmlError, match=says):
            said(derived={"d": {form: terms, "over": over}})


@pytest.mark.parametrize("form", REGIONS)
def test_every_form_of_claim_is_taken(form):
    terms = {"between": ["krum.error", 1, 2], "at_most": ["krum.error", 1], "at_least": ["krum.error", 1]}
    margin = {"margin": 1} if form in ("equal", "no_worse") else {}
    limit = {} if form == "better" else {"limit": "paper"}
    claim = {"text": "t", form: terms.get(form, ["krum.error", "mine.gain"]), **margin, **limit}
    check_claim(claim, KNOWN)
    for key in (*margin, *limit):
        with pytest.raises(AnmlError, match=f"{form} (needs a margin|has a limit)"):
            check_claim({name: value for name, value in claim.items() if name != key}, KNOWN)


@pytest.mark.parametrize("form", REGIONS)
@pytest.mark.parametrize("terms", [[], ["krum.error"], "krum.error", 7])
def test_claims_with_too_few_terms(form, terms):
    margin = {"margin": 1} if form in ("equal", "no_worse") else {}
    limit = {} if form == "better" else {"limit": "paper"}
    with pytest.raises(AnmlError, match=f"{form} (has|must be)"):
        check_claim({"text": "t", form: terms, **margin, **limit}, KNOWN)


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ({}, "a claim has a text and one of better, no_worse, equal, between, at_most, at_least, got none"),
        ({"text": "t"}, "a claim has a text and one of"),
        ({"text": "", "better": ["krum.error", 1]}, "text must be a text"),
        ({"text": "t", "better": ["krum.error", 1], "why": 7}, "why must be a text"),
        ({"text": "t", "better": ["krum.error", 1], "apart": "yes"}, "unknown apart 'yes'"),
        ({"text": "t", "better": ["krum.error", 1], "more": 1}, "unknown key 'more'"),
        ({"text": "t", "better": ["krum", 1]}, "a reference is written method.metric"),
        ({"text": "t", "better": ["*.error", 1]}, "stands for a row's own method, and there is none here"),
        ({"text": "t", "better": ["who.error", 1]}, "unknown method 'who'"),
        ({"text": "t", "better": ["krum.speed", 1]}, "unknown metric 'speed'"),
        ({"text": "t", "better": ["krum.error@bad=0.2", 1]}, "unknown value of bad '0.2'"),
        ({"text": "t", "better": ["krum.error@good=1", 1]}, "unknown axis 'good'"),
        (
            {"text": "t", "better": [None, 1]},
            "a term that is no reference and no expression must be a number",
        ),
        (
            {"text": "t", "at_most": ["krum.error", "much"], "limit": "paper"},
            r"at_most\[1\] must be a number",
        ),
        ({"text": "t", "equal": ["krum.error", 1], "margin": 0, "limit": "paper"}, "margin must lie in"),
        ({"text": "t", "at_most": ["krum.error", 1], "limit": "ours"}, "unknown limit 'ours'"),
        ({"text": "t", "at_most": ["krum.error", 1], "margin": 1, "limit": "paper"}, "a margin goes with"),
        ({"text": "t", "better": ["krum.error", 1], "limit": "paper"}, "better has none"),
        ({"text": "t", "better": ["krum.error", 1], "why": "{who.error}"}, "unknown method 'who'"),
        ({"text": "t", "better": ["krum.error", "mine.error"], "p": 0}, r"p must lie in \(0, 1\]"),
        ({"text": "t", "better": ["krum.error", 1], "over": {"bad": []}}, "over.bad is an empty list"),
        (
            {"text": "t", "better": ["krum.error", 1], "over": {"bad": 0.1}},
            "must be a list of values or '\\*'",
        ),
        (
            {"text": "t", "better": ["krum.error", 1], "over": {"bad": [0.2]}},
            "unknown value in over.bad '0.2'",
        ),
        ({"text": "t", "better": ["krum.error", 1], "where": {"good": 1}}, "unknown axis in where 'good'"),
    ],
)
def test_claims_that_cannot_be_checked(claim, says):
    with pytest.raises(AnmlError, match=says):
        check_claim(claim, KNOWN)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"metrics": ["speed"]}, "unknown metric 'speed'"),
        ({"derived": {"error": {"minus": ["krum.error", 1]}}}, "must not have the name of a metric"),
        ({"derived": {"a@b": {"minus": ["krum.error", 1]}}}, "nor '@' in it"),
        ({"derived": {"d": 7}}, "it must be a table such as"),
        ({"derived": {"d": {"minus": ["krum.d", 1]}}}, "derived.d is defined by itself: d -> d"),
        ({"derived": {"d": {"minus": ["krum.e", 1]}, "e": {"plus": ["krum.d"]}}}, "d -> e -> d"),
        ({"derived": {"d": {"minus": ["*.error", 1], "once": True}}}, "name a method"),
        ({"derived": {"d": {"minus": ["krum.error", 1], "methods": ["who"]}}}, "unknown method 'who'"),
        ({"derived": {"d": {"p_value": [{"plus": [1]}, "krum.error"]}}}, "p_value takes metrics of methods"),
        ({"trials": 9, "claims": [{"text": "t", "better": ["krum.error", 1]}]}, "at least 10 trials, got 9"),
        ({"notes": ["it makes {krum.speed} errors"]}, "note 1: 'krum.speed': unknown metric 'speed'"),
        ({"paper": [{"method": "who", "error": 1}]}, "paper 1: unknown method 'who'"),
        ({"paper": [{"method": "krum", "speed": 1}]}, "paper 1: unknown key 'speed'"),
        ({"paper": [{"method": "krum", "error": "low"}]}, "error must be a number"),
        ({"paper": [{"method": "krum", "bad": 0.2, "error": 1}]}, "unknown value in paper.bad '0.2'"),
        ({"paper": [{"method": "krum", "implied": 1, "error": 1}]}, "implied must be true or false"),
        ({"claims": [{"text": "t", "better": ["krum.error", 1]}, {"text": "t"}]}, "claim 2: a claim has"),
    ],
)
def test_what_is_said_and_is_not_sound(table, says):
    with pytest.raises(AnmlError, match=says):
        said(**table)

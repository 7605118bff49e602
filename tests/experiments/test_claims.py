"""Claims on rows worked out by hand, and every claim of ours."""

import re
from dataclasses import replace

import polars as pl
import pytest

from anml.core.errors import AnmlError
from experiments.claims import (
    BETTER,
    DIRECTION,
    DOES_NOT,
    FAILS,
    HOLDS,
    LEAST_TRIALS,
    LIMITS,
    OPEN,
    REGIONS,
    REPRODUCES,
    SEPARATE_GROUPS,
    VERDICTS,
    evaluate_claim,
    evaluate_headline,
    is_close_to_paper,
)
from experiments.door import check_experiment
from experiments.expressions import FIGURE, Results, interval
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

EVERY = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        # The difference is -6 with an interval of half a point.
        ({"better": ["mine.error", "krum.error"]}, HOLDS),
        ({"better": ["krum.error", "mine.error"]}, FAILS),
        ({"better": ["mine.error", "krum.error"], "over": {"bad": [0.1]}}, HOLDS),
        # At 0.3 both are equal: not better, and not worse.
        ({"better": ["mine.error", "krum.error"], "over": {"bad": "*"}}, FAILS),
        ({"better": ["mine.error", "krum.error"], "p": 1e-7}, HOLDS),
        ({"better": ["mine.error", "krum.error"], "p": 1e-12}, OPEN),
        ({"equal": ["mine.error", "krum.error"], "margin": 1, "where": {"bad": 0.3}}, HOLDS),
        ({"equal": ["mine.error", "krum.error"], "margin": 1}, FAILS),
        ({"equal": ["mine.error", "krum.error"], "margin": 6}, OPEN),
        ({"no_worse": ["mine.error", "krum.error"], "margin": 1, "over": {"bad": "*"}}, HOLDS),
        ({"no_worse": ["krum.error", "mine.error"], "margin": 1}, FAILS),
        ({"no_worse": ["krum.error", "mine.error"], "margin": 6}, OPEN),
        ({"no_worse": ["krum.error", "mine.error"], "margin": 7}, HOLDS),
        # mine is 6 with an interval of half a point: a limit at its mean is not met by all of it.
        ({"at_most": ["mine.error", 6.0]}, OPEN),
        ({"at_most": ["mine.error", 6.6]}, HOLDS),
        ({"at_most": ["mine.error", 5.4]}, FAILS),
        ({"at_least": ["mine.gain", 50]}, HOLDS),
        ({"between": ["mine.gain", 49, 51]}, HOLDS),
        ({"between": ["mine.gain", 51, 60]}, FAILS),
        # Outside on the side where our figure is better; the interval of mine ends half a point from 6.
        ({"between": ["mine.error", 7, 9], "ahead": "below"}, BETTER),
        ({"between": ["mine.error", 3, 5], "ahead": "below"}, FAILS),
        ({"equal": ["mine.gain", 30], "margin": 10, "ahead": "above"}, BETTER),
        ({"equal": ["mine.gain", 70], "margin": 10, "ahead": "above"}, FAILS),
        ({"between": ["mine.error", 6, 9], "ahead": "below"}, OPEN),
    ],
)
def test_claims_by_hand(results, claim, verdict):
    evaluated = evaluate_claim({"text": "t", **claim}, results)
    assert evaluated["verdict"] == verdict
    assert evaluated["detail"]


def test_too_few_trials_tell_nothing(results):
    small = Results(results.experiment, results.rows.filter(results.rows["trial"] < LEAST_TRIALS - 1))
    verdict = evaluate_claim({"text": "t", "better": ["mine.error", "krum.error"]}, small)
    assert verdict["verdict"] == OPEN
    assert verdict["detail"].startswith("9 trials are too few to say")


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ({"text": "t", "better": ["krumm.error", 1]}, "no rows for"),
        ({"text": "t", "better": ["krum.errors", 1]}, "unknown metric 'errors'"),
        ({"text": "t", "better": ["krum.error@bda=1", 1]}, "did you mean 'bad'"),
        ({"text": "t", "better": [{"rato": [1, 2]}, 1]}, "did you mean 'ratio'"),
        ({"text": "t", "better": [{"ratio": [1, 2], "minus": [1, 2]}, 1]}, "one operator"),
    ],
)
def test_what_a_claim_cannot_say(results, claim, says):
    with pytest.raises(AnmlError, match=says):
        evaluate_claim(claim, results)


@pytest.mark.parametrize("name", EVERY)
def test_every_claim_of_ours_can_fail(name):
    """It names a direction, a margin and where its limit comes from, and has trials enough."""
    experiment = EVERY[name]
    check_experiment(experiment)
    assert not experiment.claims or experiment.trials * len(experiment.draws) >= LEAST_TRIALS
    texts = [claim["text"] for claim in experiment.claims]
    assert len(set(texts)) == len(texts)
    for claim in experiment.claims:
        [form] = [form for form in claim if form in REGIONS]
        assert form == "better" or claim["limit"] in LIMITS
        assert form not in ("equal", "no_worse") or claim["margin"] > 0
        # A sentence, or the start of one: it stands in a table beside its verdict.
        assert not claim["text"].endswith(".")
        assert "\n" not in claim["text"]
        # It stands alone in the lists of what holds and what does not.
        assert not claim["text"].startswith(("...", "and "))


# A figure as one measures it: with decimals, or a share.
MEASURED = re.compile(r"(?<![\w.])\d[\d,]*(?:\.\d+%?|%)")


def figures(thing):
    """Every number in a table, as it may be written in a sentence about it."""
    if isinstance(thing, dict):
        return {n for each in (*thing, *thing.values()) for n in figures(each)}
    if isinstance(thing, list | tuple):
        return {n for each in thing for n in figures(each)}
    if isinstance(thing, str):
        return {float(n.rstrip("%").replace(",", "")) for n in re.findall(r"\d[\d,]*(?:\.\d+)?", thing)}
    return {abs(thing), 100 * abs(thing)} if isinstance(thing, int | float) else set()


@pytest.mark.parametrize("name", EVERY)
def test_what_a_page_says_of_our_rows_is_filled_from_them(name):
    """A figure in a sentence is `{krum.error}`, printed in the paper, or part of the experiment itself."""
    experiment = EVERY[name]
    own = (experiment.about, experiment.title, experiment.vary, [vars(experiment.setting)])
    claims = [{key: value for key, value in claim.items() if key != "why"} for claim in experiment.claims]
    known = figures(own) | figures([e.paper for e in list_experiments().values()]) | figures(claims)
    # What a name stands for (`cifar10n: 50,000 images`) is said of the data, not of our rows.
    notes = [note for note in experiment.notes if not re.match(r"[\w -]+: ", note)]
    for sentence in (*notes, *(claim.get("why", "") for claim in experiment.claims)):
        messages = [float(n.rstrip("%").replace(",", "")) for n in MEASURED.findall(FIGURE.sub("", sentence))]
        assert {n for n in messages if round(n, 6) not in {round(k, 6) for k in known}} == set(), sentence


@pytest.mark.parametrize("form", REGIONS)
def test_every_form_names_figures_and_says_where(results, form):
    terms = {"between": ["krum.error", 0, 99], "at_most": ["krum.error", 18], "at_least": ["krum.error", 18]}
    claim = {"text": "t", form: terms.get(form, ["mine.error", "krum.error"]), "margin": 1}
    verdict = evaluate_claim(
        {**claim, "over": {"bad": [0.1, 0.3]}, "why": "w {krum.error}", "apart": "ours"}, results
    )
    # What fails stands first.
    first = {"better": "0.3: ", "equal": "0.1: ", "at_most": "0.3: "}.get(form, "0.1: ")
    assert verdict["detail"].startswith(first)
    assert {part.split(": ")[0] for part in verdict["detail"].split("; ")} == {"0.1", "0.3"}
    assert (verdict["text"], verdict["why"], verdict["apart"]) == ("t", "w 12", "ours")


def test_a_limit_set_after_rows_were_seen_is_counted_apart(results):
    verdict = evaluate_claim({"text": "t", "at_most": ["krum.error", 20], "limit": "after"}, results)
    assert (verdict["verdict"], verdict["apart"]) == (HOLDS, "after")
    assert "after" in SEPARATE_GROUPS


def test_the_sign_between_two_figures_is_the_true_one(results):
    """Also where the claim asks for another: whoever reads it must not be misled."""
    assert evaluate_claim({"text": "t", "better": ["krum.error", "mine.error"]}, results)[
        "detail"
    ].startswith("12 > 6,")
    chain = evaluate_claim({"text": "t", "better": ["mine.error", "krum.error", 13]}, results)
    assert chain["detail"].startswith("6 < 12 < 13, difference -6 [")


def test_an_interval_is_shown_where_there_is_one(results):
    assert evaluate_claim({"text": "t", "at_most": ["krum.error", 12]}, results)["detail"].startswith("12 [")
    assert evaluate_claim({"text": "t", "at_most": ["mine.gain", 50]}, results)["detail"] == "50%"
    points = evaluate_claim({"text": "t", "better": ["mine.gain", 60]}, results)
    assert points["detail"] == "50% < 60%, difference -10"


def test_figures_that_differ_by_rounding_alone_are_the_same(results):
    nearly = {"plus": ["krum.error", 1e-15]}
    result = evaluate_claim({"text": "t", "equal": [nearly, "krum.error"], "margin": 1}, results)
    assert result["detail"] == "12 = 12, difference 0"


@pytest.mark.parametrize(
    ("claim", "asks"),
    [
        ({"better": ["mine.error", "krum.error"]}, "each below the next"),
        ({"better": ["mine.error", "krum.error"], "p": 0.01}, "each below the next, at 1 - 0.01"),
        ({"no_worse": ["mine.error", "krum.error"], "margin": 0.5}, "no worse by 0.5"),
        ({"equal": ["mine.error", "krum.error"], "margin": 2}, "equal within 2"),
        ({"at_most": ["mine.error", 3]}, "at most 3"),
        ({"at_least": ["mine.error", 3]}, "at least 3"),
        ({"between": ["mine.error", -1, 3]}, "between -1 and 3"),
    ],
)
def test_what_was_asked_is_said(results, claim, asks):
    verdict = evaluate_claim({"text": "t", "limit": "before", **claim}, results)
    assert (verdict["asks"], verdict["limit"]) == (asks, "before")


@pytest.mark.parametrize(
    ("metric", "ours", "paper", "is_near"),
    [
        ("error", 12.4, 15.4, True), ("gain_pp", 0.8, 1.7, False), ("adaptive_gain_pp", 1.3, 1.7, True),
        ("error", 12.3, 15.4, False), ("kept_expert", 97, 100, True),
        ("improvement", 53, 63, True), ("best_0_3", 74, 63, False), ("cohens_d", 1.29, 1.17, False),
        ("pearson", -0.9, -0.93, True), ("rho_d", 0.2, 0.84, False),
    ],
)  # fmt: skip
def test_near_is_in_points_for_shares_and_savings_and_a_tenth_for_the_rest(metric, ours, paper, is_near):
    assert is_close_to_paper(metric, ours, paper) is is_near


def pooled(results, *seeds):
    """The same rows under each of several seeds."""
    rows = [results.rows.with_columns(seed=pl.lit(seed)) for seed in seeds]
    return Results(results.experiment, pl.concat(rows))


def test_seeds_are_pooled_and_narrow_the_interval_as_more_trials_do(results):
    """Twelve trials of krum have variance 32 / 11, 24 have 64 / 23: ± 2.069 * sqrt(64 / 23 / 24) = .704."""
    two = pooled(results, 0, 1)
    assert (results.count, two.count) == (12, 24)
    assert interval(two.value("krum.error", {})) == pytest.approx((12, 12 - 0.704, 12 + 0.704), abs=1e-3)


def test_rows_that_share_a_split_are_excluded_together(results):
    """Two conditions of a trial are one draw: their mean has the interval of one, not of twice as many."""
    one = interval(results.value("krum.error", {"bad": "0.1"}))
    both = interval(results.value({"mean": ["krum.error"], "over": "bad"}, {}))
    # krum is 1.5 times as large on average over the two, and so is its interval.
    assert both == pytest.approx([1.5 * each for each in one])


def test_a_claim_over_many_places_has_the_worst_verdict(results):
    claim = {"text": "t", "between": ["mine.error", 5, 7], "over": {"bad": "*"}}
    assert evaluate_claim(claim, results)["verdict"] == FAILS
    assert evaluate_claim({**claim, "ahead": "above"}, results)["verdict"] == BETTER
    assert VERDICTS == (FAILS, OPEN, BETTER, HOLDS)


@pytest.mark.parametrize(
    ("figure", "paper", "claim", "verdict"),
    [
        ("mine.error", 4, {"at_most": ["mine.error", 7]}, REPRODUCES),
        ("mine.error", 2, {"at_most": ["mine.error", 7]}, DIRECTION),
        ("mine.error", [1, 4], {"at_most": ["mine.error", 7]}, REPRODUCES),
        ("mine.gain", 60, {"at_most": ["mine.error", 7]}, REPRODUCES),
        ("mine.gain", 61, {"at_most": ["mine.error", 7]}, DIRECTION),
        ("mine.error", 6, {"at_most": ["mine.error", 5]}, DOES_NOT),
        ("mine.error", 6, {"at_most": ["mine.error", 6]}, OPEN),
        ({"ratio": ["krum.error", "mine.error"]}, 2.1, {"at_most": ["mine.error", 7]}, REPRODUCES),
    ],
)
def test_an_experiment_reproduces_if_its_claim_holds_and_its_figure_is_near(
    results, figure, paper, claim, verdict
):
    """mine is 6, half of krum."""
    experiment = replace(results.experiment, claims=({"text": "main", **claim},))
    headline = {"name": "n", "figure": figure, "paper": paper, "claim": "main", "reason": "r"}
    evaluated = evaluate_headline(headline, Results(experiment, results.rows))
    assert (evaluated["verdict"], evaluated["paper"]) == (verdict, paper)


@pytest.mark.parametrize("name", list_experiments())
def test_every_experiment_of_the_paper_has_a_line_with_a_reason_of_eight_words(name):
    headline = list_experiments()[name].headline
    assert set(headline) >= {"name", "figure", "paper", "claim", "reason"}
    assert 2 <= len(headline["reason"].split()) <= 8

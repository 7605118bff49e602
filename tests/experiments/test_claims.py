"""Claims on rows worked out by hand, and every claim of ours."""

import re

import pytest

from anml.core.errors import AnmlError
from experiments.claims import (
    LEAST_TRIALS,
    LIMITS,
    REGIONS,
    SEPARATE_GROUPS,
    evaluate_claim,
    is_close_to_paper,
)
from experiments.door import check_experiment
from experiments.expressions import FIGURE, Results
from experiments.spec import list_experiments

pytestmark = pytest.mark.slow

EVERY = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        # The difference is -6 with an interval of half a point.
        ({"better": ["mine.error", "krum.error"]}, True),
        ({"better": ["krum.error", "mine.error"]}, False),
        ({"better": ["mine.error", "krum.error"], "over": {"bad": [0.1]}}, True),
        # At 0.3 both are equal: not better, and not worse.
        ({"better": ["mine.error", "krum.error"], "over": {"bad": "*"}}, False),
        ({"better": ["mine.error", "krum.error"], "p": 1e-7}, True),
        ({"better": ["mine.error", "krum.error"], "p": 1e-12}, None),
        ({"equal": ["mine.error", "krum.error"], "margin": 1, "where": {"bad": 0.3}}, True),
        ({"equal": ["mine.error", "krum.error"], "margin": 1}, False),
        ({"equal": ["mine.error", "krum.error"], "margin": 6}, None),
        ({"no_worse": ["mine.error", "krum.error"], "margin": 1, "over": {"bad": "*"}}, True),
        ({"no_worse": ["krum.error", "mine.error"], "margin": 1}, False),
        ({"no_worse": ["krum.error", "mine.error"], "margin": 6}, None),
        ({"no_worse": ["krum.error", "mine.error"], "margin": 7}, True),
        # mine is 6 with an interval of half a point: a limit at its mean is not met by all of it.
        ({"at_most": ["mine.error", 6.0]}, None),
        ({"at_most": ["mine.error", 6.6]}, True),
        ({"at_most": ["mine.error", 5.4]}, False),
        ({"at_least": ["mine.gain", 50]}, True),
        ({"between": ["mine.gain", 49, 51]}, True),
        ({"between": ["mine.gain", 51, 60]}, False),
    ],
)
def test_claims_by_hand(results, claim, holds):
    verdict = evaluate_claim({"text": "t", **claim}, results)
    assert verdict["holds"] is holds
    assert verdict["detail"]


def test_too_few_trials_tell_nothing(results):
    few = Results(results.experiment, results.rows.filter(results.rows["trial"] < LEAST_TRIALS - 1))
    verdict = evaluate_claim({"text": "t", "better": ["mine.error", "krum.error"]}, few)
    assert verdict["holds"] is None
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
    assert not experiment.claims or experiment.trials >= LEAST_TRIALS
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
        said = [float(n.rstrip("%").replace(",", "")) for n in MEASURED.findall(FIGURE.sub("", sentence))]
        assert {n for n in said if round(n, 6) not in {round(k, 6) for k in known}} == set(), sentence


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
    assert (verdict["holds"], verdict["apart"]) == (True, "after")
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
    found = evaluate_claim({"text": "t", "equal": [nearly, "krum.error"], "margin": 1}, results)
    assert found["detail"] == "12 = 12, difference 0"


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
        ("error", 12.4, 15.4, True), ("error", 12.3, 15.4, False), ("kept_expert", 97, 100, True),
        ("improvement", 53, 63, True), ("best_0_3", 74, 63, False), ("cohens_d", 1.29, 1.17, False),
        ("pearson", -0.9, -0.93, True), ("rho_d", 0.2, 0.84, False),
    ],
)  # fmt: skip
def test_near_is_in_points_for_shares_and_savings_and_a_tenth_for_the_rest(metric, ours, paper, is_near):
    assert is_close_to_paper(metric, ours, paper) is is_near

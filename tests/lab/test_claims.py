"""Claims on rows worked out by hand, and every claim of ours."""

import pytest

from anml.core.errors import AnmlError
from anml.lab.claims import CHECKS, check
from anml.lab.spec import catalogue

EVERY = {**catalogue(), **catalogue("beyond"), **catalogue("field")}


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        ({"less": ["mine.error", "krum.error"]}, True),
        ({"less": ["krum.error", "mine.error"]}, False),
        ({"less": ["mine.error", "krum.error"], "over": {"bad": "*"}}, False),
        ({"less": ["mine.error", "krum.error"], "over": {"bad": [0.1]}}, True),
        ({"less": ["mine.error", "krum.error"], "p": 0.05}, True),
        ({"less": ["mine.error", "krum.error"], "p": 0.001}, False),
        ({"same": ["mine.error", "krum.error"], "where": {"bad": 0.3}}, True),
        ({"same": ["mine.error", "krum.error"]}, False),
        ({"no_worse": ["mine.error", "krum.error"], "over": {"bad": "*"}}, True),
        ({"no_worse": ["krum.error", "mine.error"]}, False),
        ({"at_most": ["mine.error", 6.0]}, True),
        ({"at_most": ["mine.error", 5.9]}, False),
        ({"at_least": ["mine.gain", 50]}, True),
        ({"between": ["mine.gain", 49, 51]}, True),
        ({"between": ["mine.gain", 51, 60]}, False),
    ],
)
def test_claims_by_hand(results, claim, holds):
    verdict = check({"text": "t", **claim}, results)
    assert verdict.holds is holds
    assert verdict.detail


@pytest.mark.parametrize(
    ("claim", "says"),
    [
        ({"text": "t"}, "one of less"),
        ({"less": ["krum.error", 1]}, "a claim has a text"),
        ({"text": "t", "less": ["krum.error", 1], "ovr": {}}, "did you mean 'over'"),
        ({"text": "t", "less": ["krumm.error", 1]}, "no rows for"),
        ({"text": "t", "less": ["krum.errors", 1]}, "no metric 'errors'"),
        ({"text": "t", "less": ["krum.error@bda=1", 1]}, "did you mean 'bad'"),
        ({"text": "t", "less": [{"rato": [1, 2]}, 1]}, "did you mean 'ratio'"),
        ({"text": "t", "less": [{"ratio": [1, 2], "minus": [1, 2]}, 1]}, "one operator"),
    ],
)
def test_what_a_claim_cannot_say(results, claim, says):
    with pytest.raises(AnmlError, match=says):
        check(claim, results)


@pytest.mark.parametrize("name", EVERY)
def test_every_claim_of_ours_says_something_in_one_form(name):
    for claim in EVERY[name].claims:
        assert claim["text"].strip()
        assert len([form for form in claim if form in CHECKS]) == 1
        # A sentence, or the start of one: it stands in a table beside its verdict.
        assert not claim["text"].endswith(".")
        assert "\n" not in claim["text"]


@pytest.mark.parametrize("name", EVERY)
def test_no_claim_stands_twice_in_an_experiment(name):
    texts = [claim["text"] for claim in EVERY[name].claims]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize("form", CHECKS)
def test_every_form_names_figures_and_says_where(results, form):
    terms = {"between": ["krum.error", 0, 99], "less": ["mine.error", "krum.error"],
             "same": ["mine.error", "krum.error"], "no_worse": ["mine.error", "krum.error"]}  # fmt: skip
    claim = {"text": "t", form: terms.get(form, ["krum.error", 12])}
    verdict = check({**claim, "over": {"bad": [0.1, 0.3]}, "why": "w", "ours": True}, results)
    # What fails stands first.
    assert verdict.detail.startswith("0.1: " if verdict.holds or form not in ("less", "at_most") else "0.3: ")
    assert {part.split(": ")[0] for part in verdict.detail.split("; ")} == {"0.1", "0.3"}
    assert (verdict.text, verdict.why, verdict.ours) == ("t", "w", True)


def test_the_sign_between_two_figures_is_the_true_one(results):
    """Also where the claim asks for another: whoever reads it must not be misled."""
    assert check({"text": "t", "less": ["krum.error", "mine.error"]}, results).detail == "12 >= 6"
    assert check({"text": "t", "less": ["mine.error", "krum.error", 13]}, results).detail == "6 < 12 < 13"


def test_an_interval_is_shown_where_there_is_one(results):
    assert check({"text": "t", "at_most": ["krum.error", 12]}, results).detail.startswith("12 [")
    assert check({"text": "t", "at_most": ["mine.gain", 50]}, results).detail == "50"

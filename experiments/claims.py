"""Claims that can fail, written as data: each names a direction and a margin, and its interval decides.

`better = [a, b, …]`           each below the next: the whole interval of each difference lies below zero
`no_worse = [a, b]`, `margin`  the upper end of the interval of a - b lies below the margin
`equal = [a, b]`, `margin`     both ends lie within the margin
`at_most = [a, x]`, `at_least = [a, x]`, `between = [a, low, high]`: the end or ends of a's interval
Intervals are 95%, or 1 - `p`. `limit` says where a limit or margin comes from (`LIMITS`).
`apart` says why a claim is not counted with the others (`APART`).
`why` says what is known about a failure, and `cause` of which kind it is (`experiments.claims.CAUSES`).
`ahead`, `below` or `above`, names the side of the region on which our figure is better than the printed one.
`over = {axis = […]}` asks for every combination; `where = {axis = value}` puts an axis elsewhere.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from anml.core.stats import Estimate
from experiments.expressions import Place, Results, interval, split
from experiments.spec import report_texts

CAUSES, LIMITS, SEPARATE_GROUPS = report_texts("causes"), report_texts("limits"), report_texts("apart")
# The four groups of verdicts, which are never added up; a claim over many places has the first that occurs.
FAILS: Final = "does not hold"
OPEN: Final = "inconclusive"
BETTER: Final = "better than printed"
HOLDS: Final = "holds"
VERDICTS = (FAILS, OPEN, BETTER, HOLDS)
# Fewer trials decide nothing.
LEAST_TRIALS, LEVEL = 10, 0.05
# Figures that differ beyond these digits are the same.
DIGITS = 9
KEYS = ("text", "over", "where", "p", "margin", "limit", "apart", "why", "cause", "ahead")

# How near a mean must be to the paper's: in points for shares, savings and differences of shares, else a
# share of the printed.
NEAR_SHARE, NEAR_SAVING, NEAR_GAIN, NEAR_OTHER = 3.0, 10.0, 0.5, 0.1
PERCENT_METRICS = ("error", "precision", "kept", "uniform_branch", "krum_branch")
RELATIVE_METRICS = ("improvement", "each_trial", "gain", "worst_", "best_", "from_20_percent", "over_uniform")


def near_limit(metric: str, paper: float) -> float:
    """Largest distance at which a figure is near the printed one."""
    if metric.endswith("gain_pp"):
        return NEAR_GAIN
    if metric.startswith(PERCENT_METRICS):
        return NEAR_SHARE
    return NEAR_SAVING if metric.startswith(RELATIVE_METRICS) else NEAR_OTHER * abs(paper)


def is_close_to_paper(metric: str, ours: float, paper: float) -> bool:
    """True if a figure is close to the published one."""
    return abs(ours - paper) <= near_limit(metric, paper)


# What the main figure of an experiment says of it.
REPRODUCES, DIRECTION, DOES_NOT = "reproduces", "direction only", "does not"


def evaluate_headline(headline: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """Main figure of an experiment beside the paper's, and whether the experiment reproduces it.

    It does if the claim holds and the figure is near the printed one, which may be a range; only in direction
    if the claim alone holds.
    """
    effect, figure = evaluate_effect(headline, results), headline["figure"]
    ours, printed = effect["ours"], headline["paper"]
    printed = printed if isinstance(printed, list) else [printed]
    metric = "improvement" if results.in_percent(figure) else _metric(figure)
    # A figure that is not finite, such as a ratio to zero, is near nothing.
    near = ours is not None and (
        min(printed) - near_limit(metric, min(printed))
        <= ours
        <= max(printed) + near_limit(metric, max(printed))
    )
    [claim] = [each for each in results.experiment.claims if each["text"] == headline["claim"]]
    verdict = evaluate_claim(claim, results)["verdict"]
    word = {HOLDS: REPRODUCES if near else DIRECTION, BETTER: DIRECTION, FAILS: DOES_NOT, OPEN: OPEN}[verdict]
    return {**effect, "verdict": word}


def evaluate_effect(effect: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """A figure that the paper prints, with ours and its interval."""
    estimate = interval(results.value(effect["figure"], _where(effect, results)))
    figures = {"ours": estimate.mean, "low": estimate.low, "high": estimate.high}
    return {
        **effect,
        **{name: round(value, 6) if np.isfinite(value) else None for name, value in figures.items()},
    }


def _metric(figure: Any) -> str:
    """The metric whose unit an expression has: that of its first term."""
    while not isinstance(figure, str):
        terms = next(value for key, value in figure.items() if key != "over")
        figure = terms[0] if isinstance(terms, list) else terms
    return split(figure)[1]


def evaluate_claim(claim: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """Evaluate a validated claim: its `verdict`, and the figures that decide it.

    It is inconclusive if the interval lies partly inside the required region, or if there are too few trials.
    `asks` is the required region, `limit` its source.
    """
    [form] = [name for name in claim if name in REGIONS]
    entries: list[tuple[str, str]] = []
    for place in _places(claim, results):
        verdict, detail = _at(form, claim, results, place)
        label = ", ".join(str(place[axis]) for axis in claim.get("over", {}))
        entries.append((verdict, f"{label}: {detail}" if label else detail))
    enough = results.count >= LEAST_TRIALS
    # What fails is said first, then what is inconclusive.
    message = "; ".join(detail for _, detail in sorted(entries, key=lambda pair: VERDICTS.index(pair[0])))
    return {
        "text": claim["text"],
        "verdict": _first(verdict for verdict, _ in entries) if enough else OPEN,
        "detail": message if enough else f"{results.count} trials are too few to say; {message}",
        "asks": _asks(form, claim),
        "limit": claim.get("limit", ""),
        "why": results.said(claim.get("why", "")),
        "apart": claim.get("apart", "after" if claim.get("limit") == "after" else ""),
        "cause": claim.get("cause", ""),
    }


def _asks(form: str, claim: Mapping[str, Any]) -> str:
    """The region of a claim in words."""
    region, message = REGIONS[form]
    level = claim.get("p", LEVEL) if form == "better" else LEVEL
    return message.format(*region(claim)) + (f", at 1 - {level:g}" if level != LEVEL else "")


def _first(verdicts: Iterable[str]) -> str:
    """The verdict of several: that of them which is first in `VERDICTS`."""
    return min(verdicts, key=VERDICTS.index)


def _at(form: str, claim: Mapping[str, Any], results: Results, at: Place) -> tuple[str, str]:
    terms, region = claim[form], (*REGIONS[form][0](claim), claim.get("ahead", ""))
    level = claim.get("p", LEVEL)
    if form not in DIFFERENCES:
        one = interval(results.value(terms[0], at), level)
        return _verdict(one, *region), _shown(one, results.in_percent(terms[0]))
    values = [results.value(term, at) for term in terms]
    entries = [interval(a - b, level) for a, b in itertools.pairwise(values)]
    means = [round(float(value[0]), DIGITS) for value in values]
    sign = "%" if results.in_percent(terms[0]) else ""
    # The sign between two figures is the true one, whatever the claim asks for.
    message = f"{means[0]:.4g}{sign}" + "".join(
        f" {'<' if a < b else '>' if a > b else '='} {b:.4g}{sign}" for a, b in itertools.pairwise(means)
    )
    ends = ", ".join(_shown(each) for each in entries)
    return _first(_verdict(each, *region) for each in entries), f"{message}, difference {ends}"


def _verdict(result: Estimate, low: float, high: float, ahead: str) -> str:
    """Verdict on an interval that is to lie in a region, beyond which it is better on the side `ahead`."""
    first, last = round(result.low, DIGITS), round(result.high, DIGITS)
    if low <= first and last <= high:
        return HOLDS
    if last < low:
        return BETTER if ahead == "below" else FAILS
    if first > high:
        return BETTER if ahead == "above" else FAILS
    return OPEN


def _where(entry: Mapping[str, Any], results: Results) -> Place:
    return {axis: results.labels("where", axis, [value])[0] for axis, value in entry.get("where", {}).items()}


def _places(claim: Mapping[str, Any], results: Results) -> list[Place]:
    where = _where(claim, results)
    over = {axis: results.labels("over", axis, values) for axis, values in claim.get("over", {}).items()}
    return [{**where, **dict(zip(over, c, strict=True))} for c in itertools.product(*over.values())]


# Where each form asks the interval to lie: of a figure, or of the difference of each two terms in a row.
REGIONS: dict[str, tuple[Callable[[Mapping[str, Any]], tuple[float, float]], str]] = {
    "better": (lambda claim: (-np.inf, -1e-12), "each below the next"),
    "no_worse": (lambda claim: (-np.inf, claim["margin"]), "no worse by {1:g}"),
    "equal": (lambda claim: (-claim["margin"], claim["margin"]), "equal within {1:g}"),
    "between": (lambda claim: (claim["between"][1], claim["between"][2]), "between {0:g} and {1:g}"),
    "at_most": (lambda claim: (-np.inf, claim["at_most"][1]), "at most {1:g}"),
    "at_least": (lambda claim: (claim["at_least"][1], np.inf), "at least {0:g}"),
}
DIFFERENCES = ("better", "no_worse", "equal")


def _shown(result: Estimate, percent: bool = False) -> str:
    point, low, high = (round(each, DIGITS) + 0.0 for each in result)
    message = f"{point:.4g}{'%' if percent else ''}"
    if np.isnan(low):
        return f"{message}, interval unknown"
    return message if low == high else f"{message} [{low:.4g}, {high:.4g}]"

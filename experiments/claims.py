"""Claims that can fail, written as data: each names a direction and a margin, and its interval decides.

`better = [a, b, …]`           each below the next: the whole interval of each difference lies below zero
`no_worse = [a, b]`, `margin`  the upper end of the interval of a - b lies below the margin
`equal = [a, b]`, `margin`     both ends lie within the margin
`at_most = [a, x]`, `at_least = [a, x]`, `between = [a, low, high]`: the end or ends of a's interval
Intervals are 95%, or 1 - `p`. `limit` says where a limit or margin comes from (`LIMITS`).
`apart` says why a claim is not counted with the others (`APART`).
`why` says what is known about a failure, and `cause` of which kind it is (`experiments.claims.CAUSES`).
`over = {axis = […]}` asks for every combination; `where = {axis = value}` puts an axis elsewhere.
"""

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from anml.core.stats import Estimate
from experiments.expressions import Place, Results, interval
from experiments.spec import report_texts

CAUSES, LIMITS, SEPARATE_GROUPS = report_texts("causes"), report_texts("limits"), report_texts("apart")
# Fewer trials decide nothing. A claim on the edge of what it denies holds by chance this often.
LEAST_TRIALS, LEVEL = 10, 0.05
EXPECTED_BY_CHANCE = LEVEL / 2
# Figures that differ beyond these digits are the same.
DIGITS = 12
KEYS = ("text", "over", "where", "p", "margin", "limit", "apart", "why", "cause")

# How near a mean must be to the paper's: in points for shares and for savings, else a share of the printed.
NEAR_SHARE, NEAR_SAVING, NEAR_OTHER = 3.0, 10.0, 0.1
PERCENT_METRICS = ("error", "precision", "kept", "uniform_branch", "krum_branch", "gain_pp")
RELATIVE_METRICS = ("improvement", "each_trial", "gain", "worst_", "best_", "from_20_percent", "over_uniform")


def is_close_to_paper(metric: str, ours: float, paper: float) -> bool:
    """True if a figure is close to the published one."""
    if metric.startswith(PERCENT_METRICS):
        return abs(ours - paper) <= NEAR_SHARE
    return abs(ours - paper) <= (
        NEAR_SAVING if metric.startswith(RELATIVE_METRICS) else NEAR_OTHER * abs(paper)
    )


def evaluate_claim(claim: Mapping[str, Any], results: Results) -> dict[str, Any]:
    """Evaluate a validated claim: `holds`, and the figures that decide it.

    `holds` is None if the interval lies partly inside the required region, or if there are too few trials.
    `asks` is the required region, `limit` its source.
    """
    [form] = [name for name in claim if name in REGIONS]
    found: list[tuple[bool | None, str]] = []
    for place in _places(claim, results):
        holds, detail = _at(form, claim, results, place)
        label = ", ".join(str(place[axis]) for axis in claim.get("over", {}))
        found.append((holds, f"{label}: {detail}" if label else detail))
    trials = results.rows["trial"].n_unique()
    enough = trials >= LEAST_TRIALS
    # What fails is said first, then what cannot be told.
    said = "; ".join(
        detail for _, detail in sorted(found, key=lambda pair: (False, None, True).index(pair[0]))
    )
    return {
        "text": claim["text"],
        "holds": _all(holds for holds, _ in found) if enough else None,
        "detail": said if enough else f"{trials} trials are too few to say; {said}",
        "asks": _asks(form, claim),
        "limit": claim.get("limit", ""),
        "why": results.said(claim.get("why", "")),
        "apart": claim.get("apart", "after" if claim.get("limit") == "after" else ""),
        "cause": claim.get("cause", ""),
    }


def _asks(form: str, claim: Mapping[str, Any]) -> str:
    """The region of a claim in words."""
    region, said = REGIONS[form]
    level = claim.get("p", LEVEL) if form == "better" else LEVEL
    return said.format(*region(claim)) + (f", at 1 - {level:g}" if level != LEVEL else "")


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    """All hold, one is false, or it cannot be told."""
    found = set(verdicts)
    return False if False in found else None if None in found else True


def _at(form: str, claim: Mapping[str, Any], results: Results, at: Place) -> tuple[bool | None, str]:
    terms, (low, high) = claim[form], REGIONS[form][0](claim)
    level = claim.get("p", LEVEL)
    if form not in DIFFERENCES:
        one = interval(results.value(terms[0], at), level)
        return _inside(one, low, high), _shown(one, results.in_percent(terms[0]))
    values = [results.value(term, at) for term in terms]
    found = [interval(a - b, level) for a, b in itertools.pairwise(values)]
    means = [round(float(value[0]), DIGITS) for value in values]
    sign = "%" if results.in_percent(terms[0]) else ""
    # The sign between two figures is the true one, whatever the claim asks for.
    said = f"{means[0]:.4g}{sign}" + "".join(
        f" {'<' if a < b else '>' if a > b else '='} {b:.4g}{sign}" for a, b in itertools.pairwise(means)
    )
    ends = ", ".join(_shown(each) for each in found)
    return _all(_inside(each, low, high) for each in found), f"{said}, difference {ends}"


def _inside(found: Estimate, low: float, high: float) -> bool | None:
    """True if the interval lies inside a region, False if outside, None otherwise."""
    if low <= found.low and found.high <= high:
        return True
    return False if found.high < low or found.low > high else None


def _places(claim: Mapping[str, Any], results: Results) -> list[Place]:
    where = {
        axis: results.labels("where", axis, [value])[0] for axis, value in claim.get("where", {}).items()
    }
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


def _shown(found: Estimate, percent: bool = False) -> str:
    point, low, high = (round(each, DIGITS) + 0.0 for each in found)
    said = f"{point:.4g}{'%' if percent else ''}"
    if np.isnan(low):
        return f"{said}, interval unknown"
    return said if low == high else f"{said} [{low:.4g}, {high:.4g}]"

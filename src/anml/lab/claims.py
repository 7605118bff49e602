"""The paper's claims as checkable statements, written as data.

`less = [a, b, …]`       each mean below the next (with `p`, each paired t-test below it as well)
`same = [a, b]`          within noise: the 95% interval of the difference holds 0, or they are equal
`no_worse = [a, b]`      a is not above b beyond noise
`at_most = [a, x]`, `at_least = [a, x]`, `between = [a, low, high]`
`why` says what is known about a failure, and `cause` of which kind it is (`anml.lab.causes`).
`ours = true` marks a promise that is not the paper's.
`over = {axis = […]}` asks for every combination; `where = {axis = value}` puts an axis elsewhere.
"""

import itertools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from anml.core.checks import one_of
from anml.core.errors import InputError
from anml.core.stats import paired
from anml.lab.expressions import Place, Results, interval
from anml.lab.spec import label_of


class Verdict(NamedTuple):
    """A claim, whether it holds in our rows, the figures that decide it, and what is known of a failure."""

    text: str
    holds: bool
    detail: str
    why: str = ""
    ours: bool = False
    cause: str = ""


def check(claim: Mapping[str, Any], results: Results) -> Verdict:
    """Check one claim."""
    forms = [name for name in claim if name in CHECKS]
    if "text" not in claim or len(forms) != 1:
        raise InputError(f"a claim has a text and one of {', '.join(CHECKS)}, got {sorted(claim)}")
    for name in claim:
        one_of("key in a claim", name, ("text", "over", "where", "p", "why", "cause", "ours", *CHECKS))
    form, held, details = forms[0], [], []
    for place in _places(claim, results):
        holds, detail = CHECKS[form](results, claim[form], place, claim.get("p"))
        label = ", ".join(str(place[axis]) for axis in claim.get("over", {}))
        held.append(holds)
        details.append(f"{label}: {detail}" if label else detail)
    return Verdict(
        claim["text"],
        all(held),
        # What fails is said first.
        "; ".join(detail for _, detail in sorted(zip(held, details, strict=True), key=lambda pair: pair[0])),
        claim.get("why", ""),
        claim.get("ours", False),
        claim.get("cause", ""),
    )


def _places(claim: Mapping[str, Any], results: Results) -> list[Place]:
    where = {axis: label_of(value) for axis, value in claim.get("where", {}).items()}
    over = {
        axis: results.axes[axis] if values == "*" else [label_of(v) for v in values]
        for axis, values in claim.get("over", {}).items()
    }
    for axis in (*where, *over):
        one_of("axis", axis, results.axes)
    return [{**where, **dict(zip(over, c, strict=True))} for c in itertools.product(*over.values())]


def _less(results: Results, terms: list[Any], at: Place, p: float | None) -> tuple[bool, str]:
    values = [float(results.value(term, at)[0]) for term in terms]
    holds = all(a < b for a, b in itertools.pairwise(values))
    # The sign between two figures is the true one, whatever the claim asks for.
    signs = ["<" if a < b else ">=" for a, b in itertools.pairwise(values)]
    detail = f"{values[0]:.4g}" + "".join(
        f" {sign} {value:.4g}" for sign, value in zip(signs, values[1:], strict=True)
    )
    if p is None:
        return holds, detail
    found = [paired(results.trials(a, at), results.trials(b, at)).p for a, b in itertools.pairwise(terms)]
    return holds and max(found) < p, f"{detail}, p <= {max(found):.2g}"


def _same(results: Results, terms: list[Any], at: Place, p: float | None) -> tuple[bool, str]:
    a, b = (results.value(term, at) for term in terms)
    point, low, high = interval(a - b)
    holds = abs(point) < 1e-9 or bool(low <= 0 <= high)
    return holds, f"{a[0]:.4g} and {b[0]:.4g}, difference {_shown(point, low, high)}"


def _no_worse(results: Results, terms: list[Any], at: Place, p: float | None) -> tuple[bool, str]:
    a, b = (results.value(term, at) for term in terms)
    point, low, high = interval(a - b)
    holds = point <= 1e-9 or bool(low <= 0)
    return holds, f"{a[0]:.4g} against {b[0]:.4g}, difference {_shown(point, low, high)}"


def _between(results: Results, terms: list[Any], at: Place, p: float | None) -> tuple[bool, str]:
    point, low, high = interval(results.value(terms[0], at))
    return bool(terms[1] <= point <= terms[2]), _shown(point, low, high)


def _at_most(results: Results, terms: list[Any], at: Place, p: float | None) -> tuple[bool, str]:
    point, low, high = interval(results.value(terms[0], at))
    return bool(point <= terms[1]), _shown(point, low, high)


def _at_least(results: Results, terms: list[Any], at: Place, p: float | None) -> tuple[bool, str]:
    point, low, high = interval(results.value(terms[0], at))
    return bool(point >= terms[1]), _shown(point, low, high)


Check = Callable[[Results, list[Any], Place, float | None], tuple[bool, str]]
CHECKS: dict[str, Check] = {
    "less": _less,
    "same": _same,
    "no_worse": _no_worse,
    "between": _between,
    "at_most": _at_most,
    "at_least": _at_least,
}


def _shown(point: float, low: float, high: float) -> str:
    if not np.isfinite(low) or low == high:
        return f"{point:.4g}"
    return f"{point:.4g} [{low:.4g}, {high:.4g}]"

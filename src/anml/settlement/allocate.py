"""From row weights to exact shares of a pool.

Training weight and pay are two different things: a softmax weight is nearly flat, and would pay a bad
contributor almost as much as a good one. Pay depends on the product of the signals over kept rows, or
on p_correct, the probability that a label is right. A row earns the same for all
contributors. Every figure is quantised to an integer first, so that neither the order of rows
nor the machine changes a result, and an outsider can repeat it with whole numbers alone.
"""

import math
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from anml.core.checks import Floats, Ints, as_integer, as_unit_interval, one_of
from anml.core.errors import InputError

Name = TypeVar("Name", bound=Hashable)
# Integer parts that stand for the weight 1.
UNIT = 10**12

_EXACT = Context(prec=60)

# Row weight by name, from the columns of a run; every one is 0 for what was not kept.
ROW_WEIGHTS: dict[str, tuple[tuple[str, ...], Callable[..., Floats]]] = {
    "product": (("kept", "q", "v", "r", "t"), lambda kept, q, v, r, t: kept * q * v * r * t),
    "p_correct": (("kept", "p_correct"), lambda kept, p_correct: kept * p_correct),
    "blend": (("kept", "weight"), lambda kept, weight: kept * weight),
    "equal": (("kept",), lambda kept: kept * 1.0),
}


@dataclass(frozen=True)
class PayoutRules:
    """Rules for the division of a pool, with a row weight of `ROW_WEIGHTS`; fractions are integers in `UNIT`.

    Pay is proportional to rows to the power `volume`, a decimal text: `"1"` pays all rows equally, `"0.5"`
    pays by the square root. A power below 1 rewards splitting an account and requires verified identities.
    The share of one contributor is bounded; the minimum applies to contributors with positive weight who are
    not new. All new contributors together get at most `newcomer_cap` if there are others.
    """

    weight: str = "product"
    volume: str = "1"
    min_share: int = 0
    max_share: int = UNIT
    newcomer_cap: int = UNIT // 5

    def __post_init__(self) -> None:
        one_of("settlement weight", self.weight, ROW_WEIGHTS)
        if not 0 < _decimal("volume", self.volume) <= 1:
            raise InputError(f"volume must lie in (0, 1], got {self.volume}")
        for name in ("min_share", "max_share", "newcomer_cap"):
            if not 0 <= getattr(self, name) <= UNIT:
                raise InputError(f"{name} must lie between 0 and 1, got {getattr(self, name) / UNIT:g}")
        if self.min_share > self.max_share:
            low, high = self.min_share / UNIT, self.max_share / UNIT
            raise InputError(f"min_share {low:g} is above max_share {high:g}")


# Claims of contributors, lines of a manifest by their name: the `units` of all rows together, how many
# are `counted`, a `multiplier` in parts of `UNIT`, and whether they are a `newcomer`.
Claims = Mapping[str, Mapping[str, Any]]


def to_integer_parts(name: str, text: str) -> int:
    """Read a fraction in decimal text as integer parts."""
    value = _decimal(name, text) * UNIT
    if value < 0 or value != int(value):
        raise InputError(f"{name} must be a decimal number of at most 12 places, not negative, got {text!r}")
    return int(value)


def row_weights(kind: str, columns: Mapping[str, Any]) -> Ints:
    """Quantised settlement weight of each row."""
    needed, combine = ROW_WEIGHTS[one_of("settlement weight", kind, ROW_WEIGHTS)]
    missing = [name for name in needed if name not in columns]
    if missing:
        raise InputError(f"settling by {kind} needs the column {missing[0]}, which the run does not have")
    weights = combine(*(as_unit_interval(name, columns[name]) for name in needed))
    return np.asarray(np.rint(weights * UNIT), dtype=np.int64)


def contributor_weights(claims: Claims, rules: PayoutRules) -> dict[str, int]:
    """Claims as integer weights, after volume, multiplier and the cap on newcomers."""
    weights = {
        name: claim["units"] * claim["multiplier"] * _volume_factor(claim["counted"], rules.volume)
        for name, claim in claims.items()
    }
    new = sum(weights[name] for name, claim in claims.items() if claim["newcomer"])
    old = sum(weights.values()) - new
    cap = rules.newcomer_cap
    if old and new * UNIT > cap * (new + old):
        # Both groups keep their inner proportions; together newcomers get exactly the cap.
        return {
            name: weights[name] * (cap * old if claim["newcomer"] else (UNIT - cap) * new)
            for name, claim in claims.items()
        }
    return weights


def payout_fractions(claims: Claims, rules: PayoutRules) -> dict[str, Fraction]:
    """Exact share of the pool for each contributor; they sum to at most one.

    The sum is below one only if no contributor has weight, or if all contributors, or all old ones, are at
    the maximum: newcomers together never pass their cap while there are others.
    """
    weights = contributor_weights(claims, rules)
    low = {name: 0 if claims[name]["newcomer"] else rules.min_share for name in claims}
    live = sorted(name for name in claims if weights[name] > 0)
    if sum(low[name] for name in live) > UNIT:
        raise InputError(f"a minimum share of {rules.min_share / UNIT:g} for {len(live)} exceeds the pool")
    high, cap = rules.max_share, Fraction(rules.newcomer_cap, UNIT)
    new = {name: weights[name] for name in live if claims[name]["newcomer"]}
    old = {name: weights[name] for name in live if not claims[name]["newcomer"]}
    fixed = _clip_shares(old | new, low, high, Fraction(1))
    if old and sum((fixed[name] for name in new), Fraction(0)) > cap:
        # The excess over a maximum is not given to newcomers: it stays in the pool.
        fixed = _clip_shares(old, low, high, 1 - cap) | _clip_shares(new, low, high, cap)
    return {name: fixed.get(name, Fraction(0)) for name in claims}


def _clip_shares(
    weights: dict[str, int], low: Mapping[str, int], high: int, whole: Fraction
) -> dict[str, Fraction]:
    """Proportional shares of `whole` within bounds; all at the maximum where they cannot fill it.

    Freeze the side that is violated more, and share the rest again.
    """
    if Fraction(high * len(weights), UNIT) <= whole:
        return dict.fromkeys(weights, Fraction(high, UNIT))
    fixed: dict[str, Fraction] = {}
    free = dict(weights)
    while free:
        scale = (whole - sum(fixed.values(), Fraction(0))) / sum(free.values())
        bounds = {name: (Fraction(low[name], UNIT), Fraction(high, UNIT)) for name in free}
        wanted = {name: scale * weight for name, weight in free.items()}
        below = {name: bounds[name][0] for name in free if wanted[name] < bounds[name][0]}
        above = {name: bounds[name][1] for name in free if wanted[name] > bounds[name][1]}
        lack = sum((bound - wanted[name] for name, bound in below.items()), Fraction(0))
        excess = sum((wanted[name] - bound for name, bound in above.items()), Fraction(0))
        frozen = (below if lack >= excess else {}) | (above if excess >= lack else {})
        if not frozen:
            return fixed | wanted
        fixed |= frozen
        free = {name: weight for name, weight in free.items() if name not in frozen}
    return fixed


def largest_remainder_allocation(pool: int, quotas: Mapping[str, Fraction]) -> dict[str, int]:
    """Split `pool` micro-units by exact shares, with the largest remainders rounded up.

    Ties go by name, so the order of the input never matters, and who has no share gets nothing.
    """
    if pool < 0:
        raise InputError(f"a pool is not negative, got {pool}")
    # Over one denominator, remainders are whole numbers: exact, and fast to compare.
    common = math.lcm(*(share.denominator for share in quotas.values()))
    whole, remainder = {}, {}
    for name, share in quotas.items():
        whole[name], remainder[name] = divmod(pool * share.numerator * (common // share.denominator), common)
    spare = sum(remainder.values()) // common
    for name in sorted(quotas, key=lambda name: (-remainder[name], name))[:spare]:
        whole[name] += 1
    return whole


def _volume_factor(kept: int, volume: str) -> int:
    """rows^(volume - 1) in parts of UNIT; decimal arithmetic rounds alike on every machine."""
    exponent = _decimal("volume", volume) - 1
    if exponent == 0 or kept <= 1:
        return UNIT
    return int(_EXACT.multiply(_EXACT.power(Decimal(kept), exponent), Decimal(UNIT)))


def _decimal(name: str, text: str) -> Decimal:
    try:
        value = Decimal(text)
    except (InvalidOperation, TypeError):
        raise InputError(f"{name} must be a decimal number, got {text!r}") from None
    if not value.is_finite():
        raise InputError(f"{name} must be a finite number, got {text!r}")
    return value


def allocate(pool: int, shares: Mapping[Name, Any]) -> dict[Name, int]:
    """Divide `pool`, in whole micro-units, in proportion to shares, by the largest remainder method.

    The amounts add up to the pool. Shares are not negative and need not add up to 1. Ties are broken by name.

    Examples
    --------
    >>> allocate(10_000_000, {"ann": 2, "bob": 0.5, "cat": 0.5})
    {'ann': 6666667, 'bob': 1666667, 'cat': 1666666}
    """
    exact = {name: _fraction(name, share) for name, share in shares.items()}
    total = sum(exact.values(), Fraction(0))
    if total == 0:
        raise InputError(f"shares must have a positive sum, got {len(exact)} shares of sum 0")
    # Keys of any type: the position tells apart two names that are written alike.
    keys = {name: f"{name} {place}" for place, name in enumerate(exact)}
    quotas = {keys[name]: share / total for name, share in exact.items()}
    amounts = largest_remainder_allocation(as_integer("pool", pool, 0), quotas)
    return {name: amounts[keys[name]] for name in exact}


def _fraction(name: Hashable, share: Any) -> Fraction:
    try:
        value = Fraction(share.item() if isinstance(share, np.generic) else share)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the share of {name!r} must be a finite number, got {share!r}") from None
    if value < 0:
        raise InputError(f"the share of {name!r} must not be negative, got {share!r}")
    return value

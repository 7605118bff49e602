"""Contributors whose numbers are in other units: their labels follow the others' by a factor, or a line."""

from typing import NamedTuple

import numpy as np

from anml.core.checks import Bools, Floats, Ints

# Factors between units that are mixed up, either way round; and the line from Celsius to Fahrenheit.
FACTORS = {
    0.514444: "knots for m/s", 1.852: "km/h for knots", 3.6: "km/h for m/s", 0.44704: "m/s for mph",
    1.609344: "km for miles", 0.3048: "metres for feet", 2.54: "cm for inches", 0.453592: "kg for pounds",
    28.3495: "grams for ounces", 4.184: "joules for calories", 18.016: "mg/dl for mmol/l of glucose",
    88.42: "µmol/l for mg/dl of creatinine", 7.0: "days for weeks", 12.0: "months for years",
    24.0: "hours for days", 60.0: "a factor of 60", 10.0: "a factor of 10", 100.0: "a factor of 100",
    1000.0: "a factor of 1000", -1.0: "inverted sign",
}  # fmt: skip
FAHRENHEIT, CELSIUS = (1.8, 32.0), (1 / 1.8, -32 / 1.8)
# A factor is that of a unit if it is this near; one that is nearer to 1 than the second is a habit of scale.
UNIT_MATCH_TOLERANCE, MIN_FACTOR_GAP = 0.05, 0.2
# Nats by which other units must explain a contributor's numbers better, for every parameter of a line.
MIN_LOG_LIKELIHOOD_GAIN = 10.0


class Units(NamedTuple):
    """Of each contributor: the line from the others' numbers to its own, and whether it is another's unit."""

    slope: Floats
    shift: Floats
    other: Bools

    def named(self, who: int) -> str:
        """Describe the unit of a contributor; empty if it uses the unit of the others."""
        if not self.other[who]:
            return ""
        slope, shift = float(self.slope[who]), float(self.shift[who])
        if shift:
            # With an offset the fitted slope is too steep if predictions are shrunken.
            lines = {FAHRENHEIT: "Fahrenheit for Celsius", CELSIUS: "Celsius for Fahrenheit"}
            named = [
                text
                for (b, a), text in lines.items()
                if abs(slope / b - 1) < MIN_FACTOR_GAP and shift / a > 0.5
            ]
            return f"uses another unit: {named[0] if named else f'×{slope:.3g} {shift:+.3g}'}"
        for factor, name in FACTORS.items():
            if (
                abs(slope / factor - 1) < UNIT_MATCH_TOLERANCE
                or abs(slope * factor - 1) < UNIT_MATCH_TOLERANCE
            ):
                return f"uses another unit: ×{slope:.3g} ({name}, or the reverse)"
        return f"uses another unit: ×{slope:.3g}"


def detect_units(values: Floats, predicted: Floats, who: Ints, trust: Floats) -> Units:
    """Detect contributors who use another unit, by a line fitted to their values against predictions.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> truth, who = rng.uniform(5, 25, 400), np.arange(400) % 8
    >>> values = np.where(who == 3, 0.514 * truth, truth) + rng.normal(0, 0.5, 400)
    >>> found = detect_units(values, 0.94 * truth, who, np.ones(400))
    >>> np.flatnonzero(found.other).tolist(), found.named(3)
    ([3], 'uses another unit: ×0.516 (knots for m/s, or the reverse)')
    """
    count = int(who.max()) + 1
    slope, shift, other = np.ones(count), np.zeros(count), np.zeros(count, dtype=bool)
    for _ in range(2):
        for k in np.flatnonzero(np.bincount(who, minlength=count) >= 10):
            mine = who == k
            others = trust * ~(mine | other[who])
            if others.sum() < 10:
                continue
            a, b = _robust_line_fit(predicted, values, others)
            centre, own = (a + b * predicted)[mine], values[mine]
            usual = _trimmed_mean_distance(values - a - b * predicted, others)
            slope[k], shift[k], other[k] = _fit_unit_line(centre, own, usual)
    return Units(slope, shift, other)


def _fit_unit_line(centre: Floats, own: Floats, usual: float) -> tuple[float, float, bool]:
    """The line from where others expect numbers to where they are, and whether it is another unit's."""
    even, n = np.ones(len(own)), len(own)
    before = max(_trimmed_mean_distance(own - centre, even), 1e-12)
    # Numbers that all lie higher or lower, or about one middle whatever the item, are in no other units.
    lines = [
        (1.0, float(np.median(own - centre)), 1),
        (0.0, float(np.median(own)), 1),
        (_slope_through_origin(centre, own), 0.0, 1),
        (*_robust_line_fit(centre, own, even)[::-1], 2),
    ]
    gains = [
        n
        * np.log(
            before / max(_trimmed_mean_distance(own - a - b * centre, even), 0.1 * usual * abs(b), 1e-12)
        )
        - MIN_LOG_LIKELIHOOD_GAIN * cost
        for b, a, cost in lines
    ]
    best = int(np.argmax(gains))
    b, a, _ = lines[best]
    # In the others' units they are nearly as near as the others' are: any noise has some slope.
    near = _trimmed_mean_distance(own - a - b * centre, even) <= 4 * usual * abs(b)
    another = near and b != 0 and (b < 0 or abs(np.log(b)) > MIN_FACTOR_GAP)
    # A number that is off by less than the others' own scatter is in the same units.
    return b, a, bool(gains[best] > 0 and before > 2 * usual and another)


def _slope_through_origin(x: Floats, y: Floats) -> float:
    """The slope of a line through 0, by least absolute distances: the weighted median of ratios."""
    some = np.abs(x) > 1e-12
    if not some.any():
        return 1.0
    ratio, weight = y[some] / x[some], np.abs(x[some])
    order = np.argsort(ratio)
    running = np.cumsum(weight[order])
    return float(ratio[order][int(np.searchsorted(running, 0.5 * running[-1]))])


def _robust_line_fit(x: Floats, y: Floats, weight: Floats) -> tuple[float, float]:
    """A line through most of the points: intercept and slope, by least absolute distances."""
    design = np.column_stack([np.ones(len(x)), x])
    pull: Floats = weight
    fit = np.zeros(2)
    for _ in range(30):
        gram = (design.T * pull) @ design
        # Numbers that are all equal have many lines: any of them will do.
        ridge = np.diag(1e-12 * np.diag(gram) + 1e-9)
        fit = np.asarray(np.linalg.solve(gram + ridge, (design.T * pull) @ y), dtype=np.float64)
        left = np.abs(y - design @ fit)
        pull = np.asarray(weight / np.maximum(left, 1e-3 * max(float(np.median(left)), 1e-12)))
    return float(fit[0]), float(fit[1])


def _trimmed_mean_distance(residual: Floats, weight: Floats) -> float:
    """Mean distance, of most of them: the largest tenth is left out."""
    far = np.abs(residual)
    some = (weight > 0) & (far <= np.quantile(far[weight > 0], 0.9))
    return float(np.average(far[some], weights=weight[some]))

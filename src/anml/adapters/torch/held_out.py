"""Whether a module in training has earned a say: by rows that it is not trained on."""

import numpy as np

from anml.core.checks import Bools, Floats, Ints

# Rows held out: at least and at most so many, and never more than this share.
FEWEST, MOST, LARGEST = 30, 1_000, 0.25
# A class that is predicted less than this share of how often it is a label has not been learned; such
# classes may hold so many of the rows.
HARDLY, FEW = 0.25, 0.1


def standing(
    before: str, right: Bools, rise: Floats | None, common: float, missing: float
) -> tuple[str, str]:
    """Whether a module may lead, by the rows held out that it has right, and by what it gained.

    `rise` is one where a row became right and minus one where it became wrong, `common` the share of the
    commonest class, and `missing` that of the classes which the module hardly predicts.
    """
    accuracy, n = float(right.mean()), len(right)
    said = f"accuracy on {n} rows held out is {accuracy:.2f}"
    gain, noise = (0.0, 0.0) if rise is None else (float(rise.mean()), float(rise.std()) / len(rise) ** 0.5)
    if before == "leads":
        if gain < -max(2 * noise, 1 / n):
            return "gave back", f"all rows count alike again: {said}, less than before weights were followed"
        return before, f"weights are followed: {said}"
    if accuracy - 2 * (accuracy * (1 - accuracy) / n) ** 0.5 <= common:
        return before, f"all rows count alike: {said}, that of the commonest class is {common:.2f}"
    if missing > FEW:
        return before, f"all rows count alike: classes of {missing:.0%} of the rows are hardly predicted"
    if rise is None or gain > max(noise, 1 / n):
        return before, f"all rows count alike: {said} and still rises"
    return "leads", f"weights are followed: {said} and no longer rises"


def hardly_predicted(labels: Ints, predicted: Ints, classes: int) -> float:
    """Share of the rows whose labels are of classes that have not been learned."""
    given, said = (np.bincount(each, minlength=classes) / len(labels) for each in (labels, predicted))
    return float(given[said < HARDLY * given].sum())


def rows_held_out(n: int, share: float, seed: int, turn: int = 0) -> Bools:
    """Rows held out of training: turn by turn others, in a random order, until all have been."""
    count = min(max(round(share * n), FEWEST), MOST, int(LARGEST * n)) if share else 0
    held = np.zeros(n, dtype=bool)
    order = np.random.default_rng([seed, n]).permutation(n)
    held[np.take(order, np.arange(turn * count, (turn + 1) * count), mode="wrap")] = True
    return held

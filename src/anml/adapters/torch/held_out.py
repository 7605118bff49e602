"""Whether a module in training has earned a say: by rows that it is not trained on."""

import numpy as np

from anml.core.checks import Bools

# Rows held out: at least and at most so many, and never more than this share.
FEWEST, MOST, LARGEST = 30, 1_000, 0.25


def standing(before: str, then: Bools | None, now: Bools, common: float) -> tuple[str, str]:
    """Whether a module may lead, by which of the rows held out it had right before, and has now."""
    accuracy, n = float(now.mean()), len(now)
    said = f"accuracy on {n} rows held out is {accuracy:.2f}"
    if before == "gave back":
        return before, f"all rows count alike: {said}, and fell while weights were followed"
    rise = now.astype(float) - (now if then is None else then)
    noise = float(rise.std()) / n**0.5
    if before == "leads":
        fell = rise.mean() < -max(2 * noise, 1 / n)
        if fell:
            return "gave back", f"all rows count alike again: {said}, less than before weights were followed"
        return before, f"weights are followed: {said}"
    if accuracy - 2 * (accuracy * (1 - accuracy) / n) ** 0.5 <= common:
        return before, f"all rows count alike: {said}, that of the commonest class is {common:.2f}"
    if then is None or rise.mean() > max(noise, 1 / n):
        return before, f"all rows count alike: {said} and still rises"
    return "leads", f"weights are followed: {said} and no longer rises"


def rows_held_out(n: int, share: float, seed: int) -> Bools:
    """Rows held out of training, drawn at random."""
    count = min(max(round(share * n), FEWEST), MOST, int(LARGEST * n)) if share else 0
    held = np.zeros(n, dtype=bool)
    held[np.random.default_rng([seed, n]).permutation(n)[:count]] = True
    return held

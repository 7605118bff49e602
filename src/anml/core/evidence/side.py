"""What is known of the rows beside features and labels."""

from typing import NamedTuple

import numpy as np

from anml.core.checks import Array, Bools, Floats, Ints


class Side(NamedTuple):
    """Side information, as arrays; None where nothing is known.

    Parameters
    ----------
    codes
        Who gave each label, from 0.
    credentials
        What vouches for each row (n, p), in [0, 1].
    items
        Which rows are labels of the same thing, from 0.
    truth
        The right label of each row where it is known: class codes with -1 elsewhere, numbers with NaN.
    wrong
        Rows whose label is known to be wrong, whatever is right.
    """

    codes: Ints | None = None
    credentials: Floats | None = None
    items: Ints | None = None
    truth: Array | None = None
    wrong: Bools | None = None


def design(credentials: Floats | None, n: int) -> Floats:
    """Credentials, their squares and their products, in standard units: (n, 0) where there are none."""
    if credentials is None:
        return np.zeros((n, 0))
    count = credentials.shape[1]
    products = [credentials[:, i] * credentials[:, j] for i in range(count) for j in range(i, count)]
    columns = np.column_stack([credentials, *products])
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))


def newton(slope: Floats, hessian: Floats) -> Floats:
    """A Newton step, bounded: it overshoots where the curve is flat."""
    return np.asarray(np.clip(np.linalg.solve(hessian, slope), -1.0, 1.0))

"""What is known of the rows beside features and labels."""

from typing import NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Array, Bools, Floats, Ints
from anml.core.stats import group_means

# What is assumed of a contributor, or of a class that is predicted, counts as much as so many labels.
BEFOREHAND = 10.0
# So many contributors, and a hundred times as many rows, settle what is common to all.
ENOUGH = 200


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


def design(credentials: Floats | None, n: int, labels: Ints | None = None, who: Ints | None = None) -> Floats:
    """Credentials, their squares and their products, in standard units: (n, 0) where there are none.

    Credentials that go with the class tell nothing of which labels are wrong: by how much those of a
    contributor differ between labels is taken off. Without contributors that cannot be told apart.
    """
    if credentials is None:
        return np.zeros((n, 0))
    if labels is not None and who is not None:
        credentials = credentials - group_means(credentials - group_means(credentials, who), labels)
    count = credentials.shape[1]
    products = [credentials[:, i] * credentials[:, j] for i in range(count) for j in range(i, count)]
    columns = np.column_stack([credentials, *products])
    spread = columns.std(axis=0)
    return np.asarray((columns - columns.mean(axis=0)) / np.where(spread > 1e-9, spread, 1.0))


def newton(slope: Floats, hessian: Floats) -> Floats:
    """A Newton step, bounded: it overshoots where the curve is flat."""
    return np.asarray(np.clip(np.linalg.solve(hessian, slope), -1.0, 1.0))


def credited(x: Floats, usual: Floats, odds: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Log-odds (rows, explanations) with what credentials are worth, and the log-evidence that they add.

    Weights have standard normal priors and are integrated out about their best values.
    """
    worth, each = np.zeros((usual.shape[1], x.shape[1])), weight[:, None]

    def information(doubt: Floats) -> Floats:
        return np.asarray(np.einsum("kp,km,kq->mpq", x, each * doubt, x, optimize=True) + np.eye(x.shape[1]))

    for _ in range(30):
        prior, after = (special.expit(usual + x @ worth.T + more) for more in (0.0, odds))
        pull = (each * (after - prior)).T @ x - worth
        worth += np.linalg.solve(information(prior * (1 - prior)), pull[..., None])[..., 0]
    lifted = usual + x @ worth.T
    more, less = (
        weight @ np.logaddexp(special.log_expit(z) + odds, special.log_expit(-z)) for z in (lifted, usual)
    )
    curved = np.linalg.slogdet(information(prior * (1 - prior) - after * (1 - after)))[1]
    return lifted, more - less - 0.5 * (worth**2).sum(axis=1) - 0.5 * curved

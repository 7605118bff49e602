"""What credentials are worth among several explanations."""

import numpy as np
from scipy import special

from anml.core.checks import Floats


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

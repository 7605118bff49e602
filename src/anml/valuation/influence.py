"""How much training samples count for others: influence functions, and TRAK."""

import numpy as np

from anml.core.checks import Floats


def influence(gradients: Floats, hessian: Floats, target: Floats, damping: float) -> Floats:
    """How much leaving each sample out would raise the loss on a target set (Koh and Liang, ICML 2017).

    To first order; high is helpful. `gradients` (n, p) are those of each sample's loss at the trained model,
    `hessian` (p, p) that of the mean loss, `target` (p,) the gradient of the target's mean loss. Its
    weakness: it holds near a minimum, and depends on the damping that makes the Hessian invertible.
    """
    pulled = np.linalg.solve(hessian + damping * np.eye(len(target)), target)
    return np.asarray(gradients @ pulled / len(gradients))


def trak(features: Floats, doubt: Floats, targets: Floats, ridge: float = 0.0) -> Floats:
    """How much each training sample counts for each target, (targets, n): high is helpful (TRAK).

    Park, Georgiev, Ilyas, Leclerc and Madry, ICML 2023. `features` (models, n, k) and `targets`
    (models, m, k) are projected gradients of the log-odds of the right label, `doubt` (models, n) is one
    minus its probability. Averaged over models, each trained on a part of the data. Its weakness: it explains
    predictions, so it finds wrong labels only where targets are clean.
    """
    kernel = np.swapaxes(features, 1, 2) @ features + ridge * np.eye(features.shape[2])
    solved = np.linalg.solve(kernel, np.swapaxes(features, 1, 2))
    # The mean over models of scores and of doubt apart, as in the reference.
    return np.asarray((targets @ solved).mean(axis=0) * doubt.mean(axis=0))

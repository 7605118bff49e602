"""Methods of the literature that estimate the true label of every item from labels alone."""

import warnings
from collections.abc import Callable
from functools import partial

import numpy as np

from anml.core.checks import Floats
from experiments.crowds_table.bwa import fit_bwa
from experiments.crowds_table.read import Crowd
from experiments.crowds_table.variational import fit_ebcc, fit_ibcc
from experiments.real import import_optional


def fit_crowdkit(name: str, crowd: Crowd) -> Floats:
    """Return the class posterior of every item by a method of crowd-kit with its defaults."""
    pandas = import_optional("pandas", "pandas")
    table = pandas.DataFrame({"task": crowd.item, "worker": crowd.contributor, "label": crowd.label})
    method = getattr(import_optional("crowdkit.aggregation", "crowd-kit"), name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # crowd-kit calls functions that pandas deprecates
        result = method().fit_predict_proba(table)
    posterior = np.zeros((crowd.n_items, len(crowd.classes)))
    posterior[np.ix_(result.index.to_numpy(), result.columns.to_numpy(dtype=np.int64))] = result.fillna(0)
    return posterior


# In the order of the columns of the table.
PEERS: dict[str, Callable[[Crowd], Floats]] = {
    "MV": partial(fit_crowdkit, "MajorityVote"),
    "DS": partial(fit_crowdkit, "DawidSkene"),
    "IBCC": fit_ibcc,
    "BWA": fit_bwa,
    "EBCC": fit_ebcc,
    "GLAD": partial(fit_crowdkit, "GLAD"),
    "MACE": partial(fit_crowdkit, "MACE"),
}

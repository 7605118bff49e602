"""RECESS: Yan, Zhang, Chen, Li, Sun, Li and Lin, NeurIPS 2023."""

from typing import Any

import numpy as np

from anml.core.checks import Floats, as_vector
from anml.core.errors import InputError
from anml.federated.updates import Aggregated, as_updates, combine
from anml.weighting.combine import softmax

# How fast trust falls with abnormality. The paper's constants are not printed; this is ours.
PENALTY = 1.0


def abnormality(sent: Any, replies: Any) -> Floats:
    """Abnormality of each reply to a probe: minus their cosine, divided by the relative length of the reply.

    The server sends each client a constructed update (`sent`). Clients that train on data continue in its
    direction; clients that optimise an attack reverse it. Lengths are relative to the median reply, so the
    score does not depend on the scale of updates.
    """
    probes, answers = as_updates(sent), as_updates(replies)
    if probes.shape != answers.shape:
        raise InputError(f"{probes.shape} values were sent and {answers.shape} came back")
    length = np.linalg.norm(answers.astype(np.float64), axis=1)
    usual = float(np.median(length))
    both = length * np.linalg.norm(probes.astype(np.float64), axis=1)
    product = np.einsum("ij,ij->i", probes, answers).astype(np.float64)
    cosine = np.divide(product, both, out=np.zeros(len(both)), where=both > 0)
    relative = np.divide(length, usual, out=np.ones(len(both)), where=(length > 0) & (usual > 0))
    return np.asarray(-cosine / relative)


def recess(updates: Any, abnormal: Any, trust: Any = 0.0, penalty: float = PENALTY) -> Aggregated:
    """Weigh updates by the softmax of trust, which every round lowers by how abnormal a client was.

    `trust` is what the last round returned as scores. Its weakness: a client that lies in its data alone
    goes on from any probe as an honest one does.
    """
    given = as_updates(updates)
    before = as_vector("trust", trust, len(given))
    after = before - penalty * as_vector("abnormality", abnormal, len(given))
    weights = softmax(after)
    return Aggregated(combine(given, weights), after, weights)

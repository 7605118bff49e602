"""RECESS: Yan, Zhang, Chen, Li, Sun, Li and Lin, NeurIPS 2023."""

from typing import Any

import numpy as np

from anml.aggregate.updates import Aggregated, as_updates, combine
from anml.core.checks import Floats, as_vector
from anml.core.combine import softmax
from anml.core.errors import InputError

# How fast trust falls with abnormality. The paper's constants are not printed; this is ours.
PENALTY = 1.0


def abnormality(sent: Any, replies: Any) -> Floats:
    """How much each reply to a probe turns against it: minus their cosine, the more the shorter the reply.

    The server sends each client an update of its own making (`sent`); who trains on data goes on from there,
    who optimises an attack turns round. Lengths are measured against the median reply, so that the scale of
    updates does not matter.
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

"""The consensus and the contributors of a crowd by `anml.audit`; the only place that uses its names."""

from typing import NamedTuple

import numpy as np
import polars as pl

import anml
from anml.core.checks import Array, Floats, Ints
from experiments.crowds_table.read import Crowd


class AuditEstimates(NamedTuple):
    """Consensus of every item with its probability, and verdict and accuracy of every contributor."""

    consensus: Ints
    p_consensus: Floats
    verdict: Array
    accuracy: Floats
    low: Floats
    high: Floats


def audit_crowd(crowd: Crowd, ordinal: bool = False) -> AuditEstimates:
    """Audit the labels alone, as classes or, where `ordinal`, as grades in the order of the classes."""
    names = np.array(crowd.classes)
    table = pl.DataFrame(
        {"item": crowd.item, "contributor": crowd.contributor, "label": names[crowd.label].tolist()}
    )
    task = anml.tasks.Ordinal(order=crowd.classes) if ordinal else anml.tasks.Classification()
    # Every label of a public crowd is a class, also one such as `cant_tell`.
    schema = anml.Schema(missing=[])
    result = anml.audit(
        table, "label", "contributor", item="item", features=[], task=task, schema=schema, evaluate=False,
        progress=False,
    )  # fmt: skip
    items = result.consensus.sort(pl.col("item").cast(pl.Int64))
    people = result.contributors.sort(pl.col("contributor").cast(pl.Int64))
    place = {name: code for code, name in enumerate(crowd.classes)}
    return AuditEstimates(
        consensus=np.array([place[name] for name in items["consensus_label"].cast(pl.String)]),
        p_consensus=items["p_consensus"].to_numpy(),
        verdict=people["verdict"].to_numpy(),
        accuracy=people["accuracy"].to_numpy(),
        low=people["accuracy_low"].to_numpy(),
        high=people["accuracy_high"].to_numpy(),
    )

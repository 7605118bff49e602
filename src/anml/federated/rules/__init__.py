"""Aggregation rules of the literature: updates of clients (clients, parameters) to one update with scores.

`recess` takes the `abnormality` of the replies to a probe.
"""

from anml.federated.krum import krum, multi_krum
from anml.federated.rules.bulyan import bulyan
from anml.federated.rules.fltrust import fltrust
from anml.federated.rules.mean import mean
from anml.federated.rules.median import median, trimmed_mean
from anml.federated.rules.recess import abnormality, recess

__all__ = [
    "abnormality",
    "bulyan",
    "fltrust",
    "krum",
    "mean",
    "median",
    "multi_krum",
    "recess",
    "trimmed_mean",
]

"""Every rule by name, with what it needs besides the updates."""

from anml.aggregate.bulyan import bulyan
from anml.aggregate.fltrust import fltrust
from anml.aggregate.krum import krum, multi_krum
from anml.aggregate.mean import mean
from anml.aggregate.median import median, trimmed_mean
from anml.aggregate.recess import recess
from anml.aggregate.updates import Rule
from anml.aggregate.weighted import weighted

RULES: dict[str, Rule] = {
    "mean": mean,
    "krum": krum,
    "multi-krum": multi_krum,
    "median": median,
    "trimmed-mean": trimmed_mean,
    "bulyan": bulyan,
    "fltrust": fltrust,
    "recess": recess,
    "weighted": weighted,
}
# How many malicious clients a rule can stand among n, where it must be told their number.
STANDS = {
    "krum": lambda n: (n - 3) // 2,
    "multi-krum": lambda n: (n - 3) // 2,
    "trimmed-mean": lambda n: (n - 1) // 2,
    "bulyan": lambda n: (n - 3) // 4,
}

"""Every rule by name, with what it needs besides the updates."""

from anml.federated.krum import krum, multi_krum
from anml.federated.rules.bulyan import bulyan
from anml.federated.rules.fltrust import fltrust
from anml.federated.rules.mean import mean
from anml.federated.rules.median import median, trimmed_mean
from anml.federated.rules.recess import recess
from anml.federated.updates import Rule
from anml.federated.weighted import weighted

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
MAX_BYZANTINE = {
    "krum": lambda n: (n - 3) // 2,
    "multi-krum": lambda n: (n - 3) // 2,
    "trimmed-mean": lambda n: (n - 1) // 2,
    "bulyan": lambda n: (n - 3) // 4,
}

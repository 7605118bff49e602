"""Names of the cited systems and of what is measured of them; loads nothing heavy."""

AGGREGATION = (
    "FedAvg", "Krum", "Multi-Krum", "median", "trimmed mean", "Bulyan", "FLTrust", "FLTrust, own set",
    "RECESS", "ours, q v r T", "ours, believed",
)  # fmt: skip
# Values of rows, and of contributors by the mean of their rows or by a game of their own.
BOTH = (
    "Data Shapley",
    "Beta Shapley",
    "Data Banzhaf",
    "KNN Shapley",
    "influence",
    "TRAK",
    "spectral",
    "clusters",
)
VALUE = (
    *BOTH,
    *(f"{name}, rows" for name in BOTH),
    *("clusters by ids", "GTG-Shapley", "EigenTrust", "EigenTrust, no roots", "Kang", "Agarwal"),
)
# Ways of training; and what becomes of the common network on contributors whose rows they weigh most.
WAYS = ("L2RW", "DivideMix", "GLISTER")
TRAINING = (*WAYS, *(f"{name}, contributors" for name in WAYS))
BOUNDS = ("oracle", "federated oracle")
PEERS = (*AGGREGATION, *VALUE, *TRAINING, *BOUNDS)
MEASURES = (
    *(
        "error",
        "error_natural",
        "backdoor",
        "precision",
        "honest_lost",
        "ranked",
        "paid_bad",
        "lr",
        "seconds",
    ),
)

"""Names of the cited systems and of what is measured of them; loads nothing heavy."""

AGGREGATION = (
    "FedAvg", "Krum", "Multi-Krum", "median", "trimmed mean", "Bulyan", "FLTrust", "FLTrust, own set",
    "RECESS", "ours, q v r T", "ours, believed",
)  # fmt: skip
VALUE = (
    "Data Shapley", "Beta Shapley", "Data Banzhaf", "influence", "TRAK", "GTG-Shapley", "EigenTrust",
    "EigenTrust, no roots", "Kang", "Agarwal",
)  # fmt: skip
TRAINING = ("L2RW", "DivideMix", "GLISTER")
BOUNDS = ("oracle", "federated oracle")
PEERS = (*AGGREGATION, *VALUE, *TRAINING, *BOUNDS)
MEASURES = ("error", "backdoor", "precision", "ranked", "paid_bad", "seconds")

"""v: has the contribution itself been validated? The paper's table as named levels."""

from anml.signals.levels import Level

VERIFICATION: dict[str, Level] = {
    "flagged": Level(0.05, 0.10, 0.07, "flagged or retracted"),
    "self-attested": Level(0.20, 0.30, 0.25, "only the contributor says so"),
    "institution": Level(0.60, 0.70, 0.65, "institutional affiliation verified"),
    "peer-reviewed": Level(0.80, 0.90, 0.85, "part of a peer-reviewed publication"),
    "reproduced": Level(0.90, 0.95, 0.92, "reproduced by an independent party"),
}

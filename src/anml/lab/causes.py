"""Why a claim fails: a few causes that every page groups its failures by."""

CAUSES = {
    "baseline": "What it is compared with does better here than in the paper",
    "weak-q": "The paper's q says too little",
    "smaller": "The effect is there, and smaller than printed",
    "small": "The difference is too small to tell",
    "setting": "The setting as printed cannot show it",
    "looks-right": "What is wrong looks right",
    "caution": "What caution costs",
    "few": "Too few rows to tell",
    "absent": "A weakness that was expected does not show",
    "slow": "Evidence comes too slowly",
    "": "Not explained yet",
}

"""Simulate grades of answers by six LLM judges of two families and two people, and write `judges.csv`.

The data are simulated. Judges of a family err on the same answers; judge b3 guesses.
"""

import csv
import random
from pathlib import Path

random.seed(0)
ANSWERS, PEOPLE_LABEL = 300, 120
RATE = {"a": 0.12, "b": 0.2}
truth = [random.random() < 0.6 for _ in range(ANSWERS)]
shared = {family: [random.random() < rate for _ in range(ANSWERS)] for family, rate in RATE.items()}
with Path("judges.csv").open("w", newline="") as file:
    rows = csv.writer(file)
    rows.writerow(["answer", "judge", "verdict"])
    for answer, right in enumerate(truth):
        for judge in ("a1", "a2", "a3", "b1", "b2", "b3"):
            wrong = shared[judge[0]][answer] != (random.random() < 0.04)
            passed = random.random() < 0.5 if judge == "b3" else right != wrong
            rows.writerow([answer, f"judge-{judge}", "pass" if passed else "fail"])
        for person in ("ana", "ben") if answer < PEOPLE_LABEL else ():
            rows.writerow([answer, person, "pass" if right != (random.random() < 0.06) else "fail"])

"""Write a simulated Label Studio export: 90 measurements of three kinds, labelled by two people each.

    python make_export.py export.json

Ana and Ben are correct in 97% and 95%, Cy in 80%, Dot in 40%. Rosa reviews a part of the work, and twelve
tasks have a known answer.
"""

import json
import random
import sys
from pathlib import Path

PEOPLE = {
    "ana@lab.example": 0.97,
    "ben@lab.example": 0.95,
    "cy@crowd.example": 0.80,
    "dot@crowd.example": 0.40,
}
KINDS = ("alder", "birch", "cedar")
REVIEWER = {"id": 1, "email": "rosa@lab.example"}


def annotation(number: int, account: object, label: str, day: int, truth: bool = False) -> dict:
    """Return a finished annotation in the form of the export."""
    return {
        "id": number,
        "completed_by": account,
        "created_at": f"2026-0{1 + day // 28}-{1 + day % 28:02d}T10:00:00.000000Z",
        "lead_time": 5.0,
        "was_cancelled": False,
        "ground_truth": truth,
        "result": [
            {"from_name": "kind", "to_name": "leaf", "type": "choices", "value": {"choices": [label]}}
        ],
    }


def make(seed: int = 1) -> list[dict]:
    """Return the tasks of the export."""
    pick = random.Random(seed)
    names = list(PEOPLE)
    tasks, number = [], 0
    for task in range(90):
        kind = pick.randrange(3)
        data = {f"leaf_{i}": round(pick.gauss(2.0 * (kind == i), 0.7), 3) for i in range(3)}
        annotations = []
        for person in sorted(pick.sample(range(4), 2)):
            right = pick.random() < PEOPLE[names[person]]
            label = KINDS[kind] if right else KINDS[(kind + pick.choice((1, 2))) % 3]
            number += 1
            # Half of the accounts are records with an address, half are plain numbers or names.
            account = {"id": 10 + person, "email": names[person]} if person % 2 == 0 else names[person]
            made = annotation(number, account, label, task % 56)
            if pick.random() < 0.3:
                made["reviews"] = [
                    {"accepted": right, "created_by": REVIEWER, "created_at": "2026-03-10T09:00:00Z"}
                ]
            annotations.append(made)
        if task < 12:
            number += 1
            annotations.append(annotation(number, REVIEWER, KINDS[kind], task % 56, truth=True))
        tasks.append({"id": 1000 + task, "data": data, "annotations": annotations})
    return tasks


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(make(), indent=1) + "\n")

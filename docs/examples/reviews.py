"""Simulate 240 short reviews labelled by six annotators, two unreliable: labels.csv and export.json."""

import csv
import json
import random
from pathlib import Path

rng = random.Random(0)
GOOD = ["friendly", "quick", "clean", "helpful", "calm", "kind", "gentle", "excellent"]
BAD = ["rude", "slow", "dirty", "useless", "loud", "cold", "rough", "awful"]
WHAT = ["nurse", "doctor", "ward", "room", "desk", "surgeon", "kitchen", "porter", "clinic", "pharmacy"]
PEOPLE = ["ann@lab.example", "bob@lab.example", "cat@lab.example", "dan@lab.example", "eve@lab.example",
          "fay@lab.example"]  # fmt: skip


def label_of(annotator: str, right: str) -> str:
    """Return a label: eve always gives good, dan swaps the two labels, the others are correct in 96%."""
    if annotator.startswith("eve"):
        return "good"
    wrong = rng.random() < (0.85 if annotator.startswith("dan") else 0.04)
    return {"good": "bad", "bad": "good"}[right] if wrong else right


def annotation(number: int, annotator: str, label: str) -> dict:
    """Return an annotation of the question `tone`, in the form of a Label Studio export."""
    result = {"id": f"r{number}", "from_name": "tone", "to_name": "text", "type": "choices",
              "value": {"choices": [label]}}  # fmt: skip
    account = {"id": PEOPLE.index(annotator) + 1, "email": annotator}
    day = f"2026-02-{1 + number % 28:02}T09:00:00Z"
    return {"id": number, "completed_by": account, "was_cancelled": False, "ground_truth": False,
            "created_at": day, "result": [result]}  # fmt: skip


tasks, rows, number = [], [["review", "text", "annotator", "label"]], 1000
for task in range(1, 241):
    right = rng.choice(["good", "bad"])
    words = rng.sample(GOOD if right == "good" else BAD, 2)
    text = f"The {rng.choice(WHAT)} was {words[0]}, and the {rng.choice(WHAT)} was {words[1]}"
    answers = []
    # Every eighth review has two labels.
    for annotator in rng.sample(PEOPLE, 2 if task % 8 == 0 else 1):
        number += 1
        label = label_of(annotator, right)
        answers.append(annotation(number, annotator, label))
        rows.append([task, text, annotator, label])
    tasks.append({"id": task, "data": {"text": text}, "annotations": answers})
    # A supervisor reviewed a few annotations.
    if task % 30 == 0:
        first = answers[0]
        fine = first["result"][0]["value"]["choices"] == [right]
        ida = {"id": 9, "email": "ida@lab.example"}
        review = {"id": task, "accepted": fine, "created_by": ida, "created_at": "2026-03-01T09:00:00Z"}
        first["reviews"] = [review]
with Path("labels.csv").open("w", newline="", encoding="utf-8") as file:
    csv.writer(file).writerows(rows)
Path("export.json").write_text(json.dumps(tasks, indent=1), encoding="utf-8")
print(f"{len(tasks)} tasks, {sum(len(task['annotations']) for task in tasks)} labels")

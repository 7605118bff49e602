"""Simulate four tasks: pairs.csv with answers.csv, names.json, topics.csv and stars.csv."""

import csv
import json
import random
from pathlib import Path

rng = random.Random(0)


def written(name: str, head: list[str], rows: list[list]) -> None:
    """Write a table."""
    with Path(name).open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([head, *rows])


# Ten answers to one prompt, compared by twelve judges; one always takes the first, one prefers the worse.
strength = {f"answer {k}": 0.6 * k for k in range(10)}
pairs = []
for judge in range(12):
    for _ in range(60):
        first, second = rng.sample(list(strength), 2)
        pull = strength[first] - strength[second]
        pull = {0: 6.0, 1: -pull}.get(judge, pull)
        better = rng.random() < 1 / (1 + 2.718281828**-pull)
        choice = "equal" if judge and rng.random() < 0.1 else "first" if better else "second"
        pairs.append([first, second, f"judge {judge:02}", choice])
written("pairs.csv", ["first", "second", "judge", "choice"], pairs)
lengths = [[name, 100 + 7 * place, place % 3] for place, name in enumerate(strength)]
written("answers.csv", ["candidate", "words", "links"], lengths)

# Names in 60 short texts, each annotated by two of six people; eve misses most, dan cuts spans short.
NAMES = {"PER": ["Ann Lee", "Bob", "Eve Stone", "Carl"], "LOC": ["Rome", "New York", "Oslo"]}
WORDS = ["the", "man", "saw", "met", "left", "went", "with", "and", "near", "house", "small", "green"]
tasks = []
for task in range(1, 61):
    text, spans = "", []
    for _ in range(12):
        kind = rng.choice(list(NAMES)) if rng.random() < 0.3 else ""
        word = rng.choice(NAMES[kind] if kind else WORDS)
        spans += [(len(text), len(text) + len(word), kind)] if kind else []
        text += f"{word} "
    annotations = []
    for number, annotator in enumerate(rng.sample(["ann", "bob", "cat", "dan", "eve", "fay"], 2)):
        marks = [span for span in spans if rng.random() > (0.7 if annotator == "eve" else 0.2)]
        if annotator == "dan":
            marks = [(start, max(start + 1, end - 2), kind) for start, end, kind in marks]
        result = [
            {"type": "labels", "from_name": "ner", "to_name": "text",
             "value": {"start": start, "end": end, "labels": [kind]}}
            for start, end, kind in marks
        ]  # fmt: skip
        annotations.append(
            {"id": 10 * task + number, "completed_by": f"{annotator}@lab.example", "result": result}
        )
    tasks.append({"id": task, "data": {"text": text.strip()}, "annotations": annotations})
Path("names.json").write_text(json.dumps(tasks, indent=1), encoding="utf-8")

# Topics of 80 articles, several at a time, by five people; one ticks at random.
TOPICS = ["war", "art", "sport", "trade"]
topics = []
for article in range(80):
    right = [rng.random() < 0.35 for _ in TOPICS]
    for reader in range(5):
        wrong = 0.5 if reader == 4 else 0.06
        ticked = [
            topic for topic, is_one in zip(TOPICS, right, strict=True) if is_one != (rng.random() < wrong)
        ]
        topics.append([f"article {article}", f"reader {reader}", ";".join(ticked)])
written("topics.csv", ["item", "annotator", "tags"], topics)

# Stars for 100 films by eight critics; one is kind, one harsh.
stars = []
for film in range(100):
    right = rng.randint(1, 5)
    for critic in range(8):
        grade = round(right + {0: 1.3, 1: -1.3}.get(critic, 0) + rng.gauss(0, 0.5))
        stars.append([f"film {film}", f"critic {critic}", min(max(grade, 1), 5)])
written("stars.csv", ["item", "rater", "stars"], stars)

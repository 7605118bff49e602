"""Made-up texts with names in them, as several people marked them."""

import numpy as np
import polars as pl

NAMES = {"PER": ["Ann Lee", "Bob", "Eve Stone", "Carl"], "LOC": ["Rome", "New York", "Oslo"]}
WORDS = [
    "the",
    "man",
    "from",
    "saw",
    "met",
    "left",
    "went",
    "with",
    "and",
    "to",
    "near",
    "house",
    "on",
    "day",
    "of",
    "small",
    "green",
    "slow",
]


def texts(count=40, seed=0):
    """Texts and their right spans: document, text, and document, start, end, type."""
    rng = np.random.default_rng(seed)
    made, spans = [], []
    for number in range(count):
        text = ""
        for _ in range(12):
            if rng.random() < 0.3:
                kind = str(rng.choice(list(NAMES)))
                name = str(rng.choice(NAMES[kind]))
                spans.append((f"d{number:03}", len(text), len(text) + len(name), kind))
                text += name + " "
            else:
                text += str(rng.choice(WORDS)) + " "
        made.append((f"d{number:03}", text.strip()))
    return made, spans


def marked(people, count=40, seed=0):
    """Marks by people, each a dict of rates: miss, invent, shift, swap; everybody saw everything."""
    rng = np.random.default_rng(seed + 1)
    documents, right = texts(count, seed)
    rows = []
    for contributor, rates in people.items():
        for document, text in documents:
            rows.append((document, contributor, None, None, None, text))
            for _, start, end, kind in (each for each in right if each[0] == document):
                if rng.random() < rates.get("miss", 0.1):
                    continue
                if rng.random() < rates.get("shift", 0.03):
                    end = max(start + 1, end - 2)
                if rng.random() < rates.get("swap", 0.03):
                    kind = "LOC" if kind == "PER" else "PER"
                rows.append((document, contributor, start, end, kind, text))
            if rng.random() < rates.get("invent", 0.05):
                at = int(rng.integers(0, len(text) - 6))
                rows.append((document, contributor, at, at + 5, "PER", text))
    names = ["document", "annotator", "start", "end", "type", "text"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None), right

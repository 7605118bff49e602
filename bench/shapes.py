"""`python bench/shapes.py [spans | texts | grades | tags ...] [--seeds N]`: bad people who mark or grade.

Spans are those of ANML_DATA with eight people replaced: two each mark random places, nothing, all one word
off, or with types swapped. Texts, grades and tags are made up; texts are judged with and without their words.
Shown are the consensus beside a majority's, what is said of whom, whether bad people are named for what they
do, and processor seconds.
"""

import argparse
import os
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl

import anml
from anml.annotators.words import FLAGGED

PLACE = ["document", "start", "end"]
# What people are told to do, by what was planted.
NAMED = {
    "random": "false positive",
    "nothing": "miss rate",
    "shifted": "boundary error",
    "swapped": "type error",
}
OF_RATERS = {"lenient": "lenient", "severe": "severe", "narrow": "narrow part of the scale"}


def spans(seed: int) -> None:
    """People who mark names."""
    folder, rng = Path(os.environ["ANML_DATA"]), np.random.default_rng(seed)
    marks, inputs = (pl.read_csv(folder / f"spans_ner{part}.csv.gz") for part in ("", "_seen"))
    gold = pl.read_csv(folder / "spans_ner_gold.csv.gz").select(*PLACE, "type").unique()
    size = marks.join(gold, on=[*PLACE, "type"], how="semi").group_by("contributor").len("right")
    size = size.join(marks.group_by("contributor").len(), on="contributor")
    fine = size.filter((pl.col("right") / pl.col("len") > 0.5) & (pl.col("len") >= 30))["contributor"].sort()
    bad = dict(zip(rng.permutation(fine.to_numpy()).tolist(), [*NAMED] * 2, strict=False)) if seed else {}
    marks = marks.with_columns(pl.col("contributor").replace_strict(bad, default="").alias("made"))
    parts = [marks.filter(made="").drop("made")]
    parts += [_marked(part.drop("made"), made, rng) for (made,), part in marks.group_by("made") if made]
    begun = time.process_time()
    with_seen = Path(os.environ.get("TMPDIR", "/tmp")) / f"anml_seen_{seed}.csv"
    inputs.write_csv(with_seen)
    result = anml.audit(pl.concat(parts), task=anml.tasks.Spans(assignments=with_seen))
    seconds = time.process_time() - begun
    with_seen.unlink()
    kept = result._result.structured.tables["spans"]
    right = kept.join(gold, on=[*PLACE, "type"], how="semi").height
    print(f"spans {seed}: strict F1 {2 * right / (kept.height + gold.height):.3f}, {seconds:.1f} s")
    truly = dict(
        size.with_columns(pl.col("right") / pl.col("len")).select("contributor", "right").iter_rows()
    )
    _said(result.contributors, {w: bad.get(w, "honest" if truly[w] >= 0.4 else "poor") for w in truly}, NAMED)


def _marked(marks: pl.DataFrame, made: str, rng: np.random.Generator) -> pl.DataFrame:
    """Marks as a bad person makes them."""
    start, end, kind = (marks[name].to_numpy().copy() for name in ("start", "end", "type"))
    long = end - start
    if made == "nothing":
        return marks.head(0)
    last = marks.select(pl.col("end").max().over("document")).to_series().to_numpy()
    if made == "random":
        start = (rng.random(len(start)) * (last - long)).astype(int)
        kind = rng.permutation(kind)
    elif made == "shifted":
        by = np.maximum(long // 2, 2)
        start = np.where(end + by <= last, start + by, np.maximum(start - by, 0))
    else:
        names = np.unique(kind)
        kind = names[(np.searchsorted(names, kind) + 1) % len(names)]
    return marks.with_columns(
        start=pl.Series(start), end=pl.Series(start + long), type=pl.Series(kind.astype(str))
    )


SYLLABLES = ["ka", "ro", "mi", "ten", "sol", "var", "bel", "dun", "gra", "lo", "pe", "shi", "ur", "ma"]
CONTEXTS = {
    "PER": ("said {} on Monday", "{} , aged 34 ,", "striker {} scored"),
    "LOC": ("in {} on Friday", "near {} ,", "arrived in {} from"),
    "ORG": ("shares of {} fell", "by {} officials", "the {} board"),
}
FILL = ["the", "market", "was", "quiet", "and", "traders", "waited", "Prices", "rose", "The", "Police"]


def texts(seed: int) -> None:
    """Names in 120 made-up texts, each marked by four of twenty people, of whom four are bad."""
    rng = np.random.default_rng(seed)
    names = {kind: ["".join(rng.choice(SYLLABLES, 3)).capitalize() for _ in range(80)] for kind in CONTEXTS}
    made = {f"w{k}": ([*NAMED] + [""] * 16)[k] for k in range(20)}
    rows, gold, saw = [], set(), []
    for number in range(120):
        document, text, right = f"d{number}", "", []
        for _ in range(rng.integers(8, 16)):
            kind = str(rng.choice([*CONTEXTS]))
            before, after = str(rng.choice(CONTEXTS[kind])).split("{}")
            name = str(rng.choice(names[kind])) if rng.random() < 0.55 else ""
            right += [(len(text) + len(before), len(text) + len(before) + len(name), kind)] if name else []
            text += f"{before}{name}{after} " if name else " ".join(rng.choice(FILL, 5)) + " "
        gold |= {(document, *span) for span in right}
        for annotator in rng.choice([*made], 4, replace=False):
            saw.append((document, annotator))
            for start, end, kind in right:
                other = str(rng.choice([*CONTEXTS]))
                span = {
                    "random": (int(rng.integers(len(text) - 9)), 0, other),
                    "nothing": None,
                    "shifted": (start + 3, end + 3, kind),
                    "swapped": (start, end, "LOC"),
                }.get(made[annotator], (start, end, other if rng.random() < 0.12 else kind))
                if span and (made[annotator] or rng.random() > 0.3):
                    rows.append((document, annotator, span[0], span[1] or span[0] + 7, span[2], text))
    frame = pl.DataFrame(rows, schema=[*PLACE[:1], "annotator", *PLACE[1:], "type", "text"], orient="row")
    with_seen = Path(os.environ.get("TMPDIR", "/tmp")) / f"anml_texts_{seed}.csv"
    pl.DataFrame(saw, schema=["document", "annotator"], orient="row").write_csv(with_seen)
    for words, table in (("positions", frame.drop("text")), ("words", frame)):
        result = anml.audit(table, contributor="annotator", task=anml.tasks.Spans(assignments=with_seen))
        ours = set(result._result.structured.tables["spans"].select(*PLACE, "type").rows())
        print(f"texts {seed}, by {words}: strict F1 {2 * len(ours & gold) / (len(ours) + len(gold)):.3f}")
        _said(result.contributors, {annotator: kind or "honest" for annotator, kind in made.items()}, NAMED)
    with_seen.unlink()


def grades(seed: int) -> None:
    """Raters of five grades: four of twenty-four lean, two use little of the scale, four do not look."""
    rng = np.random.default_rng(seed)
    made = ["lenient"] * 2 + ["severe"] * 2 + ["narrow"] * 2 + ["coin"] * 2 + ["middle"] * 2 + ["honest"] * 14
    items, each = 400, 5
    truth = rng.integers(0, 5, items)
    rows = []
    for item in range(items):
        for annotator in rng.choice(len(made), each, replace=False):
            felt = truth[item] + rng.normal(0, 0.6)
            felt = {
                "lenient": felt + 1.2, "severe": felt - 1.2, "narrow": 2 + 0.4 * (felt - 2),
                "coin": rng.uniform(-0.5, 4.5), "middle": 2.0,
            }.get(made[annotator], felt)  # fmt: skip
            rows.append((f"i{item}", f"{made[annotator]} {annotator}", int(np.clip(np.rint(felt), 0, 4)) + 1))
    frame = pl.DataFrame(rows, schema=["item", "rater", "stars"], orient="row")
    begun = time.process_time()
    result = anml.audit(frame, label="stars", contributor="rater", task="ordinal")
    seconds = time.process_time() - begun
    table = result._result.structured.tables["ordinal"].with_columns(
        truth=pl.Series(
            [int(truth[int(name[1:])]) + 1 for name in result._result.structured.tables["ordinal"]["item"]]
        )
    )
    off = table.select((pl.col("grade").cast(pl.Int64) - pl.col("truth")).abs().mean()).item()
    inside = pl.col("truth").is_between(
        pl.col("grade_low").cast(pl.Int64), pl.col("grade_high").cast(pl.Int64)
    )
    middle = frame.group_by("item").agg(pl.col("stars").median().round())
    plain = table.join(middle, on="item").select((pl.col("stars") - pl.col("truth")).abs().mean()).item()
    print(
        f"grades {seed}: off by {off:.3f} (median {plain:.3f}), intervals hold "
        f"{table.select(inside.mean()).item():.0%}, {seconds:.1f} s"
    )
    _said(result.contributors, {w: w.split()[0] for w in result.contributors["contributor"]}, OF_RATERS)


def tags(seed: int) -> None:
    """Six tags on 300 items, three people each of fifteen, of whom two tick by a coin."""
    rng = np.random.default_rng(seed)
    truth = rng.random((300, 6)) < np.array([0.5, 0.4, 0.3, 0.2, 0.15, 0.1])
    names, rows = np.array(["art", "war", "law", "sea", "sky", "tea"]), []
    for item, has in enumerate(truth):
        for annotator in rng.choice(15, 3, replace=False):
            wrong = rng.random(6) < np.where(has, 0.25, 0.08)
            ticked = rng.random(6) < 0.3 if annotator < 2 else has ^ wrong
            rows.append(
                (f"i{item}", f"{'coin' if annotator < 2 else 'honest'} {annotator}", names[ticked].tolist())
            )
    frame = pl.DataFrame(rows, schema=["item", "person", "tags"], orient="row")
    begun = time.process_time()
    result = anml.audit(frame, label="tags", contributor="person", task="tags")
    seconds = time.process_time() - begun
    table = result._result.structured.tables["tags"]
    ours = {
        (row["item"], tag) for row in table.iter_rows(named=True) for tag in row["tags"].split(";") if tag
    }
    votes = Counter((item, tag) for item, _, ticked in rows for tag in ticked)
    right = {(f"i{item}", str(names[tag])) for item, tag in zip(*np.nonzero(truth), strict=True)}
    limit = {pair for pair, count in votes.items() if count > 1}
    score = [2 * len(right & each) / (len(right) + len(each)) for each in (ours, limit)]
    print(f"tags {seed}: F1 {score[0]:.3f} (majority {score[1]:.3f}), {seconds:.1f} s")
    _said(result.contributors, {w: w.split()[0] for w in result.contributors["contributor"]}, {})


def _said(people: pl.DataFrame, made: dict[str, str], named: dict[str, str]) -> None:
    """Print the verdicts of each kind of contributor."""
    for kind in dict.fromkeys(made.values()):
        subset = people.filter(pl.col("contributor").replace_strict(made, default="") == kind)
        words = ", ".join(f"{word} {count}" for word, count in Counter(subset["verdict"]).most_common())
        accused = subset["verdict"].is_in(FLAGGED).sum()
        known = subset["notes"].str.contains(named[kind]).sum() if kind in named else None
        print(
            f"  {kind} ({subset.height}): accused {accused}; {words}",
            "" if known is None else f"; named {known}",
        )


SHAPES = {"spans": spans, "texts": texts, "grades": grades, "tags": tags}


def main() -> None:
    """Print the figures of each shape and seed; seed 0 of spans has nobody replaced."""
    parser = argparse.ArgumentParser()
    parser.add_argument("shapes", nargs="*", default=list(SHAPES))
    parser.add_argument("--seeds", type=int, default=3)
    asked = parser.parse_args()
    for name in asked.shapes:
        for seed in range(asked.seeds):
            SHAPES[name](seed)


if __name__ == "__main__":
    sys.exit(main())

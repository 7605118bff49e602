"""The weeks of somebody who leads annotation, typed: labels alone, two rounds of relabelling, a next week."""

import csv
import json
import re

import numpy as np
import polars as pl
import pytest

pytestmark = pytest.mark.slow

CLASSES = np.array(["animal", "plant", "stone"])
BAD = ("w10", "w11")


def week(seed, worse=()):
    """150 questions, each answered by four of twelve workers: two guess, the others err now and then."""
    rng = np.random.default_rng(seed)
    right = rng.integers(0, 3, 150)
    rows = []
    for question, truth in enumerate(right):
        for contributor in rng.permutation(12)[:4]:
            name = f"w{contributor}"
            err = 0.66 if name in BAD else 0.4 if name in worse else 0.08
            message = rng.integers(0, 3) if name in BAD else truth
            message = (truth + rng.integers(1, 3)) % 3 if name not in BAD and rng.uniform() < err else message
            rows.append((f"q{seed}-{question}", name, CLASSES[message]))
    return pl.DataFrame(rows, schema=["question", "worker", "answer"], orient="row"), right


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("lead")


@pytest.fixture
def typed(anml, place, monkeypatch):
    monkeypatch.chdir(place)

    def run(line):
        ran = anml(*line.split())
        assert ran.code == 0, ran.err
        # Sentences are broken where the terminal ends.
        return ran.out if "--json" in line else " ".join(ran.out.split())

    return run


def fill(file, right):
    """Write the right answer beside every item of a list; how many rows it has."""
    with open(file, newline="") as source:  # noqa: PTH123
        rows = list(csv.DictReader(source))
    for row in rows:
        row["new_label"] = CLASSES[right[int(row["item"].partition("-")[2])]]
    with open(file, "w", newline="") as target:  # noqa: PTH123
        writer = csv.DictWriter(target, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return len(rows)


def test_the_first_week_and_the_second(typed, place):
    first, right = week(0)
    first.write_csv(place / "labels.csv")
    out = typed("audit labels.csv --out one")
    # Nothing had to be named, and it is said what was taken for what.
    for role, name in (("item", "question"), ("contributor", "worker"), ("label", "answer")):
        assert f"using column '{name}' as {role}" in out
    people = pl.read_csv(place / "one" / "contributors.csv")
    worst = people.sort("accuracy")["contributor"].head(2).to_list()
    assert sorted(worst) == sorted(BAD)
    # Labels alone have no held-out predictions, so no reason of the queue names one.
    samples = pl.read_parquet(place / "one" / "samples.parquet")
    assert (
        samples["predicted_label"].null_count() == samples["self_confidence"].null_count() == samples.height
    )
    queue = typed("relabel one --top 5")
    assert "labels of this item: " in queue
    assert "held-out prediction" not in queue

    # A page to show to one contributor, without other names.
    message = typed(f"contributor one {BAD[0]} --out page.html")
    assert f"Next step: discuss the examples with {BAD[0]}." in message
    page = (place / "page.html").read_text()
    assert "Next step: object to examples that are correct." in page
    assert BAD[0] in page
    assert not any(f"{name}<" in page for name in people["contributor"] if name != BAD[0])

    # One number everywhere.
    shown = json.loads(typed("relabel one --json"))
    count = shown["n_candidates"]
    assert f"Consensus of 150 items in consensus.csv, {count:,} in the review queue (p below 0.90" in out
    assert f"Review {count:,} items: " in out
    page = (place / "one" / "report.html").read_text()
    assert f"{count:,} items are in the review queue (p below 0.90" in page

    # Two rounds, until nothing is left to look at.
    half = max(count // 2, 1)
    typed(f"relabel one --top {half} --out list.csv")
    assert fill(place / "list.csv", right) == half
    message = typed("apply one list.csv --prices 0.2 --out two")
    assert message.startswith(f"{half:,} answer")
    left = json.loads(typed("relabel two --json"))
    # What was answered teaches how far the rest can be relied on: less may be left, and no more.
    assert left["n_candidates"] <= count - half + 6
    if left["n_candidates"]:
        typed("relabel two --out list.csv")
        fill(place / "list.csv", right)
        message = typed("apply two list.csv --prices 0.2 --out three")
        rounds = json.loads((place / "three" / "run.json").read_text())["data"]["rounds"]
        assert len(rounds) == 2
        # Answers also teach how often everybody errs together, so that a round may add to what is expected.
        before = rounds[0]["expected_wrong_before"]
        assert rounds[0]["expected_wrong_after"] <= before
        assert rounds[1]["expected_wrong_after"] <= 2 * before
        samples = pl.read_parquet(place / "three" / "samples.parquet")
        answered = samples.filter(pl.col("true_label").is_not_null()).unique("item")
        assert answered.height == rounds[0]["n_answers"] + rounds[1]["n_answers"]
        # Labels that were corrected since the first run.
        result = json.loads(typed("compare one three --json"))
        assert result["n_shared_rows"] == first.height
        assert result["n_corrected"] > 0

    # In the next week the accuracy of one worker is lower.
    second, _ = week(1, worse=("w3",))
    second.write_csv(place / "next.csv")
    typed("audit next.csv --out next")
    message = typed("compare one next --out changed")
    assert re.match(r"The accuracy of w3 \(0\.\d\d → 0\.\d\d\) fell significantly\.", message)
    people = pl.read_csv(place / "changed" / "contributors.csv")
    assert people.filter(pl.col("changed"))["contributor"].to_list() == ["w3"]


def tickets():
    """360 tickets, one label each by one of twelve people; ivy guesses, and jon takes bugs for wishes."""
    rng = np.random.default_rng(3)
    words = {
        "bug": "crash error broken log",
        "wish": "please add could feature",
        "bill": "invoice paid refund card",
    }
    names = np.array(["amy", "ben", "cal", "dee", "eli", "fay", "gus", "hal", "ivy", "jon", "kim", "lea"])
    rows = []
    for number in range(360):
        right, contributor = rng.choice(list(words)), names[number % 12]
        message = (
            rng.choice(list(words))
            if contributor == "ivy"
            else "wish"
            if (contributor, right) == ("jon", "bug")
            else right
        )
        text = " ".join(rng.choice(words[right].split(), 4)) + f" ticket of day {rng.integers(1, 30)}"
        rows.append((f"T-{number}", text, contributor, message))
    return pl.DataFrame(rows, schema=["ticket_id", "text", "agent", "category"], orient="row")


def test_tickets_with_two_bad_people_of_twelve(typed, anml, place):
    tickets().write_csv(place / "tickets.csv")
    typed("audit tickets.csv --contributor agent --set evaluate=false --out tickets")
    people = pl.read_csv(place / "tickets" / "contributors.csv")
    assert sorted(people.sort("accuracy")["contributor"].head(2)) == ["ivy", "jon"]
    trusted = people.filter(~pl.col("contributor").is_in(["ivy", "jon"]))
    assert not set(trusted["verdict"]) & {"no better than guessing", "contradicts the others"}
    # First what to do about people, then about rows; the ticket is how a row is found again.
    page = (place / "tickets" / "report.html").read_text()
    assert page.index("jon") < page.index("<h2>Labels to review first")
    listed = json.loads(typed("relabel tickets --top 20 --json"))["rows"]
    assert {row["contributor"] for row in listed} <= {"ivy", "jon"}
    # A workbook is not what it writes, and it says so before it writes anything.
    refused = anml("relabel", "tickets", "--out", "list.xlsx")
    assert refused.code == 2
    assert "list.xlsx" in refused.err
    assert not (place / "list.xlsx").exists()

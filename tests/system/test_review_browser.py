"""`anml review` in a real browser: keys alone, hostile items, two reviewers, a server that is killed."""

import json
import os
import re
import signal
import subprocess
import sys

import polars as pl
import pytest

import anml
from anml.pipeline.read import read_run
from anml.review.answers import read_log
from browsing import HEIGHT, WIDTHS, browser, fits, violations
from made_up import consortium

__all__ = ["browser"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_training", "shared_results")]
HOSTILE = '<img src=x onerror="document.title=1"></script><script>document.title=2</script>'


@pytest.fixture
def run(tmp_path):
    """A run whose items, texts and one contributor have names that try to be markup."""
    name = pl.when(pl.col("contributor") == "dan").then(pl.lit(f"dan {HOSTILE}")).otherwise("contributor")
    item = pl.format("i{} {}", pl.int_range(pl.len()), pl.lit(HOSTILE))
    rows = consortium(120).with_columns(contributor=name, item=item, note=pl.lit(HOSTILE))
    rows.write_csv(tmp_path / "data.csv")
    anml.audit(tmp_path / "data.csv", item="item", evaluate=False).save(tmp_path / "run")
    return tmp_path / "run"


@pytest.fixture
def serve():
    """Start `anml review` on a run, and return the process and the address that it prints."""
    started = []

    def start(run, *options):
        process = subprocess.Popen(
            [sys.executable, "-m", "anml", "review", str(run), *options], stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        return process, re.search(r"http://\S+", process.stdout.readline())[0]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def open_page(browser, address, by, width=WIDTHS["desktop"], **context):
    page = browser.new_context(viewport={"width": width, "height": HEIGHT}, **context).new_page()
    page.messages = []
    page.on("console", lambda message: page.messages.append(message.text))
    page.on("pageerror", lambda error: page.messages.append(str(error)))
    page.goto(address)
    assert violations(page) == []
    page.reload()
    page.keyboard.type(by)
    page.keyboard.press("Enter")
    page.locator("#item").wait_for()
    return page


def press(page, key):
    """Press a key, and wait until the page shows the answer's outcome."""
    with page.expect_response(lambda response: response.request.method == "POST") as answered:
        page.keyboard.press(key)
    return answered.value.json()


def labels_of(run):
    last = {entry["row"]: entry["label"] for entry in read_log(run / "review.jsonl")}
    return {row: label for row, label in last.items() if label is not None}


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_keys_alone_answer_items_at_both_widths(browser, serve, run, scheme):
    _, address = serve(run)
    for width in WIDTHS.values():
        page = open_page(browser, address, f"ana{width}", width, color_scheme=scheme)
        assert "token" not in page.url
        assert violations(page) == []
        assert fits(page)
        assert HOSTILE in page.locator("#name").inner_text()
        assert HOSTILE in page.locator("#fields").inner_text()
        before = labels_of(run)
        first = press(page, "1")["item"]["row"]
        assert len(labels_of(run)) == len(before) + 1
        assert press(page, "s")["item"]["row"] != first
        assert press(page, "u")["item"]["row"] == first
        page.keyboard.press("c")
        page.keyboard.type("1 goes into the comment")
        page.keyboard.press("Tab")
        answered = press(page, "2")
        assert answered["progress"]["answered"] == len(before) + 2
        assert page.locator("#progress").inner_text().startswith(f"{len(before) + 2} of ")
        assert page.title() == "anml review: data.csv"
        assert page.messages == []
        page.context.close()
    comments = [entry["comment"] for entry in read_log(run / "review.jsonl")]
    assert comments.count("1 goes into the comment") == 2


def test_two_reviewers_answer_every_item_once(browser, serve, run):
    _, address = serve(run)
    pages = [open_page(browser, address, by) for by in ("ana", "ben")]
    ended = set()
    while len(ended) < 2:
        for page in pages:
            if page not in ended and press(page, "1")["item"] is None:
                ended.add(page)
    rows = [entry["row"] for entry in read_log(run / "review.jsonl")]
    assert len(rows) == len(set(rows)) == anml.load_run(run).review_queue().height
    assert pages[0].locator("#end h2").is_visible()
    assert violations(pages[0]) == []


def test_no_answer_is_lost_when_the_server_is_killed(browser, serve, run):
    process, address = serve(run)
    page, given = open_page(browser, address, "ana"), {}
    for key in "1212":
        row = json.loads(
            page.evaluate("fetch('next', {method: 'POST', body: '{\"by\": \"ana\"}'}).then(r => r.text())")
        )
        choice = row["item"]["choices"][int(key) - 1]
        press(page, key)
        given[row["item"]["row"]] = choice
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    page.keyboard.press("1")
    page.locator("#error").filter(has_text="this answer was not saved").wait_for()
    assert labels_of(run) == given
    _, again = serve(run)
    page = open_page(browser, again, "ana")
    assert page.locator("#progress").inner_text().startswith("4 of ")


def test_the_last_button_makes_the_next_round(browser, serve, run):
    _, address = serve(run)
    page = open_page(browser, address, "ana")
    with page.context.expect_page() as opened:
        page.locator("#given a").first.click()
    assert opened.value.locator("h1").inner_text() != ""
    assert violations(opened.value) == []
    for _ in range(4):
        press(page, "1")
    page.get_by_role("button", name="Finish the round").click()
    page.locator("#done table tbody tr").first.wait_for(timeout=60_000)
    assert violations(page) == []
    assert "4 answers" in page.locator("#done p").first.inner_text()
    after = read_run(run.with_name("run-2"))
    assert after.samples["true_label"].drop_nulls().len() >= 4
    page.get_by_role("button", name="Review the next round").click()
    page.locator("#item").wait_for()
    assert page.locator("#progress").inner_text().startswith("0 of ")

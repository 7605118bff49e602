"""Reports in a real browser, at the widths of a desktop and of a phone.

Debian's chromium is driven by playwright; without one these tests skip, or fail where ANML_REQUIRE_BROWSER=1.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline

import anml
from anml.annotators.words import FLAGGED, INCONCLUSIVE
from anml.cli.contributor import render_person
from anml.cli.demo_data import demo_tables
from anml.core.types import TASK_TYPES, Gate
from anml.pipeline.audit import audit_table
from anml.pipeline.contributor_report import contributor_report
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult
from anml.report.html import render_card, render_report
from anml.weighting.combine import DISPUTE_REASON
from browsing import HEIGHT, WIDTHS, browser, fits, violations
from made_up import two_weeks
from report_cases import audited

__all__ = ["browser"]
pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("short_training", "shared_results")]


def demo() -> AuditResult:
    """The table of `anml demo`, a quarter of it so that it is quick."""
    rows, test = demo_tables(0)
    request = Request(time="labeled_at", recipe={"half_life": "science", "profile": {"epochs": 3}})
    return audit_table(rows.head(300), request, test=test)[0]


def music(folder: Path) -> AuditResult:
    labels = pl.read_csv(folder / "music_genre_labels.csv.gz")
    return audit_table(labels, Request(label="label", contributor="contributor", item="item"))[0]


def tweets(folder: Path) -> AuditResult:
    """992 tweets, each with the label of one person, and predictions of a model of the user's."""
    labels = pl.read_csv(folder / "weather_sentiment_labels.csv.gz").sample(fraction=1, shuffle=True, seed=0)
    texts = pl.read_csv(folder / "weather_sentiment_items.csv.gz").select("item", "text")
    table = labels.unique("item", keep="first", maintain_order=True).join(texts, on="item").head(992)
    model = make_pipeline(TfidfVectorizer(), LogisticRegression(C=3.0))
    message = cross_val_predict(
        model, table["text"].to_list(), table["label"].to_list(), method="predict_proba"
    )
    classes = sorted(table["label"].unique())
    predictions = pl.DataFrame(message, schema=classes)
    request = Request(
        label="label", contributor="contributor", ignore=("text", "item"), predictions=predictions
    )
    return audit_table(table, request)[0]


def many() -> AuditResult:
    """3,000 contributors."""
    return audited(n=30_000, people=3_000, given="", classes=4)


def disputed() -> AuditResult:
    result = audited(n=400, people=9, given="vr")
    return replace(
        result,
        gate=Gate("disputed", DISPUTE_REASON),
        disputed_share=0.45,
        contributors=result.contributors.with_columns(
            verdict=pl.lit(INCONCLUSIVE), true_labels_needed=pl.lit(2)
        ),
        warnings=[
            "column 'chol' is empty in all rows of hospital-3, and filled in elsewhere: a model may learn "
            "the contributor instead",
            "all 31 labels “malignant” are given by hospital-2: a wrong one looks like any other",
        ],
    )


def shaped(task: str) -> AuditResult:
    """Judgements of one shape by five people, of whom the last errs often."""
    rng, rows = np.random.default_rng(0), []
    text = "On Monday Ann Lee met Bob in New York and left for Oslo with a letter by Eve Stone"
    names = {"Ann Lee": "PER", "Bob": "PER", "New York": "LOC", "Oslo": "LOC", "Eve Stone": "PER"}
    for item in range(40):
        for contributors in range(5):
            inputs, level = (
                rng.random(5) > (0.6 if contributors == 4 else 0.1),
                item % 5 + (contributors == 4) * rng.integers(3),
            )
            first, second = rng.choice(6, 2, replace=False)
            forwards = bool(first < second)
            row = {"item": f"i{item}", "annotator": f"p{contributors}"}
            marks = [
                (text.index(name), name, kind)
                for (name, kind), is_one in zip(names.items(), inputs, strict=True)
                if is_one
            ]
            rows += {
                "preferences": [row | {"first": f"answer {first}", "second": f"answer {second}",
                                       "choice": ["second", "first"][int(forwards == (contributors < 4))]}],
                "ordinal": [row | {"grade": int(level)}],
                "tags": [row | {"tags": [kind for _, kind, _ in marks] or None}],
                "spans": [row | {"start": at, "end": at + len(name), "type": kind, "text": text}
                          for at, name, kind in marks],
                "boxes": [row | {"x": 15 * at + contributors / 5, "y": 10.0, "width": 9, "height": 9,
                                 "type": kind}
                          for at, (_, _, kind) in enumerate(marks)],
            }[task]  # fmt: skip
    return anml.audit(pl.DataFrame(rows), contributor="annotator", task=task)._result


SHAPED = {task: partial(shaped, task) for task in TASK_TYPES}
MADE_HERE: dict[str, Callable[[], AuditResult]] = {"demo": demo, "many": many, "disputed": disputed, **SHAPED}
REAL: dict[str, Callable[[Path], AuditResult]] = {"music": music, "tweets": tweets}


class Report:
    """A result, its page in a file, and pages opened on it."""

    def __init__(self, browser, result: AuditResult, file: Path) -> None:
        self.browser, self._result, self.file = browser, result, file
        file.write_text(render_report(result), encoding="utf-8")

    def open(self, width: int, **context):
        """The page at a width, with its requests in `asked` and its messages in `messages`."""
        page = self.browser.new_page(viewport={"width": width, "height": HEIGHT}, **context)
        page.asked, page.messages = [], []
        page.on("request", lambda request: page.asked.append(request.url))
        page.on("console", lambda message: page.messages.append(message.text))
        page.on("pageerror", lambda error: page.messages.append(str(error)))
        page.goto(self.file.as_uri())
        return page


@pytest.fixture(scope="module")
def reports(browser, tmp_path_factory, request):
    """Reports by name, each made when it is first asked for."""
    folder, made = tmp_path_factory.mktemp("reports"), {}

    def of(name: str) -> Report:
        if name not in made:
            real = name in REAL
            result = REAL[name](request.getfixturevalue("real_data")) if real else MADE_HERE[name]()
            made[name] = Report(browser, result, folder / f"{name}.html")
        return made[name]

    return of


@pytest.mark.parametrize("name", [*MADE_HERE, *REAL])
def test_a_report_at_both_widths(reports, name):
    report = reports(name)
    for width in WIDTHS.values():
        page = report.open(width)
        for answer in ("who", "todo", "change"):
            box = page.locator(f"#{answer}").bounding_box()
            assert box["y"] >= 0
            assert box["y"] + box["height"] <= HEIGHT, (name, width, answer)
            assert len(page.locator(f"#{answer}").inner_text()) > 30
        assert fits(page), (name, width)
        assert violations(page) == []
        assert page.asked == [report.file.as_uri()]
        assert page.messages == []
        _scrolls_with_a_cue(page)
        page.close()


def test_a_document_is_shown_whole_with_the_spans_of_each_person(reports):
    for width in WIDTHS.values():
        page = reports("spans").open(width, color_scheme="dark")
        table = page.locator("table.marked").first
        assert table.locator("th").first.inner_text() == "consensus"
        assert table.locator("mark").count() > 5
        assert table.evaluate("table => table.scrollWidth <= table.parentElement.clientWidth + 1")
        assert violations(page) == []
        page.close()


def test_the_page_of_one_person_at_both_widths(browser, tmp_path):
    file = tmp_path / "dan.html"
    file.write_text(render_person(contributor_report(two_weeks(tmp_path) / "two", "dan")), encoding="utf-8")
    for width in WIDTHS.values():
        page = browser.new_page(viewport={"width": width, "height": HEIGHT})
        page.goto(file.as_uri())
        assert "dan" in page.locator("h1").inner_text()
        assert page.locator("#examples tbody tr").count() > 5
        assert fits(page), width
        assert violations(page) == []
        page.close()


def _scrolls_with_a_cue(page) -> None:
    """A table has a cue that it scrolls if and only if it does."""
    for box in page.locator(".scroll").all():
        wide = box.evaluate("box => box.scrollWidth > box.clientWidth + 1")
        cue = box.locator("xpath=preceding-sibling::*[1]")
        assert cue.is_visible() == wide


@pytest.mark.parametrize("name", ["demo", "disputed"])
def test_in_the_dark_contrast_holds(reports, name):
    page = reports(name).open(WIDTHS["desktop"], color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 25, 30)"
    assert violations(page) == []
    page.close()


def test_the_demo_names_contributors_actions_and_the_effect(reports):
    report = reports("demo")
    page = report.open(WIDTHS["phone"])
    flagged = report._result.contributors.filter(pl.col("verdict").is_in(FLAGGED))["contributor"].to_list()
    assert set(flagged) <= {"vendor-beta", "click-farm-1", "click-farm-2"}
    assert flagged
    named = page.locator("#who strong").all_inner_texts()
    assert all(name in named for name in flagged)
    todo = page.locator("#todo").inner_text()
    assert f"Review examples with {flagged[0]}" in todo
    assert re.search(r"Review [\d,]+ rows: about [\d,]+ wrong labels are expected\.", todo)
    assert "→" in page.locator("#change .big").inner_text()
    page.close()


def test_the_notice_of_a_dispute_is_above_the_answers_and_warnings_are_below(reports):
    page = reports("disputed").open(WIDTHS["phone"])
    notices = page.locator(".notice")
    assert (
        notices.nth(0)
        .inner_text()
        .startswith(
            "This result is disputed: contributors of 45% of the rows contradict the rest, and the data "
            "cannot show which side is correct."
        )
    )
    assert "Column 'chol' is empty" in notices.nth(1).inner_text()
    first, last = page.locator("#who").bounding_box(), page.locator("#change").bounding_box()
    assert notices.nth(0).bounding_box()["y"] < first["y"]
    assert notices.nth(1).bounding_box()["y"] > last["y"]
    page.close()


def listed(page, column: int = 0) -> list[str]:
    return page.locator(f"#people tbody tr > :nth-child({column + 1})").all_inner_texts()


def test_search_finds_a_contributor_among_thousands(reports):
    report = reports("many")
    page = report.open(WIDTHS["desktop"])
    assert len(listed(page)) == 25
    assert page.locator("output").inner_text() == "25 shown of 3,000"
    last = report._result.contributors["contributor"][-1]
    page.get_by_label("Find a contributor").fill(last.upper())
    results = [name.split("\n")[0] for name in listed(page)]
    assert any(name.startswith(last) for name in results)
    assert all(last in name for name in results)
    page.get_by_label("Find a contributor").fill("no-such-name")
    assert listed(page) == []
    assert page.locator("output").inner_text() == "0 of 3,000"
    page.get_by_label("Find a contributor").fill("")
    page.get_by_role("button", name="Show more").click()
    assert len(listed(page)) == 225
    page.close()


def test_columns_sort_as_numbers_and_as_names_over_all_contributors(reports):
    report = reports("many")
    people = report._result.contributors
    page = report.open(WIDTHS["desktop"])
    heads = page.locator("#people thead")
    rows = heads.get_by_role("button", name="rows", exact=True)
    rows.click()
    assert page.locator("#people th[aria-sort]").get_attribute("aria-sort") == "ascending"
    assert listed(page, 3) == [str(rows) for rows in people["rows"].sort()[:25]]
    rows.click()
    assert listed(page, 3) == [str(rows) for rows in people["rows"].sort(descending=True)[:25]]
    heads.get_by_role("button", name="contributor", exact=True).click()
    assert listed(page)[0].startswith(people["contributor"].sort()[0])
    # A key alone does it too.
    heads.get_by_role("button", name="kappa").focus()
    page.keyboard.press("Enter")
    shown = [float(text.split()[0].replace("−", "-")) for text in listed(page, 2)]
    assert shown == sorted(shown)
    assert shown[0] == pytest.approx(people["kappa"].min(), abs=0.01)
    page.close()


def test_without_script_everything_is_there_to_read(reports):
    page = reports("many").open(WIDTHS["phone"], java_script_enabled=False)
    assert len(listed(page)) == 200
    assert not page.locator(".tools").is_visible()
    assert "contributors.csv has all 3,000" in page.locator("#contributors").inner_text()
    page.close()


def test_it_prints(reports):
    page = reports("demo").open(WIDTHS["desktop"])
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.emulate_media(media="print", color_scheme="dark")
    assert not page.locator(".tools").is_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    page.close()


def test_the_card_of_a_notebook(browser, reports):
    """In a page of its own, light and dark: nothing fetched, nothing too wide, no violations."""
    result = reports("demo")._result
    for scheme in ("light", "dark"):
        page = browser.new_page(viewport={"width": 800, "height": HEIGHT}, color_scheme=scheme)
        asked = []
        page.on("request", lambda request, asked=asked: asked.append(request.url))
        page.set_content(
            '<!doctype html><html lang="en"><head><title>n</title><meta name="color-scheme" '
            f'content="light dark"></head><body><main><h1>n</h1>{render_card(result)}</main>'
        )
        assert fits(page)
        assert violations(page) == []
        assert asked == []
        # However narrow the column, the longer bar is longer by as much as its figure.
        drawn = page.eval_on_selector_all(
            "span[style*='display:block']", "all => all.map(bar => bar.getBoundingClientRect().width)"
        )
        errors = [way.error.mean for way in result.evaluation.results if way.name in ("uniform", "chosen")]
        assert drawn[1] / drawn[0] == pytest.approx(errors[1] / errors[0], abs=0.05)
        page.close()

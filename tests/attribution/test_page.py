"""The page of an attribution, and its sentences."""

import numpy as np
import polars as pl

from anml.attribution.page import check_sentences
from anml.attribution.tracing import Trace

CHECK = {
    "status": "checked", "retrainings": 10, "lds": 0.91, "low": 0.7, "high": 0.98, "ceiling": 0.97,
    "similarity": 0.8, "query_lds": 0.6, "query_low": 0.5, "query_high": 0.7, "query_similarity": 0.55,
    "gain_own_source_fixed": 0.2,
}  # fmt: skip


def page(tmp_path, check, **texts):
    names = ["ann", "<b>bob</b>", "cat"]
    frame = pl.DataFrame({
        "contributor": names, "share": [0.7, 0.3, 0.0], "low": [0.5, 0.0, 0.0], "high": [0.9, 0.4, 0.0],
        "certain": [True, False, False], "influence": [0.2, 0.1, -0.3], "influence_high": [0.3, 0.2, -0.1],
        "similarity": [0.5, 0.5, 0.0], "rows": [2, 2, 2],
    })  # fmt: skip
    queries = pl.DataFrame({
        "query": [0, 0, 0], "contributor": names, "influence": [0.2, 0.1, -0.3], "low": [0.0, 0.0, -0.5],
        "high": [0.4, 0.2, -0.1], "similarity": [0.1, 0.9, 0.0],
    })  # fmt: skip
    rows = pl.DataFrame(
        [("ann", 0, 0.1), ("cat", 5, -0.2)], schema=["contributor", "row", "influence"], orient="row"
    )
    about = {"model": "net", "queries": 1}
    trace = Trace(frame, queries, rows, check, np.zeros((1, 3)), np.zeros((9, 3)), names, about)
    trace.report(tmp_path / "trace.html", **texts)
    return (tmp_path / "trace.html").read_text()


def test_the_page_shows_shares_rows_and_similarity(tmp_path):
    text = page(tmp_path, CHECK, texts=["first row", "", "", "", "", "last row"], asked=["what is asked"])
    assert "70.0%" in text
    assert "50.0 to 90.0%" in text
    assert "first row" in text
    assert "what is asked" in text
    # Names are escaped, and who is not certain is grey.
    assert "<b>bob</b>" not in text
    assert text.count('<tr class="uncertain">') == 2


def test_negative_influence_is_a_list_of_rows_to_review(tmp_path):
    text = page(tmp_path, CHECK, texts=[""] * 5 + ["last row"])
    review = text[text.index("Rows to review") :]
    assert "last row" in review
    assert "no share is reduced below zero" in review


def test_without_a_check_every_page_says_so(tmp_path):
    assert "Not checked" in page(tmp_path, {"status": "not checked"})


def test_a_small_gain_over_similarity_is_stated():
    assert len(check_sentences(CHECK)) == 2
    small = check_sentences(CHECK | {"gain_own_source_fixed": 0.01})
    assert "+0.01 only" in small[-1]
    assert "of at most" not in check_sentences(CHECK | {"ceiling": None})[0]

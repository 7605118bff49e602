"""Figures as inline SVG: the same bytes each time, names escaped, ids of their own, colours by variable."""

import re
from xml.etree import ElementTree

import numpy as np
import polars as pl
import pytest

from anml.report.html import _margin, accuracy_figure, confusion_figure


def quality(*names, rows=100):
    figures = {"accuracy": 0.8, "accuracy_low": 0.7, "accuracy_high": 0.9, "rows": rows}
    people = pl.DataFrame({"contributor": names}).with_columns(**{k: pl.lit(v) for k, v in figures.items()})
    return str(accuracy_figure(people, 0.75, 10))


def confusion(*names, classes=("cat", "dog")):
    matrix = np.diag(np.arange(5, 5 + len(classes)))
    matrix[0, 1] = 1
    return str(confusion_figure(names, [matrix] * len(names), classes))


FIGURES = pytest.mark.parametrize("drawn", [quality, confusion])


@FIGURES
def test_the_same_figure_is_the_same_bytes(drawn):
    assert drawn("ann", "bob") == drawn("ann", "bob")


@FIGURES
def test_it_is_well_formed_and_says_what_is_seen(drawn):
    root = ElementTree.fromstring(drawn("ann", "bob"))
    assert root.get("role") == "img"
    ids = {element.get("id"): element.text for element in root if element.get("id")}
    assert [bool(ids[name]) for name in root.get("aria-labelledby").split()] == [True, True]


@FIGURES
def test_it_is_scaled_by_its_box_and_brings_no_style(drawn):
    svg = drawn("ann", "bob")
    assert "viewBox=" in svg
    assert " width=" not in svg[: svg.index(">")]
    assert "<style" not in svg


@FIGURES
@pytest.mark.parametrize("label", ["<script>x</script>", "a & b", '"quoted"', "#0b6aa8", 'id="x"'])
def test_a_name_in_a_figure_is_text_and_nothing_else(drawn, label):
    root = ElementTree.fromstring(drawn(label, "bob"))
    assert label in "".join(root.itertext())
    assert not any(element.tag.endswith("script") for element in root.iter())


def test_two_figures_on_one_page_share_no_id():
    one, two = (set(re.findall(r' id="([^"]+)"', drawn("ann", "bob"))) for drawn in (quality, confusion))
    assert one
    assert two
    assert not one & two


@FIGURES
def test_colours_are_variables(drawn):
    svg = drawn("ann", "bob")
    assert "var(--main)" in svg
    assert re.search(r"#[0-9a-f]{3,6}\b", svg) is None


def test_margins_grow_with_the_widest_label():
    assert _margin([]) < _margin(["a"]) < _margin(["a", "longer"])
    assert _margin(["漢字"]) == _margin(["abcd"])


def test_every_mark_lies_within_the_figure():
    for svg in (quality("a" * 60, "b", "c"), confusion("a", "b", "c")):
        root = ElementTree.fromstring(svg)
        _, _, width, height = map(float, root.get("viewBox").split())
        for element in root.iter():
            x, y = (float(element.get(name, 0)) for name in ("cx", "cy"))
            assert 0 <= x <= width
            assert 0 <= y <= height


def test_where_few_rows_stand_behind_it_the_dot_is_hollow():
    assert "var(--paper)" in quality("ann", rows=10)
    assert "var(--paper)" not in quality("ann", rows=11)


@pytest.mark.parametrize("people", [1, 2, 3, 4])
def test_matrices_of_a_few_contributors(people):
    svg = confusion(*(f"person {n} <b>" for n in range(people)))
    assert svg.count("person 0 &lt;b&gt;") >= 1
    assert "<b>" not in svg
    assert svg.count(">6<") == people

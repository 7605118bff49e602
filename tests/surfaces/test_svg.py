"""Figures as inline SVG: the same bytes each time, names escaped, ids of their own, colours by variable."""

import re
from xml.etree import ElementTree

import pytest

from anml.surfaces.svg import MAIN, VARIABLES, draw, grid, label_margin


def drawn(name: str = "one", title: str = "A title", text: str = "what is seen", label: str = "bar") -> str:
    def paint(figure, axes):
        grid(axes)
        axes.bar([label], [3], color=MAIN)

    return draw(name, title, 200, (50, 10, 10, 40), paint, text)


def test_the_same_figure_is_the_same_bytes():
    assert drawn() == drawn()


def test_it_is_well_formed_and_says_what_is_seen():
    root = ElementTree.fromstring(drawn())
    assert root.get("role") == "img"
    texts = {element.tag.rpartition("}")[2]: element.text for element in root}
    assert (texts["title"], texts["desc"]) == ("A title", "what is seen")
    assert root.get("aria-labelledby") == "one-title one-text"


def test_it_is_scaled_by_its_box_and_brings_no_style_or_date():
    svg = drawn()
    assert "viewBox=" in svg
    head = svg[: svg.index(">")]
    assert " width=" not in head
    assert "<style" not in svg
    assert "<metadata" not in svg


@pytest.mark.parametrize("label", ["<script>alert(1)</script>", "a & b", '"quoted"', "#0b6aa8", 'id="x"'])
def test_a_name_in_a_figure_is_text_and_nothing_else(label):
    svg = drawn(label=label, title=label, text=label)
    root = ElementTree.fromstring(svg)
    assert label in "".join(root.itertext())
    assert not any(element.tag.endswith("script") for element in root.iter())


def test_two_figures_on_one_page_share_no_id():
    one, two = (set(re.findall(r' id="([^"]+)"', drawn(name))) for name in ("one", "two"))
    assert one
    assert not one & two
    assert all(found.startswith("one-") for found in one)


def test_references_point_to_ids_that_are_there():
    svg = drawn()
    ids = set(re.findall(r' id="([^"]+)"', svg))
    used = set(re.findall(r'href="#([^"]+)"|url\(#([^)]+)\)', svg))
    assert {a or b for a, b in used} <= ids


def test_colours_are_variables():
    svg = drawn()
    assert "var(--main)" in svg
    assert not any(colour in svg for colour in VARIABLES)


def test_margins_grow_with_the_widest_label():
    assert label_margin([]) < label_margin(["a"]) < label_margin(["a", "longer"])
    assert label_margin(["漢字"]) == label_margin(["abcd"])

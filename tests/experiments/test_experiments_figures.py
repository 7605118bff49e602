"""Figures of the lab: each has a caption and experiments that exist; the same rows give the same bytes."""

from dataclasses import replace

import numpy as np
import pytest

from experiments.cells import cells_of
from experiments.expressions import Results
from experiments.figures import (
    CAPTIONS,
    COLOURS,
    FIGURES,
    FORMATS,
    IN_PLACE_OF_TABLES,
    _printed,
    draw_all,
)
from experiments.spec import list_experiments
from experiments.store import join_parts, keep_part

pytestmark = pytest.mark.slow

EVERY = {**list_experiments(), **list_experiments("beyond"), **list_experiments("field")}


def test_every_figure_has_a_caption_under_one_of_the_experiments_it_is_of():
    assert set(CAPTIONS) == set(FIGURES)
    assert set(FIGURES) <= set(EVERY)
    assert set(IN_PLACE_OF_TABLES) <= set(FIGURES)
    assert all(caption.endswith(".") for caption in CAPTIONS.values())


def test_colours_are_colours():
    assert all(len(colour) == 7 and int(colour[1:], 16) >= 0 for colour in COLOURS.values())


@pytest.mark.parametrize("name", [name for name in FIGURES if name in list_experiments()])
def test_a_figure_is_drawn_from_rows_alone_and_twice_the_same(name, tmp_path):
    """Rows made up at random of the right shape: what is drawn is a function of them."""
    experiment = EVERY[name]
    rng = np.random.default_rng(0)
    names = [*experiment.metrics, "error", "rho_d", "kept"]
    names += [f"kept_{tier}" for tier in ("attacker", "novice", "intermediate", "expert")]
    rows = [
        {"trial": trial, **dict(key), "method": method, **{metric: rng.uniform(5, 50) for metric in names}}
        for trial in range(2)
        for _, key, _, method in cells_of(experiment)
    ]
    keep_part(experiment, tmp_path, "a", rows, set())
    join_parts(experiment, tmp_path)
    paths = draw_all(tmp_path)
    assert paths == [tmp_path / "figures" / f"{name}.{form}" for form in FORMATS]
    vector, raster = (path.read_bytes() for path in paths)
    assert vector.startswith(b"<?xml")
    assert raster.startswith(b"\x89PNG")
    assert draw_all(tmp_path) == paths
    assert [path.read_bytes() for path in paths] == [vector, raster]
    assert b"<dc:date>" not in vector


def test_the_paper_has_six_figures():
    drawn = [name for name in FIGURES if name in list_experiments()]
    assert drawn == ["combination", "efficiency", "large", "quality", "gradient-attack", "detectability"]


def test_the_papers_points_stand_at_its_figures(results):
    """Krum is printed at the second of two places; what is not printed is not drawn."""
    paper = ({"bad": 0.3, "method": "krum", "error": 12.4},)
    printed = Results(replace(results.experiment, paper=paper), results.rows)
    result = _printed(printed, "krum", "error", "bad", ["0.1", "0.3"])
    assert np.isnan(result[0])
    assert result[1] == 12.4
    assert np.isnan(_printed(printed, "mine", "error", "bad", ["0.1", "0.3"])).all()


def test_without_rows_nothing_is_drawn(tmp_path):
    assert draw_all(tmp_path) == []
    assert list((tmp_path / "figures").iterdir()) == []

"""Figures of the lab: each has a caption and experiments that exist; the same rows give the same bytes."""

import numpy as np
import pytest

from experiments.cells import cells_of
from experiments.figures import CAPTIONS, COLOURS, FIGURES, IN_PLACE_OF_TABLES, draw_all
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


@pytest.mark.parametrize("name", ["detectability"])
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
    (path,) = draw_all(tmp_path)
    assert path == tmp_path / "figures" / f"{name}.svg"
    first = path.read_bytes()
    assert first.startswith(b"<?xml")
    assert draw_all(tmp_path) == [path]
    assert path.read_bytes() == first
    assert b"<dc:date>" not in first


def test_without_rows_nothing_is_drawn(tmp_path):
    assert draw_all(tmp_path) == []
    assert list((tmp_path / "figures").iterdir()) == []

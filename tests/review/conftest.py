"""Fixtures of reviews: a table with a contributor who errs often, its run, and a terminal."""

import polars as pl
import pytest

import anml as package
from made_up import consortium
from terminal import anml, plain_terminal

__all__ = ["anml", "plain_terminal"]


@pytest.fixture(scope="session")
def audited_table(tmp_path_factory):
    """A folder with data.csv and its run."""
    place = tmp_path_factory.mktemp("review")
    consortium(120).with_columns(note=pl.lit("<b onclick=alert(1)>seen</b>")).write_csv(place / "data.csv")
    package.audit(place / "data.csv", evaluate=False).save(place / "run")
    return place

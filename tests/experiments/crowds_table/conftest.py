import gzip

import numpy as np
import polars as pl
import pytest
from crowd_cases import ONE_COIN, crowd_of


def spammers():
    """Two contributors who are always right, and three who answer 0; an item with one label of each kind.

    Of twenty items of each class the vote has those of class 0, and half of the last one in expectation.
    Dawid-Skene has all.
    """
    rows = [(i, w, i % 2) for i in range(40) for w in ("g1", "g2")]
    rows += [(i, w, 0) for i in range(40) for w in ("s1", "s2", "s3")]
    rows += [(40, "g1", 1), (40, "s1", 0)]
    return rows, [(i, i % 2) for i in range(40)] + [(40, 1)]


@pytest.fixture
def folder(tmp_path):
    """Two sets: the spammers, and one of twenty items on which all agree and err on five."""
    place = tmp_path / "sets"
    place.mkdir()
    rows, truth = spammers()
    pl.DataFrame(rows, ["item", "contributor", "label"], orient="row").write_csv(
        place / "crowd_spammers_labels.csv"
    )
    pl.DataFrame(truth, ["item", "truth"], orient="row").write_csv(place / "crowd_spammers_truth.csv")
    names = ["cat" if i % 2 else "dog" for i in range(20)]
    labels = "".join(f"{w},{i},{names[i]}\n" for i in range(20) for w in ("ann", "bob", "eve"))
    (place / "agreed_labels.csv.gz").write_bytes(gzip.compress(f"Worker ID,task,answer\n{labels}".encode()))
    right = "".join(f"{i},{names[i + (i < 5)]},{i / 7}\n" for i in range(20))
    (place / "agreed_items.csv.gz").write_bytes(gzip.compress(f"task,gold,feature\n{right}".encode()))
    return place


@pytest.fixture(scope="module")
def one_coin():
    """Contributors who are right with a probability of their own; four of them guess."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 300)
    right = rng.random((300, len(ONE_COIN))) < ONE_COIN
    return crowd_of(np.where(right, truth[:, None], 1 - truth[:, None]), truth)

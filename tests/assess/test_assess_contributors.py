"""What a run found out about its contributors, as frames."""

import numpy as np
import polars as pl
import pytest
from sklearn.datasets import load_wine

from anml import AnmlClassifier
from anml.assess.contributors import LEARNED, learned_frame
from anml.core.people.words import VERDICTS


def test_reputation_is_learned_from_a_run():
    rng = np.random.default_rng(0)
    X, y = load_wine(return_X_y=True)
    who = rng.choice(["ann", "bob", "eve"], len(y))
    wrong = (who == "eve") & (rng.uniform(size=len(y)) < 0.8)
    given = np.where(wrong, (y + 1) % 3, y)
    model = AnmlClassifier(random_state=0).fit(X, given, contributor=who)
    found = {row["contributor"]: row for row in model.reputation_.iter_rows(named=True)}
    assert model.reputation_.columns == ["contributor", "r", "low", "high", "good", "bad"]
    assert found["eve"]["high"] < found["ann"]["low"]
    rows = {name: int((who == name).sum()) for name in found}
    for name, row in found.items():
        assert row["low"] < row["r"] < row["high"]
        assert 0 < row["good"] + row["bad"] <= rows[name]
    assert model.contributors_["r_learned"].to_list() == model.reputation_["r"].to_list()
    assert AnmlClassifier(random_state=0).fit(X, given).reputation_ is None


@pytest.fixture(scope="module")
def found():
    x, y = load_wine(return_X_y=True)
    who = np.array(["ann", "bob", "cat"])[np.arange(len(y)) % 3]
    return AnmlClassifier(random_state=0).fit(x, y, contributor=who)


def test_one_row_for_each_contributor(found):
    frame = found.contributors_
    assert frame["contributor"].to_list() == ["ann", "bob", "cat"]
    assert frame["rows"].sum() == 178
    assert set(frame["verdict"]) <= set(VERDICTS)
    assert frame["reliability"].is_between(frame["reliability_low"], frame["reliability_high"]).all()
    assert frame["reliability_high"].max() <= 1
    assert frame["others"].is_between(0, 1).all()
    assert frame["habits"].to_list() == [""] * 3
    assert (frame["settled_by"] >= 0).all()
    assert frame["row_share"].sum() == pytest.approx(1)


def test_the_learned_reputation_is_cut_out_under_short_names(found):
    learned = learned_frame(found.contributors_)
    assert learned.columns == ["contributor", "r", "low", "high", "good", "bad"]
    assert learned["r"].to_list() == found.contributors_[LEARNED].to_list()
    assert learned["low"].to_list() == found.contributors_[f"{LEARNED}_low"].to_list()


def test_a_frame_with_other_columns_loses_them():
    frame = pl.DataFrame({"contributor": ["a"], "rows": [3], LEARNED: [0.5], f"{LEARNED}_good": [2.0]})
    assert learned_frame(frame).rows(named=True) == [{"contributor": "a", "r": 0.5, "good": 2.0}]

"""Contributor estimates of a run, as frames."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from anml import AnmlClassifier
from anml.annotators.words import VERDICTS
from anml.assessment.contributors import FIRST_COLUMNS, REPUTATION_COLUMNS, reputation_frame

pytestmark = pytest.mark.slow


def test_reputation_is_learned_from_a_run():
    rng = np.random.default_rng(0)
    X, y = load_wine(return_X_y=True)
    who = rng.choice(["ann", "bob", "eve"], len(y))
    wrong = (who == "eve") & (rng.uniform(size=len(y)) < 0.8)
    given = np.where(wrong, (y + 1) % 3, y)
    model = AnmlClassifier(random_state=0).fit(X, given, contributor=who)
    assert model.reputation_.columns == ["contributor", *REPUTATION_COLUMNS.values()]
    found = {name: rest for name, *rest in model.reputation_.iter_rows()}
    rows = {name: int((who == name).sum()) for name in found}
    for name, (r, low, high, correct, wrong_) in found.items():
        assert low < r < high
        assert 0 < correct + wrong_ <= rows[name]
    assert found["eve"][2] < found["ann"][1]
    assert model.contributors_["learned_reputation"].to_list() == [r for r, *_ in found.values()]
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
    assert frame["kappa"].is_between(frame["kappa_low"], frame["kappa_high"]).all()
    assert frame["kappa_high"].max() <= 1
    assert frame["peer_accuracy"].is_between(0, 1).all()
    assert frame["notes"].to_list() == [""] * 3
    assert (frame["true_labels_needed"] >= 0).all()
    assert frame["row_share"].sum() == pytest.approx(1)


def test_the_first_columns_are_the_same_in_every_table(found):
    assert found.contributors_.columns[: len(FIRST_COLUMNS)] == list(FIRST_COLUMNS)


def test_the_learned_reputation_has_the_names_of_the_table(found):
    learned = reputation_frame(found.contributors_)
    assert learned.equals(found.contributors_.select("contributor", *REPUTATION_COLUMNS.values()))

"""Labels alone and tables with features, fitted by the population model."""

import numpy as np
import pytest

from anml import AnmlClassifier, Recipe
from anml.annotators.rows import SideInformation
from anml.annotators.words import CONTRADICTS, FLAGGED, RELIABLE
from anml.assessment.population import CLASS_PRIOR, estimate_by_population
from anml.core.errors import UnknownNameError
from anml.core.profile import Profile
from tests.annotators.people_cases import crowd


class TestLabelsAlone:
    MADE = crowd([0.9] * 6, items=120, per_item=3)

    def test_most_items_are_right_and_all_are_reliable(self):
        result = estimate_by_population(np.zeros((360, 0)), self.MADE.y, 3, self.MADE.side)
        assert (result.truth.argmax(axis=1) == self.MADE.truth).mean() > 0.95
        assert result.shares == {CLASS_PRIOR: 1.0}
        assert result.contributors is not None
        assert result.contributors.verdict == [RELIABLE] * 6

    def test_the_parts_of_the_log_odds_add_up(self):
        result = estimate_by_population(np.zeros((360, 0)), self.MADE.y, 3, self.MADE.side)
        total = result.base + result.credentials + result.contributor + result.model
        near = (result.p_correct > 1e-6) & (result.p_correct < 1 - 1e-6)
        np.testing.assert_allclose(1 / (1 + np.exp(-total[near])), result.p_correct[near], atol=1e-6)


def test_a_contributor_who_changes_is_judged_by_the_later_labels():
    """Right in the first half of the time, and wrong in all of the second."""
    made = crowd([0.95] * 6, classes=2, items=400, per_item=4)
    when = made.item.astype(float)
    turned = (made.who == 2) & (made.item >= 200)
    side = made.side._replace(when=when)
    result = estimate_by_population(np.zeros((1600, 0)), np.where(turned, 1 - made.truth, made.y), 2, side)
    people = result.contributors
    assert people is not None
    assert people.changed is not None
    assert people.changed.when[2] == pytest.approx(200, abs=10)
    assert people.verdict[2] == CONTRADICTS
    assert [word for k, word in enumerate(people.verdict) if k != 2] == [RELIABLE] * 5


class TestWithFeatures:
    """Twelve label points of three groups; the first gives a third of them any other class."""

    def made(self, seed=0, n=600):
        rng = np.random.default_rng(seed)
        truth = rng.integers(0, 3, n)
        x = rng.normal(size=(n, 6)) + 4 * np.eye(6)[truth]
        codes = rng.integers(0, 12, n)
        wrong = rng.uniform(size=n) < np.where(codes == 0, 0.6, 0.05)
        y = np.where(wrong, (truth + rng.integers(1, 3, n)) % 3, truth)
        return x, y, codes, truth

    def test_wrong_labels_of_separable_classes_are_found(self):
        x, y, codes, truth = self.made()
        result = estimate_by_population(x, y, 3, SideInformation(codes))
        wrong = y != truth
        assert (result.p_correct[wrong] < 0.5).mean() > 0.95
        assert (result.p_correct[~wrong] > 0.5).mean() > 0.98
        assert result.wrong.mean == pytest.approx(wrong.mean(), abs=0.02)
        assert result.contributors is not None
        assert result.contributors.verdict[0] != RELIABLE
        assert not set(result.contributors.verdict[1:]) & set(FLAGGED)

    def test_a_profile_asks_for_it(self):
        x, y, codes, truth = self.made()
        recipe = Recipe(profile=Profile(annotators="population"))
        result = AnmlClassifier(recipe=recipe, random_state=0).fit(x, y, contributor=codes)
        assert (result.p_correct_[y != truth] < 0.5).mean() > 0.95

    def test_a_model_that_does_not_exist_is_refused(self):
        with pytest.raises(UnknownNameError, match="annotators"):
            Profile(annotators="other")

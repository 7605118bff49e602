"""Pictures without a model: features no label made, and networks that did not see what they predict."""

import numpy as np
import pytest
import torch

from anml.predictors import images as pictures
from anml.predictors.images import DIRECTIONS, IMAGE_SIZE, cnn_predictions, random_features, small_network


def drawn(n=60, seed=0):
    """Dark and bright pictures with noise."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    pixels = rng.normal(np.where(y, 170, 90)[:, None, None, None], 30, (n, 3, IMAGE_SIZE, IMAGE_SIZE))
    return np.clip(pixels, 0, 255).astype(np.uint8), y


class TestFeatures:
    def test_directions_are_centred_uncorrelated_and_sorted_by_spread(self):
        x = random_features(drawn()[0], 0)
        np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-9)
        covariance = x.T @ x / len(x)
        np.testing.assert_allclose(covariance - np.diag(np.diag(covariance)), 0, atol=1e-8)
        assert (np.diff(np.diag(covariance)) <= 1e-9).all()

    @pytest.mark.parametrize(("n", "width"), [(2, 1), (10, 9), (80, DIRECTIONS)])
    def test_fewer_pictures_have_fewer_directions(self, n, width):
        assert random_features(drawn(n)[0], 0).shape == (n, width)

    def test_the_same_seed_gives_the_same_bytes_and_another_seed_others(self):
        pixels = drawn(20)[0]
        assert random_features(pixels, 1).tobytes() == random_features(pixels, 1).tobytes()
        assert not np.allclose(random_features(pixels, 1), random_features(pixels, 2))

    def test_batches_leave_no_trace(self):
        """300 pictures are seen 256 at a time; equal pictures have equal features wherever they come."""
        pixels = drawn(300)[0]
        pixels[299] = pixels[3]
        x = random_features(pixels, 0)
        np.testing.assert_allclose(x[299], x[3], atol=1e-9)

    def test_what_differs_most_is_the_first_direction(self):
        pixels, y = drawn()
        first = random_features(pixels, 0)[:, 0]
        assert abs(np.corrcoef(first, y)[0, 1]) > 0.9

    def test_equal_pictures_have_no_features_that_tell_them_apart(self):
        x = random_features(np.full((5, 3, IMAGE_SIZE, IMAGE_SIZE), 100, dtype=np.uint8), 0)
        np.testing.assert_allclose(x, 0, atol=1e-6)


class TestPredictions:
    @pytest.fixture(autouse=True)
    def short(self, monkeypatch):
        monkeypatch.setattr(pictures, "EPOCHS", 3)

    def test_clear_classes_are_told_apart_and_rows_sum_to_one(self):
        pixels, y = drawn(48)
        found = cnn_predictions(pixels, y, 2, None, 0)
        np.testing.assert_allclose(found.sum(axis=1), 1)
        assert (found.argmax(axis=1) == y).mean() > 0.9

    def test_a_pictures_own_label_is_not_learned(self):
        """One wrong label among clear ones is contradicted, not confirmed."""
        pixels, y = drawn(48)
        wrong = y.copy()
        wrong[5] = 1 - wrong[5]
        assert cnn_predictions(pixels, wrong, 2, None, 0)[5, wrong[5]] < 0.5

    def test_copies_are_held_out_together(self, monkeypatch):
        pixels, y = drawn(12)
        seen = []

        def trained(pixels, y, classes, learn, asked, seed, said):
            seen.append((set(groups[learn]), set(groups[asked])))
            return np.full((len(asked), classes), 1 / classes)

        groups = np.arange(12) // 3
        monkeypatch.setattr(pictures, "_train_fold", trained)
        cnn_predictions(pixels, y, 2, groups, 0)
        assert all(not learned & asked for learned, asked in seen)
        assert set.union(*(asked for _, asked in seen)) == {0, 1, 2, 3}

    def test_progress_counts_epochs_of_all_folds(self):
        pixels, y = drawn(12)
        said = []
        cnn_predictions(pixels, y, 2, None, 0, lambda *what: said.append(what))
        assert said[0] == ("pictures", 1, 9)
        assert said[-1][1] <= said[-1][2] == 9
        assert [done for _, done, _ in said] == sorted(done for _, done, _ in said)

    def test_the_same_seed_gives_the_same_predictions_and_leaves_torchs_own_alone(self):
        pixels, y = drawn(12)
        torch.manual_seed(0)
        expected = torch.rand(1)
        torch.manual_seed(0)
        one, two = (cnn_predictions(pixels, y, 2, None, 7) for _ in range(2))
        np.testing.assert_array_equal(one, two)
        assert torch.rand(1) == expected


@pytest.mark.parametrize("classes", [2, 7])
def test_the_network_has_an_output_for_every_class(classes):
    assert small_network(classes)(torch.zeros(3, 3, IMAGE_SIZE, IMAGE_SIZE)).shape == (3, classes)

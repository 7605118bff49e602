"""Weights in a training loop: as draws, or in the loss."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import anml
from anml.core.errors import InputError
from anml.torch import WeightedSampler, weighted_loss


class TestSampler:
    weighting = anml.weigh(np.linspace(0.1, 1, 20), recipe="krum")

    def test_epochs_differ_and_repeat(self):
        sampler = WeightedSampler(self.weighting, seed=1)
        first, again = list(sampler), list(sampler)
        sampler.set_epoch(1)
        assert first == again != list(sampler)

    def test_never_draws_what_is_not_kept(self):
        assert set(WeightedSampler(self.weighting, num_samples=5000)) == set(
            np.flatnonzero(self.weighting.kept)
        )

    def test_replicas_share_one_set_of_draws_evenly(self):
        whole = list(WeightedSampler(self.weighting, num_samples=101))
        parts = [
            list(WeightedSampler(self.weighting, num_samples=101, rank=rank, num_replicas=4))
            for rank in range(4)
        ]
        assert [len(part) for part in parts] == [25] * 4
        assert sorted(row for part in parts for row in part) == sorted(whole[:100])

    def test_bad_rank(self):
        with pytest.raises(InputError, match=r"rank must lie in \[0, 1\], got 2"):
            WeightedSampler(self.weighting, rank=2, num_replicas=2)


class TestLoss:
    def test_equal_weights_are_the_plain_mean(self):
        each = torch.tensor([1.0, 2.0, 6.0])
        assert weighted_loss(each, [5.0, 5.0, 5.0]) == pytest.approx(3.0)

    def test_gradient_follows_the_weights(self):
        each = torch.tensor([1.0, 2.0], requires_grad=True)
        weighted_loss(each, [3.0, 1.0]).backward()
        torch.testing.assert_close(each.grad, torch.tensor([0.75, 0.25]))

    def test_all_zero_is_zero_not_nan(self):
        assert weighted_loss(torch.tensor([1.0, 2.0]), [0.0, 0.0]) == 0

    def test_reduced_loss_is_refused(self):
        with pytest.raises(InputError, match='reduction="none"'):
            weighted_loss(torch.tensor(1.0), [1.0, 1.0])


def test_a_sampler_takes_a_weighting_and_a_seed():
    with pytest.raises(InputError, match=r"of anml\.weigh or audit\.weights_for, got list"):
        WeightedSampler([1.0, 2.0])
    for seed in (-1, 0.5):
        with pytest.raises(InputError, match="seed must"):
            WeightedSampler(TestSampler.weighting, seed=seed)
    for sizes in (
        {"num_samples": 0},
        {"num_samples": -3},
        {"num_samples": 2.5},
        {"num_samples": 3, "num_replicas": 4},
    ):
        with pytest.raises(InputError, match="num_samples must be"):
            WeightedSampler(TestSampler.weighting, **sizes)
    with pytest.raises(InputError, match=r"rank must be a whole number, got 0\.5"):
        WeightedSampler(TestSampler.weighting, rank=0.5)


class TestDraws:
    @given(st.lists(st.floats(0.01, 1), min_size=2, max_size=8), st.integers(0, 9))
    @settings(max_examples=15)
    def test_rows_come_as_often_as_they_weigh(self, q, seed):
        weighting = anml.weigh(q, recipe={"combine": "multiplicative", "use": ["q"], "select": "weight"})
        rows = list(WeightedSampler(weighting, num_samples=4_000, seed=seed))
        share = np.bincount(rows, minlength=len(q)) / 4_000
        np.testing.assert_allclose(share, np.array(q) / sum(q), atol=0.05)

    def test_where_it_stands_can_be_kept(self):
        sampler = WeightedSampler(TestSampler.weighting, seed=3)
        sampler.set_epoch(5)
        other = WeightedSampler(TestSampler.weighting, seed=3)
        other.load_state_dict(sampler.state_dict())
        assert list(other) == list(sampler)

    def test_fixed_draws_go_on_where_they_stood(self):
        sampler = WeightedSampler(TestSampler.weighting, num_samples=30, seed=3)
        whole = list(sampler)
        draws = iter(sampler)
        first = [next(draws) for _ in range(12)]
        other = WeightedSampler(TestSampler.weighting, num_samples=30, seed=3)
        other.load_state_dict(sampler.state_dict())
        assert first + list(other) == whole
        assert list(other) == whole

    def test_what_was_drawn_ahead_and_not_used_is_given_again(self):
        sampler = WeightedSampler(TestSampler.weighting, num_samples=30, seed=3)
        draws = iter(sampler)
        ahead = [next(draws) for _ in range(20)]
        other = WeightedSampler(TestSampler.weighting, num_samples=30, seed=3)
        other.load_state_dict(sampler.state_dict(used=8))
        assert list(other)[:12] == ahead[8:]

    def test_an_epoch_has_as_many_draws_as_rows_are_kept(self):
        assert len(WeightedSampler(TestSampler.weighting)) == TestSampler.weighting.kept.sum()
        assert len(WeightedSampler(TestSampler.weighting, num_samples=10, num_replicas=3)) == 3


class TestWeightedLoss:
    @given(
        st.lists(st.tuples(st.floats(0, 10), st.floats(0.1, 5)), min_size=1, max_size=8), st.floats(0.1, 10)
    )
    @settings(max_examples=20)
    def test_is_the_weighted_mean_whatever_the_scale_of_weights(self, rows, factor):
        losses, weights = (torch.tensor(part, dtype=torch.float64) for part in zip(*rows, strict=True))
        expected = float((losses * weights).sum() / weights.sum())
        assert float(weighted_loss(losses, weights)) == pytest.approx(expected)
        assert float(weighted_loss(losses, factor * weights)) == pytest.approx(expected)

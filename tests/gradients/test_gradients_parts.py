"""Gradients of layers that see a sample at several places: products without forming them, and with."""

import pytest
import torch

from anml.gradients import factors
from anml.gradients.factors import LayerFactor, LazyGradient, LookupFactor, SequenceFactor


def normal(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def looked_up(n=6, t=4, size=5, seed=0):
    rows = torch.randint(0, size, (n, t), generator=torch.Generator().manual_seed(seed))
    return LookupFactor(rows, normal(n, t, 3, seed=seed), size)


def sequence(n=6, t=4, bias=True, seed=0):
    return SequenceFactor(normal(n, t, 5, seed=seed), normal(n, t, 3, seed=seed + 1), bias)


def when_needed(n=6, seed=0):
    return LazyGradient(normal(n, 4, seed=seed), normal(n, 4, seed=seed + 1), torch.mul)


PARTS = {
    "sequence": sequence,
    "sequence without bias": lambda n=6, seed=0: sequence(n, bias=False, seed=seed),
    "lookup": lambda n=6, seed=0: looked_up(n, seed=seed),
    "formed when needed": when_needed,
}


@pytest.mark.parametrize("make", PARTS.values(), ids=PARTS)
class TestEveryPart:
    def test_lengths_and_products_are_those_of_formed_gradients(self, make):
        one, two = make(), make(n=4, seed=5)
        mine, theirs = one.formed(), two.formed()
        torch.testing.assert_close(one.norms(), mine.square().sum(1))
        torch.testing.assert_close(one.products(two), mine @ theirs.T)

    @pytest.mark.parametrize("block", [1, 7, 2**22])
    def test_blocks_of_any_size_give_the_same(self, make, block, monkeypatch):
        monkeypatch.setattr(factors, "BLOCK", block)
        one = make()
        torch.testing.assert_close(one.products(one), one.formed() @ one.formed().T)

    def test_rows_are_taken_and_joined(self, make):
        part = make()
        rows = torch.tensor([5, 0, 3])
        torch.testing.assert_close(part.take(rows).formed(), part.formed()[rows])
        again = part.take(slice(0, 1)).joined([part.take(slice(1, 6))])
        torch.testing.assert_close(again.formed(), part.formed())
        torch.testing.assert_close(again.norms(), part.norms())

    def test_room_does_not_depend_on_the_number_of_samples(self, make):
        assert make(n=6).bytes_per_sample() == make(n=2).bytes_per_sample()


class TestSequence:
    def test_by_hand(self):
        # Places (1, 2) and (3, 4) with deltas 1 and 10: 1·(1, 2) + 10·(3, 4), bias 11.
        part = SequenceFactor(torch.tensor([[[1.0, 2.0], [3.0, 4.0]]]), torch.tensor([[[1.0], [10.0]]]))
        assert part.formed().tolist() == [[31, 42, 11]]
        assert part.norms().tolist() == [31**2 + 42**2 + 11**2]

    def test_one_place_is_a_linear_layer(self):
        part = sequence(t=1)
        plain = LayerFactor(part.a[:, 0], part.d[:, 0])
        torch.testing.assert_close(part.formed(), plain.formed())
        torch.testing.assert_close(part.products(part), plain.products(plain))

    def test_batches_of_different_lengths_are_joined(self):
        short, long = sequence(n=2, t=2), sequence(n=3, t=5, seed=3)
        joined = short.joined([long])
        torch.testing.assert_close(joined.formed(), torch.cat([short.formed(), long.formed()]))

    @pytest.mark.parametrize(
        ("t", "wide", "out", "formed"), [(2, 50, 50, False), (50, 3, 2, True), (1, 4, 4, False)]
    )
    def test_the_cheaper_way_is_taken(self, t, wide, out, formed):
        """Pairs of places cost t² (in + out), formed gradients in times out."""
        part = SequenceFactor(normal(3, t, wide), normal(3, t, out, seed=1))
        cheaper = part.cheaper()
        assert isinstance(cheaper, LayerFactor) == formed
        torch.testing.assert_close(cheaper.products(cheaper), part.formed() @ part.formed().T)


class TestLookup:
    def test_by_hand(self):
        part = LookupFactor(torch.tensor([[0, 2, 0]]), torch.tensor([[[1.0], [5.0], [10.0]]]), 3)
        assert part.formed().tolist() == [[11, 0, 5]]

    def test_a_table_is_never_formed_for_products(self):
        """A million rows of a table that nobody looked up take no room."""
        huge = LookupFactor(torch.tensor([[7, 999_999], [7, 5]]), torch.ones(2, 2, 64), 1_000_000)
        assert huge.products(huge).tolist() == [[128, 64], [64, 128]]
        assert huge.bytes_per_sample() == 2 * (64 + 2) * 4

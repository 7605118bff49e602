"""Factor products against the gradients themselves, formed from their definition."""

import numpy as np
import pytest

from anml.networks.factors import DenseFactor, Factors, network_factors
from anml.networks.mlp import LayerWidths, NetworkBatch, forward, initialise, losses

HIDDEN = [(), (8,), (8, 6), (9, 7, 5)]


def formed(factors):
    """Gradients of all parameters, (n, parameters)."""
    return np.concatenate(
        [
            part
            for layer in factors.layers
            for part in ((layer.a[:, :, None] * layer.d[:, None]).reshape(len(layer.a), -1), layer.d)
        ],
        axis=1,
    )


@pytest.mark.parametrize("hidden", HIDDEN, ids=lambda h: f"{len(h) + 1} layers")
@pytest.mark.parametrize("task", ["classification", "regression"])
class TestNetworks:
    def made(self, hidden, task):
        rng = np.random.default_rng(0)
        x = rng.normal(size=(15, 5))
        outputs, y = (3, rng.integers(0, 3, 15)) if task == "classification" else (1, rng.normal(size=15))
        start = initialise(LayerWidths(5, hidden, outputs), [3])
        networks = NetworkBatch(start.shape, start.flat.astype(np.float64))
        return networks, x, y, network_factors(networks, x, y, task)

    def test_gradients_are_those_by_finite_differences(self, hidden, task):
        networks, x, y, factors = self.made(hidden, task)

        def loss(flat):
            return losses(forward(NetworkBatch(networks.shape, flat[None]), x)[-1], y[None], task)[0]

        start, step = networks.flat[0], 1e-6
        result = formed(factors)
        for parameter in range(0, len(start), 7):
            one = step * (np.arange(len(start)) == parameter)
            expected = (loss(start + one) - loss(start - one)) / (2 * step)
            np.testing.assert_allclose(result[:, parameter], expected, rtol=1e-5, atol=1e-7)
        np.testing.assert_allclose(factors.loss, loss(start))

    def test_products_norms_and_distances_are_those_of_formed_gradients(self, hidden, task):
        _, _, _, factors = self.made(hidden, task)
        whole = formed(factors)
        np.testing.assert_allclose(factors.products(factors), whole @ whole.T, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(factors.norms(), np.square(whole).sum(axis=1), rtol=1e-9)
        subset, norms = factors.take(slice(2, 7)), factors.norms()
        expected = np.square(whole[2:7, None] - whole[None]).sum(axis=2)
        np.testing.assert_allclose(
            subset.distances(factors, norms[2:7], norms), expected, rtol=1e-9, atol=1e-9
        )


def test_by_hand():
    """Input (1, 2), delta 3: gradients (3, 6) and 3 for the bias; squares sum to 9 + 36 + 9."""
    layer = DenseFactor(np.array([[1.0, 2.0]]), np.array([[3.0]]))
    assert layer.norms().tolist() == [54]
    assert layer.products(layer).tolist() == [[54]]


def test_some_of_the_samples():
    rng = np.random.default_rng(0)
    factors = Factors([DenseFactor(rng.normal(size=(5, 3)), rng.normal(size=(5, 2)))], np.arange(5.0))
    subset = factors.take(np.array([3, 1]))
    assert len(subset) == 2
    assert subset.loss.tolist() == [3, 1]
    np.testing.assert_array_equal(formed(subset), formed(factors)[[3, 1]])

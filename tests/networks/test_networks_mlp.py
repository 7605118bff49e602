"""B networks trained together: finite differences, Adam by its formulas, alone and in company."""

import numpy as np
import pytest

from anml.networks.mlp import (
    LayerWidths,
    NetworkBatch,
    TrainingData,
    as_data,
    forward,
    initialise,
    layer_views,
    log_softmax,
    losses,
    output_delta,
    predict,
    shuffled,
    softmax,
    train,
)


def some_data(n=40, d=5, classes=3):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, d)), rng.integers(0, classes, n), rng.normal(size=n)


def in_double(networks):
    return NetworkBatch(networks.shape, networks.flat.astype(np.float64))


class TestStart:
    def test_parameters_are_uniform_within_glorots_bound(self):
        shape = LayerWidths(30, (50,), 10)
        flat = initialise(shape, [3]).flat[0]
        assert flat.dtype == np.float32
        assert len(flat) == shape.parameters == 31 * 50 + 51 * 10
        hidden, bound = flat[: 31 * 50], np.sqrt(6 / 80)
        assert np.abs(hidden).max() < bound
        assert abs(hidden.mean()) < 0.05 * bound
        assert np.abs(hidden).mean() == pytest.approx(bound / 2, rel=0.05)

    def test_a_seed_is_a_network_wherever_it_is_in_the_list(self):
        result = initialise(LayerWidths(4, (3,), 2), [1, 2, 1]).flat
        np.testing.assert_array_equal(result[0], result[2])
        assert (result[0] != result[1]).any()
        np.testing.assert_array_equal(result[1:2], initialise(LayerWidths(4, (3,), 2), [2]).flat)

    def test_the_stream_of_a_seed_is_fixed(self):
        """MT19937 with seed 0 begins with 2357136044; its last 24 bits make the first weight."""
        first = 2_357_136_044 % 2**24 / 2**24
        bound = np.sqrt(6 / 2)
        result = initialise(LayerWidths(1, (), 1), [0]).flat[0, 0]
        assert result == pytest.approx(bound * (2 * first - 1), abs=1e-6)

    def test_layers_are_views_of_the_parameters(self):
        networks = initialise(LayerWidths(4, (3,), 2), [1, 2])
        for weight, bias in layer_views(networks.shape, networks.flat):
            assert np.shares_memory(weight, networks.flat)
            assert np.shares_memory(bias, networks.flat)
        networks.layers[1][1][1, 0, 1] = 7
        assert networks.flat[1, -1] == 7
        assert networks.pick([1]).flat[0, -1] == 7
        assert not np.shares_memory(networks.pick([1]).flat, networks.flat)


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_one_step_is_adam_along_the_gradient_by_finite_differences(task):
    x, codes, values = some_data(12)
    outputs, y = (3, codes) if task == "classification" else (1, values)
    weight = np.random.default_rng(1).uniform(size=12)
    networks = in_double(initialise(LayerWidths(5, (4, 3), outputs), [7]))

    def loss(flat):
        out = forward(NetworkBatch(networks.shape, flat[None]), x)[-1]
        return float((losses(out, y[None], task)[0] * weight).sum() / weight.sum())

    start, step = networks.flat[0].copy(), 1e-6
    gradient = np.array([
        (loss(start + step * one) - loss(start - step * one)) / (2 * step) for one in np.eye(len(start))
    ])  # fmt: skip
    train(networks, TrainingData.shared(x, y, weight[None]), task, [7], epochs=1, lr=1e-2)
    # The first step of Adam, with its corrected moments: lr * g / (|g| + eps).
    np.testing.assert_allclose(
        networks.flat[0], start - 1e-2 * gradient / (np.abs(gradient) + 1e-8), rtol=1e-6, atol=1e-5
    )


def test_adam_by_hand():
    """One input, one output, no hidden layer: 20 steps of the published algorithm on one parameter pair."""
    x, y = np.array([[1.0], [2.0]]), np.array([1.0, 3.0])
    networks = in_double(initialise(LayerWidths(1, (), 1), [0]))
    parameters, mean, square = networks.flat[0].copy(), np.zeros(2), np.zeros(2)
    for step in range(1, 21):
        residual = parameters[0] * x[:, 0] + parameters[1] - y
        gradient = np.array([(2 * residual * x[:, 0]).mean(), (2 * residual).mean()])
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        corrected = square / (1 - 0.999**step)
        parameters -= 0.1 * mean / (1 - 0.9**step) / (np.sqrt(corrected) + 1e-8)
    train(networks, TrainingData.shared(x, y, np.ones((1, 2))), "regression", [0], epochs=20, lr=0.1)
    np.testing.assert_allclose(networks.flat[0], parameters, rtol=1e-9)


def test_a_network_does_not_depend_on_its_company():
    x, y, _ = some_data(50)
    inputs, codes = as_data(x, y)
    weight = (np.random.default_rng(0).uniform(size=(3, 50)) > 0.3).astype(np.float32)
    weight[:, :35] = 1
    weight[:, 35:] = 0
    together = initialise(LayerWidths(5, (8,), 3), [1, 2, 3])
    train(
        together, TrainingData.shared(inputs, codes, weight), "classification", [1, 2, 3], epochs=5, batch=16
    )
    alone = initialise(LayerWidths(5, (8,), 3), [2])
    train(alone, TrainingData.shared(inputs, codes, weight[1:2]), "classification", [2], epochs=5, batch=16)
    np.testing.assert_allclose(together.flat[1:2], alone.flat, rtol=1e-5, atol=1e-6)


def test_zero_one_weights_are_subsets():
    x, y = as_data(*some_data(40)[:2])
    weight = np.zeros((1, 40), dtype=np.float32)
    weight[0, ::2] = 1
    ones = np.ones((1, 20), dtype=np.float32)
    masked, subset = (initialise(LayerWidths(5, (8,), 3), [4]) for _ in range(2))
    train(masked, TrainingData.shared(x, y, weight), "classification", [4], epochs=5, batch=8)
    train(subset, TrainingData.shared(x[::2], y[::2], ones), "classification", [4], epochs=5, batch=8)
    np.testing.assert_allclose(masked.flat, subset.flat, rtol=1e-6)


def test_a_row_of_weight_two_is_the_row_twice():
    x, y, _ = some_data(10)
    weight = np.r_[2.0, np.ones(9)][None]
    heavy, twice = (in_double(initialise(LayerWidths(5, (8,), 3), [4])) for _ in range(2))
    train(heavy, TrainingData.shared(x, y, weight), "classification", [4], epochs=9)
    again = np.r_[0, np.arange(10)]
    train(twice, TrainingData.shared(x[again], y[again], np.ones((1, 11))), "classification", [4], epochs=9)
    np.testing.assert_allclose(heavy.flat, twice.flat, rtol=1e-9, atol=1e-12)


def test_no_weight_at_all_changes_nothing():
    x, y = as_data(*some_data(10)[:2])
    networks = initialise(LayerWidths(5, (8,), 3), [4])
    before = networks.flat.copy()
    train(networks, TrainingData.shared(x, y, np.zeros((1, 10), np.float32)), "classification", [4], epochs=3)
    np.testing.assert_array_equal(networks.flat, before)


class TestOrder:
    def test_shuffles_are_permutations_that_depend_on_seed_and_epoch(self):
        one = shuffled([1, 2], 1, 100)
        np.testing.assert_array_equal(np.sort(one, axis=1), np.tile(np.arange(100), (2, 1)))
        assert (one[0] != one[1]).any()
        assert (one != shuffled([1, 2], 2, 100)).any()
        np.testing.assert_array_equal(one[1:], shuffled([2], 1, 100))
        np.testing.assert_array_equal(one[[1, 0, 1]], shuffled([2, 1, 2], 1, 100))

    def test_every_position_is_as_likely(self):
        first = np.concatenate([shuffled(range(200), epoch, 10)[:, 0] for epoch in range(20)])
        counts = np.bincount(first, minlength=10)
        assert counts.min() > 300
        assert counts.max() < 500

    def test_a_large_seed_is_a_seed(self):
        assert sorted(shuffled([2**32 - 1], 1, 5)[0]) == [0, 1, 2, 3, 4]


def test_training_stops_when_asked_to():
    x, y = as_data(*some_data()[:2])
    calls = []
    networks = initialise(LayerWidths(5, (), 3), [0])
    train(
        networks, TrainingData.shared(x, y, np.ones((1, 40), np.float32)), "classification", [0], epochs=50,
        on_epoch=lambda epoch: calls.append(epoch) or epoch == 3,
    )  # fmt: skip
    assert calls == [1, 2, 3]


def test_losses_by_hand():
    outputs = np.array([[[0.0, 0.0], [np.log(3.0), 0.0]]])
    np.testing.assert_allclose(losses(outputs, np.array([[0, 1]]), "classification"), np.log([[2, 4]]))
    result = losses(np.array([[[1.0], [2.0]]]), np.array([[3.0, 2.0]]), "regression")
    np.testing.assert_array_equal(result, [[4, 0]])


def test_probabilities_of_huge_outputs_are_finite():
    outputs = np.array([[1e4, 0.0], [-1e4, -1e4]])
    np.testing.assert_allclose(softmax(outputs), [[1, 0], [0.5, 0.5]])
    np.testing.assert_allclose(log_softmax(outputs), [[0, -1e4], np.log([0.5, 0.5])])


def test_output_deltas_by_hand():
    delta = output_delta(np.log([[[1.0, 3.0]]]), np.array([1]), "classification")
    np.testing.assert_allclose(delta, [[[0.25, -0.25]]])
    np.testing.assert_allclose(output_delta(np.array([[[5.0]]]), np.array([2.0]), "regression"), [[[6]]])


def test_blocks_of_rows_are_predicted_as_all_at_once():
    x, _, _ = some_data(50)
    networks = in_double(initialise(LayerWidths(5, (8,), 3), [1, 2]))
    np.testing.assert_allclose(predict(networks, x, block=7), predict(networks, x), rtol=1e-12)
    assert predict(networks, x).shape == (2, 50, 3)
    each = np.stack([x, 2 * x])
    np.testing.assert_allclose(predict(networks, each)[1], predict(networks, 2 * x)[1], rtol=1e-12)


def test_networks_with_data_sets_of_their_own():
    x, y, _ = some_data(6)
    data = TrainingData(
        np.stack([x, x + 1]), np.stack([y, y]), np.array([1, 0]), np.array([[0, 2], [1, 1]]), np.ones((2, 2))
    )
    features, targets = data.take(data.rows)
    np.testing.assert_array_equal(features, [x[[0, 2]] + 1, x[[1, 1]]])
    np.testing.assert_array_equal(targets, [y[[0, 2]], y[[1, 1]]])

"""A user's module: read from its layers or through torch.func, batch by batch, and left as it was."""

import numpy as np
import pytest
import torch
from torch import nn

from anml.core.errors import InputError, UnsupportedError
from anml.gradients import modules
from anml.gradients.batches import Batch, GradientSettings, in_evaluation, run
from anml.gradients.factors import LayerFactor, LazyGradient, SequenceFactor, formed_part
from anml.gradients.modules import choose_representation, covered_batches, exact_factors, sketched_factors
from anml.gradients.record import Covered
from formed_gradients import assert_same_distances, explicit_gradients, module_factors, stack


def some_data(n: int = 30, d: int = 5, classes: int = 3):
    rng = np.random.default_rng(0)
    x = torch.tensor(rng.normal(size=(n, d)), dtype=torch.float32)
    return x, torch.tensor(rng.integers(0, classes, n)), torch.tensor(rng.normal(size=n), dtype=torch.float32)


class TestModules:
    def test_convolutions_go_through_torch_func(self):
        torch.manual_seed(0)
        module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(2 * 6 * 6, 3))
        x, y = torch.randn(10, 1, 8, 8), torch.arange(10) % 3
        factors = module_factors(module, x, y, "softmax")
        gradients = explicit_gradients(module, x, y, nn.functional.cross_entropy)
        torch.testing.assert_close(factors.norms(), gradients.square().sum(1))

    def test_too_large_for_memory_is_one_clear_sentence(self):
        module = nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten(), nn.Linear(72, 3))
        with pytest.raises(UnsupportedError, match=r"Conv2d.*10 samples x 239 parameters.*limit"):
            module_factors(module, torch.randn(10, 1, 8, 8), torch.arange(10) % 3, "softmax", limit_bytes=100)

    def test_a_layer_used_twice_is_not_read_from_factors(self):
        torch.manual_seed(0)
        layer = nn.Linear(4, 4)
        module = nn.Sequential(layer, nn.ReLU(), layer)
        x, y = torch.randn(8, 4), torch.arange(8) % 4
        factors = module_factors(module, x, y, "softmax")
        gradients = explicit_gradients(module, x, y, nn.functional.cross_entropy)
        torch.testing.assert_close(factors.norms(), gradients.square().sum(1))

    def test_samples_that_are_compared_have_no_gradient_of_their_own(self):
        class Compares(nn.Linear):
            def forward(self, x):
                return super().forward(x - x.mean(0))

        x, y, _ = some_data()
        with pytest.raises(
            UnsupportedError, match="Compares compares the samples of a batch with each other"
        ):
            module_factors(Compares(5, 3), x, y, "softmax")

    def test_torch_func_is_not_believed_where_it_differs(self, monkeypatch):
        x, y, _ = some_data()
        module = nn.Sequential(nn.Linear(5, 4), nn.PReLU(), nn.Linear(4, 3))
        whole = modules._formed

        def off(module, batch, reading):
            covered, losses = whole(module, batch, reading)
            return [Covered(p, formed_part(1.1 * part.formed())) for p, part in covered], losses

        monkeypatch.setattr(modules, "_formed", off)
        factors = module_factors(module, x, y, "softmax")
        gradients = explicit_gradients(module, x, y, nn.functional.cross_entropy)
        torch.testing.assert_close(factors.norms(), gradients.square().sum(1))

    def test_random_numbers_in_evaluation_mode(self):
        class Draws(nn.Linear):
            def forward(self, x):
                return super().forward(nn.functional.dropout(x, 0.5, training=True))

        x, y, _ = some_data()
        with pytest.raises(UnsupportedError, match="or draws random numbers in evaluation mode"):
            module_factors(Draws(5, 3), x, y, "softmax")

    def test_complex_parameters(self):
        class Waves(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.randn(5, 3, dtype=torch.cfloat))

            def forward(self, x):
                return (x.to(torch.cfloat) @ self.weight).abs()

        x, y, _ = some_data()
        with pytest.raises(UnsupportedError, match="Waves has complex parameters"):
            module_factors(Waves(), x, y, "softmax")

    def test_no_parameters(self):
        with pytest.raises(UnsupportedError, match="no trainable parameters"):
            module_factors(nn.ReLU(), torch.randn(3, 2), torch.tensor([0, 1, 0]), "softmax")

    def test_module_is_left_as_it_was(self):
        module = stack([5, 4, 3]).train()
        before = [p.clone() for p in module.parameters()]
        x, y, _ = some_data()
        module_factors(module, x, y, "softmax")
        assert module.training
        assert all(p.grad is None for p in module.parameters())
        assert all(torch.equal(a, b) for a, b in zip(before, module.parameters(), strict=True))

    def test_binary_module_with_one_output(self):
        module, (x, _, _) = stack([5, 4, 1]), some_data()
        y = (torch.arange(30) % 2).float()
        factors = module_factors(module, x, y, "logistic")

        def bce(out, target):
            return nn.functional.binary_cross_entropy_with_logits(out[:, 0], target)

        assert_same_distances(factors, explicit_gradients(module, x, y, bce), 1e-3)


def net(seed=0):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(5, 6), nn.Tanh(), nn.Linear(6, 3))


class TestBatches:
    @pytest.mark.parametrize("size", [1, 7, 30])
    def test_any_size_of_batch_gives_the_same_factors(self, size):
        x, y, _ = some_data()
        module = net()
        whole = module_factors(module, x, y, "softmax")
        batches = [Batch(x[at : at + size], y[at : at + size]) for at in range(0, 30, size)]
        result = exact_factors(module, batches, GradientSettings(), 30)
        torch.testing.assert_close(result.products(result), whole.products(whole), rtol=1e-4, atol=1e-6)
        torch.testing.assert_close(result.loss, whole.loss)

    def test_the_last_layers_alone_are_a_part_of_the_gradient(self):
        x, y, _ = some_data()
        module = net()
        last = exact_factors(module, [Batch(x, y)], GradientSettings(last=1), 30)
        whole = module_factors(module, x, y, "softmax")
        torch.testing.assert_close(last.norms(), whole.layers[-1].norms())
        assert (last.norms() <= whole.norms() + 1e-6).all()

    def test_sketches_of_small_modules_keep_distances(self):
        x, y, _ = some_data()
        module = net()
        exact = module_factors(module, x, y, "softmax")
        sketch = sketched_factors(module, [Batch(x, y)], GradientSettings(), size=4096)
        torch.testing.assert_close(sketch.products(sketch), exact.products(exact), rtol=0.1, atol=0.05)

    def test_parts_are_settled_where_that_costs_less(self):
        wide = SequenceFactor(torch.ones(2, 50, 3), torch.ones(2, 50, 2))
        assert isinstance(choose_representation(wide), LayerFactor)
        assert isinstance(
            choose_representation(LazyGradient(torch.ones(2, 3), torch.ones(2, 3), torch.mul)), LayerFactor
        )
        plain = LayerFactor(torch.ones(2, 3), torch.ones(2, 2))
        assert choose_representation(plain) is plain


class TestInputs:
    def test_one_several_or_several_by_name(self):
        class Adds(nn.Module):
            def __init__(self):
                super().__init__()
                self.head = nn.Linear(5, 3)

            def forward(self, a, b=None):
                return self.head(a if b is None else a + b)

        torch.manual_seed(0)
        module, (x, y, _) = Adds(), some_data()
        one = module_factors(module, 2 * x, y, "softmax").norms()
        for inputs in ((x, x), {"a": x, "b": x}):
            torch.testing.assert_close(module_factors(module, inputs, y, "softmax").norms(), one)
            torch.testing.assert_close(run(module, inputs), module(2 * x))

    def test_what_a_module_cannot_be_run_on_is_described(self):
        with pytest.raises(
            InputError, match=r"Sequential cannot be run on a batch of 0: shape \(4, 9\), float32"
        ):
            module_factors(
                nn.Sequential(nn.Linear(5, 3)), (torch.ones(4, 9),), torch.zeros(4).long(), "softmax"
            )


class TestModes:
    def test_every_layers_own_mode_comes_back_after_an_error_too(self):
        module = nn.Sequential(nn.Dropout(), nn.Linear(2, 2))
        module[1].eval()
        calls = []
        with pytest.raises(RuntimeError), in_evaluation(module):
            raise RuntimeError(calls.append(module[0].training))
        assert calls == [False]
        assert module[0].training
        assert not module[1].training

    def test_dropout_does_not_disturb_gradients(self):
        x, y, _ = some_data()
        torch.manual_seed(0)
        module = nn.Sequential(nn.Linear(5, 6), nn.Dropout(0.5), nn.Linear(6, 3)).train()
        one, two = (module_factors(module, x, y, "softmax").norms() for _ in range(2))
        assert torch.equal(one, two)

    def test_half_precision_comes_near(self):
        x, y, _ = some_data()
        module = net()
        exact = module_factors(module, x, y, "softmax")
        result = exact_factors(module, [Batch(x, y)], GradientSettings(precision=torch.bfloat16), 30)
        np.testing.assert_allclose(result.norms().sqrt(), exact.norms().sqrt(), rtol=0.1, atol=0.05)

    def test_covered_parameters_are_those_that_are_trained(self):
        x, y, _ = some_data()
        module = net()
        module[0].requires_grad_(False)
        [(covered, losses)] = covered_batches(module, [Batch(x, y)], GradientSettings())
        assert {id(p) for parameters, _ in covered for p in parameters} == {
            id(p) for p in module[2].parameters()
        }
        assert losses.shape == (30,)


class Placed(nn.Module):
    """Words and, looked up once for all samples, their places."""

    def __init__(self, sparse=False):
        super().__init__()
        torch.manual_seed(0)
        self.words, self.places = nn.Embedding(20, 8, sparse=sparse), nn.Embedding(12, 8, sparse=sparse)
        self.head = nn.Linear(8, 3)

    def forward(self, x):
        each = self.words(x) + self.places(torch.arange(x.shape[1]))
        return self.head(torch.tanh(each).mean(1))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("lengths", [(6, 6), (6, 4), (6, 1), (10, 6)])
def test_a_batch_as_large_as_its_sequences_are_long(lengths, sparse):
    """The second batch has six samples: six places are no place of each."""
    x = [torch.arange(n * t).reshape(n, t) % 20 for n, t in zip((10, 6), lengths, strict=True)]
    y = [torch.arange(len(each)) % 3 for each in x]
    module = Placed(sparse)
    result = exact_factors(module, map(Batch, x, y), GradientSettings(), 16)
    rows = [
        torch.cat([
            torch.zeros(p.numel()) if g is None else (g.to_dense() if g.is_sparse else g).flatten()
            for p, g in zip(
                module.parameters(),
                torch.autograd.grad(
                    nn.functional.cross_entropy(module(a[None]), b[None]), list(module.parameters())
                ),
                strict=True,
            )
        ])
        for inputs, target in zip(x, y, strict=True)
        for a, b in zip(inputs, target, strict=True)
    ]  # fmt: skip
    exact = torch.stack(rows)
    torch.testing.assert_close(result.products(result), exact @ exact.T, rtol=1e-4, atol=1e-6)

"""q of modules from every kind of data, by every choice of gradients and neighbours."""

import numpy as np
import pytest
import torch
from scipy.stats import spearmanr
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, TensorDataset

import anml
from anml.core.errors import AnmlError, InputError, UnsupportedError
from anml.torch import checkpoint_quality, module_quality
from anml.torch.quality import Gradients

WRONG = 0.25


def pictures(n=200, seed=0):
    rng = np.random.default_rng(seed)
    kinds = np.random.default_rng(9).normal(size=(4, 1, 8, 8))
    y = rng.integers(0, 4, n)
    x = kinds[y] + 0.7 * rng.normal(size=(n, 1, 8, 8))
    wrong = rng.uniform(size=n) < WRONG
    labels = np.where(wrong, (y + 1) % 4, y)
    return torch.as_tensor(x, dtype=torch.float32), torch.as_tensor(labels), wrong


def network():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 6, 3), nn.ReLU(inplace=True), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(54, 4)
    )


@pytest.fixture(scope="module")
def trained():
    x, y, wrong = pictures()
    module = network()
    optimiser = torch.optim.Adam(module.parameters(), lr=1e-2)
    for _ in range(15):
        optimiser.zero_grad()
        nn.functional.cross_entropy(module(x), y).backward()
        optimiser.step()
    return module, x, y, wrong


@pytest.mark.parametrize(
    ("settings", "similar"),
    [
        ({"gradients": "sketch"}, 0.995),
        ({"gradients": {"method": "sketch", "size": 512}}, 0.98),
        ({"gradients": "last"}, 0.9),
        ({"gradients": Gradients(method="last", layers=2)}, 0.999_999),
        ({"neighbors": {"references": 150}}, 0.95),
        ({"neighbors": 12}, 0.98),
        ({"gradients": {"precision": "bfloat16"}}, 0.98),
        ({"batch_size": 7}, 0.999_999),
    ],
    ids=str,
)
def test_every_choice_agrees_with_exact_and_finds_wrong_labels(trained, settings, similar):
    module, x, y, wrong = trained
    exact = module_quality(module, x, y, gradients="exact")
    result = module_quality(module, x, y, **settings)
    assert spearmanr(result, exact)[0] > similar
    assert wrong[anml.weigh(result, recipe="krum").kept].mean() < 0.12


class Shuffled(IterableDataset):
    def __init__(self, x, y, named):
        self.rows, self.named = list(zip(x, y, strict=True)), named

    def __iter__(self):
        for at in torch.randperm(len(self.rows)).tolist():
            x, y = self.rows[at]
            yield {"input": x, "y": y, "sample_index": at} if self.named else (x, y)


def test_a_stream_in_another_order_each_time_must_name_its_rows():
    x, y = torch.randn(60, 4), torch.arange(60) % 3
    module = nn.Linear(4, 3)
    with pytest.raises(InputError, match="another order each time"):
        module_quality(module, Shuffled(x, y, named=False))
    result = module_quality(module, Shuffled(x, y, named=True))
    np.testing.assert_allclose(result, module_quality(module, x, y), atol=1e-5)


class Stream(IterableDataset):
    def __init__(self, x, y):
        self.x, self.y = x, y

    def __iter__(self):
        return iter(zip(self.x, self.y, strict=True))


def test_the_same_q_from_every_kind_of_data(trained):
    module, x, y, _ = trained
    wanted = module_quality(module, x, y, gradients="sketch")
    pairs = TensorDataset(x, y)
    for data in (pairs, DataLoader(pairs, batch_size=50), DataLoader(Stream(x, y), batch_size=30)):
        np.testing.assert_allclose(module_quality(module, data, gradients="sketch"), wanted, atol=1e-4)
    stream = module_quality(module, Stream(x[:50], y[:50]))
    np.testing.assert_allclose(stream, module_quality(module, x[:50], y[:50]), atol=1e-6)
    arrays = module_quality(module, x.numpy().astype(np.float64), y.tolist(), gradients="sketch")
    np.testing.assert_allclose(arrays, wanted, atol=1e-4)


def test_several_inputs_by_name():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            self.one, self.two = nn.Linear(3, 2), nn.Linear(4, 2)

        def forward(self, first, second):
            return self.one(first) + self.two(second)

    x = {"first": torch.randn(12, 3), "second": torch.randn(12, 4)}
    assert module_quality(Two(), x, torch.arange(12) % 2).shape == (12,)
    both = TensorDataset(x["first"], x["second"], torch.arange(12) % 2)
    assert module_quality(Two(), both).shape == (12,)


def test_what_does_not_fit_in_memory_is_sketched_and_exact_is_refused(trained):
    module, x, y, _ = trained
    sketched = module_quality(module, x, y, gradients="sketch")
    limited = module_quality(module, x, y, gradients={"limit_bytes": 1_000})
    np.testing.assert_array_equal(limited, sketched)
    with pytest.raises(UnsupportedError, match=r'200 samples x 280 parameters.*use gradients="sketch"'):
        module_quality(module, x, y, gradients={"method": "exact", "limit_bytes": 1_000})


def test_checkpoints_are_averaged_and_the_module_is_left_alone(trained):
    module, x, y, _ = trained
    before = {name: value.clone() for name, value in module.state_dict().items()}
    states = [network().state_dict(), before]
    result = checkpoint_quality(module, states, x, y)
    wanted = (module_quality(network(), x, y) + module_quality(module, x, y)) / 2
    np.testing.assert_allclose(result, wanted, atol=1e-6)
    assert all(torch.equal(before[name], value) for name, value in module.state_dict().items())


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode])
def test_where_gradients_are_switched_off_q_is_the_same(trained, mode):
    module, x, y = trained[:3]
    wanted = module_quality(module, x, y)
    with mode():
        np.testing.assert_array_equal(module_quality(module, x, y), wanted)


def test_progress_is_told(trained):
    module, x, y, _ = trained
    messages = []
    module_quality(module, x, y, batch_size=80, progress=lambda *step: messages.append(step))
    assert messages == [("gradients", 80, 200), ("gradients", 160, 200), ("gradients", 200, 200)]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"gradients": "guess"}, "gradients 'guess'"),
        ({"neighbors": {"among": "friends"}}, "unknown key of Neighbors 'among'"),
        ({"neighbors": {"kay": 3}}, "unknown key of Neighbors 'kay'"),
        ({"neighbors": "ten"}, "neighbors must be a Neighbors or a dict of its fields, got 'ten'"),
        ({"neighbors": 0}, "k must be at least 1, got 0"),
        ({"gradients": {"precision": "int8"}}, "precision 'int8'"),
        ({"gradients": {"size": 0}}, "size must be at least 1, got 0"),
        ({"gradients": 3}, "gradients must be a Gradients or a dict of its fields, got 3"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"random_state": -1}, "random_state must be at least 0, got -1"),
        ({"loss": "hinge"}, "loss 'hinge'"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda, mps, got 'tpu'"),
        ({"neighbors": {"probes": 1}}, "unknown key of Neighbors 'probes'"),
        ({"neighbors": {"references": 0}}, "references must be at least 1"),
    ],
    ids=str,
)
def test_choices_that_do_not_exist(trained, given, message):
    module, x, y, _ = trained
    with pytest.raises(AnmlError, match=message):
        module_quality(module, x, y, **given)


def test_data_that_cannot_be_used(trained):
    module, x, y, _ = trained
    pairs = TensorDataset(x, y)
    with pytest.raises(InputError, match="Tensor needs targets"):
        module_quality(module, x)
    with pytest.raises(InputError, match="brings its own targets"):
        module_quality(module, pairs, y)
    with pytest.raises(InputError, match="must be numbers, got <U"):
        module_quality(module, x, np.array(["a"] * len(x)))
    with pytest.raises(InputError, match="must be inputs and targets"):
        module_quality(module, TensorDataset(x))


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_no_gpu_is_said(trained):
    module, x, y, _ = trained
    with pytest.raises(InputError, match="torch sees no GPU here"):
        module_quality(module, x, y, device="cuda")


@pytest.mark.parametrize("kind", [np.int8, np.int16, np.int32, np.uint8, np.int64])
def test_classes_of_any_whole_kind_score_alike_as_arrays_and_by_a_loader(kind):
    x = np.random.default_rng(0).normal(size=(24, 3))
    y = (x[:, 0] > 0).astype(kind)
    torch.manual_seed(0)
    module = nn.Linear(3, 2)
    loader = DataLoader(TensorDataset(torch.tensor(x).float(), torch.as_tensor(y)), batch_size=7)
    by_array = module_quality(module, x, y)
    np.testing.assert_allclose(module_quality(module, loader), by_array, atol=1e-6)


@pytest.mark.parametrize("make", [lambda: nn.LazyLinear(2), lambda: nn.Linear(3, 2, device="meta")])
def test_parameters_without_values_are_one_sentence(make):
    with pytest.raises(InputError, match="has parameters without values; load it, or run it once"):
        module_quality(make(), torch.ones(4, 3), torch.arange(4) % 2)


def test_what_is_no_module_and_a_checkpoint_that_does_not_fit_are_one_sentence():
    x, y = np.ones((4, 3)), np.array([0, 1, 0, 1])
    with pytest.raises(InputError, match=r"module must be a torch\.nn\.Module, got str"):
        module_quality("net", x, y)
    with pytest.raises(InputError, match=r"a checkpoint does not fit the Linear: .*Missing key") as refused:
        checkpoint_quality(nn.Linear(3, 2), [{"other": torch.ones(1)}], x, y)
    assert "\n" not in str(refused.value)

"""Every layer's rule against gradients of one sample at a time in double precision, alone and in networks."""

import copy
import math

import pytest
import torch
from torch import nn

from anml.core.errors import InputError
from anml.gradients.batches import Batch, GradientSettings
from anml.gradients.layers.rules import LAYERS
from anml.gradients.modules import exact_factors, sketched_factors
from anml.gradients.record import unsupported_layers
from formed_gradients import module_factors


def gradients(module: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Gradients of trainable parameters, one sample at a time, in double precision."""
    module = copy.deepcopy(module).double().eval()
    # In evaluation mode torch's fast path of a frozen transformer leaves adapters out.
    torch.backends.mha.set_fastpath_enabled(False)
    named = {name: p for name, p in module.named_parameters() if p.requires_grad}
    rows = []
    for at in range(len(y)):
        sample = x[at : at + 1].double() if x.is_floating_point() else x[at : at + 1]
        out = module(sample)
        loss = nn.functional.cross_entropy(out, y[at : at + 1])
        result = torch.autograd.grad(loss, list(named.values()), allow_unused=True)
        rows.append(
            torch.cat([torch.zeros(p.numel()).double() if g is None else g.flatten()
                       for p, g in zip(named.values(), result, strict=True)])
        )  # fmt: skip
    return torch.stack(rows)


def assert_products(module: nn.Module, x: torch.Tensor, y: torch.Tensor, *, by_rules: bool = True) -> None:
    assert bool(unsupported_layers(module)) != by_rules
    factors = module_factors(module, x, y, "softmax")
    exact = gradients(module, x, y)
    wanted = exact @ exact.T
    lengths = exact.norm(dim=1)
    scale = lengths[:, None] * lengths
    assert float(((factors.products(factors) - wanted).abs() / scale).max()) < 1e-4
    torch.testing.assert_close(factors.norms().double(), wanted.diagonal(), rtol=1e-4, atol=0)
    batches = [Batch(x[:3], y[:3]), Batch(x[3:], y[3:])]
    streamed = exact_factors(module, batches, GradientSettings(), len(y))
    torch.testing.assert_close(streamed.products(streamed), factors.products(factors), rtol=1e-4, atol=1e-6)
    # Sketches are unbiased: with many numbers they come close.
    sketch = sketched_factors(module, batches, GradientSettings(), size=2**15)
    assert float(((sketch.products(sketch) - wanted).abs() / scale).max()) < 0.05


class Tokens(nn.Module):
    """Token ids to logits through whatever is in the middle; sequences are averaged."""

    def __init__(self, middle: nn.Module, width: int = 8, positions: str = "none") -> None:
        super().__init__()
        self.embed = nn.Embedding(11, width, padding_idx=0)
        self.where = nn.Embedding(7, width) if positions != "none" else None
        self.positions, self.middle, self.head = positions, middle, nn.Linear(width, 3)

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        x = self.embed(ids)
        if self.where is not None:
            at = torch.arange(ids.shape[1])
            x = x + self.where(at.unsqueeze(0) if self.positions == "once" else at)
        return self.head(self.middle(x).mean(1))


class Attending(nn.Module):
    def __init__(self, mask: bool = False, cross: bool = False, weights: bool = False, **settings) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, **settings)
        self.mask, self.cross, self.weights = mask, cross, weights
        self.first = settings.get("batch_first", False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        if not self.first:
            x = x.transpose(0, 1)
        other = torch.tanh(x)[..., : self.attention.kdim] if self.cross else x
        length = x.shape[1 if self.first else 0]
        mask = nn.Transformer.generate_square_subsequent_mask(length, dtype=x.dtype) if self.mask else None
        padding = None
        if self.mask:
            padding = torch.zeros(len(x) if self.first else x.shape[1], length, dtype=x.dtype)
            padding[:, -1] = -torch.inf
        y = self.attention(
            x, other, other, attn_mask=mask, key_padding_mask=padding if self.mask and self.first else None,
            need_weights=self.weights,
        )[0]  # fmt: skip
        return y if self.first else y.transpose(0, 1)


class Tied(nn.Module):
    """The table of the embedding gives the logits, too."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.mix, self.head = nn.Embedding(11, 6), nn.Linear(6, 6), nn.Linear(6, 11, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(self.mix(self.embed(ids))).mean(1))


class Block(nn.Module):
    """As in a residual network, changes in place included."""

    def __init__(self, inside: int, out: int, norm) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, out, 3, stride=2, padding=1, bias=False), norm(out), nn.ReLU(inplace=True),
            nn.Conv2d(out, out, 3, padding=1, bias=False), norm(out),
        )  # fmt: skip
        self.short = nn.Conv2d(inside, out, 1, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.body(x)
        y += self.short(x)
        return torch.relu_(y)


class LoraLinear(nn.Module):
    """A frozen linear layer with a trainable product of two narrow ones beside it."""

    def __init__(self, base: nn.Linear, rank: int = 2) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        self.weight, self.bias = base.weight, base.bias

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.base(x) + self.up(self.down(x))


def flat(*layers: nn.Module, width: int) -> nn.Sequential:
    return nn.Sequential(*layers, nn.Tanh(), nn.Flatten(), nn.Linear(width, 3))


def warm(module: nn.Module, x: torch.Tensor) -> nn.Module:
    """Running statistics of batch norms that are not the ones they start with."""
    with torch.no_grad():
        module.train()(x)
        module(x * 2 + 0.5)
    return module


IMAGES = {
    "conv2d": lambda: flat(nn.Conv2d(4, 6, 3), width=6 * 36),
    "strided, padded, dilated": lambda: flat(nn.Conv2d(4, 6, 3, 2, 2, 2), width=6 * 16),
    "grouped": lambda: flat(nn.Conv2d(4, 6, (3, 2), groups=2), width=6 * 6 * 7),
    "depthwise, no bias": lambda: flat(nn.Conv2d(4, 4, 3, groups=4, bias=False, padding=1), width=4 * 64),
    "padded alike on both sides": lambda: flat(nn.Conv2d(4, 5, (2, 4), padding="same"), width=5 * 64),
    "reflected": lambda: flat(nn.Conv2d(4, 5, 3, padding=2, padding_mode="reflect"), width=5 * 100),
    "group norm": lambda: flat(nn.GroupNorm(2, 4), width=4 * 64),
    "batch norm": lambda: flat(nn.BatchNorm2d(4), width=4 * 64),
    "layer norm of images": lambda: flat(nn.LayerNorm([4, 8, 8]), width=4 * 64),
    "bias of a convolution alone": lambda: frozen(flat(nn.Conv2d(4, 6, 3), width=6 * 36), "0.weight"),
    "changed in place": lambda: nn.Sequential(
        nn.Conv2d(4, 6, 3), nn.ReLU(inplace=True), nn.Flatten(), nn.Linear(6 * 36, 3)
    ),
    "residual, batch norm": lambda: nn.Sequential(
        Block(4, 8, nn.BatchNorm2d), Block(8, 8, nn.BatchNorm2d), nn.Flatten(), nn.Linear(32, 3)
    ),
    "residual, group norm": lambda: nn.Sequential(
        Block(4, 8, lambda c: nn.GroupNorm(2, c)), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(8, 3)
    ),
}
SIGNALS = {
    "conv1d": lambda: flat(nn.Conv1d(4, 6, 3, 2, 1, dilation=2, groups=2), width=6 * 3),
    "batch norm of sequences": lambda: flat(nn.BatchNorm1d(4), width=28),
    "linear on sequences": lambda: flat(nn.Linear(7, 5), width=20),
    "long sequences of short vectors": lambda: flat(nn.Linear(7, 2), width=8),
    "linear without bias": lambda: flat(nn.Linear(7, 30, bias=False), width=120),
    "bias alone": lambda: frozen(flat(nn.Linear(7, 5), width=20), "0.weight"),
    "layer norm": lambda: flat(nn.LayerNorm(7), width=28),
    "layer norm without bias": lambda: flat(nn.LayerNorm(7, bias=False), width=28),
    "rms norm": lambda: flat(nn.RMSNorm(7), width=28),
}
TOKENS = {
    "embedding": lambda: Tokens(nn.Identity()),
    "positions looked up once": lambda: Tokens(nn.Tanh(), positions="once"),
    "tied": Tied,
    "attention": lambda: Tokens(Attending(batch_first=True)),
    "attention, masked": lambda: Tokens(Attending(batch_first=True, mask=True)),
    "attention with weights": lambda: Tokens(Attending(batch_first=True, weights=True)),
    "attention, places first": lambda: Tokens(Attending(mask=True, bias=False)),
    "attention to others": lambda: Tokens(Attending(cross=True, batch_first=True)),
    "attention to narrow others": lambda: Tokens(Attending(cross=True, kdim=5, vdim=5, batch_first=True)),
    "transformer": lambda: Tokens(
        nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 2), positions="once"
    ),
    "transformer, norm first": lambda: Tokens(
        nn.TransformerEncoder(
            nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, norm_first=True, activation="gelu"), 2,
            enable_nested_tensor=False,
        )
    ),
    "adapted": lambda: adapted(
        Tokens(nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), 1))
    ),
}  # fmt: skip


def frozen(module: nn.Module, name: str) -> nn.Module:
    module.get_parameter(name).requires_grad_(False)
    return module


def adapted(module: Tokens) -> Tokens:
    """Frozen but for adapters beside the linear layers of the transformer."""
    module.requires_grad_(False)
    for layer in module.middle.layers:
        layer.linear1, layer.linear2 = LoraLinear(layer.linear1), LoraLinear(layer.linear2)
    module.head = LoraLinear(module.head)
    return module


def seeded(make) -> nn.Module:
    torch.manual_seed(0)
    return make()


@pytest.mark.filterwarnings("ignore:Using padding=.same. with even kernel")
class TestEveryLayer:
    @pytest.mark.parametrize("name", IMAGES)
    def test_on_images(self, name):
        x = torch.randn(8, 4, 8, 8, generator=torch.Generator().manual_seed(1))
        assert_products(warm(seeded(IMAGES[name]), x), x, torch.arange(8) % 3)

    @pytest.mark.parametrize("name", SIGNALS)
    def test_on_signals(self, name):
        x = torch.randn(8, 4, 7, generator=torch.Generator().manual_seed(1))
        assert_products(warm(seeded(SIGNALS[name]), x), x, torch.arange(8) % 3)

    @pytest.mark.parametrize("name", TOKENS)
    def test_on_tokens(self, name):
        ids = torch.randint(0, 11, (8, 6), generator=torch.Generator().manual_seed(1))
        # Attention has weights that no layer of its own uses: torch differentiates it.
        by_rules = not name.startswith(("attention", "transformer"))
        assert_products(seeded(TOKENS[name]), ids, torch.arange(8) % 3, by_rules=by_rules)

    def test_batch_norm_of_vectors(self):
        x = torch.randn(8, 5, generator=torch.Generator().manual_seed(1))
        module = seeded(lambda: nn.Sequential(nn.Linear(5, 4), nn.BatchNorm1d(4), nn.ReLU(), nn.Linear(4, 3)))
        assert_products(warm(module, x), x, torch.arange(8) % 3)


class Raw(nn.Module):
    """A parameter that belongs to no layer."""

    def __init__(self) -> None:
        super().__init__()
        self.shift, self.head = nn.Parameter(torch.ones(4)), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(torch.tanh(x * self.shift))


class Sneaky(nn.Module):
    """Uses the weight of a layer without calling it."""

    def __init__(self) -> None:
        super().__init__()
        self.one, self.head = nn.Linear(4, 4), nn.Linear(4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.one(x) + x @ self.one.weight)


class TestOthers:
    x = torch.randn(9, 4, generator=torch.Generator().manual_seed(2))
    y = torch.arange(9) % 3

    def test_parameters_of_no_layer_go_through_torch_func(self):
        assert unsupported_layers(Raw()) == ["Raw"]
        assert_products(seeded(Raw), self.x, self.y, by_rules=False)

    def test_a_weight_used_in_passing_is_noticed(self):
        assert_products(seeded(Sneaky), self.x, self.y)

    def test_as_many_positions_as_samples_are_no_samples(self):
        module = seeded(lambda: Tokens(nn.Tanh(), positions="plain"))
        ids = torch.randint(0, 11, (6, 6), generator=torch.Generator().manual_seed(1))
        assert_products(module, ids, torch.arange(6) % 3)

    def test_what_nothing_reads_is_differentiated_one_by_one(self):
        class Odd(nn.Module):
            def __init__(self):
                super().__init__()
                self.scale = nn.Parameter(torch.ones(3))

            def forward(self, x):
                return x[:, :3] * self.scale * float(x.sum().item() > -1e9)

        assert_products(Odd(), self.x, self.y, by_rules=False)

    def test_batch_statistics_in_evaluation_mix_samples(self):
        module = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3, track_running_stats=False))
        assert unsupported_layers(module) == ["BatchNorm1d"]

    def test_a_rule_of_the_users_own(self, monkeypatch):
        class Scale(nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = nn.Parameter(torch.full((4,), 2.0))

            def forward(self, x):
                return x * self.weight

        module = nn.Sequential(Scale(), nn.Linear(4, 3))
        assert unsupported_layers(module) == ["Scale"]
        from anml.gradients.factors import formed_part

        monkeypatch.setitem(LAYERS, Scale, lambda layer, a, d: {("weight",): formed_part(a * d)})
        assert_products(module, self.x, self.y)

    def test_modes_of_layers_are_left_as_they_were(self):
        module = nn.Sequential(nn.Linear(4, 4), nn.Dropout(), nn.BatchNorm1d(4).eval(), nn.Linear(4, 3))
        module.train()
        module[2].eval()
        module_factors(module, self.x, self.y, "softmax")
        assert [layer.training for layer in module] == [True, True, False, True]

    @pytest.mark.parametrize(
        ("x", "y", "message"),
        [
            (torch.ones(4, 5), torch.zeros(4).long(), r"Linear cannot be run on a batch of shape \(4, 5\)"),
            (torch.ones(4, 4).long(), torch.zeros(4).long(), r"shape \(4, 4\), int64"),
            (torch.ones(4, 4), torch.full((4,), 3), "classes from 0 to 2, the outputs of the module, got 3"),
            (torch.ones(4, 4), torch.zeros(4, 1).long(), r"of shape \(4, 3\) and y of shape \(4, 1\)"),
            (torch.ones(4, 4), torch.zeros(4).bool(), "y must hold classes as whole numbers"),
        ],
    )
    def test_what_does_not_fit_is_one_sentence(self, x, y, message):
        with pytest.raises(InputError, match=message):
            module_factors(nn.Linear(4, 3), x, y, "softmax")

    def test_a_loss_of_the_users_own(self):
        module = seeded(lambda: nn.Linear(4, 3))

        def smoothed(outputs, target):
            return nn.functional.cross_entropy(outputs, target, reduction="none", label_smoothing=0.1)

        factors = module_factors(module, self.x, self.y, smoothed)
        torch.testing.assert_close(factors.loss, smoothed(module(self.x), self.y).detach())
        with pytest.raises(InputError, match=r'one number per sample.*reduction="none"'):
            module_factors(module, self.x, self.y, nn.functional.cross_entropy)


def test_a_sketch_is_off_by_one_over_the_root_of_its_size():
    module = seeded(lambda: nn.Sequential(nn.Linear(40, 300), nn.ReLU(), nn.Linear(300, 30)))
    x = torch.randn(60, 40, generator=torch.Generator().manual_seed(1))
    y = torch.arange(60) % 30
    exact = module_factors(module, x, y, "softmax")
    wanted, lengths = exact.products(exact), exact.norms().sqrt()
    for size in (512, 2_048):
        sketch = sketched_factors(module, [Batch(x, y)], GradientSettings(), size)
        off = (sketch.products(sketch) - wanted) / (lengths[:, None] * lengths)
        assert float(off.square().mean().sqrt()) == pytest.approx(math.sqrt(1.5 / size), rel=0.5)
    again = sketched_factors(module, [Batch(x[:7], y[:7]), Batch(x[7:], y[7:])], GradientSettings(), 512)
    whole = sketched_factors(module, [Batch(x, y)], GradientSettings(), 512)
    torch.testing.assert_close(again.layers[0].a, whole.layers[0].a, rtol=1e-4, atol=1e-6)

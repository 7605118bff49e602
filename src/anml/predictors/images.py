"""Pictures without a model to name: features that no label made, and a small network trained on the spot.

A network's own features of a picture have seen its label, and would confirm it. So features come from
random convolutions, and what a network learns enters as predictions of pictures that it did not see.
"""

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional

from anml.core.checks import Floats, Ints
from anml.core.folds import assign_folds, cross_fit_predictions
from anml.core.progress import Progress, ticker
from anml.gradients.devices import current_device

# Pictures are shrunk to this side.
IMAGE_SIZE = 32
# Random filters, and the directions kept of what they see.
FILTERS, DIRECTIONS = 96, 64
FOLDS, EPOCHS, BATCH, LEARNING_RATE = 3, 16, 32, 3e-3
# Epochs without a better held-out likelihood after which a network stops.
PATIENCE = 3

Pixels = npt.NDArray[np.uint8]


def random_features(pixels: Pixels, seed: int) -> Floats:
    """Features (n, at most 64) of pictures (n, 3, side, side) by random convolutions, in main directions."""
    generator = torch.Generator().manual_seed(seed)
    first = torch.randn(FILTERS, 3, 5, 5, generator=generator)
    first -= first.mean((1, 2, 3), keepdim=True)
    second = torch.randn(FILTERS, FILTERS, 3, 3, generator=generator) / FILTERS**0.5
    first, second = first.to(current_device()), second.to(current_device())
    parts = []
    for start in range(0, len(pixels), 256):
        x = _scaled(pixels[start : start + 256])
        x = functional.max_pool2d(functional.relu(functional.conv2d(x, first, padding=2)), 2)
        y = functional.relu(functional.conv2d(x, second, padding=1))
        colour = functional.avg_pool2d(_scaled(pixels[start : start + 256]), IMAGE_SIZE // 4).flatten(1)
        parts.append(torch.cat([x.mean((2, 3)), y.mean((2, 3)), y.amax((2, 3)), colour], dim=1).cpu())
    features = torch.cat(parts).double()
    features = (features - features.mean(0)) / features.std(0, correction=0).clamp_min(1e-9)
    _, vectors = torch.linalg.eigh(features.T @ features / len(features))
    count = min(DIRECTIONS, len(features) - 1)
    directions = vectors[:, -count:].flip(1)
    # The sign of a direction is arbitrary; the same everywhere gives the same bytes.
    directions = directions * torch.sign(directions[directions.abs().argmax(0), torch.arange(count)])
    return np.asarray((features @ directions).numpy())


def cnn_predictions(
    pixels: Pixels, y: Ints, classes: int, groups: Ints | None, seed: int, progress: Progress | None = None
) -> Floats:
    """Class probabilities (n, classes) by small convolutional networks that did not see the picture."""
    items = len(y) if groups is None else len(np.unique(groups))
    fold = assign_folds(y, groups, max(2, min(FOLDS, items)), np.random.default_rng(seed))
    tick = ticker(progress, "pictures", EPOCHS * (int(fold.max()) + 1))

    def said(learn: Ints, asked: Ints, held: int) -> Floats:
        return _train_fold(pixels, y, classes, learn, asked, seed + held, lambda at: tick(held * EPOCHS + at))

    return cross_fit_predictions(fold, said, (classes,))


def small_network(classes: int) -> nn.Sequential:
    """Three convolutions, averaged over places, and a linear layer."""
    return nn.Sequential(
        nn.Conv2d(3, 24, 5, stride=2, padding=2), nn.GroupNorm(6, 24), nn.ReLU(),
        nn.Conv2d(24, 48, 3, padding=1), nn.GroupNorm(6, 48), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(48, 64, 3, padding=1), nn.GroupNorm(8, 64), nn.ReLU(), nn.AdaptiveMaxPool2d(2),
        nn.Flatten(), nn.Linear(4 * 64, classes),
    )  # fmt: skip


def _train_fold(
    pixels: Pixels, y: Ints, classes: int, learn: Ints, asked: Ints, seed: int,
    tell: Callable[[int], object],
) -> Floats:  # fmt: skip
    """Probabilities of held-out pictures at the epoch where their labels are likeliest."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module = small_network(classes).to(current_device())
    generator = torch.Generator().manual_seed(seed)
    optimiser = torch.optim.AdamW(module.parameters(), lr=LEARNING_RATE, weight_decay=1e-3)
    targets = torch.as_tensor(y, device=current_device())
    best, found, waited = np.inf, np.full((len(asked), classes), 1 / classes), 0
    for epoch in range(EPOCHS):
        order = torch.randperm(len(learn), generator=generator).numpy()
        for start in range(0, len(order), BATCH):
            rows = learn[order[start : start + BATCH]]
            optimiser.zero_grad()
            shifted = _random_shift(_scaled(pixels[rows]), generator)
            each = functional.cross_entropy(module(shifted), targets[rows], label_smoothing=0.05)
            each.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        with torch.no_grad():
            blocks = (asked[at : at + 256] for at in range(0, len(asked), 256))
            logits = torch.cat([module(_scaled(pixels[rows])) for rows in blocks])
        loss = float(functional.cross_entropy(logits, targets[asked]))
        tell(epoch + 1)
        waited += 1
        if loss < best:
            best, found, waited = loss, torch.softmax(logits.double(), 1).cpu().numpy(), 0
        if waited >= PATIENCE:
            break
    return found


def _scaled(pixels: Pixels) -> Tensor:
    return torch.as_tensor(pixels, device=current_device()).float().sub_(128).div_(64)


def _random_shift(x: Tensor, generator: torch.Generator) -> Tensor:
    """A batch moved by up to two pixels: what a picture shows does not depend on that."""
    down, right = torch.randint(-2, 3, (2,), generator=generator).tolist()
    return torch.roll(x, (down, right), dims=(2, 3))

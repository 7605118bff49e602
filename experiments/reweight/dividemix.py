"""DivideMix: Li, Socher and Hoi, ICLR 2020; for tables, which have no augmentations but noise."""

import warnings
from typing import Any

import numpy as np
import torch
from torch import Tensor

from anml.core.checks import Floats
from anml.networks.mlp import predict
from experiments.reweight import training
from experiments.reweight.training import Adam, Reweighted, Schedule, TensorData

# Constants of the paper: sharpening, and what counts as clean. Mixing is by Beta(4, 4).
TEMPERATURE, CLEAN = 0.5, 0.5
# Share of the epochs before rows are divided, and the noise that stands in for an augmentation.
WARM_UP, NOISE = 0.3, 0.1


def dividemix(x: Any, y: Any, classes: int, plan: Schedule | None = None) -> Reweighted:
    """Two networks; each says by its losses which rows the other may believe, and guesses the rest.

    A mixture of two Gaussians on the losses gives P(clean). Labels of clean rows are mixed with predictions
    by it, those of others are guessed by both networks, and all are mixed up (MixMatch). Its weakness: it
    has no idea of contributors, and wrong labels that a network can learn as early as right ones look
    clean.
    """
    how, rows, networks, adam, generator = training.setup_training(x, y, classes, plan, 2)
    targets = training.one_hot(rows.y, classes)
    first = max(1, round(WARM_UP * how.epochs))
    estimates = np.ones((2, len(rows.y)))
    for epoch in range(how.epochs):
        if epoch >= first:
            estimates = p_correct(training.loss_of(networks, rows), how.seed)
        for places in training.batches(len(rows.y), how, generator):
            if epoch < first:
                both = rows.x[places].expand(2, -1, -1)
                weight = torch.full((2, len(places)), 1 / len(places))
                adam.step(both, targets[places].expand(2, -1, -1), weight)
            else:
                ramp = min(1.0, (epoch - first) / max(how.epochs - first, 1))
                sure = torch.as_tensor(estimates[:, places.numpy()]).float()
                _mixmatch(adam, rows, targets, sure, places, ramp, generator)
    return Reweighted(networks, estimates.mean(axis=0))


def p_correct(losses: Floats, seed: int) -> Floats:
    """Probability that each label is right for each network: that of the component of low losses."""
    from sklearn.mixture import GaussianMixture

    result = np.ones_like(losses)
    for place, each in enumerate(losses):
        width = float(np.ptp(each))
        if width <= 1e-12:
            continue
        unit = ((each - each.min()) / width)[:, None]
        mixture = GaussianMixture(2, max_iter=10, tol=1e-2, reg_covar=5e-4, random_state=seed)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # ten iterations are the paper's, converged or not
            fitted = mixture.fit(unit)
        result[place] = fitted.predict_proba(unit)[:, fitted.means_.argmin()]
    return result


def _mixmatch(
    adam: Adam, rows: TensorData, targets: Tensor, clean: Tensor, places: Tensor, ramp: float,
    generator: torch.Generator,
) -> None:  # fmt: skip
    """One step of both networks on one batch; each takes what the other says of the rows."""
    networks, x = adam.networks, rows.x[places]
    noisy = [x + NOISE * torch.randn(x.shape, generator=generator) for _ in range(2)]
    guesses = torch.stack([torch.softmax(predict(networks, part), dim=-1) for part in noisy]).mean(dim=0)
    # The other network's opinion: rows of network 0 are judged by network 1, and the reverse.
    p_correct = clean.flip(0).unsqueeze(-1)
    labelled = p_correct > CLEAN
    refined = _sharpen(p_correct * targets[places] + (1 - p_correct) * guesses)
    guessed = _sharpen(guesses.mean(dim=0, keepdim=True).expand_as(guesses))
    goal = torch.where(labelled, refined, guessed)
    mix = _beta(generator)
    mix = max(mix, 1 - mix)
    other = torch.randperm(len(places), generator=generator)
    inputs = mix * noisy[0] + (1 - mix) * noisy[0][other]
    aims = mix * goal + (1 - mix) * goal[:, other]
    # Guessed rows come in step by step. The paper weighs their squared loss by 25; on the cross-entropy that
    # is used for all rows here, 1 is about as much.
    weight = torch.where(labelled[..., 0], 1.0, ramp)
    weight = weight / weight.sum(dim=1, keepdim=True).clamp_min(1e-12)
    adam.step(inputs.expand(2, -1, -1), aims, weight)


def _beta(generator: torch.Generator) -> float:
    """A draw from Beta(4, 4): the fourth smallest of seven uniform numbers."""
    return float(torch.rand(7, generator=generator).sort().values[3])


def _sharpen(p: Tensor) -> Tensor:
    raised = p.clamp_min(1e-9) ** (1 / TEMPERATURE)
    return raised / raised.sum(dim=-1, keepdim=True)

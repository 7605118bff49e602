"""Checkpoints that a training keeps for attribution, and retraining with the same settings."""

import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from anml.core.checks import Ints, as_integer
from anml.core.errors import InputError

# Shares of the steps at which checkpoints are kept: early ones carry the level of shares.
KEPT_AT = (0.05, 0.2, 0.5, 1.0)
RECORD, INITIAL = "training.json", "initial.safetensors"
# A self-check is made without being asked for where a training takes at most this many seconds.
CHECKED_SECONDS = 3_600


class CheckpointRecorder:
    """Keep the trainable parameters at a few steps of a training, and its settings.

    Call `step(optimizer)` after each step of the optimizer:

        recorder = anml.attribution.CheckpointRecorder("ckpt", model, steps=1_000, batch_size=32)
        for batch in loader:
            ...
            optimizer.step()
            recorder.step(optimizer)

    Parameters
    ----------
    folder
        Folder of checkpoints; `index(..., checkpoints=folder)` reads it.
    model, steps, batch_size
        The module before its first step, the number of steps and the rows of a step.
    at
        Shares of the steps after which a checkpoint is kept.
    clip
        Largest norm of gradients in the training, if they are clipped.
    """

    def __init__(
        self, folder: str | Path, model: nn.Module, steps: int, batch_size: int,
        at: Sequence[float] = KEPT_AT, clip: float | None = None,
    ) -> None:  # fmt: skip
        self.folder, self.model = Path(folder), model
        self.steps, self.batch_size = as_integer("steps", steps, 1), as_integer("batch_size", batch_size, 1)
        if not at or min(at) <= 0 or max(at) > 1:
            raise InputError(f"at must hold shares of the steps in (0, 1], got {list(at)}")
        self.kept = {max(1, round(share * steps)) for share in at}
        self.clip, self.done, self.start = clip, 0, time.monotonic()
        self.rates: list[float] = []
        self.folder.mkdir(parents=True, exist_ok=True)
        _save(model, self.folder / INITIAL)

    def step(self, optimizer: torch.optim.Optimizer | None = None) -> None:
        """Count a step; keep a checkpoint where one is due."""
        group = optimizer.param_groups[0] if optimizer is not None else {}
        self.rates.append(float(group.get("lr", 0.0)))
        self.done += 1
        if self.done in self.kept:
            _save(self.model, self.folder / f"step-{self.done:08d}.safetensors")
            record = {
                "optimizer": type(optimizer).__name__, "lr": self.rates, "batch_size": self.batch_size,
                "weight_decay": float(group.get("weight_decay", 0.0)), "steps": self.done, "clip": self.clip,
                "betas": list(group.get("betas", (0.9, 0.999))), "seconds": time.monotonic() - self.start,
            }  # fmt: skip
            (self.folder / RECORD).write_text(json.dumps(record), encoding="utf-8")


def trainer_callback(folder: str | Path, at: Sequence[float] = KEPT_AT) -> Any:
    """Return a callback that keeps checkpoints, for the `Trainer` of transformers and those of TRL."""
    from transformers import TrainerCallback

    class KeepCheckpoints(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, model: Any = None, **more: Any) -> None:
            rows = args.train_batch_size * args.gradient_accumulation_steps * args.world_size
            clip = args.max_grad_norm or None
            self.recorder = CheckpointRecorder(folder, model, state.max_steps, rows, at, clip)

        def on_optimizer_step(
            self, args: Any, state: Any, control: Any, optimizer: Any = None, **more: Any
        ) -> None:
            inner = getattr(optimizer, "optimizer", optimizer)
            self.recorder.step(inner)

    return KeepCheckpoints()


def _save(model: nn.Module, path: Path) -> None:
    """Trainable parameters and buffers, without what is frozen."""
    from safetensors.torch import save_file

    frozen = {name for name, p in model.named_parameters() if not p.requires_grad}
    kept: dict[str, Tensor] = {}
    for name, value in model.state_dict().items():
        if name not in frozen:
            kept[name] = value.detach().cpu().contiguous().clone()
    save_file(kept, path)


def recorded_settings(folder: Any) -> dict[str, Any] | None:
    """Settings of the training that kept these checkpoints; None where a recorder did not."""
    if not isinstance(folder, str | Path) or not (Path(folder) / RECORD).is_file():
        return None
    settings: dict[str, Any] = json.loads((Path(folder) / RECORD).read_text(encoding="utf-8"))
    return settings if settings["optimizer"] in ("Adam", "AdamW", "SGD") else None


def retrain_as_recorded(index: Any, folder: Path, settings: dict[str, Any], rows: Ints, seed: int) -> Any:
    """Train from the initial parameters with the recorded optimizer, rates, batch size and steps."""
    from safetensors.torch import load_file

    from anml.gradients.batches import run
    from anml.gradients.losses import sample_losses

    module: nn.Module = index.module
    before = {name: value.clone() for name, value in module.state_dict().items()}
    trained = [p for p in module.parameters() if p.requires_grad]
    how = {"weight_decay": settings["weight_decay"]}
    if settings["optimizer"] != "SGD":
        how["betas"] = tuple(settings["betas"])
    optimizer = getattr(torch.optim, settings["optimizer"])(trained, lr=1e-3, **how)
    modes = [(layer, layer.training) for layer in module.modules()]
    rng, size = np.random.default_rng(seed), settings["batch_size"]
    torch.manual_seed(seed)
    try:
        module.load_state_dict(load_file(folder / INITIAL), strict=False)
        module.train()
        order = np.array([], dtype=np.int64)
        for rate in settings["lr"]:
            optimizer.param_groups[0]["lr"] = rate
            while len(order) < size:
                order = np.concatenate([order, rng.permutation(rows)])
            picked, order = order[:size], order[size:]
            batch = index.train.batch(picked, index.device)
            weight = torch.as_tensor(index.weight[picked], dtype=torch.float32, device=index.device)
            losses = sample_losses(index.settings.loss, run(module, batch.inputs), batch.target)
            loss = (losses * weight).mean()
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            if settings["clip"]:
                nn.utils.clip_grad_norm_(trained, settings["clip"])
            optimizer.step()
        return {name: value.detach().clone() for name, value in module.state_dict().items()}
    finally:
        module.load_state_dict(before)
        for layer, mode in modes:
            layer.training = mode

"""Devices by name: where networks are trained. A missing GPU is an error, never replaced by the processor."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

from anml.core.errors import InputError
from anml.core.extras import require_extra
from anml.networks.backend import NUMPY, use_backend

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda", "mps")
_CURRENT: ContextVar[str | torch.device] = ContextVar("device", default="cpu")


@contextmanager
def use_device(name: str | torch.device) -> Iterator[None]:
    """Train networks on this device inside the block.

    Networks of tables are small: numpy trains them, unless a GPU is named. `auto` is for torch modules.
    """
    _check_name(name)
    backend = NUMPY
    if str(name) not in ("auto", "cpu"):
        device = device_of(name)
        from anml.gradients.backend import torch_backend

        backend = torch_backend(device)
    previous = _CURRENT.set(name)
    try:
        with use_backend(backend):
            yield
    finally:
        _CURRENT.reset(previous)


def current_device() -> torch.device:
    """Return the device for torch modules: the processor, unless `use_device` names another one."""
    return device_of(_CURRENT.get())


def device_of(name: str | torch.device) -> torch.device:
    """Return a device by name; `auto` is the GPU if there is one, else the processor."""
    _check_name(name)
    require_extra("torch", "torch", f"the device {str(name)!r}")
    import torch

    if isinstance(name, torch.device):
        return name
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = name.split(":")[0]
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(kind, True):
        raise InputError(f"device {kind!r} was asked for, and torch sees no GPU here; use 'auto' or 'cpu'")
    return torch.device(name)


def _check_name(name: str | torch.device) -> None:
    if isinstance(name, str) and name.split(":")[0] not in DEVICES:
        raise InputError(f"device must be one of {', '.join(DEVICES)}, got {name!r}")

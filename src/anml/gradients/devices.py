"""Where to compute: on a GPU where there is one, and never by a silent copy."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch

from anml.core.errors import InputError

DEVICES = ("auto", "cpu", "cuda", "mps")
_CURRENT: ContextVar[str] = ContextVar("device", default="cpu")


@contextmanager
def on(name: str | torch.device) -> Iterator[torch.device]:
    """Networks inside the block are trained on this device."""
    device = device_of(name)
    before = _CURRENT.set(str(device))
    try:
        yield device
    finally:
        _CURRENT.reset(before)


def current() -> torch.device:
    """Where networks are trained: the processor, unless `on` says otherwise."""
    return torch.device(_CURRENT.get())


def device_of(name: str | torch.device) -> torch.device:
    """A device by name; `auto` is the GPU where there is one, else the processor."""
    if isinstance(name, torch.device):
        return name
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    kind = str(name).split(":")[0]
    if kind not in DEVICES:
        raise InputError(f"device must be one of {', '.join(DEVICES)}, got {name!r}")
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if not there.get(kind, True):
        raise InputError(f"device {kind!r} was asked for, and torch sees no GPU here; use 'auto' or 'cpu'")
    return torch.device(name)

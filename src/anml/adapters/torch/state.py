"""What training goes on from, as a file whose reader runs no code of it."""

from pathlib import Path
from typing import Any

import torch

from anml.core.errors import InputError


def save_state(state: dict[str, Any], path: Path) -> None:
    """Write numbers and tensors into one file, which is whole or not there."""
    draft = path.with_name(f"{path.name}.part")
    torch.save(state, draft)
    draft.replace(path)


def load_state(path: Path) -> dict[str, Any]:
    """Read what `save_state` wrote."""
    try:
        state: dict[str, Any] = torch.load(path, weights_only=True)
        return {**state}
    except Exception as error:  # what torch raises on a foreign file depends on its first bytes
        kind = type(error).__name__
        raise InputError(f"{path.name} is not the state of a training with anml ({kind})") from error

"""What a `Reweigher` goes on from, as a file without pickle."""

import json
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from anml.core.errors import InputError


def save_state(state: dict[str, Any], path: Path) -> None:
    """Write numbers and arrays into one .npz file, which is whole or not there."""
    arrays = {name: value for name, value in state.items() if isinstance(value, np.ndarray)}
    rest = {name: value for name, value in state.items() if name not in arrays}
    draft = path.with_suffix(".part.npz")
    np.savez(draft, **{"__rest__": np.array(json.dumps(rest)), **arrays})  # type: ignore[arg-type]
    draft.replace(path)


def load_state(path: Path) -> dict[str, Any]:
    """Read what `save_state` wrote."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as found:
            arrays = {name: found[name] for name in found.files if name != "__rest__"}
            return {**json.loads(str(found["__rest__"])), **arrays}
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile) as error:
        raise InputError(f"{path.name} is not the state of a Reweigher: {error}") from None

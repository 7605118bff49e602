"""Features of pictures and texts by a model that the user names, or by any function; kept by content.

A model is `library:name`. Its library is imported only when it is used.
"""

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple
from zipfile import BadZipFile

import numpy as np

from anml.core.checks import Floats
from anml.core.errors import AnmlError, InputError, UnsupportedError
from anml.core.extras import require_extra
from anml.core.progress import Progress, ticker
from anml.gradients.devices import device_of

if TYPE_CHECKING:
    from torch import nn

BATCH = 32

# From a list of pictures or of texts to vectors, one each.
Embed = Callable[[list[Any]], Any]


class Embedder(NamedTuple):
    """A function that embeds, and the name under which what it gives may be kept; None keeps nothing."""

    embed: Embed
    key: str | None


def load_embedder(wanted: str | Embed, device: str = "cpu") -> Embedder:
    """Find a model by name, or take a function; one with an attribute `cache_key` may be kept under it."""
    if callable(wanted):
        return Embedder(wanted, getattr(wanted, "cache_key", None))
    library, _, name = wanted.partition(":")
    if library not in BACKENDS or not name:
        allowed = ", ".join(f"{each}:NAME" for each in BACKENDS)
        raise InputError(f"embed must be a function or one of {allowed}, got {wanted!r}")
    try:
        return Embedder(BACKENDS[library](name, str(device_of(device))), wanted)
    except AnmlError:
        raise
    except ModuleNotFoundError as error:
        raise UnsupportedError(
            f"embed={wanted!r} needs the package {error.name}; install it, or give a function or embeddings"
        ) from None
    except (OSError, ValueError, RuntimeError, AttributeError, KeyError) as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InputError(f"embed={wanted!r} cannot be loaded: {said[:200]}") from None


def _torchvision(name: str, device: str) -> Embed:
    require_extra("torchvision", "images", f"embed='torchvision:{name}'")
    import torchvision
    from torch import nn

    weights = torchvision.models.get_model_weights(name).DEFAULT
    model = torchvision.models.get_model(name, weights=weights)
    # What the classifier at the end is given.
    for last in ("fc", "classifier", "heads", "head"):
        if hasattr(model, last):
            setattr(model, last, nn.Identity())
            break
    return _image_embedder(model, weights.transforms(), device)


def _timm(name: str, device: str) -> Embed:
    import timm

    model = timm.create_model(name, pretrained=True, num_classes=0)
    change = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    return _image_embedder(model, change, device)


def _image_embedder(model: "nn.Module", change: Callable[[Any], Any], device: str) -> Embed:
    import torch

    model.eval().to(device)

    def embed(images: list[Any]) -> Any:
        with torch.no_grad():
            batch = torch.stack([change(image) for image in images]).to(device)
            return model(batch).flatten(1).float().cpu().numpy()

    return embed


def _sentence_transformer(name: str, device: str) -> Embed:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(name, device=device)
    return lambda texts: model.encode(texts, show_progress_bar=False)


BACKENDS: dict[str, Callable[[str, str], Embed]] = {
    "torchvision": _torchvision,
    "timm": _timm,
    "sentence-transformers": _sentence_transformer,
}


def embed_cached(
    named: Embedder, hashes: Sequence[str], read: Callable[[int], Any], cache: Path | None = None,
    progress: Progress | None = None,
) -> Floats:  # fmt: skip
    """Vectors (n, dimensions) of contents by their hashes; equal contents are embedded once.

    `read` gives the content at a position. With a folder as `cache`, what was embedded before by a model of
    the same name is taken from there.
    """
    path = None
    if cache is not None and named.key is not None:
        path = cache / f"{hashlib.sha256(named.key.encode()).hexdigest()[:24]}.npz"
    kept = _read_cache(path)
    first = {digest: at for at, digest in reversed(list(enumerate(hashes)))}
    missing = sorted(at for digest, at in first.items() if digest not in kept)
    tick = ticker(progress, "embedding", len(missing))
    for start in range(0, len(missing), BATCH):
        some = missing[start : start + BATCH]
        vectors = _checked(named.embed([read(at) for at in some]), len(some), kept)
        kept.update({hashes[at]: vector for at, vector in zip(some, vectors, strict=True)})
        tick(start + len(some))
    if missing and path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_suffix(".part.npz")
        np.savez(draft, hashes=np.array(list(kept)), vectors=np.stack(list(kept.values())))
        draft.replace(path)
    return np.stack([kept[digest] for digest in hashes])


def _read_cache(path: Path | None) -> dict[str, Floats]:
    """Vectors by the hash of their content; none where the file is damaged, which is made anew."""
    if path is None or not path.is_file():
        return {}
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as kept:
            return dict(zip(kept["hashes"].tolist(), kept["vectors"], strict=True))
    except (OSError, ValueError, KeyError, TypeError, EOFError, BadZipFile):
        return {}


def _checked(found: Any, count: int, before: dict[str, Floats]) -> Floats:
    # A tensor of torch, which may not be installed.
    if hasattr(found, "detach"):
        found = found.detach().cpu().numpy()
    try:
        vectors = np.asarray(found, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"embed must return numbers, got {type(found).__name__}") from None
    if vectors.ndim != 2 or len(vectors) != count:
        raise InputError(f"embed must return one vector each for {count} contents, got shape {vectors.shape}")
    if not np.isfinite(vectors).all():
        raise InputError("embed returned missing or infinite numbers")
    width = len(next(iter(before.values()))) if before else vectors.shape[1]
    if vectors.shape[1] != width:
        raise InputError(f"embed returned vectors of {vectors.shape[1]} numbers after ones of {width}")
    return vectors

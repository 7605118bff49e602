"""Images and texts in an audit: features from them, and previews of rows to review."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.core.checks import as_codes
from anml.core.errors import InputError
from anml.core.extras import require_extra
from anml.core.progress import Progress
from anml.gradients.devices import use_device
from anml.io.encode.preparation import kind_of
from anml.io.images import Images, any_readable, picture_column
from anml.io.labels import read_labels
from anml.io.tables import Table
from anml.pipeline.audit import audit_table, clean_columns, resolve_columns
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult
from anml.pipeline.review_queue import MAX_ROWS_SHOWN
from anml.predictors.embed import embed_cached, load_embedder
from anml.schema import Encoder

# Characters of a text preview.
EXCERPT_CHARS = 300
# Previews of rows: images, texts or none.
Preview = Images | pl.Series | None


def audit_media(
    table: Table, request: Request, encoder: Encoder | None = None, folder: Path = Path(), *,
    test: Any = None, progress: Progress | None = None,
) -> AuditResult:  # fmt: skip
    """Audit a table by its columns, images or texts; relative paths of images start in `folder`."""
    encoder = encoder or Encoder()
    with use_device(encoder.device):
        resolved, shown, unread = _with_media(table, request, encoder, folder, progress)
        try:
            result, _, _ = audit_table(table, resolved, test=test, progress=progress)
        except InputError as error:
            raise InputError("; ".join([str(error), *unread])) from None
    about = {"computed": list(resolved.computed)} if resolved.computed else {}
    result = replace(result, warnings=[*unread, *result.warnings], data={**result.data, **about})
    rows = [int(row) for row in result.queue.rows["row"].head(MAX_ROWS_SHOWN)] if shown is not None else []
    if isinstance(shown, Images):
        return replace(result, pictures={row: shown.thumbnail(row) for row in rows})
    if shown is None:
        return result
    texts = {row: shown[row] or "" for row in rows}
    short = {
        row: f"{text[:EXCERPT_CHARS].rstrip()} …" for row, text in texts.items() if len(text) > EXCERPT_CHARS
    }
    return replace(result, excerpts=texts | short)


def _with_media(
    table: Table, request: Request, encoder: Encoder, folder: Path, progress: Any = None
) -> tuple[Request, Preview, list[str]]:
    """Return the request with features of images or texts, the preview of rows, and warnings."""
    frame = table.frame
    named_image = encoder.column if encoder.kind == "image" else None
    text = encoder.column if encoder.kind == "text" else None
    image = picture_column(frame, named_image) if encoder.kind != "text" else None
    image = None if named_image is None and image in request.ignore else image
    unread: list[str] = []
    if image is not None and named_image is None and not any_readable(frame[image].unique(), folder):
        why = f"the images in column {image!r} were not read, since none of them is in {folder.absolute()}"
        unread, image = [f"{why}; the audit uses the other columns"], None
    if image is not None:
        paths = frame[image].cast(pl.String).to_list()
        pictures = Images(paths, folder, anywhere=named_image is not None)
        return _of_pictures(table, request, encoder, image, pictures, progress), pictures, []
    if text is None:
        taken = {request.label, request.contributor, request.item, *request.ignore}
        names = request.features or [name for name in frame.columns if name not in taken]
        strings = (name for name in names if frame.schema.get(name) == pl.String)
        text = next((name for name in strings if kind_of(frame[name]) == "text"), None)
    elif text not in frame.columns:
        listed = ", ".join(frame.columns[:12])
        raise InputError(f"there is no column {text!r} of texts; columns: {listed}")
    if text is None:
        if encoder.model is not None:
            raise InputError("the encoder has no column of images or of texts; name one with encoder.column")
        return request, None, unread
    texts = frame[text].cast(pl.String)
    if encoder.model is None:
        return request, texts, unread
    contents = texts.fill_null("").to_list()
    hashes = [hashlib.sha256(content.encode()).hexdigest() for content in contents]
    named = load_embedder(encoder.model, encoder.device)
    vectors = embed_cached(named, hashes, contents.__getitem__, _cache(encoder), progress)
    return _with_vectors(request, vectors, text), texts, unread


def _cache(encoder: Encoder) -> Path | None:
    return None if encoder.cache_dir is None else Path(encoder.cache_dir)


def _of_pictures(
    table: Table, request: Request, encoder: Encoder, image: str, pictures: Images, progress: Progress | None
) -> Request:
    if request.embeddings is not None:
        return replace(request, ignore=(*request.ignore, image))
    if encoder.model is not None:
        named = load_embedder(encoder.model, encoder.device)
        vectors = embed_cached(named, pictures.hashes(), pictures.image, _cache(encoder), progress)
        return _with_vectors(request, vectors, image)
    require_extra("torch", "torch", "an audit of images without an encoder")
    from anml.predictors.images import IMAGE_SIZE, random_features

    pixels = pictures.small(IMAGE_SIZE)
    request = _with_vectors(request, random_features(pixels, request.seed), image)
    if request.predictions is not None:
        return request
    predictions = _builtin_predictions(table, request, pixels, progress)
    return request if predictions is None else _computed(request, predictions=predictions)


def _with_vectors(request: Request, vectors: Any, column: str) -> Request:
    if request.features:
        raise InputError(f"features are computed from column {column!r}; omit the feature columns")
    return replace(_computed(request, embeddings=vectors), ignore=(*request.ignore, column))


def _computed(request: Request, **inputs: Any) -> Request:
    """Return the request with inputs that were computed from its rows, whose alignment is certain."""
    return replace(request, computed=(*request.computed, *inputs), **inputs)


def _builtin_predictions(
    table: Table, request: Request, pixels: Any, progress: Progress | None
) -> pl.DataFrame | None:
    """Held-out predictions of a small network; None if labels are numbers."""
    columns, _ = resolve_columns(table.frame, request)
    done = clean_columns(table, columns, request)
    given = np.flatnonzero(done.frame[columns.label].is_not_null().to_numpy() & ~done.excluded)
    frame = done.frame[given]
    labels = read_labels(frame[columns.label], request.label_type)
    if labels.task != "classification":
        return None
    groups = np.array([hashlib.sha256(each.tobytes()).hexdigest() for each in pixels[given]])
    if columns.item is not None:
        groups = frame[columns.item].cast(pl.String).to_numpy()
    codes = as_codes("item", groups, len(given))[0]
    y, k = labels.y.astype(np.int64), len(labels.classes)
    from anml.predictors.images import cnn_predictions

    predicted = cnn_predictions(pixels[given], y, k, codes, request.seed, progress)
    probabilities = np.full((table.frame.height, k), 1 / k)
    probabilities[given] = predicted
    return pl.DataFrame(probabilities, schema=[str(name) for name in labels.classes])

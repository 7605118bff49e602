"""Pictures and texts for an audit: features in place of columns, and what to show of rows to look at."""

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from anml.app.audit.audit import audit_table, columns_asked
from anml.app.audit.request import Request
from anml.app.audit.result import Audited
from anml.app.relabel.queue import MOST_SAMPLES
from anml.core.checks import as_codes
from anml.core.errors import InputError
from anml.core.progress import Progress
from anml.gradients.devices import device_of, on
from anml.intake.encode.preparation import kind_of
from anml.intake.labels import read_labels
from anml.intake.pictures import Pictures, picture_column
from anml.intake.tables import Table
from anml.predictors.embed import Embed, embedded, embedder
from anml.predictors.pictures import SIDE, picture_predictions, random_features

# Characters of a text that are shown.
EXCERPT = 300


@dataclass(frozen=True)
class Media:
    """Columns of pictures or texts, and what embeds them; paths of pictures start in `folder`."""

    image: str | None = None
    text: str | None = None
    embed: str | Embed | None = None
    cache: Path | None = None
    folder: Path = Path()
    device: str = "auto"


# What is shown of rows: pictures, texts or nothing.
Shown = Pictures | pl.Series | None


def audit_media(
    table: Table, request: Request, media: Media, *, test: Any = None, progress: Progress | None = None
) -> Audited:
    """Audit a table by its columns, pictures or texts, with networks on the device that `media` names."""
    with on(media.device):
        asked, shown = _with_media(table, request, media, progress)
        result, _, _ = audit_table(table, asked, test=test, progress=progress)
    rows = [int(row) for row in result.queue.rows["row"].head(MOST_SAMPLES)] if shown is not None else []
    if isinstance(shown, Pictures):
        return replace(result, pictures={row: shown.thumbnail(row) for row in rows})
    if shown is None:
        return result
    found = {row: shown[row] or "" for row in rows}
    short = {row: f"{text[:EXCERPT].rstrip()} …" for row, text in found.items() if len(text) > EXCERPT}
    return replace(result, excerpts=found | short)


def _with_media(table: Table, request: Request, media: Media, progress: Any = None) -> tuple[Request, Shown]:
    """The request with features of pictures or texts, and what can be shown of rows."""
    frame = table.frame
    image = picture_column(frame, media.image) if media.text is None else None
    if image is not None:
        paths = frame[image].cast(pl.String).to_list()
        pictures = Pictures(paths, media.folder, anywhere=media.image is not None)
        return _of_pictures(table, request, media, image, pictures, progress), pictures
    text = media.text
    if text is None:
        taken = {request.label, request.contributor, request.item, *request.ignore}
        names = request.features or [name for name in frame.columns if name not in taken]
        strings = (name for name in names if frame.schema.get(name) == pl.String)
        text = next((name for name in strings if kind_of(frame[name]) == "text"), None)
    elif text not in frame.columns:
        listed = ", ".join(frame.columns[:12])
        raise InputError(f"there is no column {text!r} of texts; columns: {listed}")
    if text is None:
        if media.embed is not None:
            raise InputError("embed was given, and there is no column of pictures or of texts; name one")
        return request, None
    texts = frame[text].cast(pl.String)
    if media.embed is None:
        return request, texts
    contents = texts.fill_null("").to_list()
    hashes = [hashlib.sha256(content.encode()).hexdigest() for content in contents]
    named = embedder(media.embed, str(device_of(media.device)))
    vectors = embedded(named, hashes, contents.__getitem__, media.cache, progress)
    return _with_vectors(request, vectors, text), texts


def _of_pictures(
    table: Table, request: Request, media: Media, image: str, pictures: Pictures, progress: Progress | None
) -> Request:
    if request.embeddings is not None:
        return replace(request, ignore=(*request.ignore, image))
    if media.embed is not None:
        named = embedder(media.embed, str(device_of(media.device)))
        vectors = embedded(named, pictures.hashes(), pictures.image, media.cache, progress)
        return _with_vectors(request, vectors, image)
    pixels = pictures.small(SIDE)
    request = _with_vectors(request, random_features(pixels, request.seed), image)
    if request.predictions is not None:
        return request
    predictions = _own_predictions(table, request, pixels, progress)
    return request if predictions is None else replace(request, predictions=predictions)


def _with_vectors(request: Request, vectors: Any, column: str) -> Request:
    if request.features:
        raise InputError(f"features are those of column {column!r} here; leave the feature columns out")
    return replace(request, embeddings=vectors, ignore=(*request.ignore, column))


def _own_predictions(
    table: Table, request: Request, pixels: Any, progress: Progress | None
) -> pl.DataFrame | None:
    """Held-out predictions of a small network trained on the spot; None where labels are numbers."""
    columns, _ = columns_asked(table.frame, request)
    given = np.flatnonzero(table.frame[columns.label].is_not_null().to_numpy())
    frame = table.frame[given]
    labels = read_labels(frame[columns.label], request.task)
    if labels.task != "classification":
        return None
    groups = np.array([hashlib.sha256(each.tobytes()).hexdigest() for each in pixels[given]])
    if columns.item is not None:
        groups = frame[columns.item].cast(pl.String).to_numpy()
    codes = as_codes("item", groups, len(given))[0]
    y, k = labels.y.astype(np.int64), len(labels.classes)
    found = picture_predictions(pixels[given], y, k, codes, request.seed, progress)
    probabilities = np.full((table.frame.height, k), 1 / k)
    probabilities[given] = found
    return pl.DataFrame(probabilities, schema=[str(name) for name in labels.classes])

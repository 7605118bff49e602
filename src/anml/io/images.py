"""Images: a folder of them or a column of their paths, read one at a time."""

import hashlib
import io
import os
import re
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from anml.core.errors import InputError
from anml.core.extras import require_extra
from anml.io.roles import require_column
from anml.io.tables import PARQUET, SEPARATORS, Table, read_table

ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
IMAGE = "image"
# Names of tables in a folder of images that hold their contributors and labels.
TABLES = ("labels", "metadata", "annotations", "contributed")
# Largest number of pixels of an image; a larger one may be made to fill the memory.
MAX_PIXELS = 100_000_000

Pixels = npt.NDArray[np.uint8]


def is_image(name: str) -> bool:
    """True if a file name or an address has the extension of an image."""
    return re.split(r"[?#]", name.lower(), maxsplit=1)[0].endswith(ENDINGS)


def any_readable(paths: Iterable[str], folder: Path) -> bool:
    """True if one of these files exists; addresses of other machines are not read."""
    return any("://" not in path and (folder / path).is_file() for path in paths)


def read_folder(folder: Path) -> Table:
    """Read a folder of images by the table in it, else with folders as labels and contributors."""
    for name, ending in product(TABLES, (*SEPARATORS, *PARQUET)):
        if (folder / f"{name}{ending}").is_file():
            return read_table(folder / f"{name}{ending}")
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and is_image(path.name))
    if not paths:
        why = f"data file {folder.name or str(folder)!r} is a folder; a CSV, TSV or Parquet file is needed"
        raise InputError(f"{why}, or a folder of pictures or of Parquet files")
    parts = [path.relative_to(folder).parts for path in paths]
    depths = {len(part) for part in parts}
    if depths not in ({2}, {3}):
        raise InputError(
            f"pictures in folder {folder.name!r} must lie in LABEL/picture or CONTRIBUTOR/LABEL/picture, or "
            f"have a table beside them ({', '.join(f'{name}.csv' for name in TABLES)})"
        )
    columns = {IMAGE: ["/".join(part) for part in parts], "label": [part[-2] for part in parts]}
    if depths == {3}:
        columns["contributor"] = [part[0] for part in parts]
    frame = pl.DataFrame(columns)
    digest = hashlib.sha256()
    for path, named in zip(paths, parts, strict=True):
        digest.update("/".join(named).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return Table(frame, folder.name, digest.hexdigest())


def picture_column(frame: pl.DataFrame, named: str | None = None) -> str | None:
    """Return the column of image paths: as named, or the first whose values all have image extensions."""
    if named is not None:
        return require_column(frame.columns, named, "pictures")
    for series in frame.iter_columns():
        written = series.dtype == pl.String and series.null_count() == 0
        if written and is_image(str(series[0])) and all(map(is_image, series.unique())):
            return series.name
    return None


class Images:
    """Images by path, each read when it is asked for."""

    def __init__(self, paths: list[str], folder: Path, anywhere: bool = True) -> None:
        self.paths, self.folder = paths, folder
        # A table from elsewhere could name any image on this machine. The path as written decides, since
        # folders of links to images are common.
        inside = Path(os.path.normpath(folder.absolute()))
        for at, path in enumerate(() if anywhere else paths):
            if not Path(os.path.normpath(inside / path)).is_relative_to(inside):
                hint = "--set encoder.column=NAME reads it all the same"
                raise InputError(f"picture {path!r} of row {at} is not in {folder}; {hint}")

    def bytes_of(self, at: int) -> bytes:
        """The file's content."""
        path = self.folder / self.paths[at]
        try:
            return path.read_bytes()
        except OSError as error:
            reason = error.strerror or error
            raise InputError(f"picture {self.paths[at]!r} of row {at} cannot be read: {reason}") from None

    def image(self, at: int) -> Any:
        """Return the image, in red, green and blue."""
        return decode_image(self.bytes_of(at), self.paths[at])

    def hashes(self) -> list[str]:
        """Return the SHA-256 of each file."""
        return [hashlib.sha256(self.bytes_of(at)).hexdigest() for at in range(len(self.paths))]

    def small(self, side: int) -> Pixels:
        """Return all images as (n, 3, side, side), shrunk to fit and centred on grey."""
        out = np.full((len(self.paths), 3, side, side), 128, dtype=np.uint8)
        for at in range(len(self.paths)):
            image = self.image(at)
            image.thumbnail((side, side))
            left, top = (side - image.width) // 2, (side - image.height) // 2
            pixels = np.asarray(image, dtype=np.uint8).transpose(2, 0, 1)
            out[at, :, top : top + image.height, left : left + image.width] = pixels
        return out

    def thumbnail(self, at: int, side: int = 72) -> bytes:
        """Return a small PNG of one image."""
        image = self.image(at)
        image.thumbnail((side, side))
        buffer = io.BytesIO()
        image.save(buffer, format="PNG", optimize=True)
        return buffer.getvalue()


def decode_image(content: bytes, name: str) -> Any:
    """Return an image from the bytes of its file."""
    require_extra("PIL", "images", "an audit of images")
    from PIL import Image, UnidentifiedImageError

    try:
        image = Image.open(io.BytesIO(content))
        if image.width * image.height <= MAX_PIXELS:
            return image.convert("RGB")
    except (UnidentifiedImageError, OSError, ValueError, SyntaxError, Image.DecompressionBombError):
        raise InputError(f"{name!r} is no picture that can be read, or is damaged") from None
    raise InputError(f"picture {name!r} has {image.width} x {image.height} pixels, too many to read")

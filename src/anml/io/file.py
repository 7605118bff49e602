"""A file on its way in: read once, however many look at it."""

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl

from anml.core.canonical import sha256
from anml.core.errors import InputError
from anml.io.plain import normalise_types
from anml.io.tables import Table, file_bytes, read_table

MAX_FILE_BYTES = 2 * 1024**3
JSON = (".json", ".jsonl", ".ndjson")
# Keys of lines that are rows of a table.
PAIR_KEYS = {"chosen", "rejected"}


@dataclass(frozen=True)
class InputFile:
    """A file by its path; what is in it, as a table or as JSON, is read when it is asked for."""

    path: Path

    @cached_property
    def table(self) -> Table:
        """Read the file as a table; of JSON files only pairs (chosen, rejected) are tables."""
        rows = self.json if self.path.suffix.lower() in JSON else None
        first = rows[0] if isinstance(rows, list) and rows else None
        if not isinstance(first, dict) or not first.keys() >= PAIR_KEYS:
            return read_table(self.path)
        try:
            frame = pl.DataFrame(rows, infer_schema_length=None)
        except (TypeError, ValueError, pl.exceptions.PolarsError):
            name = self.path.name
            raise InputError(f"{name} is JSON, but no list of rows with the same kinds of values") from None
        return Table(normalise_types(frame), self.path.name, sha256(self._content))

    @cached_property
    def json(self) -> Any:
        """Read the file as JSON or JSON lines."""
        text, name = self.text, self.path.name
        if not text.strip():
            raise InputError(f"{name} is empty")
        try:
            value = _one_or_lines(text)
            if "\\ud" in text.lower():
                # A lone surrogate is not valid text and cannot be written.
                json.dumps(value, ensure_ascii=False).encode()
            return value
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            raise InputError(f"{name} holds {half!a}, which is half of a letter; write it again") from None
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}: {error.msg}"
            raise InputError(f"{name} is neither JSON nor lines of JSON ({where})") from None
        except ValueError:
            raise InputError(f"{name} holds a number of thousands of digits, which no export has") from None
        except RecursionError:
            raise InputError(f"{name} is nested too deeply for an export") from None

    @property
    def text(self) -> str:
        """Read the file as UTF-8 text."""
        try:
            return self._content.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            where = f"{self.path.name} is not UTF-8 text (at byte {error.start})"
            raise InputError(f"{where}; save it as UTF-8") from None

    @property
    def sha256(self) -> str:
        """The hash of its bytes."""
        return self.table.sha256 if "table" in self.__dict__ else sha256(self._content)

    @cached_property
    def _content(self) -> bytes:
        if not self.path.is_file():
            raise InputError(f"there is no file {self.path}")
        if self.path.stat().st_size > MAX_FILE_BYTES:
            raise InputError(
                f"{self.path.name} is larger than {MAX_FILE_BYTES // 1024**3} GiB; split it first"
            )
        return file_bytes(self.path, str(self.path))


def _one_or_lines(text: str) -> Any:
    """One value, or one on each line; the error is that of the file read as one value."""
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        try:
            # Not by splitlines, which also ends a line at signs that may stand inside a text.
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        except json.JSONDecodeError:
            raise error from None

"""Reading and writing of files; an error names the file in one sentence."""

import os
import secrets
from pathlib import Path

from anml.core.errors import InputError, os_error_message


def read_bytes(path: Path, what: str) -> bytes:
    """The bytes of a file that the user named as `what`."""
    with os_error_message(f"the {what} {path} cannot be read"):
        return path.read_bytes()


def read_text(path: Path, what: str) -> str:
    """The text of a file that the user named as `what`."""
    try:
        return read_bytes(path, what).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(f"the {what} {path} cannot be read: it is not UTF-8 text") from None


def check_writable(path: Path) -> None:
    """Refuse a path that cannot be written, before the work begins."""
    with os_error_message(f"{path} cannot be written"):
        if path.is_dir():
            raise InputError(f"{path} cannot be written: it is a folder")
        first = next(place for place in path.absolute().parents if place.exists())
    if not first.is_dir():
        raise InputError(f"{path} cannot be written: {first} is a file")


def write_file(path: Path, data: bytes | str, *, private: bool = False) -> None:
    """Write a file, making its folder: whole or not at all; a private file is readable by its owner only."""
    commit_file(write_temporary(path, data, private=private), path)


def write_temporary(path: Path, data: bytes | str, *, private: bool = False) -> Path:
    """Write a file under a temporary name in the same folder; `commit_file` moves it to its place."""
    check_writable(path)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        # Never through an existing link.
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600 if private else 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data if isinstance(data, bytes) else data.encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        draft.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    return draft


def commit_file(draft: Path, path: Path) -> None:
    """Move a temporary file to its place."""
    with os_error_message(f"{path} cannot be written"):
        try:
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

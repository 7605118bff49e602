"""The disk's door: what cannot be read or written is one sentence that names the file."""

from pathlib import Path

from anml.core.errors import InputError


def read_bytes(path: Path, what: str) -> bytes:
    """The bytes of a file that the user named as `what`."""
    try:
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"the {what} {path} cannot be read: {error.strerror or error}") from None


def read_text(path: Path, what: str) -> str:
    """The text of a file that the user named as `what`."""
    try:
        return read_bytes(path, what).decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise InputError(f"the {what} {path} cannot be read: it is not UTF-8 text") from None


def check_place(path: Path) -> None:
    """Say before the work begins that a file cannot be put here."""
    try:
        if path.is_dir():
            raise InputError(f"{path} cannot be written: it is a folder")
        first = next(place for place in path.absolute().parents if place.exists())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None
    if not first.is_dir():
        raise InputError(f"{path} cannot be written: {first} is a file")


def write_file(path: Path, data: bytes | str) -> None:
    """Write a file, making its folder."""
    check_place(path)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from None

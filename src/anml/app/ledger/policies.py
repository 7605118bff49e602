"""How evidence becomes v, from a file of the user's."""

import tomllib
from pathlib import Path

from anml.app.files import read_text
from anml.core.errors import InputError
from anml.core.signals.policy import Policy


def read_policy(path: Path | None) -> Policy:
    """The policy in a TOML file, or the default one."""
    if path is None:
        return Policy()
    try:
        return Policy.from_dict(tomllib.loads(read_text(path, "policy")))
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"the policy {path} cannot be read: {error}") from None

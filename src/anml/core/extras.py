"""Optional packages: one sentence names the extra that installs a missing one."""

import sys
from importlib.util import find_spec

from anml.core.errors import UnsupportedError


def require_extra(package: str, extra: str, purpose: str) -> None:
    """Check that an optional package is installed; `purpose` is what needs it.

    Examples
    --------
    >>> require_extra("not_installed", "images", "a column of images")
    Traceback (most recent call last):
    anml.core.errors.UnsupportedError: a column of images needs the package not_installed: \
pip install 'attribution-native-ml[images]'
    """
    if not _is_installed(package):
        raise UnsupportedError(
            f"{purpose} needs the package {package}: pip install 'attribution-native-ml[{extra}]'"
        )


def _is_installed(package: str) -> bool:
    if package in sys.modules:
        return sys.modules[package] is not None
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:
        return False

"""Packages whose public names are imported on first use, so that the package costs nothing to import."""

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

from anml.core.errors import UnsupportedError


def lazy_names(
    package: str, homes: Mapping[str, str], extras: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package whose public names have their modules in `homes`.

    `extras` names the extra that installs what a name needs beyond the package itself.

    Examples
    --------
    >>> load, names = lazy_names("anml.signals", {"Decay": "anml.signals.freshness"})
    >>> load("Decay")(0.1), names()
    (Decay(delta=0.1), ['Decay'])
    """

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        try:
            return getattr(import_module(homes[name]), name)
        except ModuleNotFoundError as error:
            if extras is None or name not in extras:
                raise
            install = f"pip install 'attribution-native-ml[{extras[name]}]'"
            raise UnsupportedError(f"{name} needs the package {error.name}: {install}") from None

    return load, lambda: sorted(homes)

"""Folders of `app` whose modules are loaded when they are first asked for: `pay.settle.draft(...)`."""

from collections.abc import Callable, Collection
from importlib import import_module
from types import ModuleType


def modules_of(package: str, names: Collection[str]) -> Callable[[str], ModuleType]:
    """The `__getattr__` of a package: importing that loads nothing heavy before a command runs."""

    def load(name: str) -> ModuleType:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return import_module(f"{package}.{name}")

    return load

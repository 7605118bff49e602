"""Contributors: by name, one by one, their track records, and their right to be forgotten."""

from typing import TYPE_CHECKING

from anml.app.lazy import modules_of

if TYPE_CHECKING:
    from anml.app.people import identity, names, person, reputation, scores

__all__ = ["identity", "names", "person", "reputation", "scores"]
__getattr__ = modules_of(__name__, __all__)

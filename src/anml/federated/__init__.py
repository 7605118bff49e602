"""Federated learning: clients weighted by signals through a recipe, round by round."""

from typing import TYPE_CHECKING

from anml.core.lazy import lazy_names

if TYPE_CHECKING:
    from anml.federated.flower import AnmlStrategy
    from anml.federated.rounds import Federation, Reply

__all__ = ["AnmlStrategy", "Federation", "Reply"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AnmlStrategy": "anml.federated.flower",
        "Federation": "anml.federated.rounds",
        "Reply": "anml.federated.rounds",
    },
    extras={"AnmlStrategy": "flower"},
)

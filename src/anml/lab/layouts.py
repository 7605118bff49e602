"""How the rows of each kind of experiment are laid out for people: a table per metric, unless said here."""

from collections.abc import Callable
from typing import Any

from anml.lab.bank.page import by_condition
from anml.lab.spec import Experiment
from anml.lab.tables import tables

LAYOUTS: dict[str, Callable[[dict[str, Any]], list[str]]] = {"bank": by_condition}


def laid_out(experiment: Experiment, entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for an experiment's entry in a summary."""
    return LAYOUTS.get(experiment.kind, tables)(entry)

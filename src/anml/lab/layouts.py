"""How the rows of each kind of experiment are laid out for people: a table per metric, unless said here."""

from collections.abc import Callable
from typing import Any

from anml.lab.bank.page import HOW, by_condition
from anml.lab.cited.page import HOW as CITED_HOW
from anml.lab.cited.page import by_system
from anml.lab.spec import Experiment
from anml.lab.tables import legend, tables

LAYOUTS: dict[str, Callable[[dict[str, Any]], list[str]]] = {"bank": by_condition, "cited": by_system}
# How lines and columns are to be read, where they are not those of a table per metric.
READ = {"bank": HOW, "cited": CITED_HOW}


def laid_out(experiment: Experiment, entry: dict[str, Any]) -> list[str]:
    """Lines of Markdown for an experiment's entry in a summary."""
    return LAYOUTS.get(experiment.kind, tables)(entry)


def explained(experiment: Experiment) -> list[str]:
    """How to read what is laid out: its lines and columns, and each metric in words."""
    how, *metrics = legend(experiment)
    return [READ.get(experiment.kind, how), *metrics]

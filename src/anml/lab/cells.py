"""What decides a row: the setting, the method, the seed and the version of the algorithms in it.

Only what differs from the defaults is hashed, so a new field of `Setting` or `Recipe` leaves rows valid; and
each cell (one condition, one method) has a name of its own, so a changed or added method runs alone.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from anml.core.domain import Recipe
from anml.lab.spec import Experiment, Key, Setting

# Raise a number when an algorithm changes what it gives, and its rows are run again; 1 where none is named.
VERSIONS: dict[str, dict[str, int]] = {
    "combine": {"evidence": 2},
    "profile": {"default": 1, "paper": 1},
}


def cell_name(experiment: Experiment, setting: Setting, recipe: Recipe) -> str:
    """Name of everything that decides the rows of one method in one condition."""
    parts = {
        "setting": _differs(setting, Setting()),
        "recipe": _differs(recipe, Recipe()),
        "versions": _versions(setting, recipe),
        "seed": experiment.seed,
        "timed": experiment.timed,
    }
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def cells_of(experiment: Experiment, dataset: str | None = None) -> Iterator[tuple[str, Key, Setting, str]]:
    """Every cell of an experiment, or of its conditions on one data set: name, labels, setting, method."""
    for key, setting in experiment.conditions():
        if dataset in (None, setting.dataset):
            for method, recipe in experiment.methods.items():
                yield cell_name(experiment, setting, recipe), key, setting, method


def _versions(setting: Setting, recipe: Recipe) -> dict[str, int]:
    found = {
        "combine": VERSIONS["combine"].get(recipe.combine, 1),
        "profile": VERSIONS["profile"].get(setting.profile, 1),
    }
    return {kind: version for kind, version in found.items() if version != 1}


def _differs(thing: Any, plain: Any) -> dict[str, Any]:
    """Fields that do not have their default value."""
    pairs = {f.name: (getattr(thing, f.name), getattr(plain, f.name)) for f in fields(thing)}
    return {name: mine for name, (mine, default) in pairs.items() if mine != default}

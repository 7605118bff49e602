"""Cell identifiers: a hash of all non-default settings of a row, so that only changed methods run again."""

import hashlib
import json
from collections.abc import Collection, Iterator
from dataclasses import fields, replace
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from anml.weighting.weigh import RECIPES
from experiments.spec import Experiment, Key, Setting

# Raise a number when an algorithm changes what it gives, and its rows are run again; 1 where none is named. A
# kind of experiment behind the name has a number of its own.
VERSIONS: dict[str, dict[str, int]] = {
    "combine": {"evidence": 12, "evidence, bank": 14, "evidence, calibration": 13, "evidence, real": 14},
    "profile": {"default": 1, "paper": 1},
    "kind": {"bank": 3, "cited": 2, "crowds": 3, "pairs": 4},
    "peer": {"anml, crowds": 2, "anml, 50 known": 3, "ours, believed": 2},
}


def cell_name(experiment: Experiment, setting: Setting, method: str) -> str:
    """Name of everything that decides the rows of one method, a recipe or a peer, in one condition."""
    recipe = experiment.methods.get(method)
    parts: dict[str, Any] = {
        "setting": _differs(setting, Setting()),
        "versions": {kind: number for kind, _, number in _versions(experiment, setting, method)},
        "seed": experiment.seed,
        "timed": experiment.timed,
    }
    # A recipe is named by what it does, so that it may be called otherwise; a peer has only its name.
    if recipe is None:
        parts["peer"] = method
    else:
        # The profile is that of the setting.
        plain = replace(RECIPES["guarded"], profile=recipe.profile)
        parts["recipe"] = _differs(recipe, plain)
    if experiment.kind != Experiment.kind:
        parts["kind"] = experiment.kind
    text = json.dumps(parts, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def version_of(experiment: Experiment) -> str:
    """The release that makes rows today, and the algorithms in it that have changed what they give."""
    results = {
        f", {named} {number}"
        for _, setting in experiment.conditions()
        for method in experiment.compared
        for _, named, number in _versions(experiment, setting, method)
    }
    try:
        release = version("attribution-native-ml")
    except PackageNotFoundError:
        release = "from source"
    return f"anml {release}{''.join(sorted(results))}"


def cells_of(experiment: Experiment, dataset: str | None = None) -> Iterator[tuple[str, Key, Setting, str]]:
    """Every cell of an experiment, or of its conditions on one data set: name, labels, setting, method."""
    for key, setting in experiment.conditions():
        if dataset in (None, setting.dataset):
            for method in experiment.compared:
                yield cell_name(experiment, setting, method), key, setting, method


def missing_cells(
    experiment: Experiment, dataset: str, cells: Collection[str] | None
) -> dict[Key, tuple[Setting, list[str]]]:
    """Conditions on one data set, and the methods to run in each: all, or those of some `cells`."""
    result: dict[Key, tuple[Setting, list[str]]] = {}
    for cell, key, setting, method in cells_of(experiment, dataset):
        if cells is None or cell in cells:
            result.setdefault(key, (setting, []))[1].append(method)
    return result


def _versions(experiment: Experiment, setting: Setting, method: str) -> list[tuple[str, str, int]]:
    """List the parts of a cell with a version above 1: kind, name, number."""
    recipe = experiment.methods.get(method)
    named = {
        "combine": "" if recipe is None else recipe.combine,
        "profile": setting.profile,
        "kind": experiment.kind,
        "peer": method if recipe is None else "",
    }
    numbers = ((kind, name, VERSIONS[kind], f"{name}, {experiment.kind}") for kind, name in named.items())
    results = [(kind, name, each.get(here, each.get(name, 1))) for kind, name, each, here in numbers]
    return [each for each in results if each[2] != 1]


def _differs(thing: Any, plain: Any) -> dict[str, Any]:
    """Fields that do not have their default value."""
    pairs = {f.name: (getattr(thing, f.name), getattr(plain, f.name)) for f in fields(thing)}
    return {name: mine for name, (mine, default) in pairs.items() if mine != default}

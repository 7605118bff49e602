"""The last part of the report: all that is needed to repeat the run, and to know what it was run on."""

import math
from dataclasses import fields
from typing import Any, NamedTuple

from anml.app.audit.result import Audited
from anml.core.profile import PROFILES
from anml.core.signals.temporal import DAYS_PER_YEAR, ContextDecay, Decay
from anml.core.words import listed
from anml.surfaces.names import shortened
from anml.surfaces.verdict import looks_wrong

MOST_NAMED = 12

# What each setting does, in the words of the reader.
RECIPE = {
    "combine": "how signals become one weight",
    "use": "signals used; the others count as 1",
    "level": "whether q is taken by row or by contributor",
    "alpha": "softmax blend: share of q against s",
    "tau_s": "softmax blend: temperature",
    "tau_h": "gate: all s above it, credentials call all labels right",
    "tau_c": "gate: rho_c above it, credentials are trusted",
    "tau_n": "gate: share of wrong labels up to which all rows count alike",
    "keep": "share of rows kept",
    "select": "how rows are chosen by weight",
}
PROFILE = {
    "hidden": "widths of the hidden layers",
    "epochs": "fixed length of training",
    "max_epochs": "longest training when it stops early",
    "folds": "folds of held-out predictions",
    "lr": "learning rate",
    "batch": "rows per step",
    "k": "nearest neighbours in a score",
    "malicious": "share of bad rows, for k = n - f - 2",
    "references": "rows that neighbours are sought among",
    "method": "where scores come from",
}


class Fact(NamedTuple):
    """A name, its value as text, and what it means."""

    name: str
    value: str
    meaning: str = ""


class Facts(NamedTuple):
    """Facts under one heading."""

    title: str
    rows: list[Fact]


def method_facts(result: Audited) -> list[Facts]:
    """Settings, model, data and versions, in the order of the report."""
    recipe, profile = result.policy.recipe, result.policy.profile
    named = next((name for name, known in PROFILES.items() if known == profile), "own settings")
    return [
        Facts(
            "Recipe", [Fact("recipe", result.recipe_name, "its settings follow"), *_settings(recipe, RECIPE)]
        ),
        Facts(
            "Scoring model",
            [
                Fact("profile", named, "its settings follow"),
                Fact("epochs trained", f"{result.scoring_epochs:,}"),
                *_settings(profile, PROFILE),
            ],
        ),
        Facts("Evidence", _evidence(result)),
        Facts("Data", _data(result)),
        Facts("Columns used", _columns(result)),
        Facts(
            "Seed and versions",
            [
                Fact("seed", str(result.policy.seed), "the same seed gives the same result"),
                *(Fact(name, value) for name, value in result.versions.items()),
            ],
        ),
    ]


def _settings(settings: Any, meanings: dict[str, str]) -> list[Fact]:
    return [
        Fact(field.name, _plain(getattr(settings, field.name)), meanings.get(field.name, ""))
        for field in fields(settings)
    ]


def _plain(value: Any) -> str:
    if value is None:
        return "automatic"
    if isinstance(value, tuple):
        return ", ".join(str(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _evidence(result: Audited) -> list[Fact]:
    cold, comparison = result.policy.cold_start, result.comparison
    used = ", ".join(name.upper() if name == "t" else name for name in result.signals_given)
    facts = [
        Fact("signals used", used, "of q, v, r and T; the others count as 1"),
        Fact("wrong labels", looks_wrong(result), "estimated without the truth"),
    ]
    if "t" in result.signals_given:
        facts.append(Fact("decay", decay_words(result.policy.decay)))
    if "r" in result.signals_given:
        facts.append(Fact("r_min", f"{cold.r_min:g}", "floor on r for newcomers"))
        facts.append(Fact("newcomer", f"first {cold.contributions} rows", "while the floor holds"))
    if comparison is not None:
        measured = f"{comparison.rows:,} rows, {comparison.epochs} epochs"
        facts.append(Fact("comparison", measured, f"{comparison.metric} on {comparison.on}"))
    return facts


def decay_words(decay: Decay | ContextDecay) -> str:
    """Say how fast contributions lose freshness.

    Examples
    --------
    >>> decay_words(Decay.half_life("90d"))
    'T halves every 90 days'
    """
    if isinstance(decay, ContextDecay):
        return "across domains, weights " + ", ".join(f"{weight:g}" for weight in decay.weights)
    if decay.delta == 0:
        return "T does not fall with age"
    half = math.log(2) / decay.delta
    return (
        f"T halves every {half:.3g} years" if half >= 1 else f"T halves every {half * DAYS_PER_YEAR:.3g} days"
    )


def _data(result: Audited) -> list[Fact]:
    used, rows = result.samples.height, result.data["rows"]
    facts = [
        Fact("name", shortened(str(result.data["name"]), 80)),
        Fact("sha256", str(result.data["sha256"])),
        Fact("rows", f"{rows:,}" if rows == used else f"{rows:,}, of which {used:,} used"),
        Fact("task", result.task if result.shape is None else result.shape.kind),
    ]
    if result.classes:
        facts.append(Fact("classes", f"{len(result.classes)}: {_listed(result.classes)}"))
    return facts


def _columns(result: Audited) -> list[Fact]:
    roles = result.columns.to_dict()
    features = roles.pop("features")
    facts = [
        Fact(role.replace("_", " "), shortened(str(name), 60))
        for role, name in roles.items()
        if name is not None
    ]
    return [*facts, *([Fact("features", f"{len(features)}: {_listed(features)}")] if features else [])]


def _listed(names: list[str]) -> str:
    return listed([shortened(str(name), 30) for name in names], MOST_NAMED)

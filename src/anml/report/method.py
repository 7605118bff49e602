"""The method section of the report: settings, data and versions of the run."""

import math
from typing import Any

from anml.core.profile import PROFILES
from anml.core.text import join_names
from anml.pipeline.result import AuditResult, run_metadata
from anml.report.printable import truncate
from anml.report.summary import error_rate_text
from anml.signals.freshness import DAYS_PER_YEAR, ContextDecay, Decay
from anml.weighting.combine import correlation

MAX_NAMES = 12
Facts = dict[str, str]


def method_settings(result: AuditResult) -> dict[str, Facts]:
    """Settings, model, data and versions under their headings, in the order of the report."""
    record, profile = run_metadata(result, ""), result.policy.profile
    profile_name = next((name for name, each in PROFILES.items() if each == profile), "custom")
    trained = {"profile": profile_name, "epochs trained": f"{result.scoring_epochs:,}"}
    recipe = dict(record["recipe"])
    scoring = _settings(recipe.pop("profile"))
    recipe["half_life"] = describe_decay(result.policy.decay)
    used, rows = result.samples.height, result.data["rows"]
    data = {
        "name": truncate(str(result.data["name"]), 80),
        "sha256": str(result.data["sha256"]),
        "rows": f"{rows:,}" if rows == used else f"{rows:,}, {used:,} of them used",
        "task": result.kind or result.task,
    }
    roles = result.columns.to_dict()
    features = roles.pop("features")
    named = {role.replace("_", " "): truncate(name, 60) for role, name in roles.items() if name is not None}
    return {
        "Recipe": {"recipe": result.recipe_name, **_settings(recipe)},
        "Scoring model": trained | scoring,
        "Estimates": _evidence(result),
        "Data": data | _listed("classes", result.classes),
        "Schema": named | _listed("features", features),
        "Versions": {"random_state": str(result.policy.seed), **result.versions},
    }


def _settings(settings: dict[str, Any]) -> Facts:
    return {name: _plain(value) for name, value in settings.items() if name != "name"}


def _plain(value: Any) -> str:
    if value is None:
        return "automatic"
    if isinstance(value, tuple | list):
        return ", ".join(str(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _evidence(result: AuditResult) -> Facts:
    comparison, given = result.evaluation, result.signals_given
    facts = {
        "signals used": ", ".join(name.upper() if name == "t" else name for name in given),
        "error rate": f"{error_rate_text(result)}, estimated without test labels; bounds: labels that are "
        "certainly wrong, and labels that all other information contradicts",
    }
    if {"v", "r"} & set(given):
        # The correlation of the gate, else the correlation of q and s = v r over all rows.
        recipe, samples, rho = result.policy.recipe, result.samples, result.gate.rho_c
        if rho is None:
            rho = correlation(samples["q"].to_numpy(), (samples["v"] * samples["r"]).to_numpy())
        shown = "undefined, since q or s is constant" if rho is None else f"{rho:.3f}"
        asked = "" if recipe.combine in ("adaptive", "guarded") else "; not used by this recipe"
        facts["rho_c"] = f"{shown} (correlation of q and s = v r), tau_c = {recipe.tau_c:g}{asked}"
    if comparison is not None:
        measured = f"{comparison.rows:,} rows, {comparison.epochs} epochs"
        facts["evaluation"] = f"{measured}; {comparison.metric} on {comparison.on}"
    return facts


def describe_decay(decay: Decay | ContextDecay) -> str:
    """Describe the decay of freshness."""
    if isinstance(decay, ContextDecay):
        return "across domains, weights " + ", ".join(f"{weight:g}" for weight in decay.weights)
    if decay.delta == 0:
        return "none"
    half = math.log(2) / decay.delta
    return f"{half:.3g} years" if half >= 1 else f"{half * DAYS_PER_YEAR:.3g} days"


def _listed(what: str, names: list[str]) -> Facts:
    shown = [truncate(str(name), 30) for name in names]
    return {what: f"{len(names)}: {join_names(shown, MAX_NAMES)}"} if names else {}

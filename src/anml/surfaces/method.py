"""The last part of the report: all that is needed to repeat the run, and to know what it was run on."""

import math
from typing import Any

from anml.app.audit.result import Audited, run_record
from anml.core.combine import correlation
from anml.core.profile import PROFILES
from anml.core.signals.temporal import DAYS_PER_YEAR, ContextDecay, Decay
from anml.core.words import listed
from anml.surfaces.names import shortened
from anml.surfaces.summary import looks_wrong

MOST_NAMED = 12
Facts = dict[str, str]


def method_facts(result: Audited) -> dict[str, Facts]:
    """Settings, model, data and versions under their headings, in the order of the report."""
    record, profile = run_record(result, ""), result.policy.profile
    known = next((name for name, each in PROFILES.items() if each == profile), "own settings")
    trained = {"profile": known, "epochs trained": f"{result.scoring_epochs:,}"}
    used, rows = result.samples.height, result.data["rows"]
    data = {
        "name": shortened(str(result.data["name"]), 80),
        "sha256": str(result.data["sha256"]),
        "rows": f"{rows:,}" if rows == used else f"{rows:,}, of which {used:,} used",
        "task": result.kind or result.task,
    }
    roles = result.columns.to_dict()
    features = roles.pop("features")
    named = {role.replace("_", " "): shortened(name, 60) for role, name in roles.items() if name is not None}
    return {
        "Recipe": {"recipe": result.recipe_name, **_settings(record["recipe"])},
        "Scoring model": trained | _settings(record["profile"]),
        "Evidence": _evidence(result),
        "Data": data | _listed("classes", result.classes),
        "Columns used": named | _listed("features", features),
        "Seed and versions": {"seed": str(result.policy.seed), **result.versions},
    }


def _settings(settings: dict[str, Any]) -> Facts:
    return {name: _plain(value) for name, value in settings.items() if name != "name"}


def _plain(value: Any) -> str:
    if value is None:
        return "automatic"
    if isinstance(value, tuple | list):
        return ", ".join(str(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def _evidence(result: Audited) -> Facts:
    cold, comparison, given = result.policy.cold_start, result.comparison, result.signals_given
    facts = {
        "signals used": ", ".join(name.upper() if name == "t" else name for name in given),
        "wrong labels": f"{looks_wrong(result)}, estimated without the truth",
    }
    if {"v", "r"} & set(given):
        # How q goes with what the credentials say, s = v r, over all rows; that of the gate where it asked.
        recipe, samples, found = result.policy.recipe, result.samples, result.gate.rho_c
        if found is None:
            found = correlation(samples["q"].to_numpy(), (samples["v"] * samples["r"]).to_numpy())
        shown = "undefined, as q or s is the same in every row" if found is None else f"{found:.3f}"
        asked = "" if recipe.combine in ("adaptive", "guarded") else "; this recipe does not ask it"
        facts["rho_c"] = f"{shown} (correlation of q and s = v r), tau_c = {recipe.tau_c:g}{asked}"
    if "t" in given:
        facts["decay"] = decay_words(result.policy.decay)
    if "r" in given:
        facts["r_min"] = f"{cold.r_min:g}, floor on r for the first {cold.contributions} rows"
    if comparison is not None:
        measured = f"{comparison.rows:,} rows, {comparison.epochs} epochs"
        facts["comparison"] = f"{measured}; {comparison.metric} on {comparison.on}"
    return facts


def decay_words(decay: Decay | ContextDecay) -> str:
    """Say how fast contributions lose freshness."""
    if isinstance(decay, ContextDecay):
        return "across domains, weights " + ", ".join(f"{weight:g}" for weight in decay.weights)
    if decay.delta == 0:
        return "T does not fall with age"
    half = math.log(2) / decay.delta
    every = f"{half:.3g} years" if half >= 1 else f"{half * DAYS_PER_YEAR:.3g} days"
    return f"T halves every {every}"


def _listed(what: str, names: list[str]) -> Facts:
    shown = [shortened(str(name), 30) for name in names]
    return {what: f"{len(names)}: {listed(shown, MOST_NAMED)}"} if names else {}

"""The report: one HTML file with everything in it, that asks the network for nothing and runs nothing.

Sizes do not grow with the table: rows are binned and summed before they are drawn or listed.
"""

from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from anml.app.items import CLEAR
from anml.app.result import Audited
from anml.core.combine import correlation
from anml.core.signals.temporal import DAYS_PER_YEAR, ContextDecay, Decay
from anml.surfaces.accused import false_alarms, opening
from anml.surfaces.densities import (
    MATRICES,
    MOST_CLASSES,
    ages_figure,
    confusion_figure,
    q_against_s_figure,
    q_histogram_figure,
    reliability_figure,
)
from anml.surfaces.figures import ErrorOf, errors_figure, quality_figure, shares_figure, to_show
from anml.surfaces.method import decay_words, method_facts
from anml.surfaces.names import shortened
from anml.surfaces.tables import (
    CREDENTIALS,
    confusion_matrix,
    confusion_table,
    contributor_table,
    evidence_table,
    few_rows,
    item_table,
    most_confused,
    residual_table,
    sample_table,
    to_look_at,
    totals,
)
from anml.surfaces.verdict import advice, shown_error, verdict_parts, wrong_share
from anml.surfaces.vouched_view import vouched_view

TEMPLATES = Path(__file__).parent / "templates"
WAYS = {"uniform": "without anml", "q only": "q alone", "chosen": "as chosen"}


def render_report(result: Audited) -> str:
    """Return the report as one HTML page; the same result gives the same bytes."""
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            name=shortened(str(result.data["name"]), 80),
            task=result.task,
            recipe=result.recipe_name,
            rows=result.samples.height,
            kept=result.kept,
            wrong=wrong_share(result),
            branch=result.gate.branch,
            contributors=result.contributors.height,
            notes=[shortened(note, 400) for note in result.notes],
            warnings=[shortened(warning, 400) for warning in result.warnings],
            facts=method_facts(result),
            verdict=_verdict(result),
            table=contributor_table(result),
            credentials=[pair for pair in CREDENTIALS.items() if pair[0] in result.signals_given],
            false_alarms=false_alarms(result),
            totals=totals(result),
            few=few_rows(result),
            agreement=_evidence(result),
            people=_people(result),
            ages=_ages(result),
            confusion=_confusion(result),
            gold=_gold(result),
            samples=sample_table(result),
            alone=to_look_at(result)["alone"].sum(),
            listed_items="item" in result.samples.columns,
            pictured=bool(result.pictures),
            excerpted=bool(result.excerpts),
            items=_items(result),
            evidence=evidence_table(result),
            vouched=_vouched(result),
            doubtful=result.samples.filter(pl.col("kept") & (pl.col("p_correct") < 0.5)).height,
        )
    )
    return page + "\n"


def _environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def write_report(result: Audited, folder: Path) -> None:
    """Write report.html into a folder."""
    (folder / "report.html").write_text(render_report(result), encoding="utf-8")


def _verdict(result: Audited) -> dict[str, Any]:
    comparison = result.comparison
    figure = None
    if comparison is not None:
        ways = [
            ErrorOf(WAYS.get(way.name, way.name), way.error, shown_error(way, comparison))
            for way in comparison.ways
        ]
        figure = errors_figure(ways, comparison.metric, result.task == "classification")
    return {
        "opening": opening(result),
        "parts": verdict_parts(result),
        "advice": "" if comparison is None else advice(comparison, result.gate.branch),
        "figure": _safe(figure),
        "as_given": comparison is not None and comparison.on != "test data",
    }


def _evidence(result: Audited) -> dict[str, Any]:
    """Set q against what the credentials say, or q alone where nothing was said."""
    q = result.samples["q"].to_numpy()
    recipe = result.policy.recipe
    if not set(result.signals_given) & {"v", "r"}:
        return {"given": False, "figure": _safe(q_histogram_figure(q))}
    s = (result.samples["v"] * result.samples["r"]).to_numpy()
    rho_c = result.gate.rho_c if result.gate.rho_c is not None else correlation(q, s)
    return {
        "given": True,
        "figure": _safe(q_against_s_figure(q, s)),
        "rho_c": rho_c,
        "tau_c": recipe.tau_c,
        "gated": recipe.combine in ("adaptive", "guarded"),
        "trusted": rho_c is not None and rho_c > recipe.tau_c,
        "reason": result.gate.reason,
    }


def _vouched(result: Audited) -> dict[str, Any] | None:
    """What v rests on and who is new, where a ledger was asked."""
    found = result.vouched
    if found is None:
        return None
    order = result.contributors["contributor"].to_list()
    return vouched_view(result.samples, found.people, found.entries, found.at, order)


def _people(result: Audited) -> dict[str, Any] | None:
    """Figures that compare contributors; None where there are not two of them."""
    if result.contributors.height < 2:
        return None
    shown = to_show(result.contributors)
    pool = float(np.mean(result.samples["p_correct"].to_numpy()))
    return {
        "quality": _safe(quality_figure(shown, pool, few_rows(result))),
        "shares": _safe(shares_figure(shown)),
        "shown": shown.height,
    }


def _ages(result: Audited) -> dict[str, Any] | None:
    if "age" not in result.samples.columns:
        return None
    decay = result.policy.decay
    age = result.samples["age"].to_numpy()
    return {
        "figure": _safe(ages_figure(age, decay)),
        "decay": _freshness(decay),
        "median": _aged(float(np.median(age)), decay),
        "oldest": _aged(float(age.max()), decay),
        "used": "t" in result.policy.recipe.use,
    }


def _freshness(decay: Decay | ContextDecay) -> str:
    """How fast rows lose freshness, as a sentence."""
    if isinstance(decay, Decay) and decay.delta == 0:
        return "Freshness does not count: no half-life was named."
    said = decay_words(decay)
    return f"{said[:1].upper()}{said[1:]}."


def _aged(age: float, decay: Decay | ContextDecay) -> str:
    years = f"{age:.2g} years" if age >= 1 else f"{age * DAYS_PER_YEAR:.0f} days"
    return f"{years} (T = {decay(np.array([age]))[0]:.2f})"


def _items(result: Audited) -> dict[str, Any] | None:
    """What all labels of an item say together; None where items have one label each."""
    if result.items is None:
        return None
    classes = "p" in result.items.columns
    return {
        "table": item_table(result),
        "count": result.items.height,
        "classes": classes,
        "bound": CLEAR,
        "unclear": int((result.items["p"] < CLEAR).sum()) if classes else 0,
    }


def _gold(result: Audited) -> dict[str, Any] | None:
    """p_correct against the rows whose label is known."""
    if result.gold is None:
        return None
    bins = result.gold.reliability
    return {
        "sentence": result.gold.sentence(),
        "marks": result.gold.kind == "marks",
        "error": bins.error,
        "figure": _safe(reliability_figure(bins)) if result.gold.wrong else None,
    }


def _confusion(result: Audited) -> dict[str, Any]:
    if result.task == "regression":
        return {"residuals": residual_table(result), "table": None, "figure": None}
    ranked = most_confused(result)
    figure = None
    if not ranked.is_empty() and len(result.classes) <= MOST_CLASSES:
        names = ranked["contributor"].head(MATRICES).to_list()
        matrices = [confusion_matrix(result, name) for name in names]
        figure = confusion_figure(names, matrices, result.classes)
    return {"residuals": None, "table": confusion_table(result, ranked), "figure": _safe(figure)}


def _safe(figure: str | None) -> Markup | None:
    """Mark a figure as markup: every text in it was escaped when it was drawn."""
    return None if figure is None else Markup(figure)

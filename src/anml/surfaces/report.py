"""The report: one HTML file with everything in it, that asks the network for nothing.

It begins with three answers: who, what to do, what it changes. A small script sorts and searches; the page
is whole without it. Sizes do not grow with the table: rows are binned and summed before they are drawn.
"""

from base64 import b64encode
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from anml.app.audit.items import CLEAR
from anml.app.audit.result import Audited
from anml.core.combine import correlation
from anml.core.signals.temporal import DAYS_PER_YEAR, ContextDecay, Decay
from anml.core.words import counted
from anml.surfaces.accused import false_alarms
from anml.surfaces.figures import (
    MATRICES,
    MOST_CLASSES,
    MOST_SHOWN,
    confusion_figure,
    distribution_figure,
    quality_figure,
)
from anml.surfaces.method import decay_words, method_facts
from anml.surfaces.names import shortened
from anml.surfaces.shape_view import shape_section
from anml.surfaces.summary import LONGEST, summary
from anml.surfaces.tables import (
    CREDENTIALS,
    KINDS,
    MOST_LISTED,
    confusion_matrix,
    confusion_table,
    contributor_table,
    few_rows,
    item_table,
    most_confused,
    queue,
    residual_table,
    sample_table,
    totals,
)
from anml.surfaces.todo import sampled
from anml.surfaces.verdict import decided, looks_wrong, shown_error
from anml.surfaces.vouched_view import vouched_view

TEMPLATES = Path(__file__).parent / "templates"
WAYS = {"uniform": "without anml", "q only": "q alone", "chosen": "with anml"}


def render_report(result: Audited) -> str:
    """Return the report as one HTML page; the same result gives the same bytes."""
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    page = (
        environment()
        .get_template("report.html.j2")
        .render(
            # Nothing but this script may run, whatever a name in the data says.
            script=Markup(script),
            script_hash=b64encode(sha256(script.encode()).digest()).decode(),
            name=shortened(str(result.data["name"]), 80),
            about=_about(result),
            task=result.task,
            rows=result.samples.height,
            kept=result.kept,
            contributors=result.contributors.height,
            answers=summary(result),
            decided=decided(result),
            notes=[shortened(note, LONGEST) for note in result.notes],
            facts=method_facts(result),
            compared=_compared(result),
            table=contributor_table(result),
            listed=MOST_LISTED,
            credentials=[pair for pair in CREDENTIALS.items() if pair[0] in result.signals_given],
            timed="seconds" in result.contributors.columns,
            false_alarms=false_alarms(result),
            totals=totals(result),
            few=few_rows(result),
            agreement=_agreement(result),
            people=_people(result),
            predicted=_predicts(result),
            ages=_ages(result),
            confusion=_confusion(result),
            gold=_gold(result),
            samples=sample_table(result),
            stop=CLEAR,
            listed_items="item" in result.samples.columns,
            pictured=bool(result.pictures),
            excerpted=bool(result.excerpts),
            items=_items(result),
            vouched=_vouched(result),
            shape=shape_section(result),
        )
    )
    return page + "\n"


@cache
def environment() -> Environment:
    """Templates, compiled once for all pages of a process."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render_card(result: Audited) -> str:
    """What a notebook shows: the three answers and the first contributors, in colours of the notebook."""
    card = environment().get_template("report_card.html.j2")
    table = contributor_table(result)
    return card.render(
        name=shortened(str(result.data["name"]), 80),
        about=_about(result),
        answers=summary(result),
        rows=table.rows[:CARD_ROWS],
        hidden=max(result.contributors.height - CARD_ROWS, 0),
    )


CARD_ROWS = 8


def write_report(result: Audited, folder: Path) -> None:
    """Write report.html into a folder."""
    (folder / "report.html").write_text(render_report(result), encoding="utf-8")


def _about(result: Audited) -> str:
    """What was judged, in one line."""
    rows = result.data["rows"] if sampled(result) else result.samples.height
    people = result.contributors.height
    by = f" by {counted(people, 'contributor')}" if people else ""
    unit = "label" if result.shape is None else result.shape.unit
    return f"{counted(rows, unit)}{by}; {looks_wrong(result)} look wrong"


def _compared(result: Audited) -> dict[str, Any] | None:
    """Errors of all ways of weighing; None where nothing was compared."""
    comparison = result.comparison
    if comparison is None:
        return None
    ways = [(WAYS.get(way.name, way.name), shown_error(way, comparison)) for way in comparison.ways]
    return {"ways": ways, "metric": comparison.metric, "as_given": comparison.on != "test data"}


def _agreement(result: Audited) -> dict[str, Any] | None:
    """Set q against what the credentials say; None where they say nothing."""
    if not set(result.signals_given) & {"v", "r"}:
        return None
    q = result.samples["q"].to_numpy()
    recipe = result.policy.recipe
    s = (result.samples["v"] * result.samples["r"]).to_numpy()
    rho_c = result.gate.rho_c if result.gate.rho_c is not None else correlation(q, s)
    return {
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
    """Figures that compare contributors: one by one, or their distribution; None where there are not two."""
    people = result.contributors
    if people.height < 2:
        return None
    if people.height > MOST_SHOWN:
        kinds = [KINDS[verdict] for verdict in people["verdict"]]
        figure = distribution_figure(people["quality"].to_numpy(), kinds)
        counts = {kind: kinds.count(kind) for kind in ("accused", "less", "unsure", "reliable")}
        return {"distribution": _safe(figure), "quality": None, **counts}
    pool = float(np.mean(result.samples["p_correct"].to_numpy()))
    return {
        "distribution": None,
        "quality": _safe(quality_figure(people, pool, few_rows(result))),
    }


def _ages(result: Audited) -> dict[str, Any] | None:
    if "age" not in result.samples.columns:
        return None
    decay = result.policy.decay
    age = result.samples["age"].to_numpy()
    return {
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
        "unclear": queue(result).candidates,
    }


def _gold(result: Audited) -> dict[str, Any] | None:
    """p_correct against the rows whose label is known."""
    if result.gold is None:
        return None
    found = result.gold.reliability
    bins = [
        (f"{count:,}", f"{believed:.0%}", f"{right:.0%} ({low:.0%} to {high:.0%})")
        for count, believed, right, low, high in zip(
            found.count, found.believed, found.right, *found.interval(), strict=True
        )
        if count and result.gold.wrong
    ]
    marks = result.gold.kind == "marks"
    return {"sentence": result.gold.sentence(), "marks": marks, "error": found.error, "bins": bins}


def _confusion(result: Audited) -> dict[str, Any] | None:
    """How labels lie about held-out predictions; None where nothing predicts."""
    if not _predicts(result):
        return None
    if result.task == "regression":
        return {"residuals": residual_table(result), "table": None, "figure": None}
    ranked = most_confused(result)
    figure = None
    if not ranked.is_empty() and len(result.classes) <= MOST_CLASSES:
        names = ranked["contributor"].head(MATRICES).to_list()
        matrices = [confusion_matrix(result, name) for name in names]
        figure = confusion_figure(names, matrices, result.classes)
    return {"residuals": None, "table": confusion_table(result, ranked), "figure": _safe(figure)}


def _predicts(result: Audited) -> bool:
    """Whether anything but other labels says what a label should be."""
    return bool(result.columns.features) or bool({"predictions", "embeddings"} & result.data.keys())


def _safe(figure: str | None) -> Markup | None:
    """Mark a figure as markup: every text in it was escaped when it was drawn."""
    return None if figure is None else Markup(figure)

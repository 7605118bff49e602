"""The report: one HTML file of bounded size that asks the network for nothing and is whole without script."""

from base64 import b64encode
from collections import Counter
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from anml.app.audit.items import CLEAR
from anml.app.audit.result import Audited
from anml.core.words import counted
from anml.surfaces.accused import false_alarms, noun
from anml.surfaces.figures import MATRICES, MOST_CLASSES, MOST_SHOWN, confusion_figure, quality_figure
from anml.surfaces.method import method_facts
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
)
from anml.surfaces.todo import sampled
from anml.surfaces.verdict import decided, looks_wrong, shown_error
from anml.surfaces.vouched_view import vouched_view

TEMPLATES = Path(__file__).parent / "templates"
WAYS = {"uniform": "without anml", "q only": "q alone", "chosen": "with anml"}
CARD_ROWS = 8


def render_report(result: Audited) -> str:
    """Return the report as one HTML page; the same result gives the same bytes."""
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    return rendered(
        "report.html.j2",
        # Nothing but this script may run, whatever a name in the data says.
        script=Markup(script),
        script_hash=b64encode(sha256(script.encode()).digest()).decode(),
        **_opening(result),
        task=result.task,
        contributors=result.contributors.height,
        decided=decided(result),
        notes=[shortened(note, LONGEST) for note in result.notes],
        facts=method_facts(result),
        compared=_compared(result),
        table=contributor_table(result),
        listed=MOST_LISTED,
        credentials=[pair for pair in CREDENTIALS.items() if pair[0] in result.signals_given],
        timed="seconds" in result.contributors.columns,
        false_alarms=false_alarms(result),
        totals=(f"{result.samples.height:,}", f"{result.kept / result.samples.height:.0%}"),
        few=few_rows(result),
        noun=noun(result),
        one="label" if result.shape is None else "answer",
        people=_people(result),
        predicted=_predicts(result),
        confusion=_confusion(result),
        gold=_gold(result),
        samples=sample_table(result),
        stop=CLEAR,
        listed_items="item" in result.samples.columns,
        pictured=bool(result.pictures),
        excerpted=bool(result.excerpts),
        items=_items(result),
        vouched=vouched_view(result),
        shape=shape_section(result),
    )


def render_card(result: Audited) -> str:
    """What a notebook shows: the three answers and the first contributors, in colours of the notebook."""
    return rendered(
        "report_card.html.j2",
        **_opening(result),
        rows=contributor_table(result).rows[:CARD_ROWS],
        hidden=max(result.contributors.height - CARD_ROWS, 0),
    )


def write_report(result: Audited, folder: Path) -> None:
    """Write report.html into a folder."""
    (folder / "report.html").write_text(render_report(result), encoding="utf-8")


def rendered(template: str, **values: Any) -> str:
    """A page made from one of the templates; everything in it is escaped."""
    return _environment().get_template(template).render(**values) + "\n"


@cache
def _environment() -> Environment:
    """Templates, compiled once for all pages of a process."""
    return Environment(
        loader=FileSystemLoader(TEMPLATES), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip


def _opening(result: Audited) -> dict[str, Any]:
    """Whose result it is, what was judged in one line, and the answers."""
    rows = result.data["rows"] if sampled(result) else result.samples.height
    people = result.contributors.height
    by = f" by {counted(people, 'contributor')}" if people else ""
    about = f"{counted(rows, noun(result))}{by}; {looks_wrong(result)} look wrong"
    return {"name": shortened(str(result.data["name"]), 80), "about": about, "answers": summary(result)}


def _compared(result: Audited) -> dict[str, Any] | None:
    """Errors of all ways of weighing; None where nothing was compared."""
    comparison = result.comparison
    if comparison is None:
        return None
    ways = [(WAYS.get(way.name, way.name), *shown_error(way, comparison)) for way in comparison.ways]
    return {"ways": ways, "metric": comparison.metric, "as_given": comparison.on != "test data"}


def _people(result: Audited) -> dict[str, Any] | None:
    """Contributors one by one in a figure, or how many are what; None where there are not two."""
    people = result.contributors
    if people.height < 2:
        return None
    if people.height > MOST_SHOWN:
        kinds = Counter(KINDS[verdict] for verdict in people["verdict"])
        return {"quality": None, **{kind: kinds[kind] for kind in KINDS.values()}}
    pool = float(np.mean(result.samples["p_correct"].to_numpy()))
    return {"quality": Markup(quality_figure(people, pool, few_rows(result)))}


def _items(result: Audited) -> dict[str, Any] | None:
    """What all labels of an item say together; None where items have one label each."""
    if result.items is None:
        return None
    return {
        "table": item_table(result),
        "count": result.items.height,
        "classes": "p" in result.items.columns,
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
    return {
        "sentence": result.gold.sentence(),
        "p": result.gold.p,
        "marks": marks,
        "error": found.error,
        "bins": bins,
    }


def _confusion(result: Audited) -> dict[str, Any] | None:
    """How labels lie about held-out predictions; None where nothing predicts."""
    if not _predicts(result):
        return None
    if result.task == "regression":
        return {"residuals": residual_table(result)}
    ranked = most_confused(result)
    figure = None
    if not ranked.is_empty() and len(result.classes) <= MOST_CLASSES:
        names = ranked["contributor"].head(MATRICES).to_list()
        matrices = [confusion_matrix(result, name) for name in names]
        # Every text in a figure was escaped when it was drawn.
        figure = Markup(confusion_figure(names, matrices, result.classes))
    return {"residuals": None, "table": confusion_table(result, ranked), "figure": figure}


def _predicts(result: Audited) -> bool:
    """Whether anything but other labels says what a label should be."""
    return bool(result.columns.features) or bool({"predictions", "embeddings"} & result.data.keys())

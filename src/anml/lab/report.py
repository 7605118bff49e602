"""The pages: a scoreboard, one wide table per experiment, what fails by cause; every row is in results."""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from anml.lab.claims import APART, CAUSES, LEAST_TRIALS
from anml.lab.figures import CAPTIONS, draw_all
from anml.lab.judges import ROWS
from anml.lab.layouts import LAYOUTS, explained, laid_out
from anml.lab.spec import Experiment, catalogue
from anml.lab.store import read_record
from anml.lab.summary import held_of, known_experiments, write_summary
from anml.lab.tables import aligned
from anml.lab.wide import plain, wide

CONTRADICTIONS = (
    "Krum on Wine at 30%, moderate reliability, is printed as 12.4 (main-100), 11.8 (attack) and 10.4% "
    "(efficiency); ANML in the same setting as 3.8 (attack) and 1.2% (efficiency). "
    "Each number stays with its own table.",
    "Detectability has 10 trials in the text and 5 in the table.",
    "The abstract compares 20% of the data with all of it *uniformly weighted*, the table with Krum.",
    '"Stage 1 fires in 100% of trials" needs every s above 0.35, which none of the four scenarios gives.',
    '"v = r = T = 1 reduces exactly to Krum" holds for multiplicative and softmax; two-stage adaptive '
    "returns uniform weights there, because Stage 1 fires.",
    "Stage 1 is a hole: if every attacker fakes credentials, min(s) is above tau_h and there is no defence.",
)


# How the numbers above came about, for who wants to know how far to trust the count.
CHOICES = (
    "Open values were chosen by comparing with the paper's printed numbers, so that near cells in the tables "
    "they were chosen on are a fit, not a prediction: the pull of aligned poison, the spread of v r in "
    "correlation and combination, the unit of age, the meaning of a share of the data in efficiency, the "
    "errors of tiers in quality.",
    "Claims were written before the first full run; later ones were added after rows had been seen. Limits "
    "that were eased after a first run are set back to what they were. Where the paper prints a figure, the "
    "margin is that of the legend; other limits were set before the run.",
)

ABOUT = {
    "Where the paper contradicts itself": CONTRADICTIONS,
    "How open values and claims were chosen": CHOICES,
}
HOW_TO_READ = (
    "A cell is our mean over trials, half of its 95% interval and the paper's own figure: "
    "`4.2 ± .6 · paper 4.6`. A tilde marks a figure that the paper implies and does not print. Bold is far "
    "from the paper's: more than 3 points for shares (errors, precision, what is kept), more than 10 points "
    "for savings, more than a tenth of the printed figure for anything else. *Paper's q* is scored after 200 "
    "epochs, as in the paper, *early-stopped q* before memorising begins; where both do not fit side by "
    "side, the table has the paper's, and `summary.json` the other. Unless a table says otherwise: MLP "
    "(64, 32), Adam 1e-3, 500 epochs, 70/30 stratified split, top 70% kept, k = 10."
)
HOW_CLAIMS_ARE_DECIDED = (
    "A claim holds when its 95% t interval over paired trials lies where it says: *better* below zero, "
    "*no worse by m* below m, *equal within m* between -m and m, a limit beyond which no part of it lies. It "
    "does not hold when the whole interval lies elsewhere, and cannot be told when part of it does, or when "
    f"there are fewer than {LEAST_TRIALS} trials."
)
UNKNOWN = "a version that was not recorded"
STALE = "Left out: its rows were made with other settings"
VERDICTS = {True: "holds", False: "**does not hold**", None: "cannot be told"}
# Longer lists of figures than this are cut where failures are listed; the experiment has all of them.
LONGEST = 120


class Page(NamedTuple):
    """How the page of a room of experiments begins."""

    title: str
    rows: str
    claims: str
    how: str = ""


PAGES = {
    "paper": Page("The paper, beside our numbers", "`results/`", "claims of the paper", HOW_TO_READ),
    "beyond": Page("Beyond the paper", "`results/beyond/`", "promises"),
    "field": Page("Every system the paper stands on, side by side", "`results/cited/`", "claims"),
    "own": Page("Experiments of our own", "the folder beside this page", "claims"),
}


def write_report(
    folder: Path, page: Path, more: Sequence[Experiment] = (), room: str = "paper"
) -> list[Path]:
    """Write the summary, the figures and the page of a room of experiments; return what was written.

    `more` are experiments of one's own, or that stand in for those of the same name.
    """
    summary = write_summary(folder, more, room)
    figures = [] if room == "own" else draw_all(folder, more, room)
    page.parent.mkdir(parents=True, exist_ok=True)
    drawn = {path.stem for path in figures}
    page.write_text(page_of(folder, page, summary, drawn, more, room), encoding="utf-8")
    return [folder / "summary.json", *figures, page]


def page_of(
    folder: Path, page: Path, summary: dict[str, Any], figures: set[str],
    more: Sequence[Experiment] = (), room: str = "paper",
) -> str:  # fmt: skip
    """Make the text of a page from a summary; `figures` are the names of those that were drawn."""
    link = Path(os.path.relpath(folder / "figures", page.parent))
    specs = known_experiments(room, more)
    ours = {} if room == "own" else {**catalogue(), **catalogue("beyond"), **catalogue("field")}
    plain = {name for name, spec in specs.items() if name not in ours and not spec.paper}
    record = read_record(folder)
    lines = [
        *_start(PAGES[room], summary, record),
        *_failures(summary),
        *_scoreboard(summary),
        *_experiments(summary, specs, figures, link, plain),
        # Their place is kept, so that links to them hold.
        *(f"\n## {name}\n{STALE}; `anml lab run {name}` makes them anew." for name in summary["stale"]),
        *(["", *(_folded(title, items) for title, items in ABOUT.items())] if room == "paper" else ()),
        *_runs(record),
        f"\nEvery row behind these tables is in {PAGES[room].rows}: `rows/*.parquet` trial by trial, "
        "`summary.json` summed up.",
    ]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)) + "\n"


def _start(page: Page, summary: dict[str, Any], record: dict[str, Any]) -> Iterator[str]:
    """What holds, how that was decided, and by which version the rows were made."""
    known = [record["experiments"].get(entry["name"], {}) for entry in summary["experiments"]]
    made_by = "; ".join(sorted({each.get("version", UNKNOWN) for each in known})) or UNKNOWN
    yield f"# {page.title}\n"
    rows = f"the rows in {page.rows}, made by {made_by}"
    yield f"Generated by `anml lab report` from {rows}; do not edit by hand.\n"
    if summary["claims_total"]:
        yield from _score(page, summary)
    if page.how:
        yield page.how + "\n"


def _score(page: Page, summary: dict[str, Any]) -> Iterator[str]:
    held, total, untold = (summary[f"claims_{what}"] for what in ("held", "total", "untold"))
    yield (
        f"**Of {total} {page.claims} {held} hold{_range(summary['experiments'])}, {total - held - untold} do "
        f"not, and for {untold} the rows cannot tell.** {HOW_CLAIMS_ARE_DECIDED} Were all of them false, and "
        f"just so, about {summary['claims_by_chance']:g} would hold by chance."
    )
    apart = [f"{count} {APART[name]}" for name, count in summary["claims_apart"].items()]
    yield f"Counted apart: {'; '.join(apart)}.\n" if apart else ""


def _range(entries: list[dict[str, Any]]) -> str:
    """How many hold with other seeds, where all experiments have rows of them, or those that do."""
    some = [entry for entry in entries if entry["seeds"]]
    seeds = sorted({seed for entry in some for seed in entry["seeds"]})
    if not some or any(set(entry["seeds"]) != set(seeds) for entry in some):
        return ""
    counts = [held_of([c for e in some for c in e["claims"]])]
    counts += [sum(entry["seeds"][seed] for entry in some) for seed in seeds]
    total = sum(not c["apart"] for e in some for c in e["claims"])
    of = "" if len(some) == len(entries) else f" in {', '.join(entry['name'] for entry in some)}"
    return f" ({min(counts)} to {max(counts)} of {total}{of} over {len(counts)} seeds)"


def _scoreboard(summary: dict[str, Any]) -> Iterator[str]:
    """A line for each experiment: how many of its claims hold, and how many cells are near the paper's."""
    if len(summary["experiments"]) < 2:
        return
    near = any(entry["closeness"] for entry in summary["experiments"])
    seeds = any(entry["seeds"] for entry in summary["experiments"])
    header = ["experiment", "what it asks", "trials", "claims that hold", *(["other seeds"] * seeds)]
    body = []
    for entry in summary["experiments"]:
        counted = [c for c in entry["claims"] if not c["apart"]]
        line = [f"[{entry['name']}](#{entry['name']})", entry["title"], str(entry["trials"])]
        line.append(f"{held_of(counted)} of {len(counted)}" if counted else "")
        line += [", ".join(str(held) for held in entry["seeds"].values())] * seeds
        cells = [f"{plain(m)} {c['near']} of {c['cells']}" for m, c in entry["closeness"].items()]
        body.append([*line, *(["; ".join(cells)] * near)])
    yield "## Scoreboard\n"
    yield from aligned([*header, *(["cells near the paper's"] * near)], body)
    yield ""


def _runs(record: dict[str, Any]) -> Iterator[str]:
    """Every command whose rows are here, its time and its machine."""
    items = []
    for run in record["runs"]:
        what = f"`{run['command']}`" if run["command"] else ", ".join(run["experiments"])
        items.append(
            f"{what}: {run['blocks']} blocks of trials, --jobs {run['jobs']}, {run['cores']} "
            f"{run['machine']} cores, device {run['device']}: "
            f"{run['wall_seconds'] / 60:.1f} minutes by the clock"
        )
    if items:
        yield _folded("How these rows were made", items)


def _experiments(
    summary: dict[str, Any], specs: dict[str, Experiment], figures: set[str], link: Path, plain: set[str]
) -> Iterator[str]:
    """Every experiment; those in `plain` have no numbers of the paper to stand beside."""
    for entry in summary["experiments"]:
        spec = specs.get(entry["name"])
        trials = f"{entry['trials']} trial{'' if entry['trials'] == 1 else 's'}"
        about = f" {spec.about}" if spec is not None and spec.about else ""
        often = "" if "trials" in entry["title"] else f" {trials}."
        yield f"\n## {entry['name']}\n{entry['title']}.{often}{about}\n"
        if spec is not None and spec.name in plain:
            yield from (f"- {line}" for line in explained(spec))
            yield from ["", *laid_out(spec, entry)]
        elif spec is not None and spec.kind in LAYOUTS:
            yield from laid_out(spec, entry)
        elif spec is None or spec.judge not in ROWS:  # of a grid the figure shows every cell
            yield from wide(spec, entry)
        for name, (under, caption) in CAPTIONS.items():
            if under == entry["name"] and name in figures:
                yield f"\n![{caption}]({(link / name).as_posix()}.svg)"
        folded = [*_claims(entry), *([_folded("Notes", entry["notes"])] if entry["notes"] else [])]
        if folded:
            yield "\n" + "".join(folded)


def _claims(entry: dict[str, Any]) -> Iterator[str]:
    items = [
        f"{VERDICTS[claim['holds']]}: {claim['text']} ({claim['detail']})"
        + (f" Counted apart: claims that {APART[claim['apart']]}." if claim["apart"] else "")
        for claim in entry["claims"]
    ]
    if items:
        held = sum(claim["holds"] is True for claim in entry["claims"])
        yield _folded(f"Claims: {held} of {len(items)} hold", items)


def _failures(summary: dict[str, Any]) -> Iterator[str]:
    """What does not hold, grouped by cause, and what cannot be told."""
    by_cause: dict[str, list[str]] = {cause: [] for cause in CAUSES}
    untold = []
    for entry in summary["experiments"]:
        where = f"[{entry['name']}](#{entry['name']})"
        for claim in entry["claims"]:
            said = f"{where}: {claim['text']} ({_cut(claim['detail'])})."
            if claim["holds"] is False and not claim["apart"]:
                by_cause[claim["cause"]].append(said + (f" *{claim['why']}*" if claim["why"] else ""))
            elif claim["holds"] is None and not claim["apart"]:
                untold.append(said)
    if any(by_cause.values()):
        yield "## What does not hold, and why\n"
        yield from (f"- **{CAUSES[cause]}.** {' '.join(said)}" for cause, said in by_cause.items() if said)
        yield ""
    if untold:
        yield _folded("What the rows cannot tell", untold) + "\n"


def _cut(detail: str) -> str:
    """As many figures as fit, whole ones."""
    if len(detail) <= LONGEST:
        return detail
    return detail[:LONGEST].rpartition("; ")[0] + "; and more"


def _folded(title: str, items: Sequence[str]) -> str:
    """A list that opens at a click, as HTML: Markdown is not read inside it everywhere."""
    listed = "".join(f"<li>{_as_html(item)}</li>" for item in items)
    return f"<details><summary>{title}</summary><ul>{listed}</ul></details>"


def _as_html(text: str) -> str:
    """Text with `code` and **bold** as HTML."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", text)

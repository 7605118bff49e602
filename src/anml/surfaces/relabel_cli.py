"""`anml relabel`: a file of what to look at first, and what came of it. Heavy imports are inside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from anml.app.files import check_place
from anml.app.spreadsheets import check_text
from anml.core.errors import InputError
from anml.core.people.words import ACCUSED
from anml.core.words import counted
from anml.surfaces.audit_options import Json
from anml.surfaces.ledger_common import columns
from anml.surfaces.names import names_listed
from anml.surfaces.options import RunFolder, opt

if TYPE_CHECKING:
    from anml.app.relabel.apply import Applied
    from anml.app.relabel.queue import Looking


def relabel(
    run: RunFolder,
    out: Annotated[Path | None, opt("File to write; with --apply, the folder of the run after it.")] = None,
    format: Annotated[str, opt("label-studio, argilla or csv; auto is what the data came in.")] = "auto",
    top: Annotated[int | None, opt("How many items somebody has time to look at; all without.")] = None,
    data: Annotated[Path | None, opt("The data of the run, where they no longer lie where they did.")] = None,
    ask: Annotated[bool, opt("Say whom to ask for a second label of each.", "--ask")] = False,
    prices: Annotated[str | None, opt("Cost of an answer: a number, or a table by contributor.")] = None,
    apply: Annotated[Path | None, opt("The file with the answers: shows what they change.")] = None,
    kind: Annotated[str, opt("With --apply: what an answer counts as, truth or label.", "--as")] = "truth",
    new_labels: Annotated[bool, opt("With --apply: allow new labels.", "--new-labels")] = False,
    test: Annotated[Path | None, opt("With --apply: a table with right labels to measure on.")] = None,
    json: Json = False,
) -> None:
    """List what to relabel first, or apply the answers. Most to gain comes first."""
    from anml.app.relabel.ask import asked, priced, read_prices
    from anml.app.relabel.files import write_list
    from anml.app.relabel.queue import of_run, where_to_look
    from anml.app.relabel.rounds import source_of

    paid = read_prices(prices)
    if apply is not None:
        more = {"data": data, "test": test, "kind": kind, "new_labels": new_labels, "prices": paid}
        _apply(run, apply, out, json, more)
        return
    if test is not None or new_labels or kind != "truth":
        raise InputError("--test, --as and --new-labels are about answers; they go with --apply")
    if out is not None:
        check_text(out)
        check_place(out)
    found = of_run(run)
    looking = where_to_look(found, top)
    if ask or paid.by is not None:
        looking = asked(looking, found, paid)
    if prices is not None:
        looking = priced(looking, paid)
    text = write_list(looking, source_of(found, run, data), format, out)
    _show(looking, text, out, json)


def _show(looking: "Looking", text: str, out: Path | None, json: bool) -> None:
    if json:
        from anml.app.audit.output import as_json

        rows = looking.rows.to_dicts()
        print(as_json({"items": len(rows), "candidates": looking.candidates, "doubtful": looking.doubtful,
                       "expected": looking.expected, "rows": rows, "out": out and str(out)}))  # fmt: skip
    elif out is None:
        print(text, end="")
    else:
        print(looking.sentence())
        if looking.doubtful:
            from anml.surfaces.summary import reason_for_doubt

            why = reason_for_doubt(looking.doubtful)
            print(f"warning: the run is doubtful, so suggestions may be wrong: {why}")
        print(f"Wrote {out}")


def _apply(run: Path, file: Path, out: Path | None, json: bool, more: dict[str, Any]) -> None:
    from anml.app.audit.output import as_json, check_folder, write_run
    from anml.app.audit.result import run_record
    from anml.app.relabel.apply import apply_answers
    from anml.app.relabel.rounds import FILE
    from anml.core.people.consensus import CLEAR
    from anml.surfaces.progress import progress_shown
    from anml.surfaces.report import write_report

    if out is not None:
        check_folder(out)
    with progress_shown(False if json else None, bar_after=0.0, lines_after=10.0) as progress:
        applied = apply_answers(run, file, progress=progress, **more)
    result = applied.after

    def besides(draft: Path) -> None:
        (draft / FILE).write_text(applied.file, encoding="utf-8")
        write_report(result, draft)

    if out is not None:
        write_run(out, result, "relabel", besides)
    if json:
        figures = {name: list(pair) for name, pair in changes(applied).items()}
        last = {name: applied.rounds[-1][name] for name in ("answers", "changed", "expected")}
        print(as_json({**last, "rounds": applied.rounds, "changes": figures,
                       "after": run_record(result, "relabel")}))  # fmt: skip
        return
    print(looked(applied))
    before_and_after = [(name, *pair) for name, pair in changes(applied).items()]
    print("\n".join(columns(("", "before", "after"), before_and_after)))
    print("\n".join(columns(*rounds_table(applied.rounds))))
    left = result.queue.candidates
    done = f"Nothing is left to look at: every label is at least {CLEAR:.0%} sure, or settled."
    rest = f"{counted(left, 'item is', 'items are')} left to look at: anml relabel {out or 'RUN'} --out FILE"
    print(rest if left else done)
    if out is not None:
        print(f"Report: {out / 'report.html'}")


def rounds_table(rounds: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Rounds so far: answers, what they changed, what is left, and the cost of each wrong label mended."""
    head = ["round", "answers", "labels changed", "wrong labels left, as expected"]
    rows = [
        [f"{number}", f"{each['answers']:,}", f"{each['changed']:,}", f"{each['left']:.0f}"]
        for number, each in enumerate(rounds, start=1)
    ]
    if all(each["cost"] is None for each in rounds):
        return head, rows
    for row, each in zip(rows, rounds, strict=True):
        known = each["cost"] is not None and each["changed"]
        row.append(f"{each['cost'] / each['changed']:.2f}" if known else "–")
    return [*head, "cost of each changed"], rows


def looked(applied: "Applied") -> str:
    """How many were looked at, and how many changed, in one sentence."""
    last = applied.rounds[-1]
    answers, changed, asked = (last[name] for name in ("answers", "changed", "expected"))
    expected = "" if asked is None else f"; about {asked:.0f} were expected to"
    share = changed / answers
    have = counted(answers, "item has an answer", "items have an answer")
    said = f"{have}; {counted(changed, 'label')} changed ({share:.0%}){expected}."
    # Without this, more wrong labels after the round than before it read as if the answers had made them.
    more = asked is not None and changed > asked and last["left"] >= last["before"]
    return f"{said} More were wrong than expected, so more are expected among the rest." if more else said


def changes(applied: "Applied") -> dict[str, tuple[str, str]]:
    """Figures of the run before and after, as text."""
    before, after, last = applied.before, applied.after, applied.rounds[-1]
    was, now = applied.accused_before, sorted(after.judged(*ACCUSED))
    kept = f"{before['kept']:,} of {before['rows']:,}", f"{after.kept:,} of {after.samples.height:,}"
    found = {
        "wrong labels nobody has mended": (f"{last['before']:.0f}", f"{last['left']:.0f}"),
        "rows kept": kept,
        "accused": (names_listed(was) if was else "nobody", names_listed(now) if now else "nobody"),
        "doubtful": ("yes" if before.get("doubtful") else "no", "yes" if after.doubtful else "no"),
    }
    old, new = before.get("comparison"), after.comparison
    # Only on the same rows with right labels do errors before and after say anything.
    if old and new and old["on"] == new.on == "test data" and old["rows"] == new.rows:
        means = (old["ways"][-1]["error"]["mean"], new.ways[-1].error.mean)
        form = ".3g" if new.metric == "mean absolute error" else ".1%"
        found["error on test data"] = (format(means[0], form), format(means[1], form))
    return found

"""`anml relabel` and `anml apply`: the review queue, and its answers. Heavy imports are inside."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from anml.annotators.words import FLAGGED
from anml.cli.options import RunFolder, arg, opt
from anml.cli.text import columns
from anml.core.files import check_writable
from anml.core.text import pluralise
from anml.io.spreadsheets import check_text
from anml.report.printable import join_display_names

if TYPE_CHECKING:
    from anml.pipeline.review_queue import ReviewQueue
    from anml.review.apply import RelabelResult


def relabel(
    context: typer.Context,
    run: RunFolder,
    out: Annotated[Path | None, opt("File to write.")] = None,
    format: Annotated[str, opt("label-studio, argilla or csv; auto is the format of the data.")] = "auto",
    top: Annotated[int | None, opt("Number of items to review; default: all items.")] = None,
    ask: Annotated[bool, opt("Name contributors to ask for a second label of each item.", "--ask")] = False,
    prices: Annotated[str | None, opt("Cost of an answer: a number, or a table by contributor.")] = None,
    data: Annotated[Path | None, opt("The data of the run, if they were moved.")] = None,
) -> None:
    """List what to relabel first."""
    from anml.pipeline.review_queue import build_queue, queue_input_from_run
    from anml.pipeline.rounds import source_of
    from anml.review.assign import read_prices, with_assignments, with_prices
    from anml.review.files import write_queue

    costs = read_prices(prices)
    if out is not None:
        check_text(out)
        check_writable(out)
    inputs = queue_input_from_run(run)
    queue = build_queue(inputs, top)
    if ask or costs.by is not None:
        queue = with_assignments(queue, inputs, costs)
    if prices is not None:
        queue = with_prices(queue, costs)
    text = write_queue(queue, source_of(inputs, run, data), format, out)
    _show(queue, text, out, context.obj.json)


def apply(
    context: typer.Context,
    run: RunFolder,
    answers: Annotated[
        Path | None, arg("Filled-in table, or export of the tool; without, the answers of anml review.")
    ] = None,
    out: Annotated[Path | None, opt("Folder of the run with the answers.")] = None,
    kind: Annotated[str, opt("An answer is a true-label or a further label.", "--as")] = "true-label",
    allow_new_labels: Annotated[
        bool, opt("Accept answers that are not labels of the data.", "--allow-new-labels")
    ] = False,
    test: Annotated[Path | None, opt("Table with correct labels; measures the effect on the model.")] = None,
    prices: Annotated[str | None, opt("Cost of an answer: a number, or a table by contributor.")] = None,
    data: Annotated[Path | None, opt("The data of the run, if they were moved.")] = None,
) -> None:
    """Apply relabelled answers to a run."""
    from anml.review.assign import read_prices

    more = {
        "data": data,
        "test": test,
        "kind": kind,
        "new_labels": allow_new_labels,
        "prices": read_prices(prices),
    }
    _apply(run, answers, out, context.obj.json, more)


def _show(queue: "ReviewQueue", text: str, out: Path | None, json: bool) -> None:
    if json:
        from anml.pipeline.write import as_json

        rows = queue.rows.to_dicts()
        print(as_json({"n_items": len(rows), "n_candidates": queue.candidates,
                       "disputed_share": queue.disputed_share, "expected_wrong_labels": queue.expected,
                       "rows": rows, "out": out and str(out)}))  # fmt: skip
    elif out is None:
        print(text, end="")
    else:
        print(queue.sentence())
        if queue.disputed_share:
            from anml.report.summary import dispute_text

            why = dispute_text(queue.disputed_share)
            print(f"warning: the run is disputed, so suggested labels may be wrong: {why}")
        print(f"Wrote {out}")


def write_round(
    run: Path, file: Path | None, out: Path | None, progress: bool | None, more: dict[str, Any]
) -> "RelabelResult":
    """Repeat the audit of a run with answers, and write the new run into a folder if one is given."""
    from anml.pipeline.rounds import FILE
    from anml.pipeline.write import check_folder, write_run
    from anml.report.html import write_report
    from anml.report.progress import progress_shown
    from anml.review.apply import apply_answers

    if out is not None:
        check_folder(out)
    with progress_shown(progress, bar_after=0.0, lines_after=10.0) as shown:
        applied = apply_answers(run, file, progress=shown, **more)

    def write_extra_files(draft: Path) -> None:
        (draft / FILE).write_text(applied.file, encoding="utf-8")
        write_report(applied.after, draft)

    if out is not None:
        write_run(out, applied.after, "relabel", write_extra_files)
    return applied


def _apply(run: Path, file: Path | None, out: Path | None, json: bool, more: dict[str, Any]) -> None:
    from anml.pipeline.result import run_metadata
    from anml.pipeline.review_queue import QUEUE_IS_EMPTY
    from anml.pipeline.write import as_json

    applied = write_round(run, file, out, False if json else None, more)
    result = applied.after
    if json:
        figures = {name.replace(" ", "_"): list(pair) for name, pair in before_after(applied).items()}
        print(as_json({"rounds": applied.rounds, "figures": figures,
                       "after": run_metadata(result, "relabel")}))  # fmt: skip
        return
    print(result_sentence(applied))
    before_and_after = [(name, *pair) for name, pair in before_after(applied).items()]
    print("\n".join(columns(("", "before", "after"), before_and_after)))
    print("\n".join(columns(*rounds_table(applied.rounds))))
    left = result.queue.candidates
    rest = f"{pluralise(left, 'item')} left in the review queue: anml relabel {out or 'RUN'} --out FILE"
    print(rest if left else QUEUE_IS_EMPTY)
    if out is not None:
        print(f"Report: {out / 'report.html'}")


def rounds_table(rounds: list[dict[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Review rounds: answers, changed labels, expected wrong labels, and the cost per changed label."""
    head = ["round", "answers", "changed labels", "expected wrong labels after"]
    rows = [
        [
            f"{number}",
            f"{each['n_answers']:,}",
            f"{each['n_changed']:,}",
            f"{each['expected_wrong_after']:.0f}",
        ]
        for number, each in enumerate(rounds, start=1)
    ]
    if all(each["cost"] is None for each in rounds):
        return head, rows
    for row, each in zip(rows, rounds, strict=True):
        has_cost = each["cost"] is not None and each["n_changed"]
        row.append(f"{each['cost'] / each['n_changed']:.2f}" if has_cost else "–")
    return [*head, "cost per changed label"], rows


def result_sentence(applied: "RelabelResult") -> str:
    """Return a sentence with the number of answers and of changed labels."""
    last = applied.rounds[-1]
    answers, changed, asked = (last[name] for name in ("n_answers", "n_changed", "expected_changed"))
    expected = "" if asked is None else f", expected about {asked:.0f}"
    share = f"{changed / answers:.0%}{expected}"
    sentence = f"{pluralise(answers, 'answer')}; {pluralise(changed, 'changed label')} ({share})."
    # The expected number of wrong labels can rise after a round.
    more = asked is not None and changed > asked
    if not more or last["expected_wrong_after"] < last["expected_wrong_before"]:
        return sentence
    raised = "the estimate for the remaining items was raised"
    return f"{sentence} The error rate was higher than estimated, so {raised}."


def before_after(applied: "RelabelResult") -> dict[str, tuple[str, str]]:
    """Figures of the run before and after, as text."""
    from anml.pipeline.evaluate import ON_TEST_DATA

    before, after, last = applied.before, applied.after, applied.rounds[-1]
    was, now = applied.flagged_before, sorted(after.with_verdict(*FLAGGED))
    kept = f"{before['kept']:,} of {before['rows']:,}", f"{after.kept:,} of {after.samples.height:,}"
    figures = {
        "expected wrong labels": (
            f"{last['expected_wrong_before']:.0f}",
            f"{last['expected_wrong_after']:.0f}",
        ),
        "rows kept": kept,
        "flagged": (join_display_names(was) if was else "none", join_display_names(now) if now else "none"),
        "disputed": ("yes" if before["disputed_share"] else "no", "yes" if after.disputed_share else "no"),
    }
    old, new = before.get("evaluation"), after.evaluation
    # Errors are comparable only if both were measured on the same test data.
    if old and new and old["measured_on"] == new.on == ON_TEST_DATA and old["rows"] == new.rows:
        means = (old["weightings"][-1]["error"]["mean"], new.results[-1].error.mean)
        form = ".3g" if new.metric == "mean absolute error" else ".1%"
        figures["error on test data"] = (format(means[0], form), format(means[1], form))
    return figures

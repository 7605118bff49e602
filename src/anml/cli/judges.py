"""`anml judges`: automatic judges beside people. Heavy imports are inside."""

from pathlib import Path
from typing import Annotated

import typer

from anml.annotators.agreement import MAX_LABELS
from anml.cli.options import RunFolder, opt, split_names
from anml.cli.text import columns
from anml.core.errors import InputError
from anml.report.printable import sanitise, truncate

NAME_WIDTH = 30


def judges(
    context: typer.Context,
    run: RunFolder,
    people: Annotated[str, opt("Contributors who are people, separated by commas.")],
    limit: Annotated[float, opt("Kappa from which on a judge can be used.")] = 0.6,
    out: Annotated[Path | None, opt("Table to write (.csv or .parquet).")] = None,
) -> None:
    """Compare automatic judges with people."""
    from anml.pipeline.judges import UNDECIDED, compare_judges
    from anml.pipeline.write import as_json, write_frame

    if not -1 < limit < 1:
        raise InputError(f"the limit of kappa must be between -1 and 1, got {limit}")
    report = compare_judges(run, split_names(people) or [], limit)
    if out is not None:
        write_frame(report.judges, out)
    if context.obj.json:
        among = report.people_kappa and dict(zip(("mean", "low", "high"), report.people_kappa, strict=True))
        print(as_json({"limit": limit, "people_kappa": among, "people_items": report.people_items,
                       "independent_judges": report.independent, "judges": report.judges.to_dicts(),
                       "out": out and str(out)}))  # fmt: skip
        return
    rows = []
    for row in report.judges.iter_rows(named=True):
        more = row["more_labels"]
        needed = f"more than {MAX_LABELS:,}" if more == MAX_LABELS else f"about {more:,}"
        decision = f"{UNDECIDED}: {needed} more labels by people" if more else row["decision"]
        kappa = f"{row['kappa']:z.2f} [{row['kappa_low']:z.2f} to {row['kappa_high']:z.2f}]"
        name = sanitise(truncate(row["judge"], NAME_WIDTH))
        rows.append((name, f"{row['n_labels']:,}", f"{row['agreement']:.0%}", kappa, decision))
    print("\n".join(columns(("judge", "labels", "agreement", "kappa", f"limit {limit:g}"), rows)))
    if report.people_kappa is not None:
        mean, low, high = report.people_kappa
        shared = f"on {report.people_items:,} items"
        print(f"People agree with each other with kappa {mean:.2f} [{low:.2f} to {high:.2f}] {shared}.")
    if len(rows) > 1:
        number = f"{report.independent:.1f} judges with independent errors"
        print(f"The {len(rows)} judges inform as much as {number}.")
    if out is not None:
        print(f"Wrote {out}")

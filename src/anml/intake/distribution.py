"""What is odd about who contributed what, before anything is judged: warnings about the data themselves."""

from collections.abc import Sequence

import polars as pl

from anml.intake.columns import Columns

# Fewer rows say nothing of a class or of a contributor.
FEW = 10
# A column that is constant at one contributor is odd where chance would hardly make it so.
HARDLY = 1e-6
# Gaps gather at a contributor who lacks at least this share, where the others lack at most that.
MANY_GAPS, FEW_GAPS = 0.5, 0.1
MOST_SAID, MOST_COLUMNS, MOST_CLASSES = 3, 200, 100
# Rows that are the same by chance: below this share of different rows, copies are not told from coincidence.
MOSTLY_DIFFERENT = 0.5


def about_distribution(frame: pl.DataFrame, columns: Columns, classes: Sequence[str]) -> list[str]:
    """One sentence for each odd thing, at most a few of a kind."""
    who = columns.contributor
    if who is None or frame[who].n_unique() < 2:
        return []
    features = list(columns.features[:MOST_COLUMNS])
    return [
        *(_whole_classes(frame, who, columns.label) if 1 < len(classes) <= MOST_CLASSES else []),
        *_constant(frame, who, features),
        *_gaps(frame, who, features),
        *_copies(frame, who, columns),
    ]


def _whole_classes(frame: pl.DataFrame, who: str, label: str) -> list[str]:
    """Classes whose rows all come from one contributor: nobody else can speak for or against them."""
    by_class = frame.group_by(label).agg(people=pl.col(who).n_unique(), first=pl.col(who).first(), n=pl.len())
    alone = by_class.filter((pl.col("people") == 1) & (pl.col("n") >= FEW)).sort("n", label, descending=True)
    if alone.is_empty():
        return []
    shown = ", ".join(f"{name!r} from {first!r}" for name, _, first, _ in alone.head(MOST_SAID).iter_rows())
    more = f" and {alone.height - MOST_SAID} more" if alone.height > MOST_SAID else ""
    return [f"all rows of a class come from one contributor, so nobody else speaks of it: {shown}{more}"]


def _constant(frame: pl.DataFrame, who: str, features: list[str]) -> list[str]:
    """Columns that vary, but hold one value in all rows of a contributor."""
    found = []
    for name in features:
        value = pl.col(name)
        by = frame.group_by(who).agg(n=pl.len(), kinds=value.n_unique(), value=value.first())
        for person, n, _, constant in by.filter((pl.col("kinds") == 1) & (pl.col("n") >= FEW)).iter_rows():
            same = int(frame[name].eq_missing(pl.Series([constant], dtype=frame.schema[name])).sum())
            rest = frame.height - n
            share = (same - n) / rest if rest else 1.0
            if share**n < HARDLY and (constant is not None or share < FEW_GAPS):
                found.append((name, str(person), constant, n))
    said = []
    for name, person, constant, n in sorted(found, key=lambda each: (each[0], each[1]))[:MOST_SAID]:
        what = "no value" if constant is None else f"the value {constant}"
        said.append(f"column {name!r} has {what} in all {n} rows of {person!r}, and others vary")
    return _with_rest(said, len(found))


def _gaps(frame: pl.DataFrame, who: str, features: list[str]) -> list[str]:
    """Columns with gaps that gather at a contributor."""
    found = []
    for name in (name for name in features if frame[name].null_count()):
        by = frame.group_by(who).agg(n=pl.len(), gaps=pl.col(name).null_count())
        total = frame[name].null_count()
        for person, n, gaps in by.filter(pl.col("n") >= FEW).sort(who).iter_rows():
            rest = (total - gaps) / max(frame.height - n, 1)
            if MANY_GAPS <= gaps / n < 1 and rest <= FEW_GAPS:
                found.append(
                    f"column {name!r} is missing in {gaps / n:.0%} of the rows of {str(person)!r}, and in "
                    f"{rest:.0%} of the others"
                )
    return _with_rest(found[:MOST_SAID], len(found))


def _with_rest(said: list[str], count: int) -> list[str]:
    if count > len(said):
        said = [*said[:-1], f"{said[-1]}; {count - len(said)} more columns are alike"]
    return said


def _copies(frame: pl.DataFrame, who: str, columns: Columns) -> list[str]:
    """Rows that are the same in all features as rows of somebody else, other labels of an item aside."""
    features = [name for name in columns.features if not frame.schema[name].is_nested()]
    if not features:
        return []
    marks = frame.select(
        pl.struct(features).hash().alias("same"),
        pl.col(who).alias("who"),
        pl.col(columns.label).alias("label"),
        (pl.int_range(pl.len()) if columns.item is None else pl.col(columns.item)).alias("item"),
    )
    things = marks.unique(["same", "item"])
    if things["same"].n_unique() < MOSTLY_DIFFERENT * things.height:
        return []
    shared = marks.group_by("same").agg(
        n=pl.len(), people=pl.col("who").n_unique(), items=pl.col("item").n_unique(),
        labels=pl.col("label").n_unique(),
    )  # fmt: skip
    shared = shared.filter((pl.col("people") > 1) & (pl.col("items") > 1))
    rows = int(shared["n"].sum())
    if not rows:
        return []
    differ = int(shared.filter(pl.col("labels") > 1)["n"].sum())
    other = f"; {differ} of them have labels that differ" if differ else ""
    return [f"{rows} rows are copies across contributors, the same in every feature{other}"]

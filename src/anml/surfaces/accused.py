"""Who to talk to and about what, in plain sentences; who cannot be judged."""

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from anml.app.result import Audited
from anml.core.verdicts import ACCUSED, BLIND, FALSE_DISCOVERIES, PROBABLY, UNSURE
from anml.core.words import counted, listed
from anml.surfaces.names import shortened

# Of somebody who answers without looking: above this share of one label, it is always that one.
ALWAYS = 0.9
# Names in one sentence, and sentences.
MOST_NAMES, MOST_SAID = 5, 3
NAME, LABEL = 40, 30


class Said(NamedTuple):
    """A sentence in two parts: whom it is about, and what is said of them."""

    names: str
    rest: str

    def __str__(self) -> str:
        return f"{self.names} {self.rest}".strip()


class Deed(NamedTuple):
    """What somebody does, said of one and of many, and as a note beside a verdict."""

    one: str
    many: str
    short: str = ""


UNCONFIRMED = Deed(
    "labels what the others cannot confirm",
    "label what the others cannot confirm",
    "others cannot confirm it",
)
TOO_LITTLE = Deed("gives too little to judge by", "give too little to judge by", "too little to judge by")
MOSTLY_RIGHT = Deed(
    "differs from the others, but most of the labels look right",
    "differ from the others, but most of their labels look right",
    "unusual, but mostly right",
)
NOT_ENOUGH = Deed(
    "differs from the others, but not surely enough to accuse",
    "differ from the others, but not surely enough to accuse",
    "unusual, not enough to accuse",
)


def who(result: Audited) -> list[Said]:
    """Whom to talk to, else that nobody is accused; and of whom nothing can be told."""
    if result.contributors.is_empty():
        return [Said("", "No contributor column was given, so nobody can be named.")]
    said = [*accusations(result), *_copies(result)]
    if result.contributors.height == 1:
        return said or [Said("", "There is one contributor, so there is nobody to compare with.")]
    return [*(said or [Said("", "Nobody is accused.")]), *cannot_tell(result)]


def accusations(result: Audited) -> list[Said]:
    """Who is accused, and of what: one sentence for all who do the same, the worst first."""
    alike: dict[Deed, list[str]] = {}
    for name, deed in deeds(result).items():
        alike.setdefault(deed, []).append(name)
    said = [
        Said(_named(names), f"{deed.one if len(names) == 1 else deed.many} ({_extent(result, names)}).")
        for deed, names in alike.items()
    ]
    if len(said) > MOST_SAID:
        left = sum(len(names) for names in list(alike.values())[MOST_SAID:])
        more = f"{counted(left, 'more is', 'more are')} accused; the table of contributors has them."
        said = [*said[:MOST_SAID], Said("", more)]
    return said


def cannot_tell(result: Audited) -> list[Said]:
    """Of whom nothing can be told, by name while they are few."""
    unsure, people = _judged(result, (UNSURE,)), result.contributors.height
    if not unsure:
        return []
    if len(unsure) == people:
        return [Said("", f"Cannot tell whether to trust any of the {people:,} contributors.")]
    told = f"Cannot tell whether to trust {len(unsure):,} of {people:,} contributors"
    return [Said("", f"{told}: {_because(result)}." if len(unsure) <= MOST_NAMES else f"{told}.")]


def _because(result: Audited) -> str:
    """Who is neither trusted nor accused and why, one clause for all with the same reason."""
    alike: dict[Deed, list[str]] = {}
    for name, reason in open_reasons(result).items():
        alike.setdefault(reason, []).append(name)
    return "; ".join(
        f"{_named(names)} {reason.one if len(names) == 1 else reason.many}" for reason, names in alike.items()
    )


def open_reasons(result: Audited) -> dict[str, Deed]:
    """Why each of those who are neither trusted nor accused is left open."""
    if result.contributors.is_empty():
        return {}
    unsure = result.contributors.filter(pl.col("verdict") == UNSURE)
    return {
        name: _left_open(p_honest, low)
        for name, p_honest, low in unsure.select("contributor", "p_honest", "quality_low").iter_rows()
    }


def _left_open(p_honest: float, quality_low: float) -> Deed:
    if p_honest >= PROBABLY:
        return UNCONFIRMED
    if p_honest >= 0.5:
        return TOO_LITTLE
    return MOSTLY_RIGHT if quality_low >= 0.5 else NOT_ENOUGH


def deeds(result: Audited) -> dict[str, Deed]:
    """What each of the accused does, in the order of the table."""
    accused = result.contributors.filter(pl.col("verdict").is_in(ACCUSED))
    if accused.is_empty():
        return {}
    theirs = result.samples.filter(pl.col("contributor").is_in(accused["contributor"].implode()))
    classes = result.task == "classification"
    usual = _most_common(theirs, "label") if classes else {}
    wrong = theirs.filter(pl.col("suggested") != pl.col("label")) if classes else theirs.clear()
    confused = _most_common(wrong, "suggested", "label") if classes else {}
    errs = _errs_on(theirs) if classes else {}
    found = {}
    for name, verdict in accused.select("contributor", "verdict").iter_rows():
        if verdict == BLIND:
            found[name] = _without_looking(usual.get(name))
        else:
            found[name] = _contradicts(confused.get(name), errs.get(name))
    return found


def _most_common(rows: pl.DataFrame, *what: str) -> dict[str, tuple[float, list[str]]]:
    """For each contributor the most frequent of these values, and its share of the rows."""
    counts = rows.group_by("contributor", *what).agg(rows=pl.len())
    shares = counts.with_columns(share=pl.col("rows") / pl.col("rows").sum().over("contributor"))
    best = shares.sort("rows", *what, descending=[True, *(False for _ in what)])
    first = best.group_by("contributor", maintain_order=True).first()
    return {row["contributor"]: (row["share"], [row[name] for name in what])
            for row in first.iter_rows(named=True)}  # fmt: skip


def _without_looking(usual: tuple[float, list[str]] | None) -> Deed:
    if usual is not None and usual[0] > ALWAYS:
        label = _quoted(usual[1][0])
        return Deed(f"always answers {label}", f"always answer {label}")
    return Deed(
        "answers without looking: the labels say nothing about the items",
        "answer without looking: their labels say nothing about the items",
    )


def _errs_on(rows: pl.DataFrame) -> dict[str, Deed]:
    """Of those who are mostly right: the class on which they are not, as given or as it should be."""
    looks_wrong = pl.col("suggested") != pl.col("label")
    mostly = rows.filter(looks_wrong.mean().over("contributor") < 0.5)
    worst: dict[str, tuple[int, Deed]] = {}
    for column, when in (("label", "when answering"), ("suggested", "where the answer should be")):
        more = mostly.group_by("contributor", column).agg(more=(2 * looks_wrong.cast(pl.Int64) - 1).sum())
        for name, label, count in more.filter(pl.col("more") > 0).sort("more", column).iter_rows():
            said = f"mostly wrong {when} {_quoted(label)}"
            if count > worst.get(name, (0,))[0]:
                worst[name] = (count, Deed(f"is {said}", f"are {said}"))
    return {name: deed for name, (_, deed) in worst.items()}


def _contradicts(confused: tuple[float, list[str]] | None, errs: Deed | None) -> Deed:
    """Name the right label and the one given in its place, where that is most of what is wrong."""
    if confused is not None and confused[0] > 0.5:
        right, given = (_quoted(label) for label in confused[1])
        return Deed(f"takes {right} for {given}", f"take {right} for {given}")
    return errs or Deed("contradicts the others", "contradict the others")


def _extent(result: Audited, names: Sequence[str]) -> str:
    """How many rows that is, and how many of them look wrong."""
    rows = int(result.contributors.filter(pl.col("contributor").is_in(names))["rows"].sum())
    p_correct = result.samples.filter(pl.col("contributor").is_in(names))["p_correct"].to_numpy()
    if not len(p_correct):
        return counted(rows, "row")
    return f"{counted(rows, 'row')}, about {rows * float(1 - p_correct.mean()):,.0f} wrong"


def _copies(result: Audited) -> list[Said]:
    """Whose rows are mostly those of another; a pair is named once, for who copied is not known."""
    if "copies" not in result.contributors.columns:
        return []
    said: dict[frozenset[str], Said] = {}
    found = result.contributors.filter(pl.col("copies").is_not_null())
    for name, rows, copies, other in found.select("contributor", "rows", "copies", "copies_of").iter_rows():
        both = frozenset((name, other))
        rest = f"hand in the same rows: {copies:,} of {rows:,} are nearly equal."
        said.setdefault(both, Said(_named([name, other]), rest))
    if len(said) > MOST_SAID:
        more = f"{len(said) - MOST_SAID:,} more pairs share their rows."
        return [*list(said.values())[:MOST_SAID], Said("", more)]
    return list(said.values())


def false_alarms(result: Audited) -> str:
    """How many of the accusations are expected to be false; empty where there are none."""
    count = len(_judged(result, ACCUSED))
    if not count:
        return ""
    false = result.false_accusations
    about = "fewer than 0.01" if false < 0.01 else f"about {false:.2g}"
    return (
        f"Of {counted(count, 'accusation')} {about} are expected to be false "
        f"(false discovery rate at most {FALSE_DISCOVERIES:.0%})."
    )


def chance(p: float) -> str:
    """A probability in per cent that never claims to be certain.

    Examples
    --------
    >>> chance(0.9999), chance(0.25), chance(1e-9)
    ('>99%', '25%', '<1%')
    """
    return ">99%" if p > 0.99 else "<1%" if p < 0.01 else f"{p:.0%}"


def _judged(result: Audited, verdicts: tuple[str, ...]) -> list[str]:
    if result.contributors.is_empty():
        return []
    return result.contributors.filter(pl.col("verdict").is_in(verdicts))["contributor"].to_list()


def _named(names: Sequence[str]) -> str:
    return listed([shortened(name, NAME) for name in names], MOST_NAMES)


def _quoted(label: object) -> str:
    return f"“{shortened(str(label), LABEL)}”"

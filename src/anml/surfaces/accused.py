"""Who to talk to and about what, in plain sentences; who cannot be judged."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from anml.app.audit.result import Audited
from anml.core.domain import BOXES, GRADES, PREFERENCE, SPANS
from anml.core.people.verdicts import ENOUGH_ROWS, FALSE_DISCOVERIES
from anml.core.people.words import ACCUSED, GUESSING, LESS, RELIABLE, UNSURE
from anml.core.words import counted
from anml.surfaces.names import names_listed, percent, shortened

# Of somebody who answers without looking: above this share of one label, it is always that one.
ALWAYS = 0.9
# Above the first share of what is wrong two labels are named, one taken for the other above the second.
HALF, ONE_WAY = 0.5, 0.8
# Names in one sentence, and sentences.
MOST_NAMES, MOST_SAID = 5, 3
NAME, LABEL = 40, 30
# Judgements that are places: what is wrong is where they are, or what they are called.
PLACED = (SPANS, BOXES)


class Sentence(NamedTuple):
    """A sentence in two parts: whom it is about, and what is said of them."""

    names: str
    rest: str

    def __str__(self) -> str:
        return f"{self.names} {self.rest}".strip()


class Finding(NamedTuple):
    """What somebody does, said of one and of many, and as a note beside a verdict."""

    one: str
    many: str
    short: str = ""

    def of(self, names: Sequence[str]) -> str:
        """Said of these people."""
        return self.one if len(names) == 1 else self.many


def _does(one: str, many: str, rest: str, short: str = "") -> Finding:
    return Finding(f"{one} {rest}", f"{many} {rest}", short)


UNCONFIRMED = _does("labels", "label", "what the others cannot confirm", "others cannot confirm it")
CONTRADICTS_OTHERS = _does("contradicts", "contradict", "the others")
ELSEWHERE = _does("marks", "mark", "other places than the others")
WORSE = _does("chooses", "choose", "what the others consider worse")
_NOTHING = "the labels say nothing about the items"
NO_BETTER = _does("is", "are", f"no better than guessing: {_NOTHING}", _NOTHING)
TOO_LITTLE = _does("gives", "give", "too little to judge by", "too little to judge by")


def noun(result: Audited) -> str:
    """What one judgement is called: a label, or what it was made of."""
    return "label" if result.shape is None else result.shape.unit


def are_right(result: Audited) -> str:
    """What a share of somebody's judgements is of: a choice counts where it was made by looking."""
    return "choices were made by looking" if result.kind == PREFERENCE else f"{noun(result)}s are right"


def who(result: Audited) -> list[Sentence]:
    """Whom to talk to, else that nobody is accused; and of whom nothing can be told."""
    if result.contributors.is_empty():
        nobody = "No contributor column was given, so nobody can be named"
        return [Sentence("", f"{nobody}; --contributor says which it is.")]
    said = [*accusations(result), *_copies(result)]
    if result.contributors.height == 1:
        return said or [Sentence("", "There is one contributor, so there is nobody to compare with.")]
    said = said or [Sentence("", "Nobody is accused.")]
    return [*said, *less_reliable(result), *changed(result), *cannot_tell(result), *best(result)]


def changed(result: Audited) -> list[Sentence]:
    """Who is right more or less often since some time, by name while they are few."""
    if "quality_since" not in result.contributors.columns:
        return []
    people = result.contributors.filter(pl.col("quality_since").is_not_null())
    return _each(people, "changed over time; contributors.csv says when", change_of)


def change_of(row: dict[str, Any]) -> str:
    """How somebody changed, and when."""
    before, since, days = row["quality_before"], row["quality_since"], row["changed_age"] * 365.25
    ago = counted(round(days), "day") if days < 60 else f"{days / 30.44:.0f} months"
    got = f"got {'worse' if since < before else 'better'}: {before:.0%} of the labels were right before"
    return f"{got}, {since:.0%} since ({ago} before the newest label)."


def _each(people: pl.DataFrame, many: str, one: Callable[[dict[str, Any]], str]) -> list[Sentence]:
    """A sentence for each of some people while they are few; else how many they are."""
    if people.height > MOST_NAMES:
        return [Sentence("", f"{people.height:,} contributors {many}.")]
    return [Sentence(_named([row["contributor"]]), one(row)) for row in people.iter_rows(named=True)]


def less_reliable(result: Audited) -> list[Sentence]:
    """Who is clearly below the others, with the figures, by name while they are few."""
    does = {name: f"; {found.one}" for name, found in findings(result).items()}

    def one(row: dict[str, Any]) -> str:
        share = (
            f"{percent(row['quality'])} of the {are_right(result)}, where others get {percent(row['others'])}"
        )
        return f"is less reliable: {share}{does.get(row['contributor'], '')}."

    less = result.contributors.filter(pl.col("verdict") == LESS)
    return _each(less, "are less reliable than the others on comparable rows", one)


def best(result: Audited) -> list[Sentence]:
    """Who is surely better than the others on comparable rows."""
    people = result.contributors.filter(
        (pl.col("verdict") == RELIABLE) & (pl.col("quality_low") > pl.col("others"))
    ).sort("quality_low", "contributor", descending=[True, False])
    if people.is_empty() or result.doubtful is not None:
        return []
    low = float(people["quality"].min())  # type: ignore[arg-type]
    rest = "is among your best" if people.height == 1 else "are among your best"
    share = percent(low) if people.height == 1 else f"{percent(low)} or more"
    return [Sentence(_named(people["contributor"].to_list()), f"{rest}: {share} of the {are_right(result)}.")]


def accusations(result: Audited) -> list[Sentence]:
    """Who is accused, and of what: one sentence for all who do the same, the worst first."""
    accused = result.judged(*ACCUSED)
    alike = _alike({name: found for name, found in findings(result).items() if name in accused})
    said = [
        Sentence(_named(names), f"{found.of(names)} ({_extent(result, names)}).")
        for found, names in alike.items()
    ]
    left = sum(len(names) for names in [*alike.values()][MOST_SAID:])
    more = counted(left, "more is", "more are")
    return _first(said, f"{more} accused; the table of contributors has them.")


def _first(said: list[Sentence], more: str) -> list[Sentence]:
    return said if len(said) <= MOST_SAID else [*said[:MOST_SAID], Sentence("", more)]


def cannot_tell(result: Audited) -> list[Sentence]:
    """Of whom nothing can be told, by name while they are few."""
    unsure, people = result.judged(UNSURE), result.contributors.height
    if not unsure:
        return []
    if len(unsure) == people:
        return [Sentence("", f"Cannot tell how reliable any of the {people:,} contributors is.")]
    are = "is" if len(unsure) == 1 else "are"
    told = f"Cannot tell how reliable {len(unsure):,} of {people:,} contributors {are}"
    if len(unsure) > MOST_NAMES:
        return [Sentence("", f"{told}.")]
    alike = _alike(open_reasons(result))
    because = "; ".join(f"{_named(names)} {reason.of(names)}" for reason, names in alike.items())
    return [Sentence("", f"{told}: {because}.")]


def _alike(found: dict[str, Finding]) -> dict[Finding, list[str]]:
    alike: dict[Finding, list[str]] = {}
    for name, what in found.items():
        alike.setdefault(what, []).append(name)
    return alike


def open_reasons(result: Audited) -> dict[str, Finding]:
    """Why each of those who are left open is left open."""
    people = result.contributors
    unsure = people if people.is_empty() else people.filter(pl.col("verdict") == UNSURE)
    what, does = are_right(result).replace(" were", "").replace(" are", ""), _mistakes(result, unsure)
    rows = unsure.iter_rows(named=True)
    return {row["contributor"]: _left_open(row, what, does.get(row["contributor"])) for row in rows}


def _left_open(row: dict[str, Any], what: str, does: Finding | None) -> Finding:
    if row["rows"] < ENOUGH_ROWS:
        return TOO_LITTLE
    low, high = row["quality_low"], row["quality_high"]
    # An interval that says nothing is no reason.
    if high >= row["others"] and (low > row["others"] / 2 or high - low > 0.5):
        return UNCONFIRMED
    between, others = f"{percent(low)} to {percent(high)}", percent(row["others"])
    rest, short = f"{between} of the {what}, where others get {others}", f"{between} right, others {others}"
    if does is None:
        return _does("has", "have", rest, short)
    return Finding(f"has {rest}, and {does.one}", f"have {rest}, and {does.many}", f"{short}; {does.one}")


def _mistakes(result: Audited, people: pl.DataFrame) -> dict[str, Finding]:
    """What each of these people mostly gets wrong, where that is one thing."""
    if result.task != "classification" or people.is_empty():
        return {}
    theirs = result.samples.filter(pl.col("contributor").is_in(people["contributor"].implode()))
    wrong = theirs.filter(pl.col("suggested") != pl.col("label"))
    return _errs_on(theirs) | _confused(wrong) | _by_shape(result, people)


def findings(result: Audited) -> dict[str, Finding]:
    """What each of the accused and the less reliable does, in the order of the table."""
    accused = result.contributors.filter(pl.col("verdict").is_in([*ACCUSED, LESS]))
    if accused.is_empty():
        return {}
    does = _mistakes(result, accused) or _by_shape(result, accused)
    usual = _most_common(result.samples, "label") if result.task == "classification" else {}
    found = {}
    for name, verdict in accused.select("contributor", "verdict").iter_rows():
        if verdict == GUESSING and result.kind not in PLACED:
            share, label = usual.get(name, (0.0, [""]))
            always = _does("always answers", "always answer", _quoted(label[0]))
            found[name] = always if share > ALWAYS else NO_BETTER
        elif verdict == LESS and result.kind != PREFERENCE:
            found |= {name: does[name]} if name in does else {}
        else:
            found[name] = does.get(name, CONTRADICTS_OTHERS)
    return found


def _by_shape(result: Audited, people: pl.DataFrame) -> dict[str, Finding]:
    """What each of these people does, where the shape of their judgements tells it."""
    if result.kind == PREFERENCE:
        return dict.fromkeys(people["contributor"], WORSE)
    if result.kind not in (*PLACED, GRADES):
        return {}
    habits = people.select("contributor", "habits").iter_rows()
    found = {name: Finding(said, said) for name, said in habits if said}
    return found if result.kind == GRADES else dict.fromkeys(people["contributor"], ELSEWHERE) | found


def _most_common(rows: pl.DataFrame, *what: str) -> dict[str, tuple[float, list[str]]]:
    """For each contributor the most frequent of these values, and its share of the rows."""
    counts = rows.group_by("contributor", *what).agg(rows=pl.len())
    shares = counts.with_columns(share=pl.col("rows") / pl.col("rows").sum().over("contributor"))
    best = shares.sort("rows", *what, descending=[True, *(False for _ in what)])
    first = best.group_by("contributor", maintain_order=True).first()
    return {row["contributor"]: (row["share"], [row[name] for name in what])
            for row in first.iter_rows(named=True)}  # fmt: skip


def _errs_on(rows: pl.DataFrame) -> dict[str, Finding]:
    """Of those who are mostly right: the class on which they are not, as given or as it should be."""
    looks_wrong = pl.col("suggested") != pl.col("label")
    mostly = rows.filter(looks_wrong.mean().over("contributor") < 0.5)
    worst: dict[str, tuple[int, Finding]] = {}
    for column, when in (("label", "when answering"), ("suggested", "where the answer should be")):
        more = mostly.group_by("contributor", column).agg(more=(2 * looks_wrong.cast(pl.Int64) - 1).sum())
        for name, label, count in more.filter(pl.col("more") > 0).sort("more", column).iter_rows():
            said = f"mostly wrong {when} {_quoted(label)}"
            if count > worst.get(name, (0,))[0]:
                worst[name] = (count, _does("is", "are", said))
    return {name: finding for name, (_, finding) in worst.items()}


def _confused(wrong: pl.DataFrame) -> dict[str, Finding]:
    """The two labels that are most of what is wrong: one taken for the other, or each for the other."""
    pair = ("suggested", "label")
    both = wrong.with_columns(one=pl.min_horizontal(pair), other=pl.max_horizontal(pair))
    ways, found = _most_common(wrong, "suggested", "label"), {}
    for name, (share, labels) in _most_common(both, "one", "other").items():
        way, (right, given) = ways[name]
        if way > ONE_WAY * share and way > HALF:
            found[name] = _does("takes", "take", f"{_quoted(right)} for {_quoted(given)}")
        elif share > HALF:
            found[name] = _does("confuses", "confuse", " with ".join(_quoted(label) for label in labels))
    return found


def _extent(result: Audited, names: Sequence[str]) -> str:
    """How many rows that is, and how many of them look wrong."""
    rows = int(result.contributors.filter(pl.col("contributor").is_in(names))["rows"].sum())
    p_correct = result.samples.filter(pl.col("contributor").is_in(names))["p_correct"].to_numpy()
    if not len(p_correct) or result.kind == PREFERENCE:
        return counted(rows, "row")
    return f"{counted(rows, 'row')}, about {rows * float(1 - p_correct.mean()):,.0f} wrong"


def _copies(result: Audited) -> list[Sentence]:
    """Whose rows are mostly those of another; a pair is named once, for who copied is not known."""
    if "copies" not in result.contributors.columns:
        return []
    said: dict[frozenset[str], Sentence] = {}
    found = result.contributors.filter(pl.col("copies").is_not_null())
    for name, rows, copies, other in found.select("contributor", "rows", "copies", "copies_of").iter_rows():
        both = frozenset((name, other))
        rest = f"hand in the same rows: {copies:,} of {rows:,} are nearly equal."
        said.setdefault(both, Sentence(_named([name, other]), rest))
    more = counted(len(said) - MOST_SAID, "more pair shares its rows", "more pairs share their rows")
    return _first([*said.values()], f"{more}.")


def false_alarms(result: Audited) -> str:
    """How many of the accusations are expected to be false; empty where there are none."""
    count, false = len(result.judged(*ACCUSED)), result.false_accusations
    if not count:
        return ""
    about = "fewer than 0.01" if false < 0.01 else f"about {false:.2g}"
    rate = f"false discovery rate at most {FALSE_DISCOVERIES:.0%}"
    return f"Of {counted(count, 'accusation')}, {about} are expected to be false ({rate})."


def _named(names: Sequence[str]) -> str:
    return names_listed(names, NAME)


def _quoted(label: object) -> str:
    return f"“{shortened(str(label), LABEL)}”"

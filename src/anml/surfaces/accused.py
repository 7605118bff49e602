"""Who is accused and of what, in plain sentences; who cannot be judged, and what would help."""

import polars as pl

from anml.app.result import Audited
from anml.core.verdicts import ACCUSED, BLIND, FALSE_DISCOVERIES, UNSURE
from anml.surfaces.names import shortened

# Of somebody who answers without looking: above this share of one label, it is always that one.
ALWAYS = 0.9
# Names in one sentence, and sentences.
MOST_NAMES, MOST_SAID = 5, 6
NAME, LABEL = 40, 30
# What would help where the model has nothing to say of it; others' labels are no news where there are some.
HELP = "right labels for some of their rows would tell"
MORE_HELP = "right labels for some of their rows, or labels of the same items by others, would tell"


def accusations(result: Audited) -> list[str]:
    """Who is accused, and of what: one sentence for all who do the same, the worst first."""
    alike: dict[tuple[str, str], list[str]] = {}
    for who in _named(result, ACCUSED):
        alike.setdefault(_does(result, who), []).append(who)
    said = []
    for (one, many), names in alike.items():
        said.append(f"{_listed(names)} {one if len(names) == 1 else many}.")
    if len(said) > MOST_SAID:
        left = sum(len(names) for names in list(alike.values())[MOST_SAID:])
        said = [*said[:MOST_SAID], f"{left:,} more are accused; the table of contributors has them."]
    return said


def opening(result: Audited) -> list[str]:
    """The first lines: who is accused, else that nobody is; who cannot be judged, and what would help."""
    if result.contributors.is_empty():
        return [f"{_capital(result.help)}."] if result.help else []
    said = accusations(result)
    unsure, people = len(_named(result, (UNSURE,))), result.contributors.height
    if not said:
        said = ["Nobody is accused."]
    if unsure:
        who = f"all {people:,} contributors" if unsure == people else f"{unsure:,} of {people:,} contributors"
        if people == 1:
            who = "the one contributor"
        said.append(f"Whether {who} can be trusted cannot be told.")
    if result.help or unsure:
        said.append(f"{_capital(result.help or (MORE_HELP if result.items is None else HELP))}.")
    return said


def false_alarms(result: Audited) -> str:
    """How many of the accusations are expected to be false; empty where there are none."""
    count = len(_named(result, ACCUSED))
    if not count:
        return ""
    false = result.false_accusations
    about = "fewer than 0.01" if false < 0.01 else f"about {false:.2g}"
    made = "1 accusation" if count == 1 else f"{count:,} accusations"
    return (
        f"Of {made} {about} are expected to be false (false discovery rate at most {FALSE_DISCOVERIES:.0%})."
    )


def chance(p: float) -> str:
    """A probability in per cent that never claims to be certain.

    Examples
    --------
    >>> chance(0.9999), chance(0.25), chance(1e-9)
    ('>99%', '25%', '<1%')
    """
    return ">99%" if p > 0.99 else "<1%" if p < 0.01 else f"{p:.0%}"


def _named(result: Audited, verdicts: tuple[str, ...]) -> list[str]:
    if result.contributors.is_empty():
        return []
    return result.contributors.filter(pl.col("verdict").is_in(verdicts))["contributor"].to_list()


def _does(result: Audited, who: str) -> tuple[str, str]:
    """What somebody does, said of one and of many."""
    mine = result.samples.filter(pl.col("contributor") == who)
    verdict = result.contributors.filter(pl.col("contributor") == who)["verdict"][0]
    if verdict == BLIND:
        label, rows = (
            mine["label"].value_counts(sort=True).sort("count", "label", descending=[True, False]).row(0)
        )
        if result.task == "classification" and rows > ALWAYS * mine.height:
            return f"always answers {_quoted(label)}", f"always answer {_quoted(label)}"
        return (
            "answers without looking: the labels say nothing about the items",
            "answer without looking: their labels say nothing about the items",
        )
    confused = _confusion(mine) if result.task == "classification" else None
    if confused is not None:
        right, given = confused
        said = f"{_quoted(right)} for {_quoted(given)}"
        return f"takes {said}", f"take {said}"
    return "contradicts the others", "contradict the others"


def _confusion(mine: pl.DataFrame) -> tuple[str, str] | None:
    """The right label and the one given in its place, where that is most of what is wrong."""
    wrong = mine.filter(pl.col("suggested") != pl.col("label"))
    if wrong.is_empty():
        return None
    pairs = wrong.group_by("suggested", "label").agg(rows=pl.len())
    right, given, rows = pairs.sort("rows", "suggested", "label", descending=[True, False, False]).row(0)
    return (right, given) if rows > wrong.height / 2 else None


def _listed(names: list[str]) -> str:
    shown = [shortened(name, NAME) for name in names[:MOST_NAMES]]
    if len(names) > MOST_NAMES:
        return f"{', '.join(shown)} and {len(names) - MOST_NAMES:,} more"
    return " and ".join([", ".join(shown[:-1]), shown[-1]]) if len(shown) > 1 else shown[0]


def _quoted(label: object) -> str:
    return f"“{shortened(str(label), LABEL)}”"


def _capital(sentence: str) -> str:
    return sentence[:1].upper() + sentence[1:].rstrip(".")

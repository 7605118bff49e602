"""Findings about contributors in sentences: flags, low accuracy, changes, inconclusive verdicts."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import polars as pl

from anml.annotators.verdicts import FALSE_DISCOVERY_RATE, MIN_ROWS_TO_FLAG
from anml.annotators.words import FLAGGED, GUESSING, INCONCLUSIVE, LESS_RELIABLE, RELIABLE
from anml.core.text import pluralise
from anml.core.types import BOXES, ORDINAL, PREFERENCE, SPANS
from anml.pipeline.result import AuditResult
from anml.report.printable import format_percent, join_display_names, truncate

# Minimum share of one label to name it as the constant label of a spammer.
CONSTANT_LABEL_SHARE = 0.9
# Minimum share of the errors to name a pair of labels, and to name one direction of it.
MAIN_ERROR_SHARE, ONE_DIRECTION_SHARE = 0.5, 0.8
# Maximum number of names in a sentence, and of sentences.
MAX_NAMES, MAX_SENTENCES = 5, 3
NAME_WIDTH, LABEL_WIDTH = 40, 30
# Tasks whose errors are in position or type.
SPAN_TASKS = (SPANS, BOXES)


class ContributorSentence(NamedTuple):
    """A sentence in two parts: the names of contributors, and the predicate."""

    names: str
    rest: str

    def __str__(self) -> str:
        return f"{self.names} {self.rest}".strip()


class Finding(NamedTuple):
    """A finding as a predicate for one and for several contributors, and as a note on a verdict."""

    singular: str
    plural: str
    short: str = ""

    def of(self, names: Sequence[str]) -> str:
        """Return the predicate for these contributors."""
        return self.singular if len(names) == 1 else self.plural


def _finding(singular: str, plural: str, rest: str, short: str = "") -> Finding:
    return Finding(f"{singular} {rest}", f"{plural} {rest}", short)


NO_OVERLAP = _finding("labels", "label", "items that no other contributor covers", "no overlap with others")
CONTRADICTS = _finding("contradicts", "contradict", "the others")
MARKS_OTHER_SPANS = _finding(
    "disagrees", "disagree", "with the others on the position or type of annotations"
)
CHOOSES_WORSE = _finding("prefers", "prefer", "candidates that the others rank lower")
_INDEPENDENT = "the labels carry almost no information about the items"
NO_BETTER_THAN_GUESSING = _finding("is", "are", f"no better than guessing: {_INDEPENDENT}", _INDEPENDENT)
_TOO_FEW = f"fewer than {MIN_ROWS_TO_FLAG} labels"
TOO_FEW_ROWS = _finding("has", "have", _TOO_FEW, _TOO_FEW)


def label_noun(result: AuditResult) -> str:
    """The noun for a row: label, comparison, grade, tag label, span label or box label."""
    return "label" if result.structured is None else result.structured.unit


def correct_phrase(result: AuditResult) -> str:
    """The noun and predicate of an accuracy; a comparison is correct if it is not a random choice."""
    right = "not to be random" if result.kind == PREFERENCE else "to be correct"
    return f"{label_noun(result)}s are estimated {right}"


def contributor_findings(result: AuditResult) -> list[ContributorSentence]:
    """Findings about contributors, most severe first."""
    if result.contributors.is_empty():
        missing = "No contributor column was given, so contributors cannot be compared"
        return [ContributorSentence("", f"{missing}; name one with --contributor.")]
    lines = [*flagged_sentences(result), *_duplicate_rows(result)]
    if result.contributors.height == 1:
        return lines or [
            ContributorSentence("", "There is only one contributor, so no comparison is possible.")
        ]
    lines = lines or [ContributorSentence("", "No contributor is flagged.")]
    return [
        *lines,
        *less_reliable(result),
        *change_sentences(result),
        *inconclusive_sentences(result),
        *top_contributors(result),
    ]


def change_sentences(result: AuditResult) -> list[ContributorSentence]:
    """Contributors whose accuracy changed over time; the number if there are more than MAX_NAMES."""
    if "accuracy_after" not in result.contributors.columns:
        return []
    people = result.contributors.filter(pl.col("accuracy_after").is_not_null())
    plural = "changed in accuracy over time; see changed_years_ago in contributors.csv"
    return _each(people, plural, describe_change)


def describe_change(row: dict[str, Any]) -> str:
    """The change in accuracy of a contributor, and its time."""
    before, after, days = row["accuracy_before"], row["accuracy_after"], row["changed_years_ago"] * 365.25
    ago = pluralise(round(days), "day") if days < 60 else f"{days / 30.44:.0f} months"
    verb = "fell" if after < before else "rose"
    return f"{verb} in accuracy from {before:.0%} to {after:.0%}, {ago} before the newest label."


def _each(
    people: pl.DataFrame, rest: str, form: Callable[[dict[str, Any]], str]
) -> list[ContributorSentence]:
    """Return a sentence per contributor; the number if there are more than MAX_NAMES."""
    if people.height > MAX_NAMES:
        return [ContributorSentence("", f"{people.height:,} contributors {rest}.")]
    return [
        ContributorSentence(_named([row["contributor"]]), form(row)) for row in people.iter_rows(named=True)
    ]


def less_reliable(result: AuditResult) -> list[ContributorSentence]:
    """Less reliable contributors with their accuracy; the number if there are more than MAX_NAMES."""
    reasons = {name: f"; {finding.singular}" for name, finding in findings(result).items()}

    def one(row: dict[str, Any]) -> str:
        accuracy, peers = format_percent(row["accuracy"]), format_percent(row["peer_accuracy"])
        return f"is less reliable: accuracy {accuracy}, peers {peers}{reasons.get(row['contributor'], '')}."

    less = result.contributors.filter(pl.col("verdict") == LESS_RELIABLE)
    return _each(less, "are less reliable than their peers on comparable rows", one)


def top_contributors(result: AuditResult) -> list[ContributorSentence]:
    """Contributors who are significantly better than their peers on comparable rows."""
    people = result.contributors.filter(
        (pl.col("verdict") == RELIABLE) & (pl.col("accuracy_low") > pl.col("peer_accuracy"))
    ).sort("accuracy_low", "contributor", descending=[True, False])
    if people.is_empty() or result.disputed_share is not None:
        return []
    low = format_percent(float(people["accuracy"].min()))  # type: ignore[arg-type]
    are, share = ("is", low) if people.height == 1 else ("are", f"at least {low}")
    rest = f"{are} among the best contributors: {share} of their {correct_phrase(result)}."
    return [ContributorSentence(_named(people["contributor"].to_list()), rest)]


def flagged_sentences(result: AuditResult) -> list[ContributorSentence]:
    """Flagged contributors with the reason: one sentence for all with the same reason, most severe first."""
    flagged = result.with_verdict(*FLAGGED)
    groups = _group_equal_findings(
        {name: finding for name, finding in findings(result).items() if name in flagged}
    )
    lines = [
        ContributorSentence(_named(names), f"{finding.of(names)} ({_row_counts(result, names)}).")
        for finding, names in groups.items()
    ]
    left = sum(len(names) for names in [*groups.values()][MAX_SENTENCES:])
    more = pluralise(left, "more is", "more are")
    return _first(lines, f"{more} flagged; see the contributor table.")


def _first(lines: list[ContributorSentence], more: str) -> list[ContributorSentence]:
    return lines if len(lines) <= MAX_SENTENCES else [*lines[:MAX_SENTENCES], ContributorSentence("", more)]


def inconclusive_sentences(result: AuditResult) -> list[ContributorSentence]:
    """Inconclusive contributors; the number if there are more than MAX_NAMES."""
    inconclusive, total = result.with_verdict(INCONCLUSIVE), result.contributors.height
    if not inconclusive:
        return []
    if len(inconclusive) == total:
        return [ContributorSentence("", f"Inconclusive for all {total:,} contributors.")]
    count = f"Inconclusive for {len(inconclusive):,} of {total:,} contributors"
    if len(inconclusive) > MAX_NAMES:
        return [ContributorSentence("", f"{count}.")]
    groups = _group_equal_findings(inconclusive_reasons(result))
    because = "; ".join(f"{_named(names)} {reason.of(names)}" for reason, names in groups.items())
    return [ContributorSentence("", f"{count}: {because}.")]


def _group_equal_findings(by_name: dict[str, Finding]) -> dict[Finding, list[str]]:
    groups: dict[Finding, list[str]] = {}
    for name, finding in by_name.items():
        groups.setdefault(finding, []).append(name)
    return groups


def inconclusive_reasons(result: AuditResult) -> dict[str, Finding]:
    """The reason of each inconclusive verdict."""
    people = result.contributors
    inconclusive = people if people.is_empty() else people.filter(pl.col("verdict") == INCONCLUSIVE)
    errors = _main_errors(result, inconclusive)
    rows = inconclusive.iter_rows(named=True)
    return {row["contributor"]: _inconclusive_reason(row, errors.get(row["contributor"])) for row in rows}


def _inconclusive_reason(row: dict[str, Any], error: Finding | None) -> Finding:
    if row["rows"] < MIN_ROWS_TO_FLAG:
        return TOO_FEW_ROWS
    low, high, peers = row["accuracy_low"], row["accuracy_high"], row["peer_accuracy"]
    # A wide interval, or one that contains the accuracy of the peers, is not the reason.
    if high >= peers and (low > peers / 2 or high - low > 0.5):
        return NO_OVERLAP
    between, others = f"{format_percent(low)} to {format_percent(high)}", format_percent(peers)
    rest, short = f"an accuracy of {between} (peers: {others})", f"accuracy {between}, peers {others}"
    if error is None:
        return _finding("has", "have", rest, short)
    one, many = f"has {rest}, and {error.singular}", f"have {rest}, and {error.plural}"
    return Finding(one, many, f"{short}; {error.singular}")


def _main_errors(result: AuditResult, people: pl.DataFrame) -> dict[str, Finding]:
    """The most common error of each contributor, if one class or one pair of classes dominates."""
    if result.task != "classification" or people.is_empty():
        return {}
    rows = result.samples.filter(pl.col("contributor").is_in(people["contributor"].implode()))
    wrong = rows.filter(pl.col("suggested_label") != pl.col("label"))
    return _worst_class(rows) | _main_confusion(wrong) | _task_findings(result, people)


def findings(result: AuditResult) -> dict[str, Finding]:
    """The finding about each flagged or less reliable contributor, in the order of the table."""
    people = result.contributors.filter(pl.col("verdict").is_in([*FLAGGED, LESS_RELIABLE]))
    if people.is_empty():
        return {}
    main_errors = _main_errors(result, people) or _task_findings(result, people)
    most_common = _most_common(result.samples, "label") if result.task == "classification" else {}
    by_name = {}
    for name, verdict in people.select("contributor", "verdict").iter_rows():
        if verdict == GUESSING and result.kind not in SPAN_TASKS:
            share, label = most_common.get(name, (0.0, [""]))
            often = f"{_quoted(label[0])} in more than {CONSTANT_LABEL_SHARE:.0%} of the labels"
            always = _finding("gives", "give", often)
            by_name[name] = always if share > CONSTANT_LABEL_SHARE else NO_BETTER_THAN_GUESSING
        elif verdict == LESS_RELIABLE and result.kind != PREFERENCE:
            by_name |= {name: main_errors[name]} if name in main_errors else {}
        else:
            by_name[name] = main_errors.get(name, CONTRADICTS)
    return by_name


def _task_findings(result: AuditResult, people: pl.DataFrame) -> dict[str, Finding]:
    """Findings of preferences, spans, boxes and grades."""
    if result.kind == PREFERENCE:
        return dict.fromkeys(people["contributor"], CHOOSES_WORSE)
    if result.kind not in (*SPAN_TASKS, ORDINAL):
        return {}
    notes = people.select("contributor", "notes").iter_rows()
    noted = {name: Finding(note, note) for name, note in notes if note}
    return (
        noted if result.kind == ORDINAL else dict.fromkeys(people["contributor"], MARKS_OTHER_SPANS) | noted
    )


def _most_common(rows: pl.DataFrame, *columns: str) -> dict[str, tuple[float, list[str]]]:
    """For each contributor the most frequent values of these columns, and their share of the rows."""
    counts = rows.group_by("contributor", *columns).agg(rows=pl.len())
    shares = counts.with_columns(share=pl.col("rows") / pl.col("rows").sum().over("contributor"))
    best = shares.sort("rows", *columns, descending=[True, *(False for _ in columns)])
    first = best.group_by("contributor", maintain_order=True).first()
    return {row["contributor"]: (row["share"], [row[name] for name in columns])
            for row in first.iter_rows(named=True)}  # fmt: skip


def _worst_class(rows: pl.DataFrame) -> dict[str, Finding]:
    """The class on which a contributor is mostly wrong, if most labels of the contributor are correct."""
    looks_wrong = pl.col("suggested_label") != pl.col("label")
    mostly = rows.filter(looks_wrong.mean().over("contributor") < 0.5)
    worst: dict[str, tuple[int, Finding]] = {}
    for column, when in (("label", "with the label"), ("suggested_label", "on items of the class")):
        more = mostly.group_by("contributor", column).agg(more=(2 * looks_wrong.cast(pl.Int64) - 1).sum())
        for name, label, count in more.filter(pl.col("more") > 0).sort("more", column).iter_rows():
            predicate = f"mostly wrong {when} {_quoted(label)}"
            if count > worst.get(name, (0,))[0]:
                worst[name] = (count, _finding("is", "are", predicate))
    return {name: finding for name, (_, finding) in worst.items()}


def _main_confusion(wrong: pl.DataFrame) -> dict[str, Finding]:
    """The pair of labels with most of the errors, in one direction or both."""
    pair = ("suggested_label", "label")
    pairs = wrong.with_columns(one=pl.min_horizontal(pair), other=pl.max_horizontal(pair))
    directions, by_name = _most_common(wrong, "suggested_label", "label"), {}
    for name, (share, labels) in _most_common(pairs, "one", "other").items():
        direction, (true, given_label) = directions[name]
        if direction > ONE_DIRECTION_SHARE * share and direction > MAIN_ERROR_SHARE:
            by_name[name] = _finding("labels", "label", f"{_quoted(true)} items as {_quoted(given_label)}")
        elif share > MAIN_ERROR_SHARE:
            by_name[name] = _finding("confuses", "confuse", " with ".join(_quoted(label) for label in labels))
    return by_name


def _row_counts(result: AuditResult, names: Sequence[str]) -> str:
    """The number of rows, and the expected number of wrong labels among them."""
    rows = int(result.contributors.filter(pl.col("contributor").is_in(names))["rows"].sum())
    p_correct = result.samples.filter(pl.col("contributor").is_in(names))["p_correct"].to_numpy()
    if not len(p_correct) or result.kind == PREFERENCE:
        return pluralise(rows, "row")
    return f"{pluralise(rows, 'row')}, about {rows * float(1 - p_correct.mean()):,.0f} wrong"


def _duplicate_rows(result: AuditResult) -> list[ContributorSentence]:
    """Pairs of contributors with near-duplicate rows."""
    if "duplicate_rows" not in result.contributors.columns:
        return []
    by_pair: dict[frozenset[str], ContributorSentence] = {}
    copies = result.contributors.filter(pl.col("duplicate_rows").is_not_null())
    columns = ("contributor", "rows", "duplicate_rows", "duplicates_of")
    for name, rows, count, other in copies.select(columns).iter_rows():
        pair = frozenset((name, other))
        rest = f"have near-duplicate rows: {count:,} of {rows:,}."
        by_pair.setdefault(pair, ContributorSentence(_named([name, other]), rest))
    more = pluralise(len(by_pair) - MAX_SENTENCES, "more pair has", "more pairs have")
    return _first([*by_pair.values()], f"{more} near-duplicate rows.")


def false_discovery_sentence(result: AuditResult) -> str:
    """The expected number of false flags; empty without flags."""
    count, false = len(result.with_verdict(*FLAGGED)), result.expected_false_flags
    if not count:
        return ""
    about = "less than 0.01" if false < 0.01 else f"{false:.2g}"
    return f"Expected false flags: {about} of {count} (FDR ≤ {FALSE_DISCOVERY_RATE:.0%})."


def _named(names: Sequence[str]) -> str:
    return join_display_names(names, NAME_WIDTH)


def _quoted(label: object) -> str:
    return f"“{truncate(str(label), LABEL_WIDTH)}”"

"""Cleaning before an audit: one spelling of each class and contributor, and rows that are not labels."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from anml.core.checks import Bools
from anml.core.errors import InputError
from anml.core.text import join_names, pluralise
from anml.io.columns import Columns
from anml.io.encode.preparation import are_addresses, is_text
from anml.io.plain import as_text, numbers_in_text
from anml.io.roles import require_column
from anml.io.side_inputs import column_names
from anml.io.spellings import (
    AGGREGATES,
    flag_spellings,
    fold,
    groups,
    is_natural_case,
    missing_answers,
    near_spellings,
    normalise,
    shown,
    without_case,
)
from anml.io.times import parse_times

# A contributor who uses two spellings of a class this often may mean two classes.
MIN_USES, MIN_USE_SHARE = 3, 0.1
# Agreement on spellings within items above chance from which spellings are classes, and pairs to measure it.
MIN_FORM_KAPPA, MIN_FORM_PAIRS = 0.2, 20
# Share of the items of a name that a second name of the same contributor does not label as well.
MAX_SHARED_ITEMS = 0.1
# Columns with this share of different values tell rows apart.
MIN_DISTINCT = 0.9
# Share of items with several texts from which item numbers are used again; more texts per row are comments.
MAX_REUSED, MAX_COMMENTS = 0.05, 0.8
# The value of the setting `clean` that joins all similar spellings.
JOIN_ALL = "all"
SHOWN = 8


@dataclass
class Cleaning:
    """A cleaned frame, the rows that are excluded, the joined spellings by role, and messages."""

    frame: pl.DataFrame
    columns: Columns
    join_all: bool
    excluded: Bools
    joined: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def texts(self, role: str) -> pl.Series | None:
        """Return the column of a role if it holds text."""
        name = getattr(self.columns, role)
        return self.frame[name] if name is not None and self.frame.schema[name] == pl.String else None

    def join(self, role: str, mapping: Mapping[str, str]) -> None:
        """Replace spellings in the column of a role and report the mapping."""
        changed = {one: other for one, other in mapping.items() if one != other}
        if not changed:
            return
        name = getattr(self.columns, role)
        self.frame = self.frame.with_columns(pl.col(name).replace(changed))
        before = {one: changed.get(other, other) for one, other in self.joined.get(role, {}).items()}
        self.joined[role] = before | changed
        pairs = [f"{shown(one)} as {shown(other)}" for one, other in sorted(changed.items())]
        more = f" and {len(pairs) - SHOWN} more" if len(pairs) > SHOWN else ""
        self.notes.append(f"column {name!r} ({role}) is read with {', '.join(pairs[:SHOWN])}{more}")

    def keep_apart(self, role: str, apart: list[list[str]]) -> None:
        """Report similar spellings that remain different, or join them where the user asks for it."""
        if self.join_all:
            mapping: dict[str, str] = {}
            for first, *rest in apart:
                mapping |= {form: mapping.get(first, first) for form in rest}
            self.join(role, mapping)
        elif apart:
            listed = "; ".join(join_names([repr(form) for form in forms]) for forms in apart[:SHOWN])
            more = f"; and {len(apart) - SHOWN} more" if len(apart) > SHOWN else ""
            what = "classes" if role == "label" else f"{role}s"
            similar = f"column {getattr(self.columns, role)!r} has similar spellings"
            message = f"{similar} that count as different {what}: {listed}{more}"
            self.warnings.append(f"{message}; --set schema.clean=all joins them")

    def exclude(self, rows: pl.Series, reason: str) -> None:
        """Exclude rows from the audit and count them in a warning."""
        new = rows.fill_null(False).to_numpy() & ~self.excluded
        if new.any():
            self.excluded = self.excluded | new
            self.warnings.append(f"{pluralise(int(new.sum()), 'row')} excluded: {reason}")


class CleaningOptions(NamedTuple):
    """Settings of the cleaning, see `anml.Schema`, and the predictions beside the table."""

    clean: bool | str = True
    missing: Sequence[str] | None = None
    last: bool = False
    batch: str | None = None
    copies: bool = True
    predictions: Any = None


def clean_table(
    frame: pl.DataFrame, columns: Columns, options: CleaningOptions, words: Mapping[str, pl.Series]
) -> Cleaning:
    """Join spellings of labels and contributors, and exclude rows that are not labels.

    `words` are values of text columns that the reader of the file took for missing values, such as NA.
    """
    done = Cleaning(frame, columns, options.clean == JOIN_ALL, np.zeros(frame.height, dtype=bool))
    clean, missing = options.clean is not False, options.missing
    _restore_words(done, missing, words.get(columns.label))
    if clean:
        _unwrap_lists(done)
        for role in ("label", "contributor", "item", "true_label", "test_label"):
            texts = done.texts(role)
            if texts is not None and not (role == "item" and is_text(texts)):
                done.join(role, {text: normalise(text) for text in texts.drop_nulls().unique()})
        _exclude_aggregates(done)
    if clean or missing is not None:
        _exclude_missing(done, missing, options.predictions)
    _name_items(done, options.batch)
    if clean:
        _join_labels(done)
        _join_contributors(done)
        _read_numbers(done)
    if clean and options.copies:
        _exclude_copies(done)
    if options.last:
        _exclude_earlier(done)
    return done


def _name_items(done: Cleaning, batch: str | None) -> None:
    """Name items by batch and number, or refuse numbers that name different texts."""
    item = done.columns.item
    if batch is not None:
        require_column(done.frame.columns, batch, "batch")
        if item is None:
            raise InputError(f"column {batch!r} (batch) needs an item column; name it with --item")
        both = pl.concat_str(as_text(done.frame[batch]), pl.lit(" / "), as_text(done.frame[item]))
        done.frame = done.frame.with_columns(both.alias(item))
    if item is None or done.columns.contributor is None:
        return
    taken = (item, done.columns.contributor, done.columns.label)
    for name in (each for each in done.frame.columns if each not in taken):
        texts = done.frame[name]
        if not (is_text(texts) or are_addresses(texts.drop_nulls())):
            continue
        # Comments differ from row to row; texts of items occur once for each contributor.
        pairs = done.frame.select(item, name).drop_nulls().unique()
        again = pairs.filter(pl.col(item).is_duplicated())
        if pairs.height < MAX_COMMENTS * done.frame.height and again.height > MAX_REUSED * pairs.height:
            raise InputError(
                f"item {str(again[item][0])!r} of column {item!r} has several values of {name!r}; name the "
                f"column of batches with --column batch=NAME, or name {name!r} with --item"
            )


def _exclude_earlier(done: Cleaning) -> None:
    """Keep the last answer of a contributor to an item, by time or by the order of the rows."""
    pair = [name for name in (done.columns.item, done.columns.contributor) if name is not None]
    if len(pair) < 2:
        raise InputError("answers=last needs an item and a contributor column")
    rows, time = done.frame.select(pair).with_row_index("at"), done.columns.time
    if time is not None:
        order = parse_times(done.frame[time]).arg_sort(nulls_last=False)
        rows = rows.with_columns(at=order.arg_sort())
    rows = rows.with_columns(used=~pl.Series(done.excluded))
    newest = pl.when("used").then("at").max().over(pair)
    earlier = rows.select(pl.col("at") < newest).to_series()
    done.exclude(earlier, "later answers of the same contributor to the same item replace them")


def _restore_words(done: Cleaning, missing: Sequence[str] | None, words: pl.Series | None) -> None:
    """Decide whether NA is a class: by the setting, and undecided beside other short codes."""
    if words is None:
        return
    label = done.columns.label
    if missing is not None:
        classes = words.set(words.is_in(list(missing)), None)
        done.frame = done.frame.with_columns(pl.coalesce(pl.col(label).cast(pl.String), classes).alias(label))
        return
    rows, texts = int((words == "NA").sum()), done.texts("label")
    if rows and texts is not None and texts.drop_nulls().str.contains(r"^[A-Z]{1,5}$").all():
        raise InputError(
            f"column {label!r} has {rows} labels 'NA', which may be a class or a missing answer; "
            "--set schema.missing=NA excludes them, --set schema.missing= keeps the class"
        )


def _unwrap_lists(done: Cleaning) -> None:
    """Read labels that are JSON lists or objects with one value; several values become a set."""
    label, texts = done.columns.label, done.texts("label")
    values = [] if texts is None else texts.drop_nulls().unique(maintain_order=True).to_list()
    if not values or not all(re.fullmatch(r"(?s)\[.*\]|\{.*\}", text) for text in values):
        return
    read: dict[str, str] = {}
    for text in values:
        value = _parsed(text)
        while isinstance(value, dict) and len(value) == 1:
            value = next(iter(value.values()))
        parts = value if isinstance(value, list) else [value]
        if not all(isinstance(part, str | int | float) for part in parts):
            why = f"column {label!r} holds {text[:60]!r}, which is not one label or a list of labels"
            raise InputError(f"{why}; name another label column")
        read[text] = ";".join(sorted(str(part) for part in parts))
    plain = pl.col(label).replace(read).replace("", None)
    done.frame = done.frame.with_columns(plain.alias(label))
    done.notes.append(f"labels in column {label!r} are read from lists: {values[0]!r} as {read[values[0]]!r}")


def _parsed(text: str) -> Any:
    for written in (text, text.replace("'", '"')):
        try:
            return json.loads(written)
        except ValueError:
            continue
    return None


def _exclude_aggregates(done: Cleaning) -> None:
    """Exclude rows of a contributor called consensus, and rows that sum up others."""
    for role in ("contributor", "item"):
        texts = done.texts(role)
        if texts is None:
            continue
        values = texts.drop_nulls().unique().to_list()
        names = sorted(name for name in values if fold(name) in AGGREGATES)
        rows = texts.is_in(names)
        if role == "item" and done.columns.contributor is not None:
            rows = rows & done.frame[done.columns.contributor].is_null()
        if len(values) > len(names):
            listed = join_names([repr(name) for name in names]) if names else ""
            done.exclude(
                rows,
                f"the {role} {listed} is the name of a sum of other rows; "
                "--set schema.clean=false keeps them",
            )


def _exclude_missing(done: Cleaning, missing: Sequence[str] | None, predictions: Any) -> None:
    """Exclude rows with a label that says that none was given.

    Without a setting, a label that predictions or true labels name as a class is an answer.
    """
    texts = done.texts("label")
    if texts is None:
        return
    values = sorted(texts.drop_nulls().unique())
    names = missing_answers(values) if missing is None else [text for text in values if text in missing]
    if names and missing is None:
        classes = _named_classes(done, predictions)
        names = [name for name in names if fold(name) not in classes]
    if names:
        keep = "; --set schema.missing= keeps them as classes" if missing is None else ""
        listed = join_names([repr(name) for name in names])
        done.exclude(texts.is_in(names), f"the label {listed} is not an answer{keep}")


def _named_classes(done: Cleaning, predictions: Any) -> set[str]:
    """Return the names, folded, of columns of predictions, of true labels and of test labels."""
    names = set() if predictions is None else set(column_names(predictions, "predictions"))
    for role in ("true_label", "test_label"):
        if (known := done.texts(role)) is not None:
            names |= set(known.drop_nulls().unique())
    return {fold(name) for name in names}


def _counts(series: pl.Series) -> dict[str, int]:
    """Return values with their numbers of rows, the most frequent first."""
    counts = series.drop_nulls().alias("value").value_counts(name="rows")
    return dict(counts.sort(["rows", "value"], descending=[True, False]).iter_rows())


def _join_labels(done: Cleaning) -> None:
    texts = done.texts("label")
    if texts is None:
        return
    counts = _counts(texts.filter(pl.Series(~done.excluded)))
    joined, apart = flag_spellings(counts), []
    if not joined:
        for forms in groups(counts, fold):
            if _may_be_classes(done, forms):
                apart.append(forms)
            else:
                joined |= dict.fromkeys(forms[1:], forms[0])
        similar = near_spellings({form: rows for form, rows in counts.items() if form not in joined})
        apart += [pair for pair in similar if fold(pair[0]) != fold(pair[1])]
    done.join("label", joined)
    done.keep_apart("label", apart)
    # True labels are written as labels are.
    classes = {fold(form): joined.get(form, form) for form in [*reversed(counts)]}
    for role in ("true_label", "test_label"):
        if (known := done.texts(role)) is not None:
            texts = known.drop_nulls().unique()
            done.join(
                role,
                {
                    text: joined.get(text, classes.get(fold(text), text))
                    for text in texts
                    if text not in counts or text in joined
                },
            )


def _may_be_classes(done: Cleaning, forms: list[str]) -> bool:
    """Return True if spellings of a label may be different classes.

    They may be if a contributor uses two of them often, unless labels of the same items do not agree on the
    spelling. Without contributors only single letters may be.
    """
    label, contributor, item = done.columns.label, done.columns.contributor, done.columns.item
    if contributor is None:
        return len(fold(forms[0])) == 1
    rows = done.frame.filter(pl.col(label).is_in(forms) & pl.Series(~done.excluded))
    uses = rows.group_by(contributor, label).len()
    share = pl.col("len") / pl.col("len").sum().over(contributor)
    often = uses.filter((pl.col("len") >= MIN_USES) & (share >= MIN_USE_SHARE))
    if not often[contributor].is_duplicated().any():
        return False
    if item is None:
        return True
    same = rows.group_by(item, label).len()
    pairs = same.group_by(item).agg(n=pl.col("len").sum(), same=(pl.col("len") * (pl.col("len") - 1)).sum())
    total = float((pairs["n"] * (pairs["n"] - 1)).sum())
    chance = float(((uses.group_by(label).agg(pl.col("len").sum())["len"] / rows.height) ** 2).sum())
    agreement = (float(pairs["same"].sum()) / max(total, 1.0) - chance) / max(1 - chance, 1e-9)
    return total < 2 * MIN_FORM_PAIRS or agreement >= MIN_FORM_KAPPA


def _join_contributors(done: Cleaning) -> None:
    texts = done.texts("contributor")
    if texts is None:
        return
    counts, joined = _counts(texts), dict[str, str]()
    apart: list[list[str]] = []
    for forms in groups(counts, without_case):
        if done.join_all or (all(map(is_natural_case, forms)) and not _share_items(done, forms)):
            joined |= dict.fromkeys(forms[1:], forms[0])
        else:
            apart.append(forms)
    similar = near_spellings({name: rows for name, rows in counts.items() if name not in joined})
    similar = [pair for pair in similar if without_case(pair[0]) != without_case(pair[1])]
    done.join("contributor", joined)
    done.keep_apart("contributor", apart + [pair for pair in similar if not _share_items(done, pair)])


def _share_items(done: Cleaning, names: list[str]) -> bool:
    """Return True if names label the same items, as names of one contributor do not."""
    item, contributor = done.columns.item, done.columns.contributor
    if item is None or contributor is None:
        return False
    rows = done.frame.filter(pl.col(contributor).is_in(names)).select(item, contributor).unique()
    shared = int(rows[item].is_duplicated().sum()) / 2
    return shared >= MIN_USES and shared > MAX_SHARED_ITEMS * min(_counts(rows[contributor]).values())


def _read_numbers(done: Cleaning) -> None:
    """Read text features that hold numbers; a few other values become missing."""
    for name in done.columns.features:
        texts = done.frame[name]
        if (numbers := numbers_in_text(texts)) is None:
            continue
        done.frame = done.frame.with_columns(numbers.alias(name))
        odd = texts.filter(numbers.is_null() & texts.is_not_null())
        count = pluralise(len(odd), "value is", "values are")
        lost = f"; {count} taken as missing, such as {odd[0]!r}" if len(odd) else ""
        done.warnings.append(f"column {name!r} is read as numbers{lost}")


def _exclude_copies(done: Cleaning) -> None:
    """Count a row once that is in the table twice with all of its values."""
    columns, frame = done.columns, done.frame
    plain = frame.select(name for name, kind in frame.schema.items() if not kind.is_nested())
    if not plain.is_duplicated().any():
        return
    again = ~plain.select(pl.struct(pl.all()).is_first_distinct()).to_series()
    once = plain.filter(~again)
    # Equal rows are copies if a value, or an answer to an item, tells other rows apart.
    answer = [name for name in (columns.item, columns.contributor) if name is not None]
    values = [[name] for name in plain.columns if name not in (columns.label, columns.contributor)]
    keys = [*values, answer] if len(answer) == 2 else values
    if any(once.select(names).n_unique() >= MIN_DISTINCT * once.height for names in keys):
        done.exclude(again, "exact copies of other rows count once")

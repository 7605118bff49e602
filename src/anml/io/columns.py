"""Column roles: taken from the options, else inferred from column names and reported."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import polars as pl

from anml.core.checks import Ints
from anml.core.errors import InputError, UnknownNameError
from anml.io.encode.preparation import are_addresses, is_text
from anml.io.identifying import (
    constant_in,
    first_rows,
    identifying_text,
    numbering_reason,
    repeated_role,
)
from anml.io.plain import as_text, is_nested, numbers_in_text
from anml.io.roles import (
    ALIASES,
    BOOLEAN_SPELLINGS,
    GOLD_ALIASES,
    HONEYPOT_ALIASES,
    LABEL_WORDS,
    OTHER_LABEL_WORDS,
    PEOPLE_WORDS,
    ROLE_CHECKS,
    ROLES,
    TIMES_SPENT,
    format_names,
    is_all_distinct,
    is_identifier_name,
    is_named,
    normalise_name,
    require_column,
    words_of,
)
from anml.io.spellings import fold

# From this many rows on, strings that never repeat are names of the rows.
MIN_ROWS_FOR_ID = 20
# Share of rows above which they decide for the column.
MAJORITY = 0.5
# Roles whose name on a column of other values may be a slip, such as a level that is misspelt.
WARN_WHEN_UNFIT = ("verification", "reputation", "time")
# Roles whose values are names or levels, one for each row.
TEXT_ROLES = (
    "contributor",
    "item",
    "verification",
    "reputation",
    "test_label",
    "true_label",
    "reviewed",
    "retracted",
    "licence",
)
# Roles whose columns are never features, so that they may also be ignored as features.
NON_FEATURE_ROLES = ("test_label", "true_label", "reviewed", "retracted", "licence")

# Roles that a column must not repeat to be a feature.
REPEATED_ROLES = ("item", "contributor", "label")

# Classes that two columns of labels share, rows that are looked at first, and most classes of a label.
MIN_SHARED_CLASSES, HEAD, MAX_CLASSES = 0.5, 1000, 100
# Agreement above chance beyond which a column is a second label, not a feature.
MAX_KAPPA = 0.4

# Inputs of which an audit needs at least one.
FEATURES_REQUIRED_MESSAGE = (
    "needed are feature columns, predictions, embeddings, or an item and a contributor column with "
    "several labels for an item"
)


@dataclass(frozen=True)
class Columns:
    """The role of each column that is used."""

    label: str
    contributor: str | None = None
    item: str | None = None
    verification: str | None = None
    reputation: str | None = None
    time: str | None = None
    derived_from: str | None = None
    test_label: str | None = None
    true_label: str | None = None
    reviewed: str | None = None
    retracted: str | None = None
    licence: str | None = None
    features: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-able dict."""
        return {**asdict(self), "features": list(self.features)}


def choose_columns(
    frame: pl.DataFrame, *, features: Sequence[str] | None = None, ignore: Iterable[str] = (),
    key: str | None = None, needs_features: bool = True, **named: str | None,
) -> tuple[Columns, list[str]]:  # fmt: skip
    """Find the role of every column, and return notes about columns that were guessed or excluded.

    `named` are columns by role; others are guessed from their names, where their values fit. A column without
    a role is a feature, except constants, identifiers, nested columns, the true label and `key`.
    """
    given = {role: named.pop(role, None) for role in ROLES}
    if named:
        raise UnknownNameError("role of a column", next(iter(named)), ROLES)
    left_out = [ignore] if isinstance(ignore, str) else list(ignore)
    listed = [features] if isinstance(features, str) else features
    wanted = None if listed is None else tuple(dict.fromkeys(listed))
    if key is not None:
        require_column(frame.columns, key)
    _check_named(frame, given, wanted or (), left_out)
    taken = (*left_out, *(wanted or ()), *([] if key is None else [key]))
    roles, notes = _guess_roles(frame, given, taken)
    notes += _guess_item(frame, roles, taken)
    if roles["label"] is None:
        raise _no_label(frame)
    if wanted is None:
        # An item that is a text says what it is: a model may read it.
        read = roles["item"] is not None and is_text(frame[roles["item"]])
        used = {*roles.values(), *left_out, key} - ({roles["item"]} if read else set())
        rest = [name for name in frame.columns if name not in used]
        second, dropped = _second_labels(frame, roles["label"], rest, guessed=given["label"] is None)
        notes += dropped
        wanted, dropped = _features(frame, [name for name in rest if name not in second], roles)
        notes += dropped
    if not wanted and needs_features and (roles["item"] is None or roles["contributor"] is None):
        reasons = f" ({'; '.join(notes)})" if notes else ""
        raise InputError(
            f"no feature column is left beside the label and the signals{reasons}; "
            f"{FEATURES_REQUIRED_MESSAGE}"
        )
    return Columns(**roles, features=wanted), notes  # type: ignore[arg-type]  # label is set: checked above


def _no_label(frame: pl.DataFrame) -> InputError:
    for name in frame.columns:
        if is_named(name, ALIASES["label"]) and frame[name].null_count() == frame.height:
            return InputError(f"column {name!r} (label) is empty in all {frame.height} rows")
    return InputError(f"no column could be taken for the label; name one of {format_names(frame.columns)}")


def key_columns(frame: pl.DataFrame, columns: Columns, key: str | None = None) -> list[str]:
    """Columns that name rows, under which a user finds them again: the key, the item, and identifiers."""
    roles = {name for role, name in asdict(columns).items() if role not in ("item", "features")}
    taken = {*roles, *columns.features} - {key}
    return [
        name
        for name in frame.columns
        if name in (key, columns.item, columns.licence)
        or (name not in taken and is_identifier_name(name) and is_all_distinct(frame[name]))
    ]


def _check_named(
    frame: pl.DataFrame, given: dict[str, str | None], features: Sequence[str], ignore: Sequence[str]
) -> None:
    uses: dict[str, list[str]] = {}
    named = [(role, name) for role, name in given.items() if name is not None]
    named += [("feature", name) for name in features] + [("ignored", name) for name in ignore]
    for role, name in named:
        require_column(frame.columns, name)
        if role in TEXT_ROLES and is_nested(frame.schema[name]):
            raise InputError(f"column {name!r} holds {frame.schema[name]}, which cannot be a {role}")
        uses.setdefault(name, []).append(role)
    for name, roles in uses.items():
        if set(roles) & set(NON_FEATURE_ROLES):
            roles = [role for role in roles if role != "ignored"]
        if set(roles) == {"item", "feature"} and is_text(frame[name]):
            continue
        if len(set(roles)) > 1:
            raise InputError(f"column {name!r} is named as {' and as '.join(roles)}; it can be one of them")


def _guess_roles(
    frame: pl.DataFrame, given: dict[str, str | None], taken: Sequence[str]
) -> tuple[dict[str, str | None], list[str]]:
    roles, notes = dict(given), []
    by_name = {normalise_name(name): name for name in reversed(frame.columns)}
    for role in ROLES:
        for alias in ALIASES[role] if roles[role] is None else ():
            name = by_name.get(normalise_name(alias))
            if name is None or name in taken or name in roles.values() or not _may_guess(role, alias, roles):
                continue
            series = frame[name]
            if (
                series.null_count() < frame.height
                and not is_nested(series.dtype)
                and ROLE_CHECKS[role](series)
            ):
                roles[role] = name
                notes.append(f"using column {name!r} as {role} (guessed from its name)")
                break
            if role in WARN_WHEN_UNFIT:
                notes.append(f"column {name!r} is not used as {role}: its values do not fit; name it to see")
    return roles, notes


def _guess_item(frame: pl.DataFrame, roles: dict[str, str | None], taken: Sequence[str]) -> list[str]:
    """Take an identifier for the item where its values are shared by contributors, each with it once."""
    contributor = roles["contributor"]
    if contributor is None or roles["item"] is not None:
        return []
    for name in frame.columns:
        series = frame[name]
        if name in taken or name in roles.values() or series.null_count() or is_nested(series.dtype):
            continue
        named = is_identifier_name(name) and not series.dtype.is_float()
        if not (named or are_addresses(series)) or is_all_distinct(series):
            continue
        pairs = frame.select(
            pl.col(contributor).n_unique().over(name) > 1, pl.len().over(name, contributor) == 1
        )
        if all(float(column.cast(pl.Float64).to_numpy().mean()) > MAJORITY for column in pairs.get_columns()):
            roles["item"] = name
            return [f"using column {name!r} as item (several contributors have the same values)"]
    return []


def _may_guess(role: str, alias: str, roles: dict[str, str | None]) -> bool:
    """True if a role may be inferred: parents need an item column; a column r may be a colour."""
    if role == "derived_from":
        return roles["item"] is not None
    return len(alias) > 1 or role == "label" or roles["contributor"] is not None


def _second_labels(
    frame: pl.DataFrame, label: str, names: Sequence[str], guessed: bool
) -> tuple[list[str], list[str]]:
    """Return columns with the classes of the label, such as those of a model, and notes on them.

    Refuse a label that was guessed where another column may be the label as well.
    """
    classes, codes = _classes(frame[label]), frame.schema[label].is_numeric()
    generic = codes or classes <= BOOLEAN_SPELLINGS.keys()
    second: list[str] = []
    for name in names if len(classes) > 1 else ():
        series, words = frame[name], words_of(name)
        if series.dtype.is_numeric() != codes or is_nested(series.dtype) or is_named(name, GOLD_ALIASES):
            continue
        known = _classes(series)
        if len(known & classes) < max(2, MIN_SHARED_CLASSES * len(known | classes)):
            continue
        alias = is_named(name, ALIASES["label"])
        if not alias and words & OTHER_LABEL_WORDS:
            second.append(name)
        elif alias or (not generic and (words & LABEL_WORDS or _kappa(series, frame[label]) > MAX_KAPPA)):
            if guessed:
                both = f"columns {label!r} and {name!r} hold the same classes, and either may be the label"
                raise InputError(f"{both}; name the one to audit with --label")
            second.append(name)
    reason = "the same classes as the label; name it as a feature to use it"
    return second, [f"excluded column {name!r}: {reason}" for name in second]


def _classes(series: pl.Series) -> set[str]:
    head = series.drop_nulls()
    if head.head(HEAD).n_unique() > MAX_CLASSES or is_nested(series.dtype):
        return set()
    return {fold(str(value)) for value in as_text(head.unique())}


def _kappa(one: pl.Series, two: pl.Series) -> float:
    both = pl.DataFrame({"one": as_text(one), "two": as_text(two)}).drop_nulls()
    shares = [both[name].value_counts(name="rows", normalize=True) for name in both.columns]
    chance = (
        shares[0]
        .join(shares[1], left_on="one", right_on="two")
        .select((pl.col("rows") * pl.col("rows_right")).sum())
    )
    agreement, expected = float((both["one"] == both["two"]).to_numpy().mean()), float(chance.item())
    return (agreement - expected) / max(1 - expected, 1e-9)


def _features(
    frame: pl.DataFrame, names: Sequence[str], roles: dict[str, str | None]
) -> tuple[tuple[str, ...], list[str]]:
    """Return the columns that may predict a label, and the reason for each excluded one."""
    reasons: dict[str | None, list[str]] = {None: []}
    named = {role: frame[name] for role in REPEATED_ROLES if (name := roles[role]) is not None}
    firsts = first_rows(named.get("item"))
    for name in names:
        series = frame[name]
        if (numbers := numbers_in_text(series)) is not None:
            series = numbers.alias(name)
        reason = _exclusion_reason(series) or _repetition_reason(series, named, firsts)
        reasons.setdefault(reason, []).append(name)
    kept = reasons.pop(None)
    notes = [
        f"excluded {'columns' if len(out) > 1 else 'column'} "
        f"{format_names([repr(name) for name in out])}: {reason}"
        for reason, out in reasons.items()
    ]
    return tuple(kept), notes


def _repetition_reason(series: pl.Series, named: dict[str, pl.Series], firsts: Ints | None) -> str | None:
    """Return why a column only numbers or repeats rows, or one of the columns with a role."""
    if (role := repeated_role(series, named)) is not None:
        return f"it repeats the {role} column {named[role].name!r}"
    people = named.get("contributor")
    if people is not None and not series.dtype.is_float() and constant_in(series, people):
        return f"it depends on the contributor column {people.name!r} only"
    if series.dtype == pl.String and not is_text(series):
        if words_of(series.name) & PEOPLE_WORDS:
            return "names of people who did not give the label"
        if people is not None and len(known := _classes(series)) > 1 and known <= _classes(people):
            return f"it names contributors of column {people.name!r}"
    if (reason := numbering_reason(series, firsts)) is not None:
        return reason
    if are_addresses(series.drop_nulls()):
        return "addresses or names of files"
    texts = series.dtype == pl.String and series.len() > MIN_ROWS_FOR_ID and not is_text(series)
    return "text that identifies rows" if texts and identifying_text(series) else None


def _exclusion_reason(series: pl.Series) -> str | None:
    if series.null_count() == series.len():
        return "no values"
    if is_nested(series.dtype):
        return f"a column of {series.dtype} is not a feature"
    if series.head(1000).n_unique() == 1 and series.n_unique() == 1:
        return "the same value in every row"
    # Where a name clashes with one of ours, exports put "data_" before it.
    name = series.name.removeprefix("data_")
    if is_named(name, GOLD_ALIASES):
        return "it looks like a true label; name it as true_label, as test_label or as a feature to use it"
    if is_named(name, HONEYPOT_ALIASES):
        return "it marks items with a known answer; name the column of the answers as true_label"
    if is_named(name, TIMES_SPENT):
        return "nothing is judged by time spent on a label"
    if series.dtype.is_float() or not is_all_distinct(series):
        return None
    names = series.dtype == pl.String and series.len() > MIN_ROWS_FOR_ID and not is_text(series)
    return "an identifier, different in every row" if names or is_identifier_name(series.name) else None

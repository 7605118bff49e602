"""Column roles and the column names from which they are inferred."""

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import polars as pl

from anml.core.checks import Bools
from anml.core.errors import AnmlError, InputError
from anml.io.plain import as_text
from anml.io.times import YEARS, looks_like_times
from anml.signals.levels import Level, level_name, level_values
from anml.signals.reputation import REPUTATION
from anml.signals.verification import VERIFICATION

# The most telling name first. Compared without case and separators: Worker-ID and workerId are one.
ALIASES: dict[str, tuple[str, ...]] = {
    "label": (
        "label", "labels", "target", "class", "y", "category", "annotation", "label_name", "class_label",
        "output_label", "answer", "outcome", "response", "judgment", "judgement", "choice", "vote",
        "winner", "preferred", "rating", "stars", "grade", "score", "estimate", "estimation",
    ),
    "contributor": (
        "contributor", "contributor_id", "annotator", "annotator_id", "worker", "worker_id", "labeler",
        "labeler_id", "labeller", "labeller_id", "rater", "rater_id", "assignment_worker_id", "completed_by",
        "turker", "turker_id", "performer", "performer_id", "coder", "coder_id", "judge", "judge_id",
        "labeled_by", "labelled_by", "annotated_by", "participant", "participant_id", "respondent",
        "agent", "agent_id", "user_id", "user", "username", "source", "source_id", "site", "vendor",
        "hospital", "client_id", "session_id",
    ),
    "item": (
        "item", "item_id", "task", "task_id", "sample_id", "example_id", "record_id", "document_id", "doc_id",
        "image_id", "hit_id", "unit_id", "question_id", "question", "query_id", "ticket_id", "ticket",
        "text_id", "sentence_id", "tweet_id", "example", "document", "doc", "image", "photo", "id",
    ),
    "verification": ("verification", "verification_level", "verified", "v"),
    "reputation": ("reputation", "reputation_level", "contributor_reputation", "r"),
    "time": (
        "time", "timestamp", "datetime", "date", "created_at", "labeled_at", "labelled_at", "annotated_at",
        "submitted_at", "updated_at", "submit_time", "assignment_started", "created", "created_date",
    ),
    "derived_from": ("derived_from",),
    "test_label": ("is_gold", "is_golden", "is_ground_truth"),
    # Never guessed: a true label that is used is named, or comes with an export.
    "true_label": (),
    "reviewed": (),
    "retracted": (),
    "licence": (),
}  # fmt: skip
ROLES = tuple(ALIASES)
# Names under which the true label travels with the data: as a feature it would give the answer away.
GOLD_ALIASES = (
    "truth", "true_label", "gold_label", "golden_label", "ground_truth", "gold", "golden", "gold_standard",
)  # fmt: skip
# Words in names of columns with labels of a model, or with correct labels, beside those of contributors.
OTHER_LABEL_WORDS = frozenset(
    ("pred", "prediction", "predicted", "model", "suggestion", "suggested", "auto", "machine", "gpt", "llm",
     "ai", "gold", "truth", "true", "correct", "corrected", "consensus", "majority", "final", "adjudicated",
     "expected", "reference", "expert", "previous", "old")
)  # fmt: skip
# Words in names of columns with people who gave no label.
PEOPLE_WORDS = frozenset(("by", "reviewer", "supervisor", "approver", "adjudicator", "checker", "qa"))
# Words in names of columns with labels.
LABEL_WORDS = frozenset(("label", "labels", "annotation", "answer", "human", "manual", "rating", "class"))
# Names of marks on items with a known answer; the given label may still be wrong.
HONEYPOT_ALIASES = (
    "is_honeypot",
    "honeypot",
    "is_test_question",
    "test_question",
    "attention_check",
    "control_item",
)
# Names of the seconds that an annotator spent on a label, which does not show whether it is correct.
TIMES_SPENT = ("lead_time", "time_spent", "seconds_spent", "duration_seconds")
# Named so, a column is the item even where every row has its own.
EXPLICIT_ITEMS = ("item", "item_id")
MAX_NAMES_SHOWN = 12


def normalise_name(name: str) -> str:
    """Return a name without case and separators."""
    return re.sub(r"[\W_]+", "", name.lower())


def format_names(names: Sequence[str]) -> str:
    """The first names of some, for a message."""
    first = ", ".join(names[:MAX_NAMES_SHOWN])
    return first if len(names) <= MAX_NAMES_SHOWN else f"{first} and {len(names) - MAX_NAMES_SHOWN} more"


def require_column(columns: Sequence[str], name: str, role: str = "") -> str:
    """The name of a column that is there; else an error that says which are, and which were meant."""
    if name in columns:
        return name
    normalised = {normalise_name(column): column for column in columns}
    close = difflib.get_close_matches(normalise_name(str(name)), normalised, n=2)
    hint = f" (did you mean {' or '.join(repr(normalised[match]) for match in close)}?)" if close else ""
    use = f" for {role}" if role else ""
    raise InputError(f"there is no column {name!r}{use}{hint}; columns: {format_names(columns)}")


def is_named(name: str, aliases: tuple[str, ...]) -> bool:
    """Say whether a name is one of `aliases`."""
    return normalise_name(name) in {normalise_name(alias) for alias in aliases}


def find_column(
    columns: Sequence[str], given: Mapping[str, Any], role: str, names: Sequence[str]
) -> str | None:
    """The column that plays a role, if any: the one that was named, else the first that is called like it."""
    if (wanted := given.get(role)) is not None:
        return require_column(columns, str(wanted), role)
    # A column that was named for another role is not taken.
    taken = {
        name for key, name in given.items() if key not in ("task", "assignments") and isinstance(name, str)
    }
    free = [name for name in columns if name not in taken]
    return next((name for alias in names for name in free if is_named(name, (alias,))), None)


def words_of(name: str) -> set[str]:
    """Return the words of a name, which separators or capitals part."""
    parted = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return {word for word in re.split(r"[\W_]+", parted.lower()) if word}


def is_identifier_name(name: str) -> bool:
    """Say whether a name is that of an identifier; a saved index has no name at all."""
    identifiers = {"id", "ids", "uuid", "guid", "index", "rownum"}
    return bool(identifiers & words_of(name)) or normalise_name(name) in ("", "unnamed0")


def is_all_distinct(series: pl.Series) -> bool:
    """Say whether no two rows share a value."""
    if series.len() < 2 or series.null_count():
        return False
    # Most columns repeat a value early, and counting a long one takes a while.
    first = series.head(1000)
    return first.n_unique() == first.len() and series.n_unique() == series.len()


def _fits_name(series: pl.Series) -> bool:
    if series.dtype.is_float():
        # Identifiers in a column with gaps, or saved once by a spreadsheet: 11.0 is 11.
        known = series.drop_nulls()
        if not bool((known == known.round()).all()):
            return False
    return is_named(series.name, EXPLICIT_ITEMS) or not is_all_distinct(series)


def _fits_levels(role: str, levels: dict[str, Level]) -> Callable[[pl.Series], bool]:
    def fits(series: pl.Series) -> bool:
        values = series.drop_nulls().unique().to_list()
        try:
            level_values(role, values, levels)
        except AnmlError:
            # Beside the name of a level, another value is a mistake to be told, not another kind of column.
            return any(level_name(value) in levels for value in values)
        return True

    return fits


def _fits_time(series: pl.Series) -> bool:
    if series.dtype.is_numeric():
        # A column called time is often a duration; only calendar years and counts since 1970 are times.
        known = series.drop_nulls()
        return bool(known.is_between(*YEARS).all() or (known >= 1e8).all())
    # Only the first values: a bad one further down is a mistake to be told, not another kind of column.
    return looks_like_times(series)


BOOLEAN_SPELLINGS = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}


def are_flags(values: pl.Series) -> bool:
    """True if all texts are spellings of true or false, and there is at least one."""
    return len(values) > 0 and bool(values.str.to_lowercase().is_in(list(BOOLEAN_SPELLINGS)).all())


def read_flags(series: pl.Series, role: str) -> tuple[Bools, Bools]:
    """Rows marked true, and rows marked false."""
    lower = as_text(series).str.strip_chars().str.to_lowercase()
    if len(other := lower.drop_nulls().filter(~lower.drop_nulls().is_in(list(BOOLEAN_SPELLINGS)))):
        raise InputError(f"column {series.name!r} ({role}) must be true or false, got {other[0]!r}")
    marked = lower.replace_strict(BOOLEAN_SPELLINGS, return_dtype=pl.Boolean)
    return marked.fill_null(False).to_numpy(), (~marked).fill_null(False).to_numpy()


# A guess by name is taken only where the values fit: a feature called v is not a verification of 37.
ROLE_CHECKS: dict[str, Callable[[pl.Series], bool]] = {
    "label": lambda series: True,
    "contributor": _fits_name,
    "item": _fits_name,
    "verification": _fits_levels("verification", VERIFICATION),
    "reputation": _fits_levels("reputation", REPUTATION),
    "time": _fits_time,
    "derived_from": lambda series: True,
    "test_label": lambda series: are_flags(as_text(series.drop_nulls().unique())),
    "true_label": lambda series: True,
    "reviewed": lambda series: True,
    "retracted": lambda series: True,
    "licence": lambda series: True,
}

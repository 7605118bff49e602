"""Labels of items that were made of another shape, once they are judged: in memory, or by an engine."""

from collections.abc import Callable
from typing import NamedTuple

from anml.app.audit.result import Audited
from anml.core.people.belief import Belief
from anml.intake.prepare import Prepared


class JudgedLabels(NamedTuple):
    """What an audit of the labels found, the table as arrays, and what is believed of every row."""

    result: Audited
    prepared: Prepared
    belief: Belief


# By a request; `believe` and `prior` are those of `audit_table`.
Judge = Callable[..., JudgedLabels]

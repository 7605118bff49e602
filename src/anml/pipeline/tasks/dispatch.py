"""Audits of structured tasks, by task type."""

from collections.abc import Callable

from anml.core.errors import UnsupportedError
from anml.core.progress import Progress
from anml.io.source import Source
from anml.io.tables import Table
from anml.io.tasks.types import BOXES, ORDINAL, PREFERENCE, SPANS, TAGS, StructuredTask
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult
from anml.pipeline.tasks.preferences import audit_preferences
from anml.pipeline.tasks.reduced import audit_grades, audit_tags
from anml.pipeline.tasks.spans import audit_spans_or_boxes

AUDITS: dict[str, Callable[[Table, StructuredTask, Request, Progress | None], AuditResult]] = {
    PREFERENCE: audit_preferences,
    SPANS: audit_spans_or_boxes,
    BOXES: audit_spans_or_boxes,
    TAGS: audit_tags,
    ORDINAL: audit_grades,
}
# Inputs that a task does not use.
NOT_OF = {PREFERENCE: ("predictions",), TAGS: ("predictions",)}


def audit_shape(source: Source, request: Request, progress: Progress | None = None) -> AuditResult:
    """Audit the labels of a structured task."""
    assert source.shape is not None
    kind = source.shape.kind
    for name in NOT_OF.get(kind, ()):
        if getattr(request, name) is not None:
            raise UnsupportedError(f"the task {kind} does not use {name}; omit it")
    return AUDITS[kind](source.table, source.shape, request, progress)

"""Audits of judgements that are no classes: by their shape."""

from collections.abc import Callable

from anml.app.audit.request import Request
from anml.app.audit.result import Audited
from anml.app.shapes.places import audit_places
from anml.app.shapes.preferences import audit_preferences
from anml.app.shapes.reduced import audit_grades, audit_tags
from anml.core.errors import UnsupportedError
from anml.core.progress import Progress
from anml.intake.shapes.shape import BOXES, GRADES, PREFERENCE, SPANS, TAGS, Shape
from anml.intake.source import Source
from anml.intake.tables import Table

AUDITS: dict[str, Callable[[Table, Shape, Request, Progress | None], Audited]] = {
    PREFERENCE: audit_preferences,
    SPANS: audit_places,
    BOXES: audit_places,
    TAGS: audit_tags,
    GRADES: audit_grades,
}
# What a request may not ask of a shape.
NOT_OF = {PREFERENCE: ("predictions",), TAGS: ("predictions",)}


def audit_shape(source: Source, request: Request, progress: Progress | None = None) -> Audited:
    """Audit labels that were made of another shape."""
    assert source.shape is not None
    kind = source.shape.kind
    for name in NOT_OF.get(kind, ()):
        if getattr(request, name) is not None:
            raise UnsupportedError(f"{name} is not for judgements of the kind {kind}; leave it out")
    if source.shape.nested and kind != SPANS:
        raise UnsupportedError(f"nested is for spans, not for judgements of the kind {kind}; leave it out")
    return AUDITS[kind](source.table, source.shape, request, progress)

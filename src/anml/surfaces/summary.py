"""What every surface begins with: what to know first, then who, what to do, and what it changes."""

from typing import NamedTuple

from anml.app.audit.result import Audited
from anml.surfaces.accused import Sentence, who
from anml.surfaces.names import shortened
from anml.surfaces.todo import reason_for_doubt, todo
from anml.surfaces.verdict import Change, change_of

WHO, TODO, CHANGES = "Who", "What to do", "What it changes"
LONGEST = 400


class Summary(NamedTuple):
    """Doubt and warnings, then the answers; the same words on the page, in a terminal and in a notebook."""

    doubt: str
    warnings: list[str]
    who: list[Sentence]
    todo: list[str]
    change: Change

    def lines(self) -> list[tuple[str, str]]:
        """Each answer under its question, as plain text."""
        return [
            (WHO, " ".join(str(said) for said in self.who)),
            (TODO, " ".join(self.todo)),
            (CHANGES, str(self.change)),
        ]


def summary(result: Audited) -> Summary:
    """Make the answers from what an audit found."""
    doubt = reason_for_doubt(result)
    return Summary(
        doubt=f"Do not rely on this result: {doubt.rstrip('.')}." if doubt else "",
        warnings=[_sentence(said) for said in result.warnings],
        who=who(result),
        todo=todo(result),
        change=change_of(result),
    )


def _sentence(text: str) -> str:
    text = shortened(text, LONGEST).strip()
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '…')) else '.'}"

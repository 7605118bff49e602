"""What somebody saw of a ledger when they last paid from it: an older copy would have them pay again."""

from pathlib import Path

from anml.app.files import draft_file, read_text
from anml.core.canonical import sha256
from anml.core.errors import IntegrityError
from anml.core.merkle import Tree
from anml.ledger import audit, checkpoint
from anml.ledger.reading import Reading
from anml.ledger.store import Ledger


def _place(ledger: Ledger) -> Path | None:
    """Beside the keys of whoever pays: who puts an old database in place does not reach it."""
    folders = ledger.signers.folders
    return folders[0] / f"seen-{sha256(ledger.ring.public)[:16]}.txt" if folders else None


def check(ledger: Ledger, reading: Reading, kept: Path | None = None) -> None:
    """An error unless the log goes on from what was seen before, and from a checkpoint that was kept."""
    own = _place(ledger)
    for path in filter(None, (own if own is not None and own.is_file() else None, kept)):
        older = checkpoint.read(read_text(path, "checkpoint"), ledger.ring.public)
        problems = list(audit.checkpoint_problems(older, reading.hashes, reading.state.staff.origin))
        if problems:
            raise IntegrityError(
                f"{problems[0]} ({path}); what was paid since would be paid again: say what the bank paid "
                "with --bank-list, or bring back the whole ledger"
            )


def drafted(ledger: Ledger, reading: Reading) -> dict[Path, Path]:
    """The log as it is now, to be remembered: written beside its place, before anything counts."""
    if (path := _place(ledger)) is None:
        return {}
    tree = Tree(reading.hashes)
    return {path: draft_file(path, checkpoint.sign(ledger.ring, len(tree), tree.root), private=True)}

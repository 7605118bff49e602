"""Check a statement with nothing but the ledger's public key, by the program that outsiders get with it."""

import importlib.util
import json
from functools import cache
from importlib.resources import files
from types import ModuleType
from typing import Any

from anml.core.errors import InputError, IntegrityError
from anml.ledger import dsse

# It runs alone, so it is no module of the package: it is handed out as a file, and read here as one.
VERIFIER = files("anml") / "surfaces" / "templates" / "verify_statement.py"


@cache
def verifier() -> ModuleType:
    """The program that checks statements."""
    spec = importlib.util.spec_from_file_location("anml_verify_statement", str(VERIFIER))
    if spec is None or spec.loader is None:
        raise InputError(f"{VERIFIER} is not there: anml is not installed as a whole")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def verify(envelope: bytes, public: bytes) -> dict[str, Any]:
    """Read a statement whose signatures, checkpoint, entries, staff and sums all hold."""
    program = verifier()
    payload, _ = dsse.unwrap(envelope, [public], program.STATEMENT)
    try:
        found: dict[str, Any] = json.loads(payload)
        if found.get("format") != program.FORMAT:
            raise InputError(f"this is not a statement of format {program.FORMAT}; ask for a new one")
        program.check_statement(found, envelope, public)
    except InputError:
        raise
    except program.No as no:
        raise IntegrityError(f"the statement does not hold: {no}") from None
    except program.UNREADABLE as error:
        raise InputError(f"the statement is not whole ({error})") from None
    return found

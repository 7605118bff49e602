"""Names of people who act and of those who vouch, spelt one way; and names that look alike.

Two spellings of one name must not be two people, so there is one spelling: NFKC, lower case, single
hyphens for blanks, and only letters that nobody takes for others.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from functools import cache

from confusable_homoglyphs.confusables import confusables_data

from anml.core.errors import InputError

# Letters and signs that are drawn as nothing: fillers of Hangul, and the empty cell of Braille.
_EMPTY = frozenset("\u115f\u1160\u3164\uffa0\u2800")
# Categories of letters without a picture: formats, controls and marks.
_UNSEEN = ("Cf", "Cc", "Mn")


def staff_id(text: str) -> str:
    """One spelling of a staff identifier, or a sentence that says which letter is not allowed."""
    if "@" in text:
        raise InputError(f"name yourself by a staff identifier, not an address, got {text!r}")
    for letter in text:
        if unicodedata.category(letter) in ("Cf", "Cc", "Cs", "Co", "Cn") and not letter.isspace():
            raise InputError(f"the staff identifier {text!r} holds an invisible letter (U+{ord(letter):04X})")
    name = "-".join(unicodedata.normalize("NFKC", text).casefold().split())
    for letter in name:
        if not re.fullmatch(r"[a-z0-9._-]", letter):
            known = unicodedata.name(letter, f"U+{ord(letter):04X}")
            raise InputError(
                f"a staff identifier has Latin letters, digits, dots, hyphens; {text!r} holds {known}"
            )
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]{0,62}", name):
        raise InputError(f"name yourself by a staff identifier of 1 to 63 letters or digits, got {text!r}")
    return name


def is_contributor(text: str) -> bool:
    """True if a text has the form of a contributor identifier."""
    return re.fullmatch(r"c[0-9a-f]{32}", text) is not None


def key_owner_id(text: str) -> str:
    """Validate the owner of an attestation key: a web address, a name, or a contributor."""
    name = unicodedata.normalize("NFKC", text).strip()
    if "@" in name or not re.fullmatch(r"[!-~]{1,200}", name):
        raise InputError(
            f"the owner of a key is an address on the web or a name in plain letters, without blanks and "
            f"not an e-mail address, got {text!r}"
        )
    return name


def source_id(text: str, what: str = "a source is the name of a place") -> str:
    """The name of a place that accounts belong to; it stays in the log, so it is nobody's address."""
    name = unicodedata.normalize("NFKC", text).strip()
    if "@" in name or not name or len(name) > 100 or not name.isprintable() or _EMPTY & set(name):
        raise InputError(f"{what}, not an address of a person, got {text!r}")
    return name


def domain_id(text: str) -> str:
    """The name of a domain of work, which stays in the log as well."""
    return source_id(text, "a domain is the name of a field of work")


@cache
def _prototype(letter: str) -> str:
    """The letter or letters that Unicode lists as drawn similar (confusables.txt)."""
    similar = [str(entry["c"]) for entry in confusables_data.get(letter, ())]
    # A prototype lists all its look-similars, and each of these lists the prototype alone.
    if len(similar) != 1:
        return letter
    mutual = [str(entry["c"]) for entry in confusables_data.get(similar[0], ())] == [letter]
    return min(letter, similar[0]) if mutual else similar[0]


def confusable_skeletons(name: str) -> frozenset[str]:
    """The visible letters of a name with look-similars unified, before and after capitals are folded."""
    visible = (c for c in unicodedata.normalize("NFKC", name) if unicodedata.category(c) not in _UNSEEN)
    plain = "".join(c for c in visible if not c.isspace() and c not in _EMPTY)
    drawn, folded = ("".join(map(_prototype, text)) for text in (plain, plain.casefold()))
    return frozenset({drawn.casefold(), folded.casefold()})


def confusable_names(names: Iterable[str]) -> list[list[str]]:
    """Groups of different names that look the same."""
    groups: dict[str, set[str]] = defaultdict(set)
    for name in names:
        for skeleton in confusable_skeletons(name):
            groups[skeleton].add(name)
    return sorted(map(sorted, {frozenset(group) for group in groups.values() if len(group) > 1}))

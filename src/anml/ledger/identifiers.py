"""Names of people who act and of those who vouch, spelt one way; and names that look alike.

Two spellings of one name must not be two people, so there is one spelling: NFKC, lower case, single
hyphens for blanks, and only letters that nobody takes for others.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from anml.core.errors import InputError

# Letters of other scripts that are drawn like Latin ones.
_DRAWN_ALIKE = str.maketrans("аеорсухіјѕԁԛԝһӏкмтвнαοριυνκτχγ", "aeopcyxijsdqwhlkmtbhaopiuvktxy")

# Letters and signs that are drawn as nothing: fillers of Hangul, and the empty cell of Braille.
_EMPTY = frozenset("\u115f\u1160\u3164\uffa0\u2800")


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


def confusable_skeleton(name: str) -> str:
    """Return the skeleton of a name: visible characters, with look-alike letters unified."""
    plain = unicodedata.normalize("NFKC", name).casefold()
    seen = (c for c in plain if unicodedata.category(c) not in ("Cf", "Cc", "Mn") and not c.isspace())
    return "".join(c for c in seen if c not in _EMPTY).translate(_DRAWN_ALIKE)


def confusable_names(names: Iterable[str]) -> list[list[str]]:
    """Groups of different names that look the same."""
    groups: dict[str, set[str]] = defaultdict(set)
    for name in names:
        groups[confusable_skeleton(name)].add(name)
    return [sorted(group) for _, group in sorted(groups.items()) if len(group) > 1]

"""Bank account numbers and names, checked before money is sent to them."""

import re
import unicodedata

from anml.core.errors import InputError


def check_iban(text: str) -> str:
    """Return an IBAN without spaces, or say that it cannot be one (ISO 13616, modulo 97)."""
    iban = "".join(text.split()).upper()
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", iban):
        raise InputError("an IBAN is two letters, two digits and 11 to 30 letters or digits")
    digits = "".join(str(int(char, 36)) for char in iban[4:] + iban[:4])
    if int(digits) % 97 != 1:
        raise InputError("the check digits of this IBAN are wrong")
    return iban


def check_bic(text: str) -> str:
    """Return a BIC, or say that it cannot be one."""
    bic = text.strip().upper()
    if not re.fullmatch(r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?", bic):
        raise InputError("a BIC is 8 or 11 letters or digits, the first 6 of them letters")
    return bic


# Letters that have no accent to drop.
_LETTERS = str.maketrans(
    {
        "ß": "ss", "Æ": "AE", "æ": "ae", "Œ": "OE", "œ": "oe", "Ø": "O", "ø": "o", "Ł": "L", "ł": "l",
        "Đ": "D", "đ": "d", "Ð": "D", "ð": "d", "Þ": "Th", "þ": "th", "ı": "i", "ħ": "h", "Ħ": "H",
    }
)  # fmt: skip


def bank_name(text: str) -> str:
    """A name in the letters that banks pass on (EPC's Latin set), at most 70; "" where none are left."""
    plain = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    plain = re.sub(r"[^A-Za-z0-9/?:().,'+ -]", " ", plain)
    # A field may not begin or end with a slash, by the same rules.
    return " ".join(plain.split()).strip("/ ")[:70].strip("/ ") if re.search(r"[A-Za-z]", plain) else ""

"""Bank account numbers, checked before money is sent to them."""

import re

from anml.core.errors import InputError


def check_iban(text: str) -> str:
    """Return an IBAN without spaces, or say that it cannot be one (ISO 13616, modulo 97).

    Examples
    --------
    >>> check_iban("DE89 3704 0044 0532 0130 00")
    'DE89370400440532013000'
    """
    iban = "".join(text.split()).upper()
    if not re.fullmatch(r"[A-Z]{2}[0-9]{2}[A-Z0-9]{11,30}", iban):
        raise InputError("an IBAN is two letters, two digits and 11 to 30 letters or digits")
    digits = "".join(str(int(char, 36)) for char in iban[4:] + iban[:4])
    if int(digits) % 97 != 1:
        raise InputError("the check digits of this IBAN are wrong")
    return iban


def check_bic(text: str) -> str:
    """Return a BIC, or say that it cannot be one.

    Examples
    --------
    >>> check_bic("cobadeff")
    'COBADEFF'
    """
    bic = text.strip().upper()
    if not re.fullmatch(r"[A-Z]{6}[A-Z0-9]{2}([A-Z0-9]{3})?", bic):
        raise InputError("a BIC is 8 or 11 letters or digits, the first 6 of them letters")
    return bic

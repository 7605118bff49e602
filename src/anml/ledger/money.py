"""Money as integers: micro-units (six decimals) of a currency, never floating point.

Data is often worth less than a cent, so accounts run at six decimals and only a payout is rounded
down to what a bank can move; the rest stays payable. Bank account numbers and names are checked before
money is sent to them.
"""

import re
import unicodedata
from decimal import Decimal
from typing import Any

from iso4217 import Currency
from stdnum import bic, iban
from stdnum.exceptions import ValidationError

from anml.core.errors import InputError

SCALE = 6
MICRO = 10**SCALE
# The largest amount that fits a signed 64-bit integer on either database.
MAX_MICRO = 2**63 - 1

# Decimals of each currency of ISO 4217 that banks move; metals, test codes and units of account have none.
MINOR_DIGITS: dict[str, int] = {
    entry.code: entry.exponent for entry in Currency if entry.exponent is not None and entry.exponent <= SCALE
}


def check_currency(code: str) -> str:
    """Return a currency code of ISO 4217, or say what is wrong."""
    if code not in MINOR_DIGITS:
        raise InputError(f"a currency is a code of ISO 4217 such as EUR, in capital letters, got {code!r}")
    return code


def minor_unit(currency: str) -> int:
    """Micro-units in the smallest amount a bank can move."""
    return int(10 ** (SCALE - MINOR_DIGITS[check_currency(currency)]))


def parse_amount(text: str | int) -> int:
    """Read an amount in whole currency units into micro-units, exactly."""
    if isinstance(text, bool | float) or not re.fullmatch(r"[0-9]+(\.[0-9]+)?", str(text).strip()):
        raise InputError(f"an amount is digits with an optional point, such as 10000.50, got {text!r}")
    scaled = Decimal(str(text).strip()) * MICRO
    if scaled != int(scaled):
        raise InputError(f"an amount has at most {SCALE} decimals, got {text!r}")
    if scaled > MAX_MICRO:
        raise InputError(f"an amount is at most {MAX_MICRO // MICRO}, got {text!r}")
    return int(scaled)


def format_amount(micro: int, digits: int = SCALE) -> str:
    """Micro-units as decimal text with `digits` decimals; refuses to drop anything but zeros."""
    step = 10 ** (SCALE - digits)
    if micro % step:
        raise InputError(f"{micro} micro-units do not fit {digits} decimals")
    whole, part = divmod(abs(micro) // step, 10**digits)
    sign = "-" if micro < 0 else ""
    return f"{sign}{whole}.{part:0{digits}d}" if digits else f"{sign}{whole}"


def format_minor_units(micro: int, currency: str) -> str:
    """An amount as a bank writes it."""
    return format_amount(micro, MINOR_DIGITS[check_currency(currency)])


def format_money(micro: int, currency: str) -> str:
    """An amount for people: the currency's own decimals, without the fraction that no bank can move."""
    unit = minor_unit(currency)
    return format_minor_units(micro // unit * unit if micro >= 0 else -(-micro // unit * unit), currency)


def round_down_to_minor_unit(micro: int, currency: str) -> int:
    """The part of an amount that a bank can move."""
    return max(micro, 0) // minor_unit(currency) * minor_unit(currency)


def check_iban(text: str) -> str:
    """Return an IBAN without spaces, or say that it cannot be one (ISO 13616)."""
    form = "a country, check digits that fit, and an account number of the length of that country"
    return _checked(iban, text, f"an IBAN is {form}")


def check_bic(text: str) -> str:
    """Return a BIC, or say that it cannot be one."""
    return _checked(bic, text, "a BIC is 8 or 11 letters or digits, the first 6 of them letters")


def _checked(standard: Any, text: str, form: str) -> str:
    try:
        return str(standard.validate(text))
    except ValidationError:
        raise InputError(form) from None


# Letters that have no accent to drop.
_LETTERS = str.maketrans(
    {
        "ß": "ss", "Æ": "AE", "æ": "ae", "Œ": "OE", "œ": "oe", "Ø": "O", "ø": "o", "Ł": "L", "ł": "l",
        "Đ": "D", "đ": "d", "Ð": "D", "ð": "d", "Þ": "Th", "þ": "th", "ı": "i", "ħ": "h", "Ħ": "H",
    }
)  # fmt: skip


def bank_charset_name(text: str) -> str:
    """A name in the letters that banks pass on (EPC's Latin set), at most 70; "" where none are left."""
    plain = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    plain = re.sub(r"[^A-Za-z0-9/?:().,'+ -]", " ", plain)
    # A field may not begin or end with a slash, by the same rules.
    return " ".join(plain.split()).strip("/ ")[:70].strip("/ ") if re.search(r"[A-Za-z]", plain) else ""

"""Money as integers: micro-units (six decimals) of a currency, never floating point.

Data is often worth less than a cent, so accounts run at six decimals and only a payout is rounded
down to what a bank can move; the rest stays payable. Bank account numbers and names are checked before
money is sent to them.
"""

import re
import unicodedata
from decimal import Decimal

from anml.core.errors import InputError

SCALE = 6
MICRO = 10**SCALE
# The largest amount that fits a signed 64-bit integer on either database.
MAX_MICRO = 2**63 - 1

# ISO 4217 currencies whose smallest unit is not a hundredth.
MINOR_DIGITS = {
    **dict.fromkeys(("BIF", "CLP", "DJF", "GNF", "ISK", "JPY", "KMF", "KRW", "PYG", "RWF"), 0),
    **dict.fromkeys(("UGX", "UYI", "VND", "VUV", "XAF", "XOF", "XPF"), 0),
    **dict.fromkeys(("BHD", "IQD", "JOD", "KWD", "LYD", "OMR", "TND"), 3),
}


def check_currency(code: str) -> str:
    """Return a three-letter currency code, or say what is wrong."""
    if not re.fullmatch(r"[A-Z]{3}", code):
        raise InputError(f"a currency is three capital letters such as EUR, got {code!r}")
    return code


def minor_unit(currency: str) -> int:
    """Micro-units in the smallest amount a bank can move."""
    return int(10 ** (SCALE - MINOR_DIGITS.get(check_currency(currency), 2)))


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
    return format_amount(micro, MINOR_DIGITS.get(check_currency(currency), 2))


def format_money(micro: int, currency: str) -> str:
    """An amount for people: the currency's own decimals, without the fraction that no bank can move."""
    unit = minor_unit(currency)
    return format_minor_units(micro // unit * unit if micro >= 0 else -(-micro // unit * unit), currency)


def round_down_to_minor_unit(micro: int, currency: str) -> int:
    """The part of an amount that a bank can move."""
    return max(micro, 0) // minor_unit(currency) * minor_unit(currency)


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


def bank_charset_name(text: str) -> str:
    """A name in the letters that banks pass on (EPC's Latin set), at most 70; "" where none are left."""
    plain = unicodedata.normalize("NFKD", text.translate(_LETTERS))
    plain = "".join(char for char in plain if not unicodedata.combining(char))
    plain = re.sub(r"[^A-Za-z0-9/?:().,'+ -]", " ", plain)
    # A field may not begin or end with a slash, by the same rules.
    return " ".join(plain.split()).strip("/ ")[:70].strip("/ ") if re.search(r"[A-Za-z]", plain) else ""

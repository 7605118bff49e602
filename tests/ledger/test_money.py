"""Money as integers: amounts by hand, then what must hold of any amount."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.ledger.money import (
    MAX_MICRO,
    MICRO,
    MINOR_DIGITS,
    SCALE,
    check_currency,
    format_amount,
    format_minor_units,
    format_money,
    minor_unit,
    parse_amount,
    round_down_to_minor_unit,
)
from anml.settlement.allocate import UNIT, to_integer_parts


def test_money_by_hand():
    assert parse_amount("0.000001") == 1
    assert format_amount(parse_amount("12.5")) == "12.500000"
    assert (minor_unit("EUR"), minor_unit("JPY"), minor_unit("KWD")) == (10**4, 10**6, 10**3)
    assert round_down_to_minor_unit(1_239_999, "EUR") == 1_230_000
    assert to_integer_parts("share", "0.2") == UNIT // 5
    for bad in ("1e3", "-1", "1.0000001", "", "ten", "99999999999999999999"):
        with pytest.raises(InputError):
            parse_amount(bad)


@given(st.integers(0, 2**62))
def test_amounts_read_back(micro):
    assert parse_amount(format_amount(micro)) == micro


CURRENCIES = [*MINOR_DIGITS, "EUR", "USD"]
micros = st.integers(-(10**15), 10**15)


@pytest.mark.parametrize("currency", CURRENCIES)
class TestEveryCurrency:
    @given(micro=micros)
    def test_what_a_bank_moves_is_whole_minor_units_and_never_more(self, currency, micro):
        moved = round_down_to_minor_unit(micro, currency)
        assert moved % minor_unit(currency) == 0
        assert 0 <= moved <= max(micro, 0)
        assert max(micro, 0) - moved < minor_unit(currency)

    @given(micro=micros)
    def test_a_bank_writes_exactly_what_it_moves(self, currency, micro):
        moved = round_down_to_minor_unit(micro, currency)
        text = format_minor_units(moved, currency)
        assert parse_amount(text) == moved
        digits = len(text.partition(".")[2])
        assert digits == MINOR_DIGITS.get(currency, 2)

    @given(micro=micros)
    def test_people_are_shown_an_amount_cut_towards_zero(self, currency, micro):
        shown = format_money(micro, currency)
        assert shown.lstrip("-") == format_minor_units(
            round_down_to_minor_unit(abs(micro), currency), currency
        )
        assert shown.startswith("-") == (micro <= -minor_unit(currency))

    def test_the_smallest_unit_has_the_digits_of_the_table(self, currency):
        assert minor_unit(currency) * 10 ** MINOR_DIGITS.get(currency, 2) == MICRO


def test_what_does_not_fit_a_banks_decimals_is_refused():
    with pytest.raises(InputError, match="12345678 micro-units do not fit 2 decimals"):
        format_minor_units(12_345_678, "EUR")


@pytest.mark.parametrize("code", ["", "EU", "EURO", "eur", "E1R", "ÄÖÜ", "EUU", "XAU", "XXX"])
def test_a_currency_is_a_code_of_iso_4217(code):
    with pytest.raises(InputError, match="a code of ISO 4217"):
        check_currency(code)


@pytest.mark.parametrize("text", ["1,5", "1.", ".5", "+1", "1 000", "0x10", "１", 1.5, True, None])
def test_amounts_are_digits_with_a_point(text):
    with pytest.raises(InputError, match=r"an amount is digits with an optional point, such as 10000\.50"):
        parse_amount(text)


def test_the_largest_amount_fits_a_database():
    assert parse_amount(format_amount(MAX_MICRO)) == MAX_MICRO
    with pytest.raises(InputError, match=f"an amount is at most {MAX_MICRO // MICRO}"):
        parse_amount(format_amount(MAX_MICRO + 1))


@given(micros, st.integers(0, SCALE))
def test_nothing_but_zeros_is_dropped(micro, digits):
    step = 10 ** (SCALE - digits)
    rounded = micro // step * step
    sign, text = (-1 if rounded < 0 else 1), format_amount(rounded, digits)
    assert sign * parse_amount(text.lstrip("-")) == rounded

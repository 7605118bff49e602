"""Accounts and names of payees: examples of the standards, one slip at a time, letters that banks take."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.ledger.money import bank_charset_name, check_bic, check_currency, check_iban

# Examples of the SWIFT registry of IBANs.
IBANS = ["DE89370400440532013000", "GB29NWBK60161331926819", "FR1420041010050500013M02606", "NO9386011117947"]


class TestIban:
    @pytest.mark.parametrize("iban", IBANS)
    def test_examples_of_the_registry_pass(self, iban):
        assert check_iban(iban) == iban
        assert check_iban(" ".join(re.findall(".{1,4}", iban.lower()))) == iban

    @pytest.mark.parametrize("iban", IBANS)
    def test_every_single_wrong_digit_is_noticed(self, iban):
        for place in range(2, len(iban)):
            if iban[place].isdigit():
                for digit in "0123456789".replace(iban[place], ""):
                    with pytest.raises(InputError):
                        check_iban(iban[:place] + digit + iban[place + 1 :])

    @pytest.mark.parametrize("iban", IBANS)
    def test_two_neighbours_swapped_are_noticed(self, iban):
        for place in range(4, len(iban) - 1):
            if iban[place] != iban[place + 1]:
                swapped = iban[:place] + iban[place + 1] + iban[place] + iban[place + 2 :]
                with pytest.raises(InputError, match="check digits"):
                    check_iban(swapped)

    @given(st.sampled_from(["DE"]), st.from_regex(r"\A[0-9]{11,30}\Z"))
    def test_for_every_account_of_the_right_length_some_check_digits_are_right(self, country, account):
        """98 minus the remainder with 00, as the standard makes them; a German account has 18 digits."""
        digits = "".join(str(int(char, 36)) for char in account + country + "00")
        check = 98 - int(digits) % 97
        whole = f"{country}{check:02d}{account}"
        if len(account) == 18:
            assert check_iban(whole) == whole
        else:
            with pytest.raises(InputError):
                check_iban(whole)

    @pytest.mark.parametrize(
        "text", ["", "DE89", "1289370400440532013000", "DE89-3704-0044", "DE" + "1" * 40]
    )
    def test_other_text_is_said_to_be_none(self, text):
        with pytest.raises(InputError, match="an IBAN is a country, check digits that fit"):
            check_iban(text)

    def test_what_is_wrong_is_said_without_the_number(self):
        """A message ends up in logs, and the number of an account is nobody's business."""
        with pytest.raises(InputError) as raised:
            check_iban("DE89370400440532013001")
        assert "0532013001" not in str(raised.value)


class TestBic:
    @pytest.mark.parametrize("bic", ["COBADEFF", "COBADEFFXXX", "NWBKGB2L"])
    def test_both_lengths_pass(self, bic):
        assert check_bic(f" {bic.lower()} ") == bic

    @pytest.mark.parametrize("text", ["", "COBADEF", "COBADEFFXX", "COBA1EFF", "COBADEFFXXXX", "COBA-EFF"])
    def test_others_are_refused(self, text):
        with pytest.raises(InputError, match="8 or 11 letters or digits"):
            check_bic(text)


class TestName:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("Ana María", "Ana Maria"),
            ("Strauß", "Strauss"),
            ("Ærø Þór Œuvre", "AEro Thor OEuvre"),
            ("O'Neil (Lab) +1", "O'Neil (Lab) +1"),
            ("A & B", "A B"),
            ("/Ann/", "Ann"),
            ("  Ann \n Bob ", "Ann Bob"),
            ("<script>", "script"),
            ("12345", ""),
            ("", ""),
        ],
    )
    def test_by_hand(self, text, expected):
        assert bank_charset_name(text) == expected

    @given(st.text())
    def test_only_letters_that_banks_pass_on(self, text):
        name = bank_charset_name(text)
        assert re.fullmatch(r"[A-Za-z0-9/?:().,'+ -]{0,70}", name)
        assert not name.startswith(("/", " "))
        assert not name.endswith(("/", " "))

    @given(st.text())
    def test_a_banks_spelling_is_its_own(self, text):
        assert bank_charset_name(bank_charset_name(text)) == bank_charset_name(text)

    def test_a_long_name_is_cut_at_seventy(self):
        assert bank_charset_name("a" * 69 + " bcd") == "a" * 69
        assert len(bank_charset_name("a" * 100)) == 70


@pytest.mark.parametrize("code", ["ZZZ", "EUX", "XTS"])
def test_a_currency_that_no_country_has_is_refused(code):
    with pytest.raises(InputError, match="a code of ISO 4217"):
        check_currency(code)

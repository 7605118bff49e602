"""The bank file against the official schema of ISO 20022, which the package sepaxml ships."""

from importlib.resources import as_file, files

import pytest
import xmlschema
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.ledger.money import MINOR_DIGITS, bank_charset_name, minor_unit
from anml.ledger.pay.exports import PAIN, pain001
from anml.ledger.state_money import Payment, PayoutBatch

IBANS = ("DE89370400440532013000", "GB29NWBK60161331926819", "FR1420041010050500013M02606")
PAYER = {"name": "Payer & Söhne", "iban": "DE89 3704 0044 0532 0130 00", "bic": "cobadeff"}
AT = "2026-11-15T12:00:00.000000Z"


@pytest.fixture(scope="module")
def schema() -> xmlschema.XMLSchema:
    with as_file(files("sepaxml") / "schemas" / f"{PAIN.rpartition(':')[2]}.xsd") as path:
        return xmlschema.XMLSchema(path)


def batch(amounts: list[int], currency: str = "EUR", name: str = "p1") -> PayoutBatch:
    payments = (Payment(f"c{n:032x}", amount, "sent", n) for n, amount in enumerate(amounts, 1))
    return PayoutBatch(name, currency, "cat", AT, tuple(payments))


def payees(made: PayoutBatch, name: str = "Ann", bic: str | None = None) -> dict:
    known = {"name": name, **({"bic": bic} if bic else {})}
    return {payment.pid: known | {"iban": IBANS[n % 3]} for n, payment in enumerate(made.payments)}


def test_the_schema_is_the_one_of_our_version(schema):
    assert schema.target_namespace == PAIN


@pytest.mark.parametrize("bic", [None, "NWBKGB2L"], ids=["no bic", "bic"])
def test_a_plain_file_is_valid(schema, bic):
    made = batch([66_660_000, 33_330_000])
    text = pain001(made, payees(made, bic=bic), PAYER)
    assert list(schema.iter_errors(text)) == []
    assert [text.count(f">{amount}</InstdAmt>") for amount in ("66.66", "33.33")] == [1, 1]
    # That of the group and that of its one payment.
    assert text.count("<CtrlSum>99.99</CtrlSum>") == 2
    assert text.count("<BICFI>NWBKGB2L</BICFI>") == (2 if bic else 0)


def test_the_schema_does_refuse(schema):
    """A check that never fails checks nothing."""
    made = batch([66_660_000])
    text = pain001(made, payees(made), PAYER)
    for right, wrong in (
        ("<IBAN>GB", "<IBAN>gb"),
        ("TRF", "CASH"),
        ("<CtrlSum>66.66</CtrlSum>\n    </GrpHdr>", "</GrpHdr>"),
        ("<Nm>Ann</Nm>", "<Nm></Nm>"),
        ('Ccy="EUR"', 'Ccy="eur"'),
    ):
        changed = text.replace(right, wrong).replace("<IBAN>DE89370400440532013000", "<IBAN>de")
        assert not schema.is_valid(changed)


@settings(deadline=None, max_examples=60)
@given(
    amounts=st.lists(st.integers(1, 10**9), min_size=1, max_size=5),
    name=st.text(min_size=1, max_size=200),
    payer=st.text(min_size=1, max_size=100),
    label=st.from_regex(r"[A-Za-z0-9-]{1,20}", fullmatch=True),
)
def test_whatever_people_are_called_the_file_is_valid(schema, amounts, name, payer, label):
    made = batch([amount * minor_unit("EUR") for amount in amounts], "EUR", label)
    if not bank_charset_name(payer):
        with pytest.raises(InputError, match="needs the name of the account that pays"):
            pain001(made, payees(made), PAYER | {"name": payer})
        payer = "Payer"
    name = name if bank_charset_name(name) else "Ann"
    text = pain001(made, payees(made, name), PAYER | {"name": payer})
    assert list(schema.iter_errors(text)) == []


@pytest.mark.parametrize("currency", sorted(set(MINOR_DIGITS) - {"EUR"})[::20])
def test_other_currencies_are_refused_by_pain001(currency):
    made = batch([minor_unit(currency)], currency)
    with pytest.raises(InputError, match=f"is in EUR only, got {currency}"):
        pain001(made, payees(made), PAYER)


def test_a_file_has_service_level_charge_bearer_and_batch_booking():
    made = batch([66_660_000])
    text = pain001(made, payees(made), PAYER)
    for element in (
        "<Cd>SEPA</Cd>",
        "<ChrgBr>SLEV</ChrgBr>",
        "<BtchBookg>true</BtchBookg>",
        "<Dt>2026-11-15</Dt>",
    ):
        assert text.count(element) == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"iban": ""}, "needs the iban of the account that pays"),
        ({"iban": "DE00370400440532013000"}, "an IBAN is a country, check digits that fit"),
        ({"bic": "COBA"}, "a BIC is 8 or 11"),
        ({"name": "张伟"}, "needs the name of the account that pays"),
    ],
    ids=["no iban", "wrong iban", "wrong bic", "no letters"],
)
def test_a_payer_that_no_bank_would_take_is_refused(change, message):
    made = batch([10_000])
    with pytest.raises(InputError, match=message):
        pain001(made, payees(made), PAYER | change)

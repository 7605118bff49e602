"""Allocation: numbers by hand, then laws."""

from dataclasses import asdict
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core.errors import InputError
from anml.settlement.allocate import (
    ROW_WEIGHTS,
    UNIT,
    PayoutRules,
    contributor_weights,
    largest_remainder_allocation,
    payout_fractions,
    row_weights,
    to_integer_parts,
)
from ledger.recompute_statement import amounts_of


def claim(units: int, counted: int, newcomer: bool = False, multiplier: int = UNIT) -> dict[str, int]:
    return {"units": units, "counted": counted, "newcomer": newcomer, "multiplier": multiplier}


units = st.integers(0, 10**15)
claims = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=4),
    st.builds(claim, units, st.integers(1, 1000), st.booleans(), st.integers(0, 3 * UNIT)),
    min_size=1,
    max_size=12,
)


def test_largest_remainder_by_hand():
    # 10 units over 1:1:1 is 3.33 each; the spare unit goes to the first name.
    thirds = dict.fromkeys("cba", Fraction(1, 3))
    assert largest_remainder_allocation(10, thirds) == {"c": 3, "b": 3, "a": 4}
    # 7 over 5:3:2 is 3.5, 2.1, 1.4: the spare unit goes to the largest remainder.
    assert largest_remainder_allocation(
        7, {"x": Fraction(5, 10), "y": Fraction(3, 10), "z": Fraction(2, 10)}
    ) == {
        "x": 4,
        "y": 2,
        "z": 1,
    }


def test_the_research_toy_pool_pays_the_bad_contributor_almost_nothing():
    q, s = [0.95, 0.90, 0.90, 0.30], [0.81, 0.64, 0.10, 0.015]
    rows = row_weights("product", {"kept": [1] * 4, "q": q, "v": s, "r": [1] * 4, "t": [1] * 4})
    result = payout_fractions(
        {name: claim(int(u), 1) for name, u in zip("abcd", rows, strict=True)}, PayoutRules()
    )
    # 0.0045 of 0.7695 + 0.576 + 0.09 + 0.0045 = 1.44
    assert float(result["d"]) == pytest.approx(0.0045 / 1.44)


def test_maximum_and_minimum_share_by_hand():
    three = {"a": claim(80, 1), "b": claim(15, 1), "c": claim(5, 1)}
    # a is held at 1/2; b and c share the other half 3:1.
    assert payout_fractions(three, PayoutRules(max_share=UNIT // 2)) == {
        "a": Fraction(1, 2),
        "b": Fraction(3, 8),
        "c": Fraction(1, 8),
    }
    # c is lifted to 1/10; a and b share 9/10 as 80:15.
    assert payout_fractions(three, PayoutRules(min_share=UNIT // 10))["a"] == Fraction(9, 10) * Fraction(
        80, 95
    )
    with pytest.raises(InputError, match="exceeds the pool"):
        payout_fractions(three, PayoutRules(min_share=UNIT // 2))


def test_a_maximum_that_nobody_can_fill_leaves_the_rest_in_the_pool():
    assert payout_fractions({"a": claim(1, 1), "b": claim(2, 1)}, PayoutRules(max_share=UNIT // 4)) == {
        "a": Fraction(1, 4),
        "b": Fraction(1, 4),
    }


def test_newcomers_together_get_at_most_their_cap():
    mixed = {"new1": claim(300, 1, True), "new2": claim(100, 1, True), "old": claim(400, 1)}
    assert payout_fractions(mixed, PayoutRules(newcomer_cap=UNIT // 5)) == {
        "new1": Fraction(3, 20),
        "new2": Fraction(1, 20),
        "old": Fraction(4, 5),
    }
    everybody_new = {"a": claim(3, 1, True), "b": claim(1, 1, True)}
    assert payout_fractions(everybody_new, PayoutRules())["a"] == Fraction(3, 4)


def test_a_maximum_for_others_gives_newcomers_no_more_than_their_cap():
    # One old account at its maximum of 1/4; the newcomers' 1/5 is theirs, and the rest stays in the pool.
    mixed = {"new1": claim(30, 1, True), "new2": claim(10, 1, True), "old": claim(960, 1)}
    assert payout_fractions(mixed, PayoutRules(max_share=UNIT // 4)) == {
        "new1": Fraction(3, 20),
        "new2": Fraction(1, 20),
        "old": Fraction(1, 4),
    }
    # Another old account has room for what the first may not have.
    more = mixed | {"small": claim(5, 1)}
    assert payout_fractions(more, PayoutRules(max_share=UNIT // 4))["small"] == Fraction(1, 4)


def test_square_root_volume_by_hand():
    # 100 rows of weight 1 count as 10, 4 rows as 2.
    result = payout_fractions(
        {"a": claim(100 * UNIT, 100), "b": claim(4 * UNIT, 4)}, PayoutRules(volume="0.5")
    )
    assert float(result["a"]) == pytest.approx(10 / 12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"volume": "0"}, "volume must lie in"),
        ({"volume": "nan"}, "finite"),
        ({"volume": "many"}, "decimal number"),
        ({"weight": "softmax"}, "unknown settlement weight"),
        ({"max_share": 2 * UNIT}, "max_share must lie"),
        ({"min_share": UNIT, "max_share": 1}, "above max_share"),
    ],
)
def test_rules_say_what_is_wrong(settings, message):
    with pytest.raises(InputError if "weight" not in settings else ValueError, match=message):
        PayoutRules(**settings)


@given(st.integers(0, 10**15), claims)
def test_everything_is_given_out_and_nobody_without_weight_gets_any(pool, result):
    rules = PayoutRules()
    weights = contributor_weights(result, rules)
    given_out = largest_remainder_allocation(pool, payout_fractions(result, rules))
    assert sum(given_out.values()) == (pool if any(weights.values()) else 0)
    assert all(amount == 0 for name, amount in given_out.items() if not weights[name])
    assert all(amount >= 0 for amount in given_out.values())


@given(st.integers(0, 10**12), claims, st.randoms())
def test_order_of_contributors_does_not_matter(pool, result, random):
    names = list(result)
    random.shuffle(names)
    shuffled = {name: result[name] for name in names}
    assert largest_remainder_allocation(
        pool, payout_fractions(result, PayoutRules())
    ) == largest_remainder_allocation(pool, payout_fractions(shuffled, PayoutRules()))


@given(st.integers(0, 10**12), claims, st.integers(1, 10**6))
def test_scaling_all_weights_and_adding_a_zero_changes_nothing(pool, result, factor):
    scaled = {name: c | {"units": c["units"] * factor} for name, c in result.items()}
    before = largest_remainder_allocation(pool, payout_fractions(result, PayoutRules()))
    assert largest_remainder_allocation(pool, payout_fractions(scaled, PayoutRules())) == before
    after = largest_remainder_allocation(pool, payout_fractions({**result, "zz": claim(0, 0)}, PayoutRules()))
    assert after.pop("zz") == 0
    assert after == before


@given(claims, st.integers(0, UNIT // 12), st.integers(UNIT // 4, UNIT))
def test_bounded_shares_stay_in_their_bounds(result, low, high):
    rules = PayoutRules(min_share=low, max_share=high)
    got = payout_fractions(result, rules)
    weights = contributor_weights(result, rules)
    live = [name for name in result if weights[name]]
    assert sum(got.values()) <= 1
    new = [name for name in live if result[name]["newcomer"]]
    if len(new) < len(live):
        assert sum(got[name] for name in new) <= Fraction(rules.newcomer_cap, UNIT)
    for name in live:
        assert got[name] <= Fraction(high, UNIT)
        assert got[name] >= (0 if result[name]["newcomer"] else Fraction(low, UNIT))
    if live and (len(live) - len(new)) * high >= UNIT:
        assert sum(got.values()) == 1


@given(st.integers(1, 10**12), claims, st.integers(2, 6))
def test_splitting_an_id_gains_nothing_but_rounding(pool, result, pieces):
    """With equal standing and linear volume, k accounts get what one got, to within k micro-units."""
    name = sorted(result)[0]
    whole = result[name]
    rest = {other: claim for other, claim in result.items() if other != name}
    share, extra = divmod(whole["units"], pieces)
    split = {
        f"{name}-{i}": claim(
            share + (extra if i == 0 else 0), whole["counted"], whole["newcomer"], whole["multiplier"]
        )
        for i in range(pieces)
    }
    one = largest_remainder_allocation(pool, payout_fractions(result, PayoutRules()))[name]
    after = largest_remainder_allocation(pool, payout_fractions({**rest, **split}, PayoutRules()))
    large = sum(after[part] for part in split)
    assert abs(large - one) <= pieces


@given(st.integers(1, 10**9), st.integers(1, 500))
def test_tripling_rows_pays_less_than_three_times(units_, others):
    pool = 10**12
    base = {"bad": claim(units_, 10), "rest": claim(units_ * others, 10)}
    one = payout_fractions(base, PayoutRules())["bad"]
    linear = payout_fractions({**base, "bad": claim(3 * units_, 30)}, PayoutRules())["bad"]
    concave = payout_fractions({**base, "bad": claim(3 * units_, 30)}, PayoutRules(volume="0.5"))["bad"]
    concave_one = payout_fractions(base, PayoutRules(volume="0.5"))["bad"]
    assert linear < 3 * one
    assert concave < Fraction(17321, 10000) * concave_one
    assert (
        largest_remainder_allocation(pool, {"bad": linear, "rest": 1 - linear})["bad"] <= 3 * pool * one + 1
    )


@given(
    pool=st.integers(0, 10**12),
    result=claims,
    low=st.integers(0, UNIT // 12),
    high=st.integers(UNIT // 8, UNIT),
    cap=st.integers(0, UNIT),
    volume=st.sampled_from(["1", "0.75", "0.5"]),
)
def test_a_second_program_comes_to_the_same_amounts(pool, result, low, high, cap, volume):
    """The one in tests/ledger that shares no code with us, over every rule at once."""
    rules = PayoutRules(volume=volume, min_share=low, max_share=high, newcomer_cap=cap)
    lines = [{"pid": name, **c} for name, c in result.items()]
    manifest = {"unit": UNIT, "rules": asdict(rules), "pool": pool, "contributors": lines}
    ours = payout_fractions(result, rules)
    amounts, theirs = amounts_of(manifest)
    assert theirs == ours
    assert amounts == largest_remainder_allocation(pool, ours)


COLUMNS = {
    "kept": [1, 0, 1],
    "q": [0.5, 0.9, 1.0],
    "v": [0.8, 0.9, 0.5],
    "r": [1.0, 0.9, 0.5],
    "t": [1.0, 0.9, 0.5],
    "p_correct": [0.75, 0.9, 0.2],
    "weight": [0.1, 0.2, 0.7],
}


@pytest.mark.parametrize("kind", ROW_WEIGHTS)
class TestEveryRowWeight:
    def test_what_was_not_kept_weighs_nothing(self, kind):
        result = row_weights(kind, COLUMNS)
        assert result[1] == 0
        assert (result[[0, 2]] > 0).all()
        assert (result <= UNIT).all()

    def test_each_row_is_quantised_by_itself(self, kind):
        whole = row_weights(kind, COLUMNS)
        alone = [
            row_weights(kind, {name: [column[at]] for name, column in COLUMNS.items()})[0] for at in range(3)
        ]
        assert whole.tolist() == alone

    def test_a_column_that_is_missing_is_named(self, kind):
        for name in ROW_WEIGHTS[kind][0]:
            without = {key: column for key, column in COLUMNS.items() if key != name}
            with pytest.raises(InputError, match=f"settling by {kind} needs the column {name}"):
                row_weights(kind, without)

    def test_values_outside_are_refused(self, kind):
        for name in ROW_WEIGHTS[kind][0]:
            with pytest.raises(InputError, match=rf"{name} must lie in \[0, 1\]"):
                row_weights(kind, {**COLUMNS, name: [2.0, 0.0, 0.0]})

    def test_rules_may_name_it(self, kind):
        assert asdict(PayoutRules(weight=kind))["weight"] == kind


def test_row_weights_by_hand():
    result = {kind: [int(unit) / UNIT for unit in row_weights(kind, COLUMNS)] for kind in ROW_WEIGHTS}
    assert result == {
        "product": [0.4, 0.0, 0.125],
        "p_correct": [0.75, 0.0, 0.2],
        "blend": [0.1, 0.0, 0.7],
        "equal": [1.0, 0.0, 1.0],
    }


@pytest.mark.parametrize("text", ["-0.1", "0.0000000000001", "x", "nan", ""])
def test_fractions_have_twelve_places_and_are_not_negative(text):
    with pytest.raises(InputError, match="share must be a"):
        to_integer_parts("share", text)


@given(st.integers(0, UNIT))
def test_fractions_read_back(value):
    assert to_integer_parts("share", f"{value // UNIT}.{value % UNIT:012d}") == value


@given(st.integers(1, 10**6), st.sampled_from(["0.25", "0.5", "0.75"]))
def test_volume_below_one_is_a_power_of_the_rows(kept, volume):
    one = contributor_weights({"a": claim(kept, kept)}, PayoutRules(volume=volume))["a"]
    # The power is cut to twelve places, and multiplied by the rows.
    assert one / UNIT**2 == pytest.approx(kept ** float(volume), rel=1e-9, abs=kept / UNIT)

"""Schema of experiment files: every key accepts valid values and rejects others by name."""

from dataclasses import fields as dataclass_fields

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from anml.core.errors import AnmlError, InputError
from anml.weighting.weigh import RECIPES
from experiments import spec
from experiments.fields import count, error_context, listed, methods, number, repr_short, require_unique, text
from experiments.spec import EXPERIMENT, SETTING, Experiment, Setting

pytestmark = pytest.mark.slow

odd = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5), st.binary(max_size=3),
    st.lists(st.integers(), max_size=2), st.dictionaries(st.text(max_size=2), st.integers(), max_size=2),
)  # fmt: skip


def test_every_field_of_a_setting_and_of_an_experiment_has_a_check():
    assert set(SETTING) == {field.name for field in dataclass_fields(Setting)}
    assert set(EXPERIMENT) == {field.name for field in dataclass_fields(Experiment)} - {"name"}


@pytest.mark.parametrize("key", SETTING)
def test_the_default_of_every_setting_is_allowed(key):
    value = getattr(Setting(), key)
    assert SETTING[key](key, list(value) if isinstance(value, tuple) else value) == value


@pytest.mark.parametrize("key", [*SETTING, *EXPERIMENT])
@settings(max_examples=15)
@given(value=odd)
def test_any_value_is_taken_or_refused_in_a_sentence_that_names_the_key(key, value):
    check = SETTING.get(key) or EXPERIMENT[key]
    if key == "methods":  # read further in another place
        return
    message = refusal(check, key, value)
    assert message is None or (key in message and "\n" not in message)


def refusal(check, key: str, value: object) -> str | None:
    """Return the error of a check on a value; None if the value is valid."""
    try:
        check(key, value)
    except AnmlError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    "key", [key for key in SETTING if not isinstance(getattr(Setting(), key), str | tuple)]
)
@pytest.mark.parametrize("value", ["0.5", True, None, float("nan"), [1], 10**20])
def test_numbers_are_numbers(key, value):
    with pytest.raises(AnmlError, match=key):
        SETTING[key](key, value)


@pytest.mark.parametrize(
    ("key", "low", "high"),
    [("bad", 0, 1), ("faked", 0, 1), ("pull", 0, 1), ("correlation", -1, 1), ("honest_first", 0, 1)],
)
def test_bounds_are_allowed_and_what_is_beyond_them_is_not(key, low, high):
    assert (SETTING[key](key, low), SETTING[key](key, high)) == (low, high)
    for beyond in (low - 0.001, high + 0.001):
        with pytest.raises(InputError, match=f"{key} must lie in"):
            SETTING[key](key, beyond)


@pytest.mark.parametrize("key", ["fraction", "best"])
def test_a_share_of_nothing_is_no_share(key):
    with pytest.raises(InputError, match=rf"{key} must lie in \(0, 1\]"):
        SETTING[key](key, 0.0)


def test_a_number_stays_as_it_was_written():
    """0 and 0.0 are different names of cells: neither may be turned into the other."""
    read = number(0, 1)
    assert type(read("x", 0)) is int
    assert type(read("x", 0.0)) is float


@given(st.integers(-5, 5), st.integers(-5, 15), st.integers(-10, 20))
def test_counts_lie_between_their_bounds(low, high, value):
    check = count(low, high)
    if low <= value <= high:
        assert check("n", value) == value
    else:
        with pytest.raises(InputError, match=f"n must be at (least|most) -?[0-9]+, got {value}"):
            check("n", value)


def test_lists_name_the_place_of_what_is_wrong():
    with pytest.raises(InputError, match=r"names\[1\] must be a text, got 7"):
        listed(text)("names", ["a", 7])
    with pytest.raises(InputError, match="names must be a list, got 'a'"):
        listed(text)("names", "a")
    with pytest.raises(InputError, match="names is an empty list"):
        listed(text, empty=False)("names", [])
    assert listed(text)("names", []) == ()


@pytest.mark.parametrize("value", ["", "  ", None, 7, ["a"]])
def test_a_text_has_something_in_it(value):
    with pytest.raises(InputError, match="title must be a text"):
        text("title", value)


def test_nothing_stands_twice():
    require_unique("methods", ("a", "b"))
    with pytest.raises(InputError, match="methods has 'a' more than once"):
        require_unique("methods", ("a", "b", "a"))


@given(st.recursive(st.integers() | st.text(), st.lists, max_leaves=30))
def test_a_value_in_a_sentence_is_short(value):
    assert len(repr_short(value)) <= 60


def test_where_something_is_wrong_is_said_from_outside_in():
    with pytest.raises(InputError, match=r"^experiment 'x': claim 2: it is wrong$"):  # noqa: SIM117
        with error_context("experiment 'x'"), error_context("claim 2"):
            raise InputError("it is wrong")
    with pytest.raises(ZeroDivisionError), error_context("here"):
        1 / 0  # noqa: B018


# --- methods
@pytest.mark.parametrize("name", RECIPES)
def test_every_recipe_can_be_named_or_built_upon(name):
    assert methods([name]) == {name: RECIPES[name]}
    assert methods({"mine": {"like": name}}) == {"mine": RECIPES[name]}


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("krum", "methods must be a list of recipes or a table of methods, got 'krum'"),
        (["krum", "krum"], "methods has 'krum' more than once"),
        (["nonesuch"], "unknown recipe 'nonesuch'"),
        ({"a": "krum"}, "methods.a must be a table such as"),
        ({"a": {"like": "nonesuch"}}, "methods.a: unknown recipe"),
        ({"a": {"like": 7}}, "methods.a: like must be a text"),
        ({"a": {"combine": "nonesuch"}}, "methods.a: unknown combine"),
        ({"a": {"alpha": "much"}}, "methods.a: alpha must be a number"),
        ({"a": {"use": "q"}}, "methods.a: use must be a list"),
        ({"a": {"speed": 1}}, "methods.a: "),
    ],
)
def test_methods_that_are_none(given, says):
    with pytest.raises(AnmlError, match=says):
        methods(given)


def test_settings_are_read_by_name():
    assert spec.settings("setting", {"bad": 0.1, "hidden": [3]}) == {"bad": 0.1, "hidden": (3,)}
    with pytest.raises(AnmlError, match=r"unknown key in setting 'badd' \(did you mean 'bad'\?\)"):
        spec.settings("setting", {"badd": 0.1})
    with pytest.raises(AnmlError, match=r"setting.bad must lie in \[0, 1\], got 2"):
        spec.settings("setting", {"bad": 2})

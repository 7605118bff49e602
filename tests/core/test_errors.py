"""One family of errors: everything a user can mend is caught by one name, and said in one sentence."""

import inspect

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anml.core import errors
from anml.core.errors import AnmlError, ConflictError, InputError, UnknownNameError, os_error_message

FAMILY = [
    kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__
]


@pytest.mark.parametrize("kind", FAMILY)
def test_every_error_is_caught_by_one_name_and_as_a_value_error(kind):
    assert issubclass(kind, AnmlError)
    assert issubclass(kind, ValueError)


@pytest.mark.parametrize("kind", FAMILY)
def test_the_drawn_tree_names_every_error(kind):
    assert kind.__name__ in errors.__doc__
    assert inspect.getdoc(kind)


def test_the_drawn_tree_names_no_other():
    drawn = {word for word in errors.__doc__.split() if word.endswith("Error")}
    assert drawn == {kind.__name__ for kind in FAMILY}


@pytest.mark.parametrize(
    ("error", "message"), [(OSError(2, "No such file"), "x cannot be read: No such file"),
                        (OSError("odd"), "x cannot be read: odd")],
)  # fmt: skip
def test_what_the_disk_refuses_is_one_sentence(error, message):
    with pytest.raises(InputError) as result, os_error_message("x cannot be read"):
        raise error
    assert str(result.value) == message


def test_what_anybody_else_says_stays_as_it_is():
    with pytest.raises(ConflictError, match="as it was"), os_error_message("x cannot be read"):
        raise ConflictError("as it was")


class TestUnknownName:
    def test_a_slip_is_guessed(self):
        assert "(did you mean 'softmax'?)" in str(UnknownNameError("recipe", "sofmax", ["krum", "softmax"]))

    def test_what_is_like_nothing_is_not_guessed(self):
        assert str(UnknownNameError("recipe", "zzz", ["krum", "softmax"])) == (
            "unknown recipe 'zzz'; allowed: krum, softmax"
        )

    def test_names_that_are_no_text_are_shown(self):
        assert "unknown recipe 3" in str(UnknownNameError("recipe", 3, ["krum"]))

    def test_an_iterator_is_read_once(self):
        assert str(UnknownNameError("way", "x", (name for name in ("a", "b")))).endswith("allowed: a, b")

    @given(st.text(max_size=10), st.lists(st.text("abcdef", min_size=1, max_size=5), min_size=1, max_size=6))
    def test_every_allowed_name_is_said_in_its_order(self, name, allowed):
        message = str(UnknownNameError("thing", name, allowed))
        assert message.endswith("allowed: " + ", ".join(allowed))
        assert repr(name) in message

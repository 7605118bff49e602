"""One table of options: the commands, `anml.audit` and its help cannot differ from it."""

import inspect
from dataclasses import fields
from pathlib import Path

import pytest
import typer

import anml
from anml.app.audit.request import Request
from anml.surfaces import cli
from anml.surfaces.audit_options import (
    AUDIT,
    BY_NAME,
    OPTIONS,
    PYTHON,
    TRAIN,
    Names,
    Option,
    documented,
    listed,
    options_on,
    request_of,
    with_options,
)

COMMANDS = typer.main.get_command(cli.app).commands
OWN = {AUDIT: {"data"}, TRAIN: {"data", "model", "out"}}


@pytest.mark.parametrize("command", [AUDIT, TRAIN])
def test_a_command_has_the_options_of_the_table_and_its_own(command):
    real = {part.name: part for part in COMMANDS[command].params if part.name != "help"}
    assert set(real) == {option.name for option in options_on(command)} | OWN[command]
    for option in options_on(command):
        assert real[option.name].help == option.help
        default = None if option.kind == Names | None else option.default
        assert real[option.name].default == default
        assert real[option.name].opts[0].lstrip("-").replace("-", "_") == option.name


def test_python_has_the_options_of_the_table_with_their_defaults():
    real = dict(inspect.signature(anml.audit).parameters)
    assert real.pop("data").default is inspect.Parameter.empty
    assert {name: part.default for name, part in real.items()} == {
        option.name: option.default for option in options_on(PYTHON)
    }
    assert list(real)[:2] == ["label", "contributor"]
    assert all(part.annotation is not inspect.Parameter.empty for part in real.values())


def test_help_says_of_every_parameter_what_the_command_line_says():
    text = " ".join(anml.audit.__doc__.split())
    for option in options_on(PYTHON):
        assert f" {option.name} : " in text
        assert option.help in text or option.python in text
    assert anml.audit.__doc__.startswith("Say how far each row of a table can be trusted, and why.\n")


def test_every_field_of_a_request_is_an_option_or_comes_with_an_export():
    assert {field.name for field in fields(Request)} - set(BY_NAME) == {"reviewed"}
    for field in fields(Request):
        if field.name in BY_NAME:
            assert field.default == BY_NAME[field.name].default


def test_names_are_unique_and_said_in_one_short_line():
    assert len(BY_NAME) == len(OPTIONS)
    for option in OPTIONS:
        assert option.help.endswith(".")
        assert len(option.help) < 110 or option.on == (PYTHON,)


def test_with_options_gives_a_command_lists_defaults_and_its_own():
    seen = {}

    @with_options(Option("color", str, "red", "A color."), BY_NAME["features"])
    def paint(wall: Path, coats: int = 2, **chosen):
        """Paint a wall."""
        seen.update(wall=wall, coats=coats, **chosen)

    paint(Path("north"), features="a, b")
    assert seen == {"wall": Path("north"), "coats": 2, "color": "red", "features": ["a", "b"]}
    assert list(inspect.signature(paint).parameters) == ["wall", "color", "features", "coats"]
    app = typer.Typer()
    app.command()(paint)
    from typer.testing import CliRunner

    assert CliRunner().invoke(app, ["south", "--color", "blue", "--coats", "3"]).exit_code == 0
    assert seen == {"wall": Path("south"), "coats": 3, "color": "blue", "features": None}


def test_an_option_of_its_own_goes_before_that_of_the_table():
    out = next(part for part in COMMANDS[TRAIN].params if part.name == "out")
    assert out.default == Path("anml-run")


def test_a_request_takes_what_is_its_own_and_a_score_becomes_part_of_the_profile():
    request = request_of({"label": "y", "score": "norm", "ignore": None, "json": True, "seed": 4})
    assert (request.label, request.seed, request.ignore) == ("y", 4, ())
    assert request.policy().profile.method == "norm"
    with pytest.raises(anml.AnmlError, match="unknown recipe 'krumm'"):
        request_of({"recipe": "krumm"})


def test_documented_leaves_out_what_the_table_does_not_have():
    def example(data: object, seed: int = 0) -> None:
        """Do it.

        Parameters
        ----------
        data
            What.
        """

    assert documented(example).splitlines()[2:] == [
        "Parameters", "----------", "data", "    What.", "seed : int",
        "    The same seed gives the same result.",
    ]  # fmt: skip
    assert listed("") == []

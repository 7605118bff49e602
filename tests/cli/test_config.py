"""Settings from a file, from --set and from --column: the keys are the fields of the Python objects."""

from dataclasses import fields, replace
from pathlib import Path

import pytest
import typer

import anml
from anml.cli import main as cli
from anml.cli.audit import resolve
from anml.cli.config import config_keys, engine_of, read_config, with_columns, with_settings
from anml.core.errors import AnmlError
from anml.core.profile import Profile

COMMANDS = typer.main.get_command(cli.app).commands


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_a_command_has_at_most_fifteen_options(name):
    options = [part for part in COMMANDS[name].params if part.param_type_name == "option"]
    assert len([part for part in options if part.name != "help"]) <= 15


def test_there_are_thirteen_commands():
    assert len(COMMANDS) == 13


def test_keys_are_the_fields_of_the_objects():
    keys = {key for key, _, _ in config_keys()}
    for section, kind in (("schema", anml.Schema), ("recipe", anml.Recipe), ("encoder", anml.Encoder)):
        assert {f"{section}.{each.name}" for each in fields(kind)} <= keys
    assert {f"recipe.profile.{each.name}" for each in fields(Profile)} <= keys
    assert {"task.order", "task.start", "engine.address", "evaluate", "features"} <= keys


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("recipe.half_life=90d", {"recipe": {"half_life": "90d"}}),
        ("recipe.half_life=2", {"recipe": {"half_life": 2}}),
        ("recipe.keep=0.5", {"recipe": {"keep": 0.5}}),
        ("recipe.profile=quick", {"recipe": {"profile": "quick"}}),
        ("recipe.profile.method=loss", {"recipe": {"profile": {"method": "loss"}}}),
        ("schema.ignore=a, b", {"schema": {"ignore": ["a", "b"]}}),
        ("schema.key=1e3", {"schema": {"key": "1e3"}}),
        ("task.nested=true", {"task": {"nested": True}}),
        ("evaluate=false", {"evaluate": False}),
        ("features=x,y", {"features": ["x", "y"]}),
    ],
)
def test_a_setting_is_put_in_its_place(text, result):
    assert with_settings({}, [text]) == result


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("recipe.half_live=90d", "did you mean 'recipe.half_life'"),
        ("recipe.half_life", "--set takes KEY=VALUE"),
        ("recipe.keep=most", "recipe.keep must be a number, got 'most'"),
        ("task.nested=perhaps", "task.nested must be true or false, got 'perhaps'"),
    ],
)
def test_a_setting_that_is_wrong_is_one_sentence(text, message):
    with pytest.raises(AnmlError, match=message):
        with_settings({}, [text])


def test_columns_go_to_the_schema_or_to_the_task():
    result = with_columns({}, ["time=created_at", "start=from", "choice=winner"], None)
    assert result == {"schema": {"time": "created_at"}, "task": {"start": "from", "choice": "winner"}}


@pytest.mark.parametrize("text", ["when=created_at", "time", "time="])
def test_a_column_with_an_unknown_role_is_refused(text):
    with pytest.raises(AnmlError, match="--column"):
        with_columns({}, [text], None)


def test_a_file_holds_the_same_settings(tmp_path):
    (tmp_path / "a.toml").write_text(
        'label = "y"\nevaluate = false\n[schema]\ntime = "t"\n'
        '[task]\nname = "ordinal"\norder = ["lo", "hi"]\n'
        '[recipe]\nname = "krum"\nkeep = 0.5\nhalf_life = "90d"\n'
    )
    options = resolve(read_config(tmp_path / "a.toml"), contributor="who")
    request = options.request
    assert (request.label, request.contributor, request.time, request.evaluate) == ("y", "who", "t", False)
    assert options.task == anml.tasks.Ordinal(order=["lo", "hi"])
    assert request.resolved_recipe == anml.Recipe("multiplicative", use=("q",), keep=0.5, half_life="90d")


def test_typed_options_go_before_the_file(tmp_path):
    (tmp_path / "a.toml").write_text('label = "y"\nrandom_state = 3\n[recipe]\nname = "krum"\n')
    options = resolve(read_config(tmp_path / "a.toml"), label="z", seed=4, recipe="uniform")
    assert (options.request.label, options.request.seed) == ("z", 4)
    assert options.request.resolved_recipe == anml.RECIPES["uniform"]


def test_a_file_with_an_unknown_key_is_refused(tmp_path):
    (tmp_path / "a.toml").write_text('[schema]\ntimes = "t"\n')
    with pytest.raises(AnmlError, match=r"did you mean 'schema\.time'"):
        read_config(tmp_path / "a.toml")
    (tmp_path / "a.toml").write_text("[schema\n")
    with pytest.raises(AnmlError, match="cannot be read"):
        read_config(tmp_path / "a.toml")


def test_what_a_run_stores_gives_its_options_again(tmp_path):
    options = resolve(
        {"schema": {"true_label": "gold", "ignore": ["n"]},
         "recipe": {"keep": 0.4, "profile": {"epochs": 3}}},
        label="y", contributor="who", seed=7,
    )  # fmt: skip
    again = resolve(options.to_config())
    assert again.request.resolved_recipe == options.request.resolved_recipe
    assert replace(again.request, recipe="krum") == replace(options.request, recipe="krum")


def test_task_options_name_the_task_where_one_alone_has_them():
    assert resolve({"task": {"order": ["a", "b"]}}).task == anml.tasks.Ordinal(order=["a", "b"])
    with pytest.raises(AnmlError, match="fit spans, boxes; name it with"):
        resolve({"task": {"assignments": "shown.csv"}})


def test_engines(tmp_path):
    assert engine_of(None, None, None) is None
    assert engine_of("local", Path("run"), {"rows_per_slice": 5}) == anml.engines.Local(Path("run"), 5)
    with pytest.raises(AnmlError, match="unknown engine 'spark'; allowed: local, ray"):
        engine_of("spark", Path("run"), None)
    with pytest.raises(AnmlError, match=r"key of the engine local 'address'"):
        engine_of("local", Path("run"), {"address": "ray://x"})
    with pytest.raises(AnmlError, match="--out DIR"):
        engine_of("local", None, None)

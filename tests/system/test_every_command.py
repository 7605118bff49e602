"""Laws over every command of all programs: help, unknown options, files that are not there.

Commands are found by introspection, so that a new command is tested as well.
"""

from pathlib import Path

import pytest
import typer

from anml.cli import main as cli
from anml.ledger.cli import main as ledger_cli
from experiments import cli as experiments_cli
from terminal import program

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

PROGRAMS = {"anml": cli, "anml-ledger": ledger_cli, "experiments": experiments_cli}
ROOTS = {name: typer.main.get_command(module.app) for name, module in PROGRAMS.items()}


@pytest.fixture
def typed(monkeypatch, capsys):
    """Run the words of a command, of which the first names the program."""
    return lambda name, *words: program(name, PROGRAMS[name].main, monkeypatch, capsys)(*words)


def leaves(node, words=()):
    """Every command with the words that call it."""
    if hasattr(node, "commands"):
        return [leaf for name, child in node.commands.items() for leaf in leaves(child, (*words, name))]
    return [(words, node)]


def groups(node, words=()):
    if not hasattr(node, "commands"):
        return []
    return [
        words,
        *(each for name, child in node.commands.items() for each in groups(child, (*words, name))),
    ]


COMMANDS = {" ".join(words): node for name, root in ROOTS.items() for words, node in leaves(root, (name,))}
GROUPS = [words for name, root in ROOTS.items() for words in groups(root, (name,))]
every = pytest.mark.parametrize("name", COMMANDS)


def options(node):
    return [parameter for parameter in node.params if parameter.param_type_name == "option"]


def arguments(node):
    return [parameter for parameter in node.params if parameter.param_type_name == "argument"]


def needed(node):
    return [parameter for parameter in arguments(node) if parameter.required]


def is_number(option) -> bool:
    """True if an option takes a number, in this or an older version of typer."""
    described = getattr(option, "type_descriptor", None)
    if described is not None:
        return described.annotation in (int, float)
    return option.type.name in ("integer", "float", "integer range", "float range")


def filled(node) -> list[str]:
    """Something for every argument and option that is required: a name of nothing, or a number."""
    given = ["nothing" for parameter in arguments(node) if parameter.required]
    for option in options(node):
        if option.required:
            given += [option.opts[0], "1" if is_number(option) else "nothing"]
    return given


def sentence(ran) -> str:
    """Return the error of a rejected command: one line, no traceback, empty stdout."""
    assert ran.code == 2, ran
    assert "Traceback" not in ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    return ran.err.removeprefix("error: ").rstrip("\n")


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_lists_of_commands_cut_no_sentence_short(typed, words):
    """A terminal of eighty columns shows the first sentence of each command whole."""
    lines = typed(*words, "--help").out.partition("Commands:")[2].splitlines()
    assert len(lines) > 1
    assert [line for line in lines if line.endswith("...")] == []


@pytest.fixture(autouse=True)
def empty(tmp_path, monkeypatch):
    """Every command runs in an empty folder, which must stay empty."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANML_DATA", raising=False)
    return tmp_path


# --- help
def usage(name: str) -> str:
    """The words that a user types for a command."""
    return "python -m " + name if name.startswith("experiments") else name


@every
def test_help_says_what_the_command_does(typed, name):
    ran = typed(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.strip().startswith(f"Usage: {usage(name)} ")
    message = " ".join(ran.out.split())
    first = " ".join((COMMANDS[name].help or "").split("\n\n")[0].split())
    assert first
    assert first[:50] in message


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_a_group_lists_its_commands(typed, words):
    ran = typed(*words, "--help")
    node = ROOTS[words[0]]
    for word in words[1:]:
        node = node.commands[word]
    assert ran.code == 0
    assert all(child in ran.out for child in node.commands)


@every
def test_every_option_is_explained(name):
    for option in options(COMMANDS[name]):
        assert option.help, f"{name} {option.opts}"
        assert option.hidden is False


@every
def test_names_of_options_are_words_with_hyphens(name):
    for option in options(COMMANDS[name]):
        for spelt in (*option.opts, *option.secondary_opts):
            assert spelt.startswith("-")
            assert "_" not in spelt
            assert spelt == spelt.lower()


def test_the_same_option_means_the_same_everywhere():
    """One name, one kind of value: an option that takes a value in one command takes one in all."""
    kinds: dict[str, set[bool]] = {}
    for node in COMMANDS.values():
        for option in options(node):
            for spelt in option.opts:
                kinds.setdefault(spelt, set()).add(option.is_flag)
    assert {spelt for spelt, result in kinds.items() if len(result) > 1} == set()


# --- what cannot be parsed
@every
def test_an_unknown_option_is_a_usage_error_that_names_it(typed, name, empty):
    ran = typed(*name.split(), *filled(COMMANDS[name]), "--no-such-option")
    assert ran.code == 2
    assert "--no-such-option" in ran.err
    assert "Traceback" not in ran.err
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in COMMANDS if needed(COMMANDS[name])])
def test_a_missing_argument_is_a_usage_error_that_names_it(typed, name, empty):
    ran = typed(*name.split())
    assert ran.code == 2
    assert "Missing argument" in ran.err
    wanted = needed(COMMANDS[name])[0]
    assert (wanted.metavar or wanted.name).upper().strip("[].…") in ran.err.upper()
    assert list(empty.iterdir()) == []


def takes_any_number(node) -> bool:
    return any(parameter.nargs == -1 for parameter in arguments(node))


@pytest.mark.parametrize("name", [name for name, node in COMMANDS.items() if not takes_any_number(node)])
def test_one_argument_too_many_is_a_usage_error(typed, name, empty):
    node = COMMANDS[name]
    ran = typed(*name.split(), *["nothing"] * len(arguments(node)), "too-many")
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert list(empty.iterdir()) == []


NUMBERS = [
    (name, option.opts[0]) for name, node in COMMANDS.items() for option in options(node) if is_number(option)
]


@pytest.mark.parametrize(("name", "option"), NUMBERS)
def test_a_number_that_is_none_is_a_usage_error_that_names_the_option(typed, name, option, empty):
    ran = typed(*name.split(), *filled(COMMANDS[name]), option, "many")
    assert ran.code == 2
    assert option in ran.err
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("words", GROUPS, ids=" ".join)
def test_an_unknown_command_is_a_usage_error_that_names_it(typed, words):
    ran = typed(*words, "no-such-command")
    assert ran.code == 2
    assert "no-such-command" in ran.err


# --- what is not there
NEEDS_NOTHING = {"anml demo", "experiments list"}
MAKES = {"anml-ledger init"}
LEDGER = [
    name for name, node in COMMANDS.items() if any("--ledger" in option.opts for option in options(node))
]


@pytest.mark.parametrize("name", [name for name in LEDGER if name not in MAKES])
def test_without_a_ledger_every_command_of_one_says_so_and_makes_none(typed, name, empty):
    node = COMMANDS[name]
    ran = typed(*name.split(), *filled(node), "--ledger", empty / "none.db")
    message = sentence(ran)
    assert message
    assert list(empty.iterdir()) == []


@pytest.mark.parametrize("name", [name for name in LEDGER if name not in MAKES])
def test_a_file_that_is_no_ledger_is_refused_and_left_as_it_is(typed, name, empty):
    place = empty / "notes.txt"
    place.write_text("Dear diary")
    sentence(typed(*name.split(), *filled(COMMANDS[name]), "--ledger", place))
    assert place.read_text() == "Dear diary"
    assert [path.name for path in empty.iterdir()] == ["notes.txt"]


READS = ("anml audit", "anml train", "anml predict", "anml value")


@pytest.mark.parametrize("name", READS)
def test_a_table_that_is_not_there_is_named(typed, name, empty):
    given = ["none.csv" for _ in needed(COMMANDS[name])]
    message = sentence(
        typed(*name.split(), *given, "--out", "out.csv" if name.endswith("predict") else "out")
    )
    assert "none.csv" in message
    assert list(empty.iterdir()) == []


def test_the_laws_above_are_about_something():
    assert len(COMMANDS) > 25
    assert len(LEDGER) >= 13
    assert NUMBERS
    assert set(COMMANDS) >= NEEDS_NOTHING
    assert Path(cli.__file__).is_file()

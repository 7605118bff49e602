"""What is written is true: examples run, lists are complete, links lead somewhere."""

import re
from pathlib import Path

import pytest
import typer

from anml.app.train import MODELS
from anml.core import errors
from anml.core.profile import PROFILES
from anml.core.scenarios import SCENARIOS
from anml.core.signals.reputation import REPUTATION
from anml.core.signals.temporal import DOMAINS, RELATIONS, UNITS
from anml.core.signals.verification import VERIFICATION
from anml.core.weigh import RECIPES
from anml.gradients.scoring import SCORERS
from anml.surfaces import cli
from made_up import consortium

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")])
TOP = typer.main.get_command(cli.app).commands


def leaves(name, command):
    """A command, or those of a group."""
    if not hasattr(command, "commands"):
        return {name: command}
    return {n: c for sub, part in command.commands.items() for n, c in leaves(f"{name} {sub}", part).items()}


COMMANDS = {n: c for name, command in TOP.items() for n, c in leaves(name, command).items()}
LEDGER = ("ledger", "reputation", "settle", "dispute", "statement", "payout")
EXAMPLES = [
    "README.md", "docs/federated.md", "docs/lab.md", "docs/python.md", "docs/recipes.md", "docs/signals.md",
    "docs/value.md",
]  # fmt: skip


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def python_blocks(name):
    return re.findall(r"^```python\n(.*?)^```", text_of(name), flags=re.S | re.M)


def section(name, title):
    """The text under a heading, up to the next heading of its rank."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^\1 |\Z)", text_of(name), flags=re.S | re.M)
    assert found, f"{name} has no section {title!r}"
    return found[2]


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    consortium(80).rename({"contributor": "annotator"}).write_csv("labels.csv")
    blocks, namespace = python_blocks(name), {}
    for number, block in enumerate(blocks, 1):
        exec(compile(block, f"{name}, example {number}", "exec"), namespace)
    assert blocks


def test_every_page_with_examples_is_run():
    pages = {page.relative_to(ROOT).as_posix() for page in PAGES if "```python" in page.read_text()}
    assert pages == set(EXAMPLES)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    for link in links:
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.is_file(), link
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.M) if anchor else []
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, link
    assert page.name in ("README.md", "beyond.md", "cited.md", "glossary.md", "lab.md", "paper.md") or links


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_name_no_machine_and_no_registry(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|work|tmp|Users)/|localhost|registry", text)
    # Names under .example are reserved for documentation and lead nowhere.
    hosts = {host for host in re.findall(r"https?://([^/\s`]+)", text) if not host.endswith(".example")}
    assert hosts <= {"keepachangelog.com", "semver.org"}


def test_first_screen_of_the_readme():
    """The picture, the three lines, the one command and the two make commands, in this order."""
    first = text_of("README.md").split("\n## ")[0]
    at = [
        first.index(part)
        for part in ("docs/report.png", "anml.audit(", "anml audit ", "make demo", "make test")
    ]
    assert at == sorted(at)
    assert len([line for line in python_blocks("README.md")[0].splitlines() if line]) == 3
    assert (ROOT / "docs" / "report.png").stat().st_size < 1_000_000


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_is_named_where_people_choose_one(recipe):
    chosen = next(option for option in COMMANDS["audit"].params if "--recipe" in option.opts)
    assert re.search(rf"\b{recipe}\b", chosen.help)
    assert f"**`{recipe}`.**" in text_of("docs/recipes.md")
    assert f"| `{recipe}` |" in text_of("README.md")
    assert f"`{recipe}`" in section("docs/cli.md", "anml audit")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented_with_exactly_its_options(command):
    page = "docs/cli-ledger.md" if command.split()[0] in LEDGER else "docs/cli.md"
    written = set(re.findall(r"`(--[a-z-]+)`", "\n".join(
        line.split("|")[1] for line in section(page, f"anml {command}").splitlines()
        if line.startswith("| `--")
    )))  # fmt: skip
    real = {
        name
        for option in COMMANDS[command].params
        for name in (*option.opts, *option.secondary_opts)
        if name.startswith("--") and name != "--help"
    }
    assert written == real


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_help_text(command):
    assert all(option.help for option in COMMANDS[command].params)


NAMED = [
    ("docs/signals.md", "v, verification", VERIFICATION),
    ("docs/signals.md", "r, reputation", REPUTATION),
    ("docs/signals.md", "T, freshness", DOMAINS),
    ("docs/signals.md", "T, freshness", UNITS),
    ("docs/signals.md", "T, freshness", RELATIONS),
    ("docs/signals.md", "Other scores", SCORERS),
    ("docs/signals.md", "Why the scoring model stops early", PROFILES),
    ("docs/cli.md", "anml audit", SCORERS),
    ("docs/cli.md", "anml audit", DOMAINS),
    ("docs/cli.md", "anml audit", UNITS),
    ("docs/cli.md", "anml audit", PROFILES),
    ("docs/cli.md", "anml train", {name for models in MODELS.values() for name in models}),
]


@pytest.mark.parametrize(("page", "title", "names"), NAMED, ids=[f"{p[5:]} {t}" for p, t, _ in NAMED])
def test_every_name_a_user_may_give_is_documented(page, title, names):
    text = section(page, title)
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_is_named_in_the_lab(scenario):
    assert re.search(rf"\b{scenario}\b", text_of("docs/lab.md"))


@pytest.mark.parametrize("option", ["--score", "--domain", "--profile", "--model"])
def test_every_name_is_in_the_help_of_its_option(option):
    names = {
        "--score": SCORERS,
        "--domain": DOMAINS,
        "--profile": PROFILES,
        "--model": [name for models in MODELS.values() for name in models],
    }[option]
    said = next(each for each in COMMANDS["train"].params if option in each.opts).help
    assert [name for name in names if name not in said] == []


@pytest.mark.parametrize("levels", [VERIFICATION, REPUTATION], ids=["verification", "reputation"])
def test_levels_are_documented_with_their_values(levels):
    text = text_of("docs/signals.md")
    for name, level in levels.items():
        row = f"| `{name}` | {level.low:.2f} - {level.high:.2f} | {level.default:.2f} | {level.meaning} |"
        assert row in text


def test_domains_and_relations_are_documented_with_their_values():
    text = section("docs/signals.md", "T, freshness")
    for name, delta in DOMAINS.items():
        assert f"| `{name}` | {delta:g} |" in text
    for name, weights in RELATIONS.items():
        assert f"`{name}` ({', '.join(f'{weight:g}' for weight in weights)})" in text


def test_every_error_is_in_the_drawn_tree():
    drawn = re.findall(r"^(?:[├└]── )?(\w+)  +\w", errors.__doc__, re.M)
    real = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    assert sorted(drawn) == sorted(each.__name__ for each in real)
    assert all(each.__mro__[1] in (errors.AnmlError, ValueError) for each in real)
    assert all(name in section("docs/python.md", "Errors") for name in drawn)


def glossary():
    rows = [line for line in text_of("docs/glossary.md").splitlines() if line.endswith(".py` |")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize(("symbol", "meaning", "name", "file"), glossary())
def test_glossary_leads_to_the_code(symbol, meaning, name, file):
    path = ROOT / file.strip("`")
    assert path.is_file()
    assert re.search(rf"\b{name.strip('`').split('.')[-1]}\b", path.read_text(encoding="utf-8"))
    assert meaning


SYMBOLS = (
    "q", "v", "r", "T", "s", "rho_c", "tau_c", "tau_h", "tau_s", "alpha", "k", "delta", "lambda_T", "w",
    "c_i", "r_min", "N", "g_i", "theta", "p(i)", "N_k(i)", "rho_d", "beta",
)  # fmt: skip


def test_glossary_has_every_symbol_of_the_paper():
    listed = {symbol for row in glossary() for symbol in row[0].split(", ")}
    assert [symbol for symbol in SYMBOLS if symbol not in listed] == []

"""What is written is true: examples run, lists are complete, links lead somewhere, pages are fresh."""

import ast
import functools
import importlib.util
import json
import re
import shlex
import shutil
import tempfile
import tomllib
from pathlib import Path
from typing import NamedTuple

import pytest
import typer

from anml.app.audit.train import MODELS
from anml.core import errors
from anml.core.profile import PROFILES
from anml.core.scenarios import SCENARIOS
from anml.core.signals.reputation import REPUTATION
from anml.core.signals.temporal import DOMAINS, RELATIONS, UNITS
from anml.core.signals.verification import VERIFICATION
from anml.core.weigh import RECIPES
from anml.gradients.scoring import SCORERS
from anml.lab.door import check_experiment
from anml.lab.report import page_of
from anml.lab.spec import catalogue, parse
from anml.lab.summary import UNKNOWN, summarise
from anml.surfaces import cli
from made_up import consortium
from near import alike

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
GENERATED = ("docs/paper.md", "docs/beyond.md", "docs/cited.md", "docs/reference/")
LANGUAGES = {"python", "console", "bash", "toml", "sql", "text", "pycon"}
# Pages whose commands another test runs as they stand.
RUN_BY = {"docs/settlement-walkthrough.md": "tests/docs/test_walkthrough.py"}


@functools.cache
def tool(name):
    """A module of docs/tools, which is no package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMMANDS = tool("reference").all_commands()


class Block(NamedTuple):
    """A code block: its language, its text, and why it is not run."""

    language: str
    text: str
    reason: str


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name):
    found = re.findall(
        r"(?:^<!-- not run: ([^\n]*) -->\n)?^```([^\n]*)\n(.*?)^```$", text_of(name), re.S | re.M
    )
    return [Block(language, text, reason) for reason, language, text in found]


def python_blocks(name):
    return [block.text for block in blocks(name) if block.language == "python"]


def typed(block):
    """Commands of a block of the shell, without comments."""
    text = block.text.replace("\\\n", " ")
    if block.language == "console":
        text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("$ "))
    return [words for line in text.splitlines() if (words := shlex.split(line, comments=True))]


# Folders that commands wrote before: pages repeat the first ones.
WRITTEN = {}


def typed_in(words, folder):
    """Run a command in this process; what it wrote for another page is copied."""
    out = words[words.index("--out") + 1] if "--out" in words and "--ledger" not in words else None
    key = tuple(words)
    if out and key in WRITTEN:
        shutil.copytree(WRITTEN[key], folder / out, dirs_exist_ok=True)
        return 0
    code = typer.main.get_command(cli.app).main(words[1:], prog_name="anml", standalone_mode=False)
    if out and not code and (folder / out).is_dir():
        WRITTEN[key] = shutil.copytree(folder / out, Path(tempfile.mkdtemp()) / "out")
    return code


def run_elsewhere(name):
    """The test that runs a page as it stands; guides have tests of their own under tests/docs."""
    if name.startswith("docs/guides/"):
        tests = [
            path for path in (ROOT / "tests" / "docs").glob("*.py") if Path(name).name in path.read_text()
        ]
        return tests[0].relative_to(ROOT).as_posix() if tests else None
    return RUN_BY.get(name)


def section(name, title):
    """The text under a heading, up to the next heading of its rank."""
    found = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^\1 |\Z)", text_of(name), flags=re.S | re.M)
    assert found, f"{name} has no section {title!r}"
    return found[2]


# Blocks of code


@pytest.mark.parametrize("name", [name for name in NAMES if blocks(name) and not run_elsewhere(name)])
def test_every_block_runs_or_says_why_not(name, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANML_LEDGER", raising=False)
    consortium(80).rename({"contributor": "annotator"}).write_csv("labels.csv")
    consortium(60, seed=1).rename({"contributor": "annotator"}).write_csv("test.csv")
    exports = {}
    exec(compile(text_of("docs/examples/make_export.py"), "make_export.py", "exec"), exports)
    Path("export.json").write_text(json.dumps(exports["make"]()))
    namespace = {}
    for number, block in enumerate(blocks(name), start=1):
        where = f"{name}, block {number}"
        if block.reason:
            continue
        if block.language == "python":
            exec(compile(block.text, where, "exec"), namespace)
        elif block.language in ("console", "bash"):
            for words in typed(block):
                assert words[0] == "anml", (
                    f"{where}: {words[0]} is not run here; say why in a comment before it"
                )
                code = typer.main.get_command(cli.app).main(
                    words[1:], prog_name="anml", standalone_mode=False
                )
                assert not code, f"{where}: {shlex.join(words)}: {capsys.readouterr().err}"
        elif block.language == "toml":
            table = tomllib.loads(block.text)
            if "title" in table:
                check_experiment(parse("mine", table))


@pytest.mark.parametrize("name", NAMES)
def test_every_block_is_of_a_known_kind(name):
    assert {block.language for block in blocks(name)} <= LANGUAGES
    assert text_of(name).count("```") == 2 * len(blocks(name))
    for block in blocks(name):
        for path in re.findall(r"tests/[\w/]+\.py", block.reason):
            assert (ROOT / path).is_file(), path
    if run_elsewhere(name):
        assert (ROOT / run_elsewhere(name)).is_file()


@pytest.mark.parametrize("name", [name for name in NAMES if name != "CHANGELOG.md"])
def test_every_command_that_is_written_exists(name):
    """Of every block, run or not, and of commands within sentences: names, options, files and extras."""
    inline = [f"{span}" for span in re.findall(r"`((?:anml|make|python) [^`\n]+)`", text_of(name))]
    lines = [
        words for block in blocks(name) if block.language in ("console", "bash") for words in typed(block)
    ]
    lines += [span.replace("…", " ").split() for span in inline]
    makefile = text_of("Makefile")
    extras = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    for words in lines:
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M), words
        elif words[0] == "python" and words[1].endswith(".py") and "/" in words[1] and "$" not in words[1]:
            assert (ROOT / words[1]).is_file(), words
        elif words[0] == "anml" and not words[1].startswith("-"):
            check_command(words[1:])
    for extra in re.findall(r"attribution-native-ml\[(\w+)\]", text_of(name)):
        assert extra in extras


def check_command(words):
    """The longest name of a command that the words begin with has all of their options."""
    groups = {" ".join(name.split()[:count]) for name in COMMANDS for count in (1, 2)}
    name = next((n for count in (3, 2, 1) if (n := " ".join(words[:count])) in COMMANDS), None)
    if name is None:
        assert words[0] in groups, words
        return
    known = {opt for option in COMMANDS[name].params for opt in (*option.opts, *option.secondary_opts)}
    written = {word.split("=")[0].rstrip(",.;:") for word in words if re.match(r"--[a-z]", word)}
    assert written <= known | {"--help"}, words


# Pages


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page):
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.S | re.M)
    for link in re.findall(r"\]\(([^)\s]+)\)", text):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        assert target.is_file(), link
        headings = re.findall(r"^#+ (.+)$", target.read_text(encoding="utf-8"), re.M) if anchor else []
        anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, link


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_pages_name_no_machine_and_no_registry(page):
    text = page.read_text(encoding="utf-8")
    assert not re.search(r"/(home|root|work|tmp|Users)/|localhost|registry", text)
    # Names under .example are reserved for documentation and lead nowhere.
    hosts = {host for host in re.findall(r"https?://([^/\s`]+)", text) if not host.endswith(".example")}
    assert hosts <= {"keepachangelog.com", "semver.org"}


def test_the_site_builds_strictly_and_fetches_nothing(tmp_path):
    from properdocs.commands.build import build
    from properdocs.config import load_config

    build(load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path / "site"), strict=True))
    pages = list((tmp_path / "site").rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r'<(?:script|link|img|iframe)[^>]*(?:src|href)="(?:https?:)?//', text), page.name
    style = (tmp_path / "site" / "style.css").read_text()
    assert "http" not in style
    assert "@import" not in style


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
    assert text_of("README.md").count("pip install") == 1


def test_the_readme_has_six_links():
    assert len(re.findall(r"(?<!!)\[[^\]]+\]\([^)]+\)", text_of("README.md"))) == 6


# What the code knows, the pages say


@pytest.mark.parametrize("name", ["commands.md", "python.md"])
def test_the_reference_is_that_of_the_code(name):
    made = tool("reference").PAGES[name]()
    assert text_of(f"docs/reference/{name}") == made, "run `make docs`"


def test_every_command_and_public_name_is_in_the_reference():
    import anml

    commands, names = text_of("docs/reference/commands.md"), text_of("docs/reference/python.md")
    assert [name for name in COMMANDS if f"\n## anml {name}\n" not in commands] == []
    assert [name for name in anml.__all__ if f"\n### {name}\n" not in names] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_help_text(command):
    assert all(option.help for option in COMMANDS[command].params)


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_is_named_where_people_choose_one(recipe):
    chosen = next(option for option in COMMANDS["audit"].params if "--recipe" in option.opts)
    assert re.search(rf"\b{recipe}\b", chosen.help)
    assert f"**`{recipe}`.**" in section("docs/signals.md", "Recipes")


NAMED = [
    ("docs/signals.md", "v, verification", VERIFICATION),
    ("docs/signals.md", "r, reputation", REPUTATION),
    ("docs/signals.md", "T, freshness", DOMAINS),
    ("docs/signals.md", "T, freshness", UNITS),
    ("docs/signals.md", "T, freshness", RELATIONS),
    ("docs/signals.md", "Other scores", SCORERS),
    ("docs/signals.md", "Why the scoring model stops early", PROFILES),
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


# Symbols, ideas and rooms, with their files


def symbols():
    rows = [line for line in section("docs/signals.md", "Symbols").splitlines() if line.endswith(".py` |")]
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]


@pytest.mark.parametrize(("symbol", "meaning", "name", "file"), symbols())
def test_symbols_lead_to_the_code(symbol, meaning, name, file):
    path = ROOT / file.strip("`")
    assert path.is_file()
    assert re.search(rf"\b{name.strip('`').split('.')[-1]}\b", path.read_text(encoding="utf-8"))
    assert meaning


SYMBOLS = (
    "q", "v", "r", "T", "s", "rho_c", "tau_c", "tau_h", "tau_s", "alpha", "k", "delta", "lambda_T", "w",
    "c_i", "r_min", "N", "g_i", "theta", "p(i)", "N_k(i)", "rho_d", "beta",
)  # fmt: skip


def test_every_symbol_of_the_paper_is_listed():
    listed = {symbol for row in symbols() for symbol in row[0].split(", ")}
    assert [symbol for symbol in SYMBOLS if symbol not in listed] == []


def defined(file):
    """Names that a module defines at its top."""
    found = set()
    for node in ast.parse((ROOT / "src" / "anml" / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def test_ideas_are_where_the_table_says():
    rows = re.findall(r"^\| ([^|]+) \| `([\w./]+)` \| `(\w+)` \|$", section(
        "docs/architecture.md", "Ideas and their files"
    ), flags=re.M)  # fmt: skip
    assert len(rows) == 15
    assert [(file, name) for _, file, name in rows if name not in defined(file)] == []


def test_one_rows_way_goes_through_functions_that_exist():
    steps = tool("rooms").way()
    assert len(steps) == 12
    assert [(file, name) for _, file, name in steps if name not in defined(file)] == []
    graph = tool("rooms").imports()
    reached, new = set(), {steps[0][0]}
    while new:
        reached |= new
        new = {other for room in new for other in graph[room]} - reached
    assert {room for room, _, _ in steps} <= reached


def test_the_picture_of_the_rooms_is_that_of_the_imports():
    rooms = tool("rooms")
    assert text_of("docs/rooms.svg") == rooms.picture(), "run `make docs`"
    listed = re.findall(r"^\| `(\w+)` \|", section("docs/architecture.md", "The rooms"), flags=re.M)
    assert sorted(listed) == rooms.rooms()
    level = {room: at for at, layer in enumerate(rooms.layers()) for room in layer}
    assert all(level[other] > level[room] for room, others in rooms.imports().items() for other in others)


# Figures


@pytest.mark.parametrize(
    ("page", "folder", "room"),
    [
        ("docs/paper.md", "results", "paper"),
        ("docs/beyond.md", "results/beyond", "beyond"),
        ("docs/cited.md", "results/cited", "field"),
    ],
)
def test_pages_of_results_are_those_of_the_committed_summary(page, folder, room):
    folder = ROOT / folder
    summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
    drawn = {path.stem for path in (folder / "figures").glob("*.svg")}
    made = page_of(folder, ROOT / page, summary, drawn, room=room)
    assert text_of(page) == made, "run `anml lab report`"
    # It says which version its rows came from: every experiment has one on record.
    assert re.search(r"made by anml \d", made)
    assert made.count(" Rows by anml ") == len(summary["experiments"])
    assert UNKNOWN not in made


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "room"), [("results", "paper"), ("results/beyond", "beyond"), ("results/cited", "field")]
)
def test_every_sentence_of_a_page_is_supported_by_rows(folder, room):
    """Figures and verdicts of the summary, and so of the page, are what the committed rows say today."""
    summary = json.loads((ROOT / folder / "summary.json").read_text(encoding="utf-8"))
    assert alike(summary, json.loads(json.dumps(summarise(ROOT / folder, catalogue(room)))))


def test_pages_of_results_are_short():
    assert len(text_of("docs/paper.md").splitlines()) <= 300
    assert len(text_of("docs/cited.md").splitlines()) <= 150


MEASURED = re.compile(r"\b\d[\d,.]*(?:%| ?(?:GiB|MiB|ms|seconds|minutes|hours|points|times as)\b| s\b)")
SOURCE = re.compile(
    r"`(?:python bench/|make bench|anml lab |ANML_)|results/|tests/[\w/]+\.py|figure: |beyond\.md|cited\.md"
)
# Sections whose figures are settings or definitions, and no measurements.
SETTINGS = {
    "docs/audit.md": {
        "Verdicts",
        "In a pipeline",
        "From finding to fixing",
        "What changed since last week",
        "What a contributor's data are worth",
    },
    "docs/evidence.md": {"The model", "Verdicts"},
    "docs/index.md": {"Words"},
    "docs/signals.md": {
        "The seven",
        "The hole in Stage 1, and the guard",
        "Answers to degenerate input",
        "Combining",
    },
}


# Guides quote what their own tests print.
ELSEWHERE = (*GENERATED, "CHANGELOG.md", "docs/guides/")


@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith(ELSEWHERE)])
def test_figures_name_the_command_they_come_from(name):
    text = re.sub(r"^```.*?^```$", "", text_of(name), flags=re.S | re.M)
    parts = re.split(r"^#+ (.+)$", text, flags=re.M)
    for title, body in zip(["", *parts[1::2]], [parts[0], *parts[2::2]], strict=True):
        found = MEASURED.findall(body)
        if found and title not in SETTINGS.get(name, ()):
            assert SOURCE.search(body), f"{name}, {title}: where do {found[:3]} come from?"

"""Documentation: examples run, lists are complete, links are valid, generated pages are current."""

import ast
import functools
import importlib.util
import json
import re
import shlex
import tomllib
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
import typer

from anml.annotators.words import VERDICTS
from anml.core import errors
from anml.core.profile import PROFILES
from anml.engines.options import ENGINES
from anml.io.formats import FORMATS
from anml.networks.scoring import SCORERS
from anml.pipeline.contributor_values import METHODS
from anml.pipeline.train import MODELS
from anml.signals.freshness import DOMAINS, RELATIONS, UNITS
from anml.signals.reputation import REPUTATION
from anml.signals.verification import VERIFICATION
from anml.tasks import TASKS
from anml.weighting.weigh import RECIPES
from experiments.door import check_experiment
from experiments.report import pages_of
from experiments.scenarios import SCENARIOS
from experiments.spec import list_experiments, parse
from experiments.summary import UNKNOWN, summarise
from made_up import consortium
from near import alike

pytestmark = pytest.mark.usefixtures("short_training", "shared_results")

ROOT = Path(__file__).parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "experiments" / "README.md"])
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]
REFERENCE = "docs/reference/"
MADE = tuple(f"{REFERENCE}{name}.md" for name in ("commands", "settings", "python", "ledger"))
GENERATED = ("docs/paper.md", "docs/beyond.md", "docs/cited.md", "docs/crowds.md", *MADE,
             *(name for name in NAMES if name.startswith("docs/paper/")))  # fmt: skip
LANGUAGES = {"python", "console", "bash", "toml", "sql", "text", "pycon", "yaml"}
SIGNALS = "docs/concepts/signals-and-weights.md"
# Hosts that pages may link to, beside those of one page alone.
HOSTS = {"keepachangelog.com", "semver.org"}
HOSTS_OF = {"docs/crowds.md": {"github.com"}}


@functools.cache
def tool(name):
    """A module of docs/tools, which is not a package."""
    spec = importlib.util.spec_from_file_location(f"docs_{name}", ROOT / "docs" / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


COMMANDS = tool("reference").all_commands()
PROGRAMS = {name: typer.main.get_command(app) for name, app in tool("reference").PROGRAMS.items()}


class Block(NamedTuple):
    """A code block: its language, its text, and why it is not run."""

    language: str
    text: str
    reason: str


def text_of(name):
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name):
    matches = re.findall(
        r"(?:^<!-- not run: ([^\n]*) -->\n)?^```([^\n]*)\n(.*?)^```$", text_of(name), re.S | re.M
    )
    return [Block(language, text, reason) for reason, language, text in matches]


def python_blocks(name):
    return [block.text for block in blocks(name) if block.language == "python"]


def typed(block):
    """Commands of a block of the shell, without comments."""
    text = block.text.replace("\\\n", " ")
    if block.language == "console":
        text = "\n".join(line[2:] for line in text.splitlines() if line.startswith("$ "))
    return [words for line in text.splitlines() if (words := shlex.split(line, comments=True))]


def program_of(words):
    """The program that words of the shell call, and the words after it."""
    for name in PROGRAMS:
        if words[: len(name.split())] == name.split():
            return name, words[len(name.split()) :]
    return None, words


def run_elsewhere(name):
    """The test in tests/docs that types the commands of a page as they stand."""
    if not any(block.language == "bash" for block in blocks(name)):
        return None
    tests = [path for path in (ROOT / "tests" / "docs").glob("*.py") if name in path.read_text()]
    return tests[0].relative_to(ROOT).as_posix() if tests else None


def section(name, title):
    """The text under a heading, up to the next heading of its rank."""
    match = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^\1 |\Z)", text_of(name), flags=re.S | re.M)
    assert match, f"{name} has no section {title!r}"
    return match[2]


# Blocks of code


@pytest.mark.slow
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
                name, arguments = program_of(words)
                assert name, f"{where}: {words[0]} is not run here; say why in a comment before it"
                code = PROGRAMS[name].main(arguments, prog_name=name, standalone_mode=False)
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
    inline = [
        f"{span}" for span in re.findall(r"`((?:anml|anml-ledger|make|python) [^`\n]+)`", text_of(name))
    ]
    lines = [
        words for block in blocks(name) if block.language in ("console", "bash") for words in typed(block)
    ]
    lines += [span.replace("…", " ").split() for span in inline]
    jobs = [block.text for block in blocks(name) if block.language == "yaml"]
    lines += [shlex.split(line) for job in jobs for line in re.findall(r"run: (anml .*)$", job, re.M)]
    makefile = text_of("Makefile")
    extras = tomllib.loads(text_of("pyproject.toml"))["project"]["optional-dependencies"]
    for words in lines:
        if words[0] == "make":
            assert re.search(rf"^{words[1]}:", makefile, re.M), words
        elif words[0] == "python" and words[1].endswith(".py") and "/" in words[1] and "$" not in words[1]:
            assert (ROOT / words[1]).is_file(), words
        elif program_of(words)[0] and not program_of(words)[1][0].startswith("-"):
            check_command(words)
    for extra in re.findall(r"attribution-native-ml\[(\w+)\]", text_of(name)):
        assert extra in extras


def check_command(words):
    """The longest name of a command that the words begin with has all of their options."""
    program, arguments = program_of(words)
    groups = {" ".join(name.split()[:-1]) for name in COMMANDS}
    name = next((n for count in range(5, 1, -1) if (n := " ".join(words[:count])) in COMMANDS), None)
    if name is None:
        assert f"{program} {arguments[0]}" in groups, words
        return
    # The commands of `anml` accept the options of the program as well.
    params = [*COMMANDS[name].params, *(PROGRAMS[program].params if program == "anml" else ())]
    known = {opt for option in params for opt in (*option.opts, *option.secondary_opts)}
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
    assert hosts <= HOSTS | HOSTS_OF.get(page.relative_to(ROOT).as_posix(), set())


@pytest.mark.slow
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
    """The image, the three lines, the one command and the two make commands, in this order."""
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


# Pages and code have the same names


@pytest.mark.parametrize("name", MADE)
def test_the_reference_is_that_of_the_code(name):
    made = tool("reference").PAGES[name.removeprefix(REFERENCE)]()
    assert text_of(name) == made, "run `make docs`"
    assert "do not edit by hand" in made


def test_every_command_and_public_name_is_in_the_reference():
    import anml

    heading = tool("reference").heading
    commands, names = text_of("docs/reference/commands.md"), text_of("docs/reference/python.md")
    assert [name for name in COMMANDS if f"\n## {heading(name)}\n" not in commands] == []
    assert [name for name in anml.__all__ if f"\n### {name}\n" not in names] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_help_text(command):
    assert all(option.help for option in COMMANDS[command].params)


@pytest.mark.parametrize("recipe", RECIPES)
def test_every_recipe_is_named_where_people_choose_one(recipe):
    chosen = next(option for option in COMMANDS["anml audit"].params if "--recipe" in option.opts)
    assert re.search(rf"\b{recipe}\b", chosen.help)
    assert f"**`{recipe}`.**" in section(SIGNALS, "Recipes")


NAMED = [
    (SIGNALS, "v, verification", VERIFICATION),
    (SIGNALS, "r, reputation", REPUTATION),
    (SIGNALS, "T, freshness", DOMAINS),
    (SIGNALS, "T, freshness", UNITS),
    (SIGNALS, "T, freshness", RELATIONS),
    (SIGNALS, "Other scores", SCORERS),
    (SIGNALS, "Early stopping", PROFILES),
    ("docs/howto/contributor-values.md", "Methods", METHODS),
    (
        "docs/howto/labelling-tools.md",
        "Audit exports of labelling tools",
        [name for name in FORMATS if name != "table"],
    ),
    ("docs/concepts/verdicts.md", "Verdicts", VERDICTS),
]


@pytest.mark.parametrize(("page", "title", "names"), NAMED, ids=[f"{p[5:]} {t}" for p, t, _ in NAMED])
def test_every_name_a_user_may_give_is_documented(page, title, names):
    text = section(page, title)
    assert [name for name in names if f"`{name}`" not in text] == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_every_scenario_is_named_in_the_experiments(scenario):
    assert re.search(rf"\b{scenario}\b", text_of("experiments/README.md"))


@pytest.mark.parametrize(
    ("command", "option", "names"),
    [
        ("anml train", "--model", [name for models in MODELS.values() for name in models]),
        ("anml audit", "--task", [name for name in TASKS if name != "auto"]),
        ("anml audit", "--recipe", RECIPES),
        ("anml audit", "--engine", ENGINES),
        ("anml value", "--method", METHODS),
    ],
)
def test_every_name_is_in_the_help_of_its_option(command, option, names):
    text = next(each for each in COMMANDS[command].params if option in each.opts).help
    assert [name for name in names if name not in text] == []


@pytest.mark.parametrize("levels", [VERIFICATION, REPUTATION], ids=["verification", "reputation"])
def test_levels_are_documented_with_their_values(levels):
    text = text_of(SIGNALS)
    for name, level in levels.items():
        row = f"| `{name}` | {level.low:.2f} - {level.high:.2f} | {level.default:.2f} | {level.meaning} |"
        assert row in text


def test_domains_and_relations_are_documented_with_their_values():
    text = section(SIGNALS, "T, freshness")
    for name, delta in DOMAINS.items():
        assert f"| `{name}` | {delta:g} |" in text
    for name, weights in RELATIONS.items():
        assert f"`{name}` ({', '.join(f'{weight:g}' for weight in weights)})" in text


def test_every_error_is_in_the_drawn_tree():
    drawn = re.findall(r"^(?:[├└]── )?(\w+)  +\w", errors.__doc__, re.M)
    real = [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, Exception)]
    assert sorted(drawn) == sorted(each.__name__ for each in real)
    assert all(each.__mro__[1] in (errors.AnmlError, ValueError) for each in real)
    documented = section(f"{REFERENCE}python.md", "anml.errors")
    assert all(f"`{name}`" in documented or f"### {name}\n" in documented for name in drawn)


# Terms


def documented():
    """Names in backticks on the pages of terms and of output files."""
    text = text_of("docs/terms.md") + text_of(f"{REFERENCE}files.md")
    return set(re.findall(r"`([\w-]+)`", text))


def is_documented(column, names):
    """True for a documented column, its interval, and its values before and after."""
    bare = re.sub(r"_(?:before|after)$", "", column) if {"NAME_before", "NAME_after"} <= names else column
    ends = {"NAME_low", "NAME_high"} <= names
    return bool({column, bare, re.sub(r"_(?:low|high)$", "", bare) if ends else bare} & names)


def test_every_option_of_anml_is_a_term_or_explained():
    options = {
        option
        for command in get_commands("anml")
        for param in command.params
        for option in (*param.opts, *param.secondary_opts)
        if option.startswith("--")
    }
    assert len(options) >= 30
    assert sorted(options - documented()) == []


def get_commands(program):
    """The commands of a program, and the program itself."""
    return [PROGRAMS[program], *(each for name, each in COMMANDS.items() if name.split()[0] == program)]


def columns_of(folder):
    """The columns of every table in a folder, by file."""
    tables = [*folder.rglob("*.csv"), *folder.rglob("*.parquet")]
    readers = {".csv": partial(pl.read_csv, n_rows=0), ".parquet": pl.read_parquet}
    return {path.relative_to(folder).as_posix(): readers[path.suffix](path).columns for path in tables}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """A folder with the output of every command that writes tables, and the columns of the input."""
    folder = tmp_path_factory.mktemp("outputs")
    given, made = folder / "given", folder / "made"
    given.mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(given)
        for name in ("reviews", "judgements", "hospitals"):
            exec(compile(text_of(f"docs/examples/{name}.py"), name, "exec"), {"__name__": "__main__"})
    rng, annotators = np.random.default_rng(0), ["ann", "bob", "cat"]
    width = rng.normal(size=120)
    numbers = {"width": width, "size": width + rng.normal(size=120), "annotator": annotators * 40}
    numbers |= {"lead_time": rng.uniform(size=120), "item": np.repeat(np.arange(40), 3)}
    pl.DataFrame(numbers).write_csv(given / "numbers.csv")
    place = [(f"image {at // 3}", annotators[at % 3], "dog" if at % 2 else "cat") for at in range(60)]
    boxes = pl.DataFrame(place, schema=["image", "annotator", "label"], orient="row")
    corner = {name: 10 + rng.normal(size=60) for name in ("x", "y")}
    boxes.with_columns(**corner, width=pl.lit(30.0), height=pl.lit(40.0)).write_csv(given / "boxes.csv")
    table = consortium(90).rename({"contributor": "annotator"}).with_columns(checked="label", panel="label")
    # Bob's accuracy changes, and dan copies ann's rows.
    late = pl.col("labeled_at") > "2023"
    table.with_columns(
        label=pl.when(late & (pl.col("annotator") == "bob")).then(pl.lit("no")).otherwise("label")
    ).write_csv(given / "labels.csv")
    plain = ["--set", "evaluate=false", "--quiet"]
    roles = ["--column", "true_label=checked", "--column", "time=labeled_at"]
    runs = {
        "export.json": [],
        "names.json": [],
        "boxes.csv": ["--task", "boxes"],
        "topics.csv": [],
        "stars.csv": ["--task", "ordinal", "--label", "stars", "--contributor", "rater"],
        "pairs.csv": ["--task", "preferences", "--contributor", "judge"],
        "numbers.csv": ["--label", "size", "--task", "regression", "--item", "item"],
        "labels.csv": ["--contributor", "annotator", "--column", "test_label=panel"],
    }
    runs["labels.csv"] += roles[2:]
    for name, words in runs.items():
        typed_in("anml", "audit", given / name, *words, *plain, "--out", made / Path(name).stem)
    parts = given / "parts"
    parts.mkdir()
    table.drop("checked", "panel").write_parquet(parts / "labels.parquet")
    slices = ["--contributor", "annotator", "--engine", "local", "--quiet", "--out", made / "slices"]
    typed_in("anml", "audit", parts, *slices)
    export, hospital = made / "export", given / "hospitals.parquet"
    queue = ["--format", "csv", "--ask", "--prices", "0.1", "--out", made / "queue.csv"]
    typed_in("anml", "relabel", export, *queue)
    typed_in("anml", "relabel", made / "pairs", "--out", made / "pairs.csv")
    typed_in("anml", "compare", export, export, "--out", made / "compared")
    value = ["--label", "readmitted", "--contributor", "hospital", "--budget", "16", "--out", made / "value"]
    typed_in("anml", "value", hospital, *value)
    train = ["--contributor", "annotator", *roles[:2], "--model", "logistic", *plain]
    typed_in("anml", "train", given / "labels.csv", *train, "--out", made / "trained")
    typed_in("anml", "predict", made / "trained", given / "labels.csv", "--out", made / "predicted.csv")
    inputs = {column for columns in columns_of(given).values() for column in columns}
    return made, inputs


def typed_in(program, *words):
    code = PROGRAMS[program].main([str(word) for word in words], prog_name=program, standalone_mode=False)
    assert not code, words


def test_every_output_column_is_a_term_or_explained(outputs):
    made, inputs = outputs
    written, names = columns_of(made), documented()
    assert len(written) > 30
    # The key, identifiers, features and label of the input are copied under their names.
    unknown = {
        (file, column)
        for file, columns in written.items()
        for column in columns
        if not is_documented(column, names) and column not in inputs | {"text"}
    }
    assert sorted(unknown) == []
    # And each column that the page of output files explains is written, but for rare ones.
    columns_written = {column for columns in written.values() for column in columns}
    listed = set(re.findall(r"`(\w+)`", section(f"{REFERENCE}files.md", "Columns")))
    assert (
        sorted(
            name
            for name in listed - RARE - TRACED
            if not name.startswith("NAME") and name not in columns_written
        )
        == []
    )


# Written for rows of a ledger, for duplicates and for change points.
RARE = {"level", "evidence", "duplicate_rows", "duplicates_of"}
# Written by `anml trace`; `tests/cli/test_trace.py` looks for them.
TRACED = {"certain", "influence", "query", "similarity"}


# Symbols, ideas and packages, with their files


def symbols():
    rows = [line for line in section(SIGNALS, "Symbols").splitlines() if line.endswith(".py` |")]
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
    """Names that a module of the package, or of the experiments, defines at its top."""
    names = set()
    folder = ROOT if file.startswith("experiments/") else ROOT / "src" / "anml"
    for node in ast.parse((folder / file).read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_ideas_are_where_the_table_says():
    table = section("docs/architecture.md", "Ideas and their files")
    rows = re.findall(r"^\| ([^|]+) \| `([\w./]+)` \| `(\w+)` \|$", table, flags=re.M)
    assert len(rows) == 15
    assert [(file, name) for _, file, name in rows if name not in defined(file)] == []


def test_the_way_of_one_row_goes_through_functions_that_exist():
    steps = tool("package_map").steps()
    assert len(steps) == 12
    assert [(file, name) for _, file, name in steps if name not in defined(file)] == []
    graph = tool("package_map").imports()
    reached, new = set(), {steps[0][0]}
    while new:
        reached |= new
        new = {other for package in new for other in graph[package]} - reached
    assert {package for package, _, _ in steps} <= reached


def test_the_package_map_is_that_of_the_imports():
    package_map = tool("package_map")
    assert text_of("docs/package-map.svg") == package_map.picture(), "run `make docs`"
    listed = re.findall(r"^\| `(\w+)` \|", section("docs/architecture.md", "The packages"), flags=re.M)
    assert sorted(listed) == package_map.packages()
    level = {package: at for at, layer in enumerate(package_map.layers()) for package in layer}
    pairs = [(package, other) for package, others in package_map.imports().items() for other in others]
    assert [(package, other) for package, other in pairs if level[other] <= level[package]] == []


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
    made = pages_of(folder, ROOT / page, summary, drawn, room=room)
    for path, text in made.items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m experiments report`"
    assert re.search(r"made by anml \d", made[ROOT / page])
    # Each experiment has the version of its rows.
    text = "".join(made.values())
    assert text.count(" Rows by anml ") == len(summary["experiments"])
    assert UNKNOWN not in text


@pytest.mark.slow
@pytest.mark.parametrize(
    ("folder", "room"), [("results", "paper"), ("results/beyond", "beyond"), ("results/cited", "field")]
)
def test_every_sentence_of_a_page_is_supported_by_rows(folder, room):
    """Figures and verdicts of the summary, and so of the page, follow from the committed rows."""
    summary = json.loads((ROOT / folder / "summary.json").read_text(encoding="utf-8"))
    assert alike(summary, json.loads(json.dumps(summarise(ROOT / folder, list_experiments(room)))))


def test_pages_of_results_are_short():
    assert len(text_of("docs/paper.md").splitlines()) <= 100
    assert len(text_of("docs/cited.md").splitlines()) <= 150


MEASURED = re.compile(r"\b\d[\d,.]*(?:%| ?(?:GiB|MiB|ms|seconds|minutes|hours|points|times as)\b| s\b)")
SOURCE = re.compile(
    r"`(?:python bench/|make bench|python -m experiments |ANML_)|results/"
    r"|tests/[\w/]+\.py|figure: |beyond\.md|cited\.md"
)
# Sections whose figures are settings or definitions, and no measurements.
SETTINGS = {
    "README.md": {"Comparison"},
    SIGNALS: {"Recipes", "Symbols"},
    "docs/concepts/verdicts.md": {"Verdicts", "Flags", "Accuracy"},
    "docs/howto/ci.md": {"Use audits in a pipeline"},
    "docs/howto/review-rounds.md": {"The review queue", "Compare two runs"},
    "docs/reference/files.md": {"Columns"},
}


def table_of(page, marker):
    """The rows of the table under a marker, by their first cells, as lists of figures."""
    lines = text_of(page).split(f"<!-- figures: {marker} -->\n")[1].split("\n\n")[0].splitlines()[2:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        tuple(c for c in row if not c.startswith(".")): [c for c in row if c.startswith(".")] for row in cells
    }


def short(value):
    return f"{value:.3f}".removeprefix("0")


def test_the_table_of_federations_is_that_of_the_rows():
    rows = json.loads(text_of("results/federated/rows.json"))
    rules, attacks = ("fedavg", "krum", "multi-krum", "trimmed", "anml"), {"none": ["none"]}
    attacks["mean of three"] = ["flip", "sign", "noise"]
    table = table_of("docs/howto/federated.md", "federated")
    assert len(table) == 8
    for (where, attack), figures in table.items():
        data, clients = where.removesuffix(" clients").split(", ")
        here = [row for row in rows if (row["data"], row["clients"]) == (data, int(clients))]
        for rule, figure in zip(rules, figures, strict=True):
            # Seeds of a cell first, then Dirichlet parameters and attacks.
            cells = {}
            for row in here:
                if row["rule"] == rule and row["attack"] in attacks[attack]:
                    cells.setdefault((row["attack"], row["alpha"]), []).append(row["accuracy"])
            assert figure == short(fmean(fmean(cell) for cell in cells.values())), (where, attack, rule)


def test_the_table_of_training_is_that_of_the_rows():
    rows = json.loads(text_of("results/training/rows.json"))
    rows = [row for row in rows if (row["epochs"], row["schedule"]) == (6, "constant")]
    for (task,), figures in table_of("docs/howto/pytorch-huggingface.md", "training").items():
        here = [row for row in rows if row["task"] == {"images": "pictures"}.get(task, task)]
        assert len(here) == 5
        wanted = [fmean(row[name] for row in here) for name in ("plain", "audit first", "oracle")]
        assert [short(value) for value in wanted] == figures


def test_the_claims_of_the_readme_are_those_of_the_rows():
    sets = json.loads(text_of("results/crowds/rows.json"))["sets"]
    readme, people = text_of("README.md"), [each["contributor_rows"]["anml"] for each in sets]
    total = {
        name: sum(each[name] for each in people) for name in people[0] if isinstance(people[0][name], int)
    }
    mean = {
        name: f"{fmean(100 * each['accuracy'][name] for each in sets):.1f}" for name in ("anml", "DS", "MV")
    }
    best = max(set(sets[0]["accuracy"]) - {"anml"}, key=lambda name: fmean(s["accuracy"][name] for s in sets))
    behind = [
        each for each in sets if min(low_high[2] for low_high in each["difference"]["anml"].values()) < 0
    ]
    pages = next(each["contributor_rows"]["anml"] for each in sets if each["name"] == "pages")
    assert (len(sets), best, len(behind)) == (10, "DS", 3)
    for claim in (
        f"{total['fine_flagged']} of {total['fine']} good contributors are flagged, ",
        f"flagged, {total['fine_reliable']} are *reliable*",
        f"Of {total['surely_bad']} contributors who are certainly bad, {total['surely_bad_found']} are found",
        f"and {total['surely_bad_reliable']} are *reliable*",
        f"Mean accuracy {mean['anml']}%; the best of seven published methods (Dawid-Skene) has {mean['DS']}%",
        f"majority vote {mean['MV']}%. On three sets",
        f"{pages['bad_reliable']} of {pages['bad']} bad contributors are called *reliable*",
    ):
        assert claim in readme, claim
    cost = re.search(r"\| ([\d.]+) times the processor time of cleanlab's Datalab", readme)[1]
    assert f"| {cost}x (" in text_of("docs/bench.md")


# Pages that other tests type quote the output; the changelog repeats figures of pages.
@pytest.mark.parametrize("name", [name for name in NAMES if name not in (*GENERATED, "CHANGELOG.md")])
def test_figures_name_the_command_they_come_from(name):
    text = re.sub(r"^```.*?^```$", "", text_of(name), flags=re.S | re.M)
    parts = re.split(r"^#+ (.+)$", text, flags=re.M)
    for title, body in zip(["", *parts[1::2]], [parts[0], *parts[2::2]], strict=True):
        figures = MEASURED.findall(body)
        if figures and title not in SETTINGS.get(name, ()) and not run_elsewhere(name):
            assert SOURCE.search(body), f"{name}, {title}: where do {figures[:3]} come from?"

"""The code as a whole: nothing is written twice, and no data lies in the repository."""

import ast
import functools
import statistics
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
# The package, and the experiments, which are no part of it.
SOURCE = ROOT / "src" / "anml"
SOURCES = (SOURCE, ROOT / "experiments")
# So many lines of code, one after the other, are one idea: it has one home.
MOST_TWICE = 5
# What may stand twice, with the reason.
TWICE = {
    # The roles that a user may name, and the roles that were found: the label of the one may be left open.
    ("src/anml/io/columns.py", "src/anml/pipeline/request.py"),
    # Two commands hand all of their options to one request; typer gives them one by one.
    ("src/anml/cli/audit.py", "src/anml/cli/audit.py"),
}


def modules() -> list[Path]:
    """Every module of the package and of the experiments."""
    return sorted(path for folder in SOURCES for path in folder.rglob("*.py"))


@functools.cache
def parsed(path: Path) -> ast.Module:
    """A module as a tree, which takes longer than looking at it."""
    return ast.parse(path.read_text())


def code(path: Path) -> list[str]:
    """Lines of code without blanks, comments, imports and signatures.

    Signatures repeat what frameworks ask for: scikit-learn reads parameters from `fit` itself, typer reads
    options from each command, and experiments are called alike.
    """
    text = path.read_text()
    passed: set[int] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            passed.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
        if isinstance(node, ast.FunctionDef):
            passed.update(range(node.lineno, node.body[0].lineno))
    lines = (line.strip() for number, line in enumerate(text.splitlines(), 1) if number not in passed)
    return [line for line in lines if line and not line.startswith("#")]


def repeated(files: dict[str, list[str]], limit: int = MOST_TWICE) -> dict[tuple[str, str], str]:
    """Pairs of files that share more lines in a row than `most`, and the first lines that they share."""
    places = defaultdict(list)
    for name, lines in files.items():
        for start in range(len(lines) - limit):
            places[tuple(lines[start : start + limit + 1])].append((name, start))
    return {
        (one, other): run[0]
        for run, result in places.items()
        for number, (one, first) in enumerate(result)
        for other, second in result[number + 1 :]
        if one != other or second - first > limit
    }


def clashes(tree: ast.Module) -> list[str]:
    """Names that one comprehension of a function binds and another takes for those of the module.

    Python 3.12 runs both in the function itself, and finds the second unbound.
    """
    results = []
    named = {node.name for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    made = (ast.ListComp, ast.SetComp, ast.DictComp)
    for function in (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)):
        parts = [node for node in ast.walk(function) if isinstance(node, made)]
        bound = {
            n.id
            for part in parts
            for g in part.generators
            for n in ast.walk(g.target)
            if isinstance(n, ast.Name)
        }
        for part in parts:
            own = {n.id for n in ast.walk(part) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
            asked = {n.id for n in ast.walk(part) if isinstance(n, ast.Name)}
            results += sorted((asked - own) & bound & named)
    return results


def test_no_comprehension_takes_the_name_of_another_for_a_function():
    wrong = "def f(): return 1\ndef g(x): a = [f for f in x]; return [f() for _ in a]"
    assert clashes(ast.parse(wrong)) == ["f"]
    assert clashes(ast.parse(wrong.replace("f for f", "y for y"))) == []
    result = {path.name: clashes(parsed(path)) for path in modules()}
    assert {name: names for name, names in result.items() if names} == {}


@pytest.mark.parametrize(("folders", "minimum"), [(SOURCES, 350), ((ROOT / "tests",), 300)])
def test_no_six_lines_stand_twice(folders, minimum):
    paths = sorted(path for folder in folders for path in folder.rglob("*.py"))
    files = {str(path.relative_to(ROOT)): code(path) for path in paths}
    assert len(files) > minimum
    result = {pair: line for pair, line in repeated(files).items() if pair not in TWICE}
    assert not result


@pytest.mark.parametrize(("shared", "result"), [(5, set()), (6, {("a.py", "b.py")})])
def test_six_lines_in_a_row_are_seen(shared, result):
    same = [f"line {number}" for number in range(shared)]
    assert set(repeated({"a.py": ["one", *same], "b.py": [*same, "other"]})) == result


def test_lines_that_overlap_themselves_are_no_copy():
    assert not repeated({"a.py": ["x = 1"] * 8})
    assert set(repeated({"a.py": ["x = 1"] * 12})) == {("a.py", "a.py")}


# Names of classes that may stand in two packages, with the reason.
SAME_NAME: dict[str, str] = {}


def defined(kind: type | tuple[type, ...]) -> list[tuple[str, ast.AST]]:
    """Everything of a kind that the source defines, with its package."""
    return [
        (path.relative_to(SOURCE).parts[0] if path.is_relative_to(SOURCE) else "experiments", node)
        for path in modules()
        for node in ast.walk(parsed(path))
        if isinstance(node, kind)
    ]


def test_no_class_name_stands_in_two_packages():
    packages = defaultdict(set)
    for package, node in defined(ast.ClassDef):
        packages[node.name].add(package)
    assert {
        name: result for name, result in packages.items() if len(result) > 1 and name not in SAME_NAME
    } == {}
    assert all(len(packages[name]) > 1 for name in SAME_NAME)


# So many functions have forty lines and more below their signature and docstring; the number only goes down.
MOST_LONG = 10


def length_of_body(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Lines below the signature and the docstring: commands and public functions document many options."""
    body = node.body[1:] if ast.get_docstring(node) else node.body
    return node.end_lineno - body[0].lineno + 1 if body else 0


def test_modules_and_functions_are_small_enough_to_see():
    lengths = [len(path.read_text().splitlines()) for path in modules()]
    assert statistics.median(lengths) <= 125
    long = [
        (package, node.name)
        for package, node in defined((ast.FunctionDef, ast.AsyncFunctionDef))
        if length_of_body(node) >= 40
    ]
    assert len(long) <= MOST_LONG, long


DATA = ("data.csv", "H3.pkl", "rows.npy", "all.parquet", "model.safetensors", "books.db", "weights.pt")


@pytest.mark.parametrize("name", DATA)
def test_data_in_the_repository_is_refused(tmp_path, name):
    git = ["git", "-C", str(tmp_path)]
    subprocess.run([*git, "init", "-q"], check=True)
    (tmp_path / "module.py").write_text("")
    (tmp_path / "tests" / "data").mkdir(parents=True)
    (tmp_path / "tests" / "data" / "small.csv").write_text("a\n")
    subprocess.run([*git, "add", "."], check=True)
    check = [sys.executable, str(ROOT / "tests" / "no_data.py"), str(tmp_path)]
    assert subprocess.run(check, check=False).returncode == 0
    (tmp_path / name).write_text("")
    subprocess.run([*git, "add", "."], check=True)
    ran = subprocess.run(check, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    assert name in ran.stderr


def test_the_mark_of_slow_tests_is_known(pytestconfig):
    assert any(line.startswith("slow:") for line in pytestconfig.getini("markers"))

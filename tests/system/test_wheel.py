"""The wheel alone, in an empty environment: its files, its size, and the first example of the README."""

import ast
import csv
import os
import random
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
SOURCES = ("src", "pyproject.toml", "README.md", "LICENSE")
MAX_MEGABYTES = 750
# Names of distributions that only extras bring.
EXTRA = {
    "torch",
    "transformers",
    "lightning",
    "ray",
    "flwr",
    "sqlalchemy",
    "cryptography",
    "pandas",
    "matplotlib",
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """The wheel, built from a copy, since a build writes into its folder."""
    copy, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in SOURCES:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            shutil.copy(source, copy)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", out, copy)
    (result,) = out.glob("*.whl")
    return result


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """A folder of programs where the wheel is installed without extras."""
    place = tmp_path_factory.mktemp("installed")
    run(sys.executable, "-m", "venv", place)
    run(place / "bin" / "python", "-m", "pip", "install", "--quiet", wheel)
    return place / "bin"


@pytest.fixture
def labels(tmp_path) -> Path:
    """A folder with `labels.csv`: 300 rows by six annotators, of whom one guesses."""
    rng = random.Random(0)
    path = tmp_path / "labels.csv"
    with path.open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["width", "height", "label", "annotator"])
        for row in range(300):
            kind, annotator = rng.choice(["cat", "dog"]), f"annotator {row % 6}"
            centre = 3.0 if kind == "cat" else 0.0
            given = rng.choice(["cat", "dog"]) if row % 6 == 5 else kind
            table.writerow([rng.gauss(centre, 1), rng.gauss(-centre, 1), given, annotator])
    return tmp_path


def run(*command: object, cwd: Path | None = None) -> str:
    """Run a program outside of this environment; what it prints is returned, or shown where it fails."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ran = subprocess.run([*map(str, command)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, f"{command}: {ran.stdout}{ran.stderr}"
    return ran.stdout


def readme(language: str) -> str:
    """The first example of the README in a language."""
    result = re.search(rf"```{language}\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert result is not None
    return result[1]


def test_the_wheel_holds_the_package_and_nothing_else(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.partition("/")[0] for name in names}
    assert len(tops) == 2
    assert "anml" in tops
    assert all(top == "anml" or top.endswith(".dist-info") for top in tops)
    inside = {name.removeprefix("anml/") for name in names if name.startswith("anml/")}
    expected = {
        str(path.relative_to(ROOT / "src" / "anml"))
        for path in (ROOT / "src" / "anml").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert inside == expected
    assert not [name for name in inside if re.search(r"(^|/)(test_|tests/|experiments/)", name)]


def test_the_installation_is_small_and_brings_no_extra(installed):
    packages = next(installed.parent.glob("lib/python*/site-packages"))
    size = sum(path.lstat().st_size for path in packages.rglob("*") if not path.is_symlink())
    assert size <= MAX_MEGABYTES * 10**6
    listed = run(installed / "python", "-m", "pip", "list", "--format", "freeze").lower().splitlines()
    assert not EXTRA & {line.partition("==")[0] for line in listed}


def test_the_first_example_in_python(installed, labels):
    program = (
        readme("python") + "\nprint(*audit.contributors.select('contributor', 'verdict').rows(), sep='|')\n"
    )
    printed = run(installed / "python", "-c", program, cwd=labels)
    verdicts = dict(ast.literal_eval(pair) for pair in printed.strip().split("|"))
    assert [name for name, verdict in verdicts.items() if verdict != "reliable"] == ["annotator 5"]
    assert "annotator 5" in (labels / "report.html").read_text()


def test_the_first_example_on_the_command_line(installed, labels):
    (command,) = (line.removeprefix("$ ") for line in readme("console").splitlines())
    name, *arguments = command.split()
    printed = run(installed / name, *arguments, cwd=labels)
    assert "annotator 5" in printed
    written = {path.name for path in (labels / "audit").iterdir()}
    assert {"report.html", "run.json", "samples.parquet", "contributors.csv"} <= written


def test_what_needs_an_extra_says_so_in_one_sentence(installed):
    ran = subprocess.run(
        [installed / "anml-ledger", "show", "staff"], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert "needs the package sqlalchemy: pip install 'attribution-native-ml[ledger]'" in ran.stderr

"""Tests mirror modules: each module has a file of tests of its name, in the folder of its name.

`src/anml/core/folds.py` is tested in `tests/core/test_folds.py`, `experiments/spec.py` in
`tests/experiments/test_spec.py`. Where two modules share a name, the folder goes before it:
`src/anml/signals/quality.py` in `tests/signals/test_signals_quality.py`. Tests of whole programs are in
`tests/system`, those of the documentation in `tests/docs`.
"""

from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parent
ROOT = TESTS.parent
SOURCES = {ROOT / "src" / "anml": Path(), ROOT / "experiments": Path("experiments")}
# Folders of tests that mirror no folder of modules.
OTHERS = {Path(), Path("docs"), Path("system")}
# The share of modules with a file of tests of their name; it only ever goes up.
LEAST = 0.84


def modules() -> list[Path]:
    """Modules by the place that tests mirror; programs written for outsiders are left out."""
    result = (
        place / path.relative_to(source)
        for source, place in SOURCES.items()
        for path in source.rglob("*.py")
        if path.name not in ("__init__.py", "__main__.py")
    )
    return sorted(path for path in result if "templates" not in path.parts)


def mirrors(module: Path) -> set[Path]:
    """Possible test files of a module: in its folder, or above it with the folder names as prefix."""
    folders = module.parent.parts
    results = {Path(*folders, f"test_{name}_{module.name}") for name in (*folders, "_".join(folders))}
    for depth in range(len(folders) + 1):
        before = "".join(f"{name}_" for name in folders[depth:])
        results.add(Path(*folders[:depth], f"test_{before}{module.name}"))
    return results


def mirrored(module: Path) -> bool:
    return any((TESTS / path).is_file() for path in mirrors(module))


def test_most_modules_have_tests_of_their_name():
    every = modules()
    bare = [str(path) for path in every if not mirrored(path)]
    share = 1 - len(bare) / len(every)
    assert share >= LEAST, (
        f"{share:.0%} of the modules have tests of their name, {LEAST:.0%} are asked for: {bare}"
    )


def test_files_of_tests_have_different_names():
    """Outside of packages pytest takes two files of one name for one module."""
    names = Counter(
        path.name for path in TESTS.rglob("test_*.py") if not (path.parent / "__init__.py").is_file()
    )
    assert [name for name, count in names.items() if count > 1] == []


def test_folders_of_tests_are_folders_of_modules():
    """A test in a folder that mirrors no folder of modules is hard to find."""
    folders = {path.parent.relative_to(TESTS) for path in TESTS.rglob("test_*.py")} - OTHERS
    assert folders - {module.parent for module in modules()} == set()


def test_a_name_that_two_modules_share_is_no_file_of_tests_for_both():
    """Of two modules of one name each has a file of its own: the same file cannot mirror both."""
    claimed = Counter(path for module in modules() for path in mirrors(module) if (TESTS / path).is_file())
    assert [str(path) for path, count in claimed.items() if count > 1] == []

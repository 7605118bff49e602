"""Count the asserted facts of each test folder: `python tests/facts.py [FOLDER OF ANOTHER CHECKOUT]`.

A fact is an `assert`, a `pytest.raises` or `pytest.warns`, a `numpy.testing` call, or one more case of a
parametrised test. Run it on two checkouts to see whether a change lost assertions.
"""

import ast
import sys
from collections import Counter
from pathlib import Path


def called_name(node: ast.Call) -> str:
    return ast.unparse(node.func)


def parametrised_cases(function: ast.FunctionDef) -> int:
    """Number of cases of the decorators of a test, 1 without any."""
    cases = 1
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call) and called_name(decorator).endswith("parametrize"):
            values = decorator.args[1] if len(decorator.args) > 1 else None
            if isinstance(values, (ast.List, ast.Tuple)):
                cases *= max(1, len(values.elts))
    return cases


def facts_in(tree: ast.AST) -> int:
    count = 0
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert):
            count += 1
        elif isinstance(node, ast.Call):
            name = called_name(node)
            count += name.endswith(("pytest.raises", "pytest.warns")) or ".testing.assert" in name
        elif isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            count += parametrised_cases(node) - 1
    return count


def facts_by_folder(tests: Path) -> Counter[str]:
    counts: Counter[str] = Counter()
    for file in sorted(tests.rglob("*.py")):
        inside = file.relative_to(tests).parts
        counts[inside[0] if len(inside) > 1 else "."] += facts_in(ast.parse(file.read_text("utf-8")))
    return counts


def main() -> None:
    root = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent
    counts = facts_by_folder(root / "tests")
    for folder, count in sorted(counts.items()):
        print(f"{folder:<14} {count:>6}")
    print(f"{'total':<14} {counts.total():>6}")


if __name__ == "__main__":
    main()

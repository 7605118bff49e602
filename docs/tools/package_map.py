"""Draw the package map from the imports: `python docs/tools/package_map.py` writes docs/package-map.svg.

Boxes are the packages of `src/anml`, in the layers that pyproject.toml gives to import-linter. Numbers are
the steps of one row, from the table "The way of one row" in docs/architecture.md.
"""

import ast
import functools
import re
import tomllib
from html import escape
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "anml"
PAGE = ROOT / "docs" / "architecture.md"
MAP = ROOT / "docs" / "package-map.svg"

WIDTH, ROW, BOX, TOP = 860, 84, 60, 16
STYLE = """
text { font: 13px system-ui, sans-serif; fill: #1d2733; }
.name { font-weight: 600; font-size: 15px; }
.from { font-size: 11px; fill: #5b6876; }
.package { fill: #f4f6f8; stroke: #8a98a8; }
.way { fill: #2b5c8a; }
.step { fill: #fff; font-size: 11px; font-weight: 600; text-anchor: middle; }
path { stroke: #b4bfca; fill: none; }
marker path { fill: #b4bfca; stroke: none; }
@media (prefers-color-scheme: dark) {
text { fill: #e6ebf0; } .from { fill: #a5b1bd; } .package { fill: #232c36; stroke: #5b6876; }
.way { fill: #7fb2e0; } .step { fill: #14202b; }
path { stroke: #4a5663; } marker path { fill: #4a5663; }
}
"""


def packages() -> list[str]:
    """Return the packages of anml, by name."""
    return sorted(path.parent.name for path in SOURCE.glob("*/__init__.py"))


@functools.cache
def imports() -> dict[str, list[str]]:
    """Return the packages that each package imports, by name."""
    graph: dict[str, set[str]] = {package: set() for package in packages()}
    for package in graph:
        for file in (SOURCE / package).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                graph[package] |= {name for name in _packages_of(node) if name in graph and name != package}
    return {package: sorted(others) for package, others in graph.items()}


def _packages_of(node: ast.AST) -> set[str]:
    """Return the packages that an import statement names."""
    if isinstance(node, ast.ImportFrom) and not node.level and node.module:
        full = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    elif isinstance(node, ast.Import):
        full = [alias.name for alias in node.names]
    else:
        return set()
    parts = [name.split(".") for name in full]
    return {part[1] for part in parts if part[0] == "anml" and len(part) > 1}


def layers() -> list[list[str]]:
    """Return the packages by layer, from the highest layer down to the one that imports none."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    listed = next(contract["layers"] for contract in contracts if contract["type"] == "layers")
    known = set(packages())
    stack = [[name.strip(" ()").removeprefix("anml.") for name in line.split("|")] for line in listed]
    stack = [[package for package in layer if package in known] for layer in stack]
    missing = sorted(known - {package for layer in stack for package in layer})
    return [layer for layer in [*stack, missing] if layer]


def steps() -> list[tuple[str, str, str]]:
    """Return the steps of one row as (package, file, name), from the page."""
    text = PAGE.read_text(encoding="utf-8")
    section = text.split("## The way of one row")[1].split("\n## ")[0]
    rows = re.findall(r"^\| \d+ \| `([\w./]+)` \| `(\w+)` \|", section, flags=re.M)
    return [(file.split("/")[0], file, name) for file, name in rows]


def drawn(graph: dict[str, list[str]], stack: list[list[str]]) -> list[tuple[str, str]]:
    """Return the imports of the next layer; arrows of all imports would fill the map."""
    level = {package: at for at, layer in enumerate(stack) for package in layer}
    return [
        (package, other)
        for package in graph
        for other in graph[package]
        if level[other] == level[package] + 1
    ]


def picture() -> str:
    """Return the map as SVG."""
    graph, stack = imports(), layers()
    places: dict[str, tuple[float, int, float]] = {}
    for down, layer in enumerate(stack):
        wide = min(400.0, (WIDTH - 20 * (len(layer) + 1)) / len(layer))
        start = (WIDTH - wide * len(layer) - 20 * (len(layer) - 1)) / 2
        for across, package in enumerate(layer):
            places[package] = (start + across * (wide + 20), TOP + down * ROW, wide)
    numbers: dict[str, list[int]] = {}
    for number, (package, _, _) in enumerate(steps(), start=1):
        numbers.setdefault(package, []).append(number)
    height = TOP + len(stack) * ROW
    about = "; ".join(f"{package} imports {', '.join(graph[package]) or 'nothing'}" for package in places)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">',
        f"<title>The packages of anml</title><desc>{escape(about)}</desc>",
        f"<style>{STYLE}</style>",
        '<defs><marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        'orient="auto"><path d="M0 0L8 4L0 8z"/></marker></defs>',
    ]
    for package, other in drawn(graph, stack):
        (x1, y1, w1), (x2, y2, w2) = places[package], places[other]
        a, b = x1 + w1 / 2, x2 + w2 / 2
        lines.append(
            f'<path d="M{a:.0f} {y1 + BOX}C{a:.0f} {y1 + BOX + 18} {b:.0f} {y2 - 18} {b:.0f} {y2 - 2}" '
            'marker-end="url(#end)"/>'
        )
    for package, (x, y, wide) in places.items():
        lines.append(
            f'<rect class="package" x="{x:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{BOX}" rx="6"/>'
            f'<text class="name" x="{x + 12:.0f}" y="{y + 21:.0f}">{package}</text>'
        )
        for at, text in enumerate(_wrapped(graph[package], wide)):
            lines.append(f'<text class="from" x="{x + 12:.0f}" y="{y + 38 + 14 * at:.0f}">{text}</text>')
        for at, number in enumerate(reversed(numbers.get(package, []))):
            cx = x + wide - 16 - 24 * at
            lines.append(
                f'<circle class="way" cx="{cx:.0f}" cy="{y + 16:.0f}" r="10"/>'
                f'<text class="step" x="{cx:.0f}" y="{y + 20:.0f}">{number}</text>'
            )
    return "\n".join([*lines, "</svg>"]) + "\n"


def _wrapped(names: list[str], wide: float) -> list[str]:
    """Return the imports of a package in at most two lines."""
    if not names:
        return ["imports no other package"]
    text, fits = ", ".join(names), int((wide - 20) / 5.6)
    if len(text) <= fits:
        return [text]
    cut = text.rfind(", ", 0, fits) + 1
    return [text[:cut], text[cut + 1 :]]


if __name__ == "__main__":
    MAP.write_text(picture(), encoding="utf-8")

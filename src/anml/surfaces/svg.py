"""Figures as inline SVG: one palette of CSS variables for light, dark and print; the same bytes each time."""

import re
import warnings
from collections.abc import Callable
from html import escape
from io import StringIO
from typing import Any

import matplotlib
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from rich.cells import cell_len

# Blue and orange of Okabe and Ito, which the common kinds of colour blindness tell apart.
INK, QUIET, LINE, PAPER = "#1f2933", "#5b6874", "#c6cdd4", "#fdfdfe"
MAIN, OTHER = "#0b6aa8", "#c8641b"
VARIABLES = {INK: "ink", QUIET: "quiet", LINE: "line", PAPER: "paper", MAIN: "main", OTHER: "other"}

# Drawn about as wide as a phone shows it, so that text stays readable there and on a desktop alike.
WIDTH = 440
PER_INCH = 72
FONT = 11.5
CHARACTER = 6.4

SETTINGS: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "anml",
    "text.parse_math": False,
    "font.size": FONT,
    "text.color": INK,
    "axes.edgecolor": LINE,
    "axes.labelcolor": QUIET,
    "axes.linewidth": 0.8,
    "xtick.color": LINE,
    "ytick.color": LINE,
    "xtick.labelcolor": QUIET,
    "ytick.labelcolor": INK,
    "axes.unicode_minus": True,
    "path.simplify": False,
}

Margins = tuple[float, float, float, float]


def draw(
    name: str, title: str, height: float, margins: Margins, paint: Callable[[Figure, Axes], None], text: str
) -> str:
    """Paint one figure as an SVG element; `name` is unique in the page, `text` for who does not see it."""
    left, right, top, bottom = margins
    # As shipped, so that a reader's own matplotlib file does not change the report.
    shipped = {k: v for k, v in matplotlib.rcParamsDefault.items() if not k.startswith("backend")}
    with matplotlib.rc_context(shipped | SETTINGS), warnings.catch_warnings():
        # Names come in any script; the browser has the letters that the measuring font lacks.
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        warnings.filterwarnings("ignore", message="Matplotlib currently does not support")
        figure = Figure(figsize=(WIDTH / PER_INCH, height / PER_INCH), dpi=PER_INCH)
        canvas = FigureCanvasSVG(figure)
        box = (left / WIDTH, bottom / height, 1 - (left + right) / WIDTH, 1 - (top + bottom) / height)
        axes = figure.add_axes(box)
        figure.patch.set_alpha(0)
        plain(axes)
        paint(figure, axes)
        out = StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        canvas.print_svg(out, metadata=nothing)  # type: ignore[no-untyped-call]
    return _inline(out.getvalue(), name, title, text)


def plain(axes: Axes) -> None:
    """Take away all that is not data: box, background, tick marks."""
    axes.patch.set_alpha(0)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(length=0, pad=6)


def grid(axes: Axes, axis: str = "x") -> None:
    """Draw light lines to read values by, behind the data."""
    axes.set_axisbelow(True)
    axes.grid(axis=axis, color=LINE, linewidth=0.6, alpha=0.7)  # type: ignore[arg-type]


def label_margin(labels: list[str]) -> float:
    """Pixels that the widest of these labels takes at the left of an axis."""
    return max(map(cell_len, labels), default=0) * CHARACTER + 12


def _inline(svg: str, name: str, title: str, text: str) -> str:
    """Keep the drawing alone: scaled by its box, ids of its own, colours by variable."""
    body = svg[svg.index("<svg") :]
    # The style element would reach the whole page, not this drawing alone.
    body = re.sub(r"<(metadata|style)\b.*?</\1>\s*", "", body, flags=re.DOTALL)
    view = re.search(r'viewBox="[^"]*"', body)
    shown = view.group() if view else ""
    body = body[body.index(">") + 1 :]
    # Only inside tags: what stands between them may be a contributor's name.
    body = re.sub(r"<[^>]*>", lambda tag: _own(tag.group(), name), body)
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'{shown} role="img" aria-labelledby="{name}-title {name}-text">'
    )
    said = f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-text">{escape(text)}</desc>'
    return head + said + body


def _own(tag: str, name: str) -> str:
    tag = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{name}-", tag)
    tag = re.sub(r' transform="rotate\(-0 [^"]*"| ?font-family: [^;]*;|\n', "", tag)
    for colour, variable in VARIABLES.items():
        tag = tag.replace(colour, f"var(--{variable})")
    return tag

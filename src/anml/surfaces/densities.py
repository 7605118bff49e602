"""Figures of many rows at once: binned first, so that their size does not grow with the table."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.ticker import FuncFormatter, MaxNLocator

from anml.core.calibration import Reliability
from anml.core.checks import Floats
from anml.surfaces.names import shortened
from anml.surfaces.svg import (
    INK,
    MAIN,
    OTHER,
    PAPER,
    QUIET,
    WIDTH,
    draw,
    grid,
    label_margin,
    plain,
)

BINS = 32
DAYS_PER_YEAR = 365.25
# Up to this many classes a matrix is still readable in half the width of a figure.
MOST_CLASSES = 12
MATRICES = 4
KEYED = 350
AGES = 300


def q_against_s_figure(q: Floats, s: Floats) -> str:
    """Rows by q and s, counted in cells, with the mean q at each s."""
    counts, edges_s, edges_q = np.histogram2d(s, q, bins=BINS, range=((0, 1), (0, 1)))
    at_s, at_q = np.nonzero(counts)
    deep = _depth(counts[at_s, at_q])
    inside = np.clip((s * BINS).astype(int), 0, BINS - 1)
    rows = np.bincount(inside, minlength=BINS)
    centres, means = _means(q, s, inside, rows)

    def paint(figure: Figure, axes: Axes) -> None:
        grid(axes, "both")
        step = 1 / BINS
        for alpha in np.unique(deep):
            cells = [
                Rectangle((edges_s[i], edges_q[j]), step, step)
                for i, j in zip(at_s[deep == alpha], at_q[deep == alpha], strict=True)
            ]
            axes.add_collection(PatchCollection(cells, facecolor=MAIN, edgecolor="none", alpha=float(alpha)))
        axes.plot(
            centres, means, "o-", color=OTHER, markeredgecolor=PAPER, markersize=6, linewidth=1, clip_on=False
        )
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.01)
        axes.set_xlabel("s = v r, what the credentials say")
        axes.set_ylabel("q, what the model sees")
        _key(figure, counts.max())

    text = f"{len(q):,} rows; mean q is {means[0]:.2f} at the lowest s, {means[-1]:.2f} at the highest."
    return draw("qs", "q against s", KEYED, (52, 14, 30, 44), paint, text)


def reliability_figure(found: Reliability) -> str:
    """Share of labels that are right against p_correct; on the line p_correct is true."""
    some = found.count > 0
    low, high = found.interval()
    believed, right = found.believed[some], found.right[some]

    def paint(figure: Figure, axes: Axes) -> None:
        grid(axes, "both")
        axes.plot([0, 1], [0, 1], color=QUIET, linewidth=1, linestyle=(0, (4, 3)))
        for x, below, above in zip(believed, low[some], high[some], strict=True):
            axes.plot([x, x], [below, above], color=MAIN, linewidth=4, alpha=0.35)
        axes.plot(believed, right, "o", color=MAIN, markersize=7, clip_on=False)
        axes.set_xlim(0, 1)
        axes.set_ylim(0, 1.01)
        axes.set_xlabel("p_correct")
        axes.set_ylabel("share that is right, 95% interval")

    text = "; ".join(
        f"{count:,} rows with p_correct {b:.0%}: {r:.0%} right"
        for count, b, r in zip(found.count[some], believed, right, strict=True)
    )
    return draw("gold", "p_correct against truth", KEYED, (52, 14, 12, 44), paint, text)


def _means(q: Floats, s: Floats, inside: Any, rows: Any) -> tuple[Floats, Floats]:
    used = rows > 0
    total_s, total_q = np.bincount(inside, s, BINS), np.bincount(inside, q, BINS)
    return total_s[used] / rows[used], total_q[used] / rows[used]


def _depth(counts: Floats) -> Floats:
    """Five shades by the logarithm of the count: a single row stays visible beside thousands."""
    scaled = np.log1p(counts) / np.log1p(counts.max())
    return np.asarray(np.round(0.15 + 0.8 * np.ceil(scaled * 5) / 5, 2))


def _key(figure: Figure, most: float) -> None:
    y = 1 - 13 / KEYED
    figure.text(52 / WIDTH, y, "rows in a cell", va="center", color=QUIET, fontsize=10.5)
    counts = np.unique(np.round(np.geomspace(1, max(most, 1), 3)))
    for place, (count, alpha) in enumerate(zip(counts, _depth(counts), strict=True)):
        x = 0.33 + 0.13 * place
        figure.add_artist(Rectangle((x, y - 0.014), 0.022, 0.028, facecolor=MAIN, alpha=float(alpha)))
        figure.text(x + 0.032, y, f"{count:,.0f}", va="center", color=QUIET, fontsize=10.5)
    x = 0.77
    figure.add_artist(Rectangle((x, y - 0.003), 0.03, 0.006, facecolor=OTHER))
    figure.text(x + 0.04, y, "mean q", va="center", color=QUIET, fontsize=10.5)


def ages_figure(age: Floats, decay: Callable[[Any], Floats]) -> str:
    """Freshness T by age above, and how many rows are how old below."""
    scale, unit = (DAYS_PER_YEAR, "days") if age.max() < 0.5 else (1.0, "years")
    oldest = float(age.max()) or 1.0 / DAYS_PER_YEAR
    counts, edges = np.histogram(age, bins=BINS, range=(0, oldest))
    curve = np.linspace(0, oldest, 100)

    def paint(figure: Figure, axes: Axes) -> None:
        axes.set_position((58 / WIDTH, 44 / AGES, 1 - 72 / WIDTH, 130 / AGES))
        above = figure.add_axes((58 / WIDTH, 204 / AGES, 1 - 72 / WIDTH, 84 / AGES))
        plain(above)
        for each, words in ((above, "T"), (axes, "rows")):
            grid(each, "y")
            each.set_xlim(0, oldest * scale)
            each.set_ylabel(words)
        above.plot(curve * scale, decay(curve), color=OTHER, linewidth=2, clip_on=False)
        above.set_ylim(0, 1.02)
        above.set_yticks([0, 0.5, 1])
        above.tick_params(labelbottom=False, labelcolor=QUIET)
        _bars(axes, counts, edges * scale)
        axes.set_xlabel(f"age in {unit}")

    fresh = decay(np.array([float(np.median(age)), oldest]))
    text = (
        f"Median age {np.median(age) * scale:.3g} {unit}, where T is {fresh[0]:.2f}; "
        f"oldest {oldest * scale:.3g} {unit}, where T is {fresh[1]:.2f}."
    )
    return draw("ages", "Ages of the rows, and freshness by age", AGES, (58, 14, 14, 44), paint, text)


def _bars(axes: Axes, counts: Any, edges: Floats) -> None:
    axes.bar(edges[:-1], counts, np.diff(edges) * 0.92, align="edge", color=MAIN, alpha=0.75)
    axes.set_ylim(0, max(int(counts.max()), 1) * 1.05)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))


def confusion_figure(names: Sequence[str], matrices: Sequence[Any], classes: Sequence[str]) -> str:
    """Labels given against held-out predictions, one small matrix for each of a few contributors."""
    labels = [shortened(name, 9) for name in classes]
    across = min(2, len(names))
    left = min(label_margin(labels), 78) + 16
    side = min((WIDTH - left - 14 - 22 * (across - 1)) / across, 260)
    down = -(-len(names) // across)
    gap, bottom = 34, left + 4
    height = down * side + (down - 1) * gap + 30 + bottom

    def paint(figure: Figure, axes: Axes) -> None:
        axes.set_axis_off()
        for place, (name, matrix) in enumerate(zip(names, matrices, strict=True)):
            row, column = divmod(place, across)
            x, y = left + column * (side + 22), bottom + (down - 1 - row) * (side + gap)
            each = figure.add_axes((x / WIDTH, y / height, side / WIDTH, side / height))
            _matrix(each, np.asarray(matrix), side)
            each.set_title(shortened(name, 22), fontsize=11.5, color=INK, loc="left", pad=7)
            last = place + across >= len(names)
            each.set_xticks(range(len(labels)), labels if last else [""] * len(labels), rotation=90)
            each.set_yticks(range(len(labels)), labels if column == 0 else [""] * len(labels))
        figure.text(left / WIDTH, 6 / height, "held-out prediction →", color=QUIET, fontsize=10.5)
        figure.text(4 / WIDTH, bottom / height, "label given →", color=QUIET, fontsize=10.5, rotation=90)

    listed = ", ".join(shortened(name, 40) for name in names)
    text = f"Matrices for {listed}; the table beside it names the largest cells."
    return draw("confusion", "Labels given against held-out predictions", height, (0, 0, 0, 0), paint, text)


def _matrix(axes: Axes, matrix: Any, side: float) -> None:
    axes.patch.set_alpha(0)
    axes.spines[:].set_visible(False)
    size = len(matrix)
    deepest = max(int(matrix.max()), 1)
    # As large as the longest number allows; no number rather than one that runs over its cell.
    font = min(10.5, 0.82 * side / size / (0.62 * len(str(deepest))))
    for given, predicted in zip(*np.nonzero(matrix), strict=True):
        count = int(matrix[given, predicted])
        alpha = 0.12 + 0.43 * count / deepest
        colour = MAIN if given == predicted else OTHER
        axes.add_patch(Rectangle((predicted - 0.47, given - 0.47), 0.94, 0.94, facecolor=colour, alpha=alpha))
        if font >= 6:
            axes.text(predicted, given, str(count), ha="center", va="center", fontsize=font, color=INK)
    for edge in range(size + 1):
        axes.axhline(edge - 0.5, color=QUIET, linewidth=0.3, alpha=0.4)
        axes.axvline(edge - 0.5, color=QUIET, linewidth=0.3, alpha=0.4)
    axes.tick_params(length=0, labelsize=10)
    axes.set_xlim(-0.5, size - 0.5)
    axes.set_ylim(size - 0.5, -0.5)

"""Figures of contributors: their quality, and what they take for what."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from anml.surfaces.names import shortened
from anml.surfaces.svg import INK, MAIN, OTHER, PAPER, QUIET, WIDTH, draw, grid, label_margin

ROW = 20
LABEL = 24
# Up to so many contributors are drawn, one by one.
MOST_SHOWN = 40
# Matrices drawn, and up to how many classes one is readable in half the width of a figure.
MATRICES, MOST_CLASSES = 4, 12


def quality_figure(shown: pl.DataFrame, pool: float, few: int) -> str:
    """Contributor quality as dots with intervals; hollow where few rows stand behind it."""
    labels = [shortened(name, LABEL) for name in shown["contributor"]]
    places = np.arange(shown.height)

    def paint(figure: Figure, axes: Axes) -> None:
        grid(axes)
        axes.axvline(pool, color=QUIET, linewidth=1, linestyle=(0, (3, 3)))
        ends = shown["quality_low"], shown["quality_high"]
        axes.hlines(places, *ends, color=MAIN, linewidth=2.4, alpha=0.35)
        thin = (shown["rows"] <= few).to_numpy()
        quality = shown["quality"].to_numpy()
        axes.plot(quality[~thin], places[~thin], "o", color=MAIN, markersize=6.5)
        axes.plot(quality[thin], places[thin], "o", color=MAIN, markerfacecolor=PAPER, markersize=6.5)
        axes.set_yticks(places, labels)
        axes.set_ylim(len(labels) - 0.4, -0.6)
        axes.set_xlim(-0.02, 1.02)
        axes.text(
            pool, -0.85, f"all rows {pool:.2f}", ha="right" if pool > 0.5 else "left", color=QUIET,
            fontsize=10.5, va="bottom",
        )  # fmt: skip
        axes.set_xlabel("quality, 95% interval")

    low, high = np.percentile(shown["quality"].to_numpy(), (0, 100))
    text = (
        f"{shown.height} contributors; quality from {low:.2f} to {high:.2f}, {pool:.2f} over all rows. "
        "The numbers are in the contributor table."
    )
    margins = (min(label_margin(labels), 0.42 * WIDTH), 14, 24, 42)
    return draw("quality", "Quality of contributors", 66 + ROW * shown.height, margins, paint, text)


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

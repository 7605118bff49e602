"""Figures of errors and of contributors: dots with intervals, and pairs of dots."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, MaxNLocator

from anml.core.checks import Floats
from anml.core.stats import Estimate
from anml.surfaces.names import shortened
from anml.surfaces.svg import LINE, MAIN, OTHER, PAPER, QUIET, WIDTH, draw, grid, label_margin

ROW = 20
LABEL = 24
# Up to so many contributors are drawn one by one; more of them as a distribution.
MOST_SHOWN = 40
BINS = 25


class ErrorOf(NamedTuple):
    """A way of weighing, its error, and the error as text."""

    name: str
    error: Estimate
    shown: str


def errors_figure(ways: Sequence[ErrorOf], metric: str, percent: bool) -> str:
    """Error of each way of weighing, with its interval."""
    means = [way.error.mean for way in ways]
    reach = np.array([[way.error.low, way.error.high] for way in ways])
    # A mean of one value has an endless interval: the axis shows what there is.
    reach = np.where(np.isfinite(reach), reach, np.array(means)[:, None])

    def paint(figure: Figure, axes: Axes) -> None:
        grid(axes)
        for place, (way, (low, high)) in enumerate(zip(ways, reach, strict=True)):
            colour = MAIN if way.name == "with anml" else QUIET
            axes.plot([low, high], [place, place], color=colour, linewidth=4, alpha=0.35)
            axes.plot(way.error.mean, place, "o", color=colour, markersize=8)
            axes.annotate(
                way.shown, (1, place), (10, 0), xycoords=("axes fraction", "data"),
                textcoords="offset points", va="center", annotation_clip=False,
            )  # fmt: skip
        axes.set_yticks(range(len(ways)), [way.name for way in ways])
        axes.set_ylim(len(ways) - 0.4, -0.6)
        axes.set_xlim(0, (float(reach.max()) or 1.0) * 1.08)
        axes.xaxis.set_major_locator(MaxNLocator(4))
        if percent:
            axes.xaxis.set_major_formatter(FuncFormatter(_percent))
        axes.set_xlabel(f"{metric}, 95% interval")

    text = "; ".join(f"{way.name}: {way.shown}" for way in ways)
    return draw("errors", "Error of each way of weighing", 54 + 34 * len(ways), (88, 142, 8, 44), paint, text)


# What is said of contributors, in a legend.
KIND_WORDS = {"accused": "accused", "less": "less reliable", "unsure": "cannot tell", "reliable": "reliable"}


def distribution_figure(quality: Floats, kinds: Sequence[str]) -> str:
    """How many contributors have which quality, by what is said of them."""
    edges = np.linspace(0, 1, BINS + 1)
    of = np.asarray(kinds)
    shades = {
        "accused": (OTHER, 0.85), "less": (OTHER, 0.4), "unsure": (QUIET, 0.55), "reliable": (MAIN, 0.75)
    }  # fmt: skip
    counts = {kind: np.histogram(quality[of == kind], edges)[0] for kind in shades}
    below = np.zeros(BINS)
    height = 260

    def paint(figure: Figure, axes: Axes) -> None:
        nonlocal below
        grid(axes, "y")
        for kind, (colour, alpha) in shades.items():
            axes.bar(
                edges[:-1], counts[kind], 0.92 / BINS, bottom=below, align="edge", color=colour, alpha=alpha
            )
            below = below + counts[kind]
        axes.set_xlim(0, 1)
        axes.set_ylim(0, max(float(below.max()), 1.0) * 1.05)
        axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
        axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
        axes.set_xlabel("quality: expected share of right labels")
        axes.set_ylabel("contributors")
        for x, kind in ((0.08, "accused"), (0.26, "less"), (0.5, "unsure"), (0.7, "reliable")):
            y = 1 - 11 / height
            figure.add_artist(_dot(x, y, shades[kind][0], shades[kind][0]))
            figure.text(x + 0.025, y, KIND_WORDS[kind], va="center", color=QUIET, fontsize=10.5)

    low, middle, high = np.percentile(quality, (5, 50, 95))
    sums = ", ".join(f"{int(counts[kind].sum()):,} {said}" for kind, said in KIND_WORDS.items())
    text = (
        f"{len(quality):,} contributors: {sums}. Half of them have a quality above {middle:.2f}; nine of ten "
        f"lie between {low:.2f} and {high:.2f}."
    )
    return draw(
        "distribution", "How many contributors have which quality", height, (52, 14, 26, 44), paint, text
    )


def quality_figure(shown: pl.DataFrame, pool: float, few: int) -> str:
    """Contributor quality as dots with intervals; hollow where few rows stand behind it."""
    labels = _labels(shown)
    places = np.arange(shown.height)

    def paint(figure: Figure, axes: Axes) -> None:
        grid(axes)
        axes.axvline(pool, color=QUIET, linewidth=1, linestyle=(0, (3, 3)))
        axes.hlines(
            places, shown["quality_low"], shown["quality_high"], color=MAIN, linewidth=2.4, alpha=0.35
        )
        thin = (shown["rows"] <= few).to_numpy()
        quality = shown["quality"].to_numpy()
        axes.plot(quality[~thin], places[~thin], "o", color=MAIN, markersize=6.5)
        axes.plot(quality[thin], places[thin], "o", color=MAIN, markerfacecolor=PAPER, markersize=6.5)
        _rows(axes, labels)
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
    return draw("quality", "Quality of contributors", _height(shown), _margins(labels), paint, text)


def shares_figure(shown: pl.DataFrame) -> str:
    """Row share against weight share, one pair of dots per contributor."""
    labels = _labels(shown)
    places = np.arange(shown.height)

    def paint(figure: Figure, axes: Axes) -> None:
        grid(axes)
        rows, weight = shown["row_share"].to_numpy(), shown["weight_share"].to_numpy()
        axes.hlines(places, rows, weight, color=LINE, linewidth=2.4)
        axes.plot(rows, places, "o", color=QUIET, markerfacecolor=PAPER, markersize=6.5, clip_on=False)
        axes.plot(weight, places, "o", color=MAIN, markersize=6.5, clip_on=False)
        _rows(axes, labels)
        axes.set_xlim(0, max(float(max(rows.max(), weight.max())) * 1.08, 1e-6))
        axes.xaxis.set_major_locator(MaxNLocator(5))
        axes.xaxis.set_major_formatter(FuncFormatter(_percent))
        axes.set_xlabel("share of all rows, and of all weight")
        _legend(figure, _height(shown))

    gained = int((shown["weight_share"] > shown["row_share"]).sum())
    text = (
        f"{shown.height} contributors, {gained} with more weight than rows. "
        "The numbers are in the contributor table."
    )
    return draw(
        "shares", "Row share and weight share of contributors", _height(shown), _margins(labels), paint, text
    )


def _percent(value: float, place: int | None = None) -> str:
    return f"{100 * value:.3g}%"


def _legend(figure: Figure, height: float) -> None:
    y = 1 - 11 / height
    for x, words, face, edge in ((0.6, "rows", PAPER, QUIET), (0.74, "weight", MAIN, MAIN)):
        figure.text(x + 0.025, y, words, va="center", color=QUIET, fontsize=10.5)
        figure.add_artist(_dot(x, y, face, edge))


def _dot(x: float, y: float, face: str, edge: str) -> Line2D:
    return Line2D([x], [y], marker="o", markersize=6.5, markerfacecolor=face, color=edge, linestyle="none")


def _rows(axes: Axes, labels: list[str]) -> None:
    axes.set_yticks(range(len(labels)), labels)
    axes.set_ylim(len(labels) - 0.4, -0.6)


def _labels(shown: pl.DataFrame) -> list[str]:
    return [shortened(name, LABEL) for name in shown["contributor"]]


def _margins(labels: list[str]) -> tuple[float, float, float, float]:
    return (min(label_margin(labels), 0.42 * WIDTH), 14, 24, 42)


def _height(shown: pl.DataFrame) -> float:
    return 66 + ROW * shown.height

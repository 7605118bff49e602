"""The paper's figures and those beyond it, drawn from the rows, as SVG."""

from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from anml.core.calibration import from_columns
from experiments.expressions import Results, interval
from experiments.spec import Experiment, report_texts
from experiments.summary import known_experiments, load_results

# One colour per method everywhere, apart in lightness too, so that they differ in grey.
COLOURS = {"sample": "#2b5c8a", "contributor": "#2e8b57"}
LINES = ("#2b5c8a", "#c0392b", "#2e8b57", "#7a4fa3", "#8c8c8c")


def draw_all(folder: Path, more: Sequence[Experiment] = (), room: str = "paper") -> list[Path]:
    """Draw every figure whose experiments have rows; return the files written."""
    known = known_experiments(room, more)
    out = folder / "figures"
    out.mkdir(parents=True, exist_ok=True)
    written = []
    # Fixed identifiers and no date: the same rows give the same file.
    with plt.rc_context({"svg.hashsalt": "anml", "svg.fonttype": "none", "font.size": 9, "figure.dpi": 100}):
        for name, draw in FIGURES.items():
            results = load_results(known[name], folder) if name in known else None
            if results is not None:
                figure = draw(results, folder)
                path = out / f"{name}.svg"
                figure.savefig(path, metadata={"Date": None}, bbox_inches="tight")
                plt.close(figure)
                written.append(path)
    return written


def _panels(count: int, width: float = 3.6) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(1, count, figsize=(width * count, 3.0), squeeze=False)
    for ax in axes[0]:
        ax.spines[["top", "right"]].set_visible(False)
    figure.subplots_adjust(wspace=0.35)
    return figure, list(axes[0])


def _line(ax: Axes, results: Results, reference: str, name: str = "") -> None:
    """A line over shares of subtle flips, with its 95% interval as a band."""
    labels = results.axes["subtle"]
    percent = [100 * float(label) for label in labels]
    found = np.array([interval(results.value(reference, {"subtle": label})) for label in labels])
    colour = COLOURS.get(reference.partition(".")[0], "black")
    ax.plot(percent, found[:, 0], marker="o", markersize=3, color=colour, label=name)
    ax.fill_between(percent, found[:, 1], found[:, 2], color=colour, alpha=0.15, linewidth=0)


def _detectability(rows: Results, folder: Path) -> Figure:
    figure, [first, second, third] = _panels(3)
    _line(first, rows, "sample.rho_d")
    first.set(xlabel="subtle flips, %", ylabel="detectability rho_d", title="(A) Detectability")
    names = {"sample": "sample level", "contributor": "contributor level", "evidence": "evidence (ours)"}
    for method, name in names.items():
        _line(second, rows, f"{method}.gain", name)
    second.set(xlabel="subtle flips, %", ylabel="errors saved against uniform, %", title="(B) Gain")
    second.legend(frameon=False)
    at = [{"subtle": label} for label in rows.axes["subtle"]]
    rho = [rows.value("sample.rho_d", place)[0] for place in at]
    third.scatter(rho, [rows.value("contributor.ratio", place)[0] for place in at], color="black", s=14)
    pearson = rows.value(rows.experiment.derived["pearson"], {})[0]
    third.set(
        xlabel="detectability rho_d", ylabel="contributor gain / sample gain", title=f"(C) r = {pearson:.2f}"
    )
    return figure


def _regret(results: Results, folder: Path) -> Figure:
    """Every cell of the grid at a glance: blue where evidence is ahead, red where another is."""
    axes = results.axes
    rows = [(dataset, bad) for dataset in axes["dataset"] for bad in axes["bad"]]
    columns = [(attack, credentials) for attack in axes["attack"] for credentials in axes["credentials"]]
    figure, ax = plt.subplots(figsize=(0.62 * len(columns), 0.36 * len(rows)))
    values = np.full((len(rows), len(columns)), np.nan)
    for (down, (dataset, bad)), (across, (attack, credentials)) in product(
        enumerate(rows), enumerate(columns)
    ):
        place = {"dataset": dataset, "bad": bad, "attack": attack, "credentials": credentials}
        mean, low, _ = interval(results.value("evidence.regret", place))
        values[down, across] = mean
        colour = "white" if abs(mean) > 3.5 else "black"
        ax.text(across + 0.5, down + 0.5, f"{mean:+.1f}", ha="center", va="center", fontsize=7, color=colour)
        if low > 0.5:
            corner = [(across, down), (across + 0.34, down), (across, down + 0.5)]
            ax.add_patch(Polygon(corner, facecolor="black", edgecolor="white", linewidth=0.8, zorder=3))
    mesh = ax.pcolormesh(values, cmap="RdBu_r", vmin=-5, vmax=5, edgecolors="white", linewidth=0.5)
    ax.invert_yaxis()
    for line in range(len(axes["bad"]), len(rows), len(axes["bad"])):
        ax.axhline(line, color="black", linewidth=1)
    for line in range(len(axes["credentials"]), len(columns), len(axes["credentials"])):
        ax.axvline(line, color="black", linewidth=1)
    ax.set_xticks(np.arange(len(columns)) + 0.5, [name for _, name in columns], rotation=40, ha="right")
    ax.set_yticks(
        np.arange(len(rows)) + 0.5, [f"{dataset}, {100 * float(bad):.0f}% bad" for dataset, bad in rows]
    )
    ax.tick_params(length=0)
    for position, attack in enumerate(axes["attack"]):
        middle = (position + 0.5) * len(axes["credentials"])
        ax.text(middle, -0.3, f"attack: {attack}", ha="center", va="bottom")
    figure.colorbar(mesh, ax=ax, label="regret in points of error", extend="both", fraction=0.025, pad=0.01)
    return figure


def _calibration(results: Results, folder: Path) -> Figure:
    """Belief against truth: simulated flips by data set, and real contributors where they were run."""
    parts = {"Simulated flips": results.rows.filter(pl.col("bad") != "0")}
    real = load_results(known_experiments("beyond")["real"], folder)
    if real is not None:
        rows = real.rows.filter(pl.col("method") == "evidence")
        parts["Real contributors"] = rows.filter(pl.col("count_0").is_not_null())
    figure, axes = _panels(len(parts), 4.2)
    for ax, (title, rows) in zip(axes, parts.items(), strict=True):
        ax.plot([0, 1], [0, 1], color="black", linewidth=0.8, linestyle="--")
        for colour, (name, some) in zip(
            LINES, rows.partition_by("dataset", as_dict=True).items(), strict=False
        ):
            found = from_columns(*some.iter_rows(named=True))
            used = found.count > 0
            label = f"{name[0]} ({found.error:.2f})"
            ax.plot(found.believed[used], found.right[used], "o-", markersize=3, color=colour, label=label)
        ax.set(xlabel="p_correct", ylabel="share that is right", title=title, xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(frameon=False, title="expected error", fontsize=7, title_fontsize=7)
    return figure


# By the experiment whose rows each is of.
FIGURES: dict[str, Callable[[Results, Path], Figure]] = {
    "detectability": _detectability,
    "regret": _regret,
    "calibration": _calibration,
}
# Of these a table would have hundreds of lines.
IN_PLACE_OF_TABLES = ("regret",)
# Each stands below the table of its name.
CAPTIONS = report_texts("captions")

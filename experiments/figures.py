"""The paper's six figures and those beyond it, drawn from the rows, as SVG and PNG."""

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Polygon

from anml.core.checks import Floats
from anml.core.stats import Estimate
from experiments.cases import make_case
from experiments.expressions import Results, interval
from experiments.measures import from_columns
from experiments.spec import Experiment, label_of, report_texts
from experiments.summary import known_experiments, load_results
from experiments.trial import Clock, score_cases

# One colour per method everywhere, apart in lightness too, so that they differ in grey; the paper's points
# have the marker of the method.
COLOURS = {
    "uniform": "#8c8c8c", "krum": "#2b5c8a", "softmax": "#2e8b57", "adaptive": "#7a4fa3",
    "multiplicative": "#c0392b", "sample": "#2b5c8a", "contributor": "#2e8b57",
}  # fmt: skip
MARKERS = {"uniform": "v", "krum": "s", "softmax": "o", "adaptive": "D", "multiplicative": "^"}
NAMES = {
    "uniform": "Uniform", "krum": "Krum", "softmax": "ANML (softmax)", "adaptive": "Adaptive",
    "multiplicative": "Multiplicative", "sample": "sample level", "contributor": "contributor level",
}  # fmt: skip
PAPER = "#7a7a7a"
LINES = ("#2b5c8a", "#c0392b", "#2e8b57", "#7a4fa3", "#8c8c8c")
FORMATS = ("svg", "png")


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
                for form in FORMATS:
                    path = out / f"{name}.{form}"
                    metadata = {"Date": None} if form == "svg" else {"Software": None}
                    figure.savefig(path, metadata=metadata, bbox_inches="tight", dpi=150)
                    written.append(path)
                plt.close(figure)
    return written


def _panels(count: int, width: float = 3.6) -> tuple[Figure, list[Axes]]:
    figure, axes = plt.subplots(1, count, figsize=(width * count, 3.0), squeeze=False)
    for ax in axes[0]:
        ax.spines[["top", "right"]].set_visible(False)
    figure.subplots_adjust(wspace=0.35)
    return figure, list(axes[0])


def _printed(results: Results, method: str, metric: str, axis: str, labels: Sequence[str]) -> Floats:
    """The paper's figures along an axis, NaN where it prints none."""
    first = label_of(next(iter(results.experiment.vary[axis])))
    printed = {
        label_of(cell.get(axis, first)): float(cell[metric])
        for cell in results.experiment.paper
        if cell.get("method") == method and metric in cell
    }
    return np.array([printed.get(label, np.nan) for label in labels])


def _lines(
    ax: Axes, results: Results, metric: str, axis: str, methods: Sequence[str],
    labels: Sequence[str] | None = None, scale: float = 1.0,
) -> None:  # fmt: skip
    """A line for each method over an axis of numbers, its interval as a band, the paper's points in grey."""
    labels = results.axes[axis] if labels is None else labels
    at = [scale * float(label.rstrip("%")) for label in labels]
    for method in methods:
        values = [results.value(f"{method}.{metric}", {axis: label}) for label in labels]
        estimates, colour = np.array([interval(value) for value in values]), COLOURS[method]
        marker = MARKERS.get(method, "o")
        ax.plot(at, estimates[:, 0], marker=marker, markersize=4, color=colour, label=NAMES[method])
        ax.fill_between(at, estimates[:, 1], estimates[:, 2], color=colour, alpha=0.15, linewidth=0)
        printed = _printed(results, method, metric, axis, labels)
        if np.isfinite(printed).any():
            ax.plot(at, printed, marker, markersize=5, color=PAPER, markerfacecolor="none", zorder=3)


def _bars(ax: Axes, names: Sequence[str], figures: Mapping[str, Sequence[tuple[Estimate, float]]]) -> None:
    """Groups of bars, one for each method, with intervals and the paper's points in grey."""
    width = 0.8 / len(figures)
    for place, (method, values) in enumerate(figures.items()):
        at = np.arange(len(names)) + (place - (len(figures) - 1) / 2) * width
        estimates = np.array([estimate for estimate, _ in values])
        spread = np.abs(estimates[:, 1:] - estimates[:, :1]).T
        ax.bar(at, estimates[:, 0], width, color=COLOURS[method], label=NAMES[method], alpha=0.85)
        ax.errorbar(at, estimates[:, 0], spread, fmt="none", ecolor="black", elinewidth=0.8)
        printed = [value for _, value in values]
        ax.plot(at, printed, MARKERS[method], color=PAPER, markerfacecolor="white", markersize=5, zorder=3)
    ax.set_xticks(range(len(names)), names, fontsize=8)
    ax.set_ylim(0, 1.3 * ax.get_ylim()[1])  # room for the legend


def _legend(ax: Axes, **more: Any) -> None:
    """A legend with the paper's points as the last entry."""
    ax.plot([], [], "o", color=PAPER, markerfacecolor="none", markersize=5, label="paper")
    ax.legend(frameon=False, fontsize=7, **more)


def _combination(rows: Results, folder: Path) -> Figure:
    figure, [ax] = _panels(1, 5.0)
    ax.axhline(0, color="black", linewidth=0.8)
    _lines(ax, rows, "improvement", "correlation", ("multiplicative", "adaptive", "softmax"))
    ax.set(xlabel="correlation of v r with quality", ylabel="errors saved against Krum, %")
    _legend(ax, loc="lower right")
    return figure


def _efficiency(rows: Results, folder: Path) -> Figure:
    attack = load_results(known_experiments()["attack"], folder)
    figure, [first, *second] = _panels(1 if attack is None else 2)
    shares = [label for label in rows.axes["share"] if not label.startswith("random")]
    _lines(first, rows, "error", "share", ("krum", "softmax"), shares)
    first.set(xlabel="share of the selected data, %", ylabel="test error, %", title="Learning curves")
    first.set_ylim(0)
    _legend(first)
    if attack is not None:
        _lines(second[0], attack, "error", "bad", ("uniform", "krum", "softmax"), scale=100)
        second[0].set(xlabel="flipped labels, %", ylabel="test error, %", title="Attack resilience")
        _legend(second[0])
    return figure


def _scale(rows: Results, folder: Path) -> Figure:
    """Small data sets on the left where they were run, large ones on the right."""
    small = load_results(known_experiments()["cross-dataset"], folder)
    figure, axes = _panels(1 if small is None else 2)
    if small is not None:
        names = small.axes["dataset"]
        places = [{"dataset": name, "scenario": "moderate"} for name in names]
        cells = {
            (c.get("dataset"), c.get("scenario"), c.get("method")): c
            for c in small.experiment.paper
            if "error" in c
        }
        figures = {
            method: [
                (interval(small.value(f"{method}.error", at)), _cell(cells, *at.values(), method))
                for at in places
            ]
            for method in ("uniform", "krum", "softmax")
        }
        _bars(axes[0], names, figures)
        axes[0].set(ylabel="test error, %", title="178 and 569 samples")
        _legend(axes[0], loc="upper center", ncols=2)
    names = rows.axes["data"]
    figures = {
        method: list(
            zip(
                [interval(rows.value(f"{method}.error", {"data": name})) for name in names],
                _printed(rows, method, "error", "data", names),
                strict=True,
            )
        )
        for method in ("uniform", "krum", "softmax")
    }
    _bars(axes[-1], names, figures)
    axes[-1].set(ylabel="test error, %", title="1,797 to 32,561 samples")
    _legend(axes[-1], loc="upper center", ncols=2)
    return figure


def _cell(cells: Mapping[Any, Any], *key: str) -> float:
    return float(cells[key]["error"]) if key in cells else float("nan")


def _quality(rows: Results, folder: Path) -> Figure:
    printed = {cell["method"]: cell for cell in rows.experiment.paper if "method" in cell}

    def figures(metrics: Sequence[str], methods: Sequence[str]) -> dict[str, list[tuple[Estimate, float]]]:
        return {
            method: [
                (
                    interval(rows.value(f"{method}.{metric}", {})),
                    float(printed.get(method, {}).get(metric, np.nan)),
                )
                for metric in metrics
            ]
            for method in methods
        }

    figure, [first, second, third] = _panels(3, 3.2)
    tiers = ("attacker", "novice", "intermediate", "expert")
    _bars(
        first,
        ("attacker", "novice", "middle", "expert"),
        figures([f"kept_{t}" for t in tiers], ("krum", "softmax")),
    )
    first.set(ylabel="selected, %", title="(A) Selection by group")
    _bars(second, [""], figures(["error"], ("uniform", "krum", "softmax")))
    second.set(ylabel="test error, %", title="(B) Model error")
    _bars(third, [""], figures(["expert_novice"], ("krum", "softmax")))
    third.set(ylabel="experts over novices", title="(C) Preference for experts")
    _legend(second, loc="upper center", ncols=2)
    return figure


def _scatter(rows: Results, folder: Path) -> Figure:
    """Values q and s of each sample in the first trial, under the naive and the joint attack."""
    experiment = rows.experiment
    settings = {dict(key)["strategy"]: setting for key, setting in experiment.conditions()
                if dict(key).get("profile", "paper") == "paper"}  # fmt: skip
    figure, axes = _panels(2)
    for ax, (letter, name) in zip(axes, (("A", "naive"), ("B", "joint")), strict=True):
        case = make_case(settings[name], 0, experiment.seed)
        [(q, _)] = score_cases([(settings[name], case.seen)], "cpu", Clock())
        s = case.seen.v * case.seen.r
        for label, subset, colour in (
            ("honest", ~case.truth.bad, "#2b5c8a"),
            ("attacker", case.truth.bad, "#c0392b"),
        ):
            ax.scatter(q[subset], s[subset], s=10, color=colour, label=label, alpha=0.8, linewidths=0)
        mean, printed = (
            rows.value("krum.rho_c", {"strategy": name})[0],
            {"naive": 0.58, "joint": -0.023}[name],
        )
        title = f"({letter}) {name}: rho_c = {mean:.2f}, paper {printed:g}"
        ax.set(xlabel="q", ylabel="s = v r", title=title, xlim=(-0.05, 1.05), ylim=(0, 1))
    axes[0].legend(frameon=False, fontsize=7)
    return figure


def _detectability(rows: Results, folder: Path) -> Figure:
    figure, [first, second, third] = _panels(3)
    _lines(first, rows, "rho_d", "subtle", ("sample",), scale=100)
    first.set(xlabel="subtle flips, %", ylabel="detectability rho_d", title="(A) Detectability")
    _legend(first)
    _lines(second, rows, "gain", "subtle", ("sample", "contributor"), scale=100)
    second.set(xlabel="subtle flips, %", ylabel="errors saved against uniform, %", title="(B) Gain")
    _legend(second)
    labels = rows.axes["subtle"]
    ours = [
        [rows.value(name, {"subtle": label})[0] for label in labels]
        for name in ("sample.rho_d", "contributor.ratio")
    ]
    printed = [
        _printed(rows, *name, "subtle", labels) for name in (("sample", "rho_d"), ("contributor", "ratio"))
    ]
    third.plot(*ours, "o", color="black", markersize=4, label="ours")
    third.plot(*printed, "o", color=PAPER, markerfacecolor="none", markersize=5)
    pearson = rows.value(rows.experiment.derived["pearson"], {})[0]
    third.set(
        xlabel="detectability rho_d", ylabel="contributor gain / sample gain", title=f"(C) r = {pearson:.2f}"
    )
    _legend(third)
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
        for colour, (name, subset) in zip(
            LINES, rows.partition_by("dataset", as_dict=True).items(), strict=False
        ):
            result = from_columns(*subset.iter_rows(named=True))
            used = result.count > 0
            label = f"{name[0]} ({result.error:.2f})"
            ax.plot(result.mean_p[used], result.right[used], "o-", markersize=3, color=colour, label=label)
        ax.set(xlabel="p_correct", ylabel="share that is right", title=title, xlim=(0, 1), ylim=(0, 1.02))
        ax.legend(frameon=False, title="expected error", fontsize=7, title_fontsize=7)
    return figure


# By the experiment whose rows each is of.
FIGURES: dict[str, Callable[[Results, Path], Figure]] = {
    "combination": _combination,
    "efficiency": _efficiency,
    "large": _scale,
    "quality": _quality,
    "gradient-attack": _scatter,
    "detectability": _detectability,
    "regret": _regret,
    "calibration": _calibration,
}
# Of these a table would have hundreds of lines.
IN_PLACE_OF_TABLES = ("regret",)
# Each stands below the table of its name.
CAPTIONS = report_texts("captions")

"""r over time, by scenario and rule: accounts that the scenario is about, and the honest beside them."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

from anml.lab.expressions import Results
from anml.lab.longitudinal.names import SCENARIOS, SHOWN
from anml.lab.longitudinal.people import TURN

COLOURS = {
    "internal": "#2b5c8a",
    "external": "#2e8b57",
    "ledger": "#c0392b",
    "ledger, no floor": "#e08e79",
    "Kang": "#7a4fa3",
}


def over_time(results: list[Results], folder: Path) -> Figure:
    """A panel for each scenario, a line for each rule that learns."""
    there = [name for name in SCENARIOS if name in results[0].axes["dataset"]]
    figure, axes = plt.subplots(2, 3, figsize=(11.0, 5.6), sharex=True, sharey=True)
    for ax, scenario in zip(axes.flat, there, strict=False):
        for rule, colour in COLOURS.items():
            place = {"dataset": scenario}
            if not results[0].has(rule, place):
                continue
            for group, style in (("changed", "-"), ("good", ":")):
                series = [results[0].trials(f"{rule}.r_{group}_{at}", place) for at in SHOWN]
                mean = [float(np.nanmean(one)) if np.isfinite(one).any() else np.nan for one in series]
                label = rule if group == "changed" else None
                ax.plot(
                    SHOWN,
                    mean,
                    style,
                    color=colour,
                    label=label,
                    linewidth=1.6 if group == "changed" else 0.9,
                )
        if scenario in ("turncoats", "drift", "newcomers"):
            ax.axvline(TURN, color="#8c8c8c", linewidth=0.8, linestyle="--")
        ax.axhline(0.4, color="#8c8c8c", linewidth=0.6)
        ax.set_title(scenario)
        ax.spines[["top", "right"]].set_visible(False)
        ax.set_ylim(0, 1)
    for ax in axes[1]:
        ax.set_xlabel("round")
    for ax in axes[:, 0]:
        ax.set_ylabel("r")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="lower center", bbox_to_anchor=(0.5, 0.94), ncol=len(labels), frameon=False
    )
    return figure

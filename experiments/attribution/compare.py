"""Compare attribution with the ground truths of `problems` in a folder."""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

import anml
from anml.attribution.calibration import lds
from anml.attribution.tracing import shares_of
from experiments.attribution import problems


def data_of(problem: problems.Problem) -> tuple[Any, Any]:
    """Training rows and queries of a problem."""
    arrays = problem.arrays
    if problem.loss == "softmax":
        return (arrays["x"], arrays["y"]), (arrays["q"], arrays["q_y"])
    tokens = {"input_ids": arrays["x"], "labels": arrays["x"]}
    return tokens, {"input_ids": arrays["q"], "labels": arrays["q_y"]}


def banzhaf_values(left: Any, losses: Any) -> Any:
    """Effects of excluding each contributor on the mean loss, by a regression on coalitions."""
    design = np.c_[np.ones(len(left)), left]
    return np.linalg.lstsq(design, losses.mean(axis=1), rcond=None)[0][1:]


def compare(name: str, folder: Path, check: int, runs: int) -> dict[str, float]:
    """Attribute a problem's queries, and score influence and shares by the ground truth."""
    problem = problems.load(name, folder)
    names = list(problem.arrays["names"])
    train, queries = data_of(problem)
    full = torch.load(folder / f"{name}-full.pt") if (folder / f"{name}-full.pt").exists() else {}
    states = [full[0]] if 0 in full else [problem.train(np.arange(len(problem.arrays["x"])), 0)]
    index = anml.attribution.index(
        problem.make(), train, problem.arrays["names"][problem.arrays["contributor"]], loss=problem.loss,
        checkpoints=states, retrain=problem.train, check=check, runs=runs,
    )  # fmt: skip
    result = index.trace(queries, top_rows=0)
    truth = np.load(folder / f"{name}-truth.npz")
    left, losses = (~truth["members"]).astype(float), truth["losses"].mean(axis=1)
    order = [index.contributors.index(each) for each in names]
    frame = result.contributors
    place = [frame["contributor"].to_list().index(each) for each in names]
    share, low, high, total = (frame[k].to_numpy()[place] for k in ("share", "low", "high", "influence"))
    real = shares_of(banzhaf_values(left, losses))
    by_seed = [shares_of(banzhaf_values(left, truth["losses"][:, seed])) for seed in range(2)]
    single = lds(left @ result.influence[:, order].T, losses)
    similar = lds(left @ result.about["similarity"][:, order].T, losses)
    generated = problem.arrays.get("generated", np.zeros(len(single), dtype=bool))
    return {
        "query": single[~generated].mean(), "similarity": similar[~generated].mean(),
        "generated": single[generated].mean() if generated.any() else np.nan,
        "generated_similarity": similar[generated].mean() if generated.any() else np.nan,
        "behaviour": float(lds((left @ total)[:, None], losses.mean(axis=1)[:, None])[0]),
        "off": 0.5 * np.abs(share - real).sum(), "equal_off": 0.5 * np.abs(1 / len(real) - real).sum(),
        "seeds_off": 0.5 * np.abs(by_seed[0] - by_seed[1]).sum(),
        "bad": share[problem.arrays["bad"]].sum(), "covered": ((low <= real) & (real <= high)).mean(),
        "gain": result.check.get("gain_own_source_fixed", np.nan),
    }  # fmt: skip


def main() -> None:
    """Print a row of a table for each problem that has a ground truth in the folder."""
    asked = argparse.ArgumentParser()
    asked.add_argument("folder", type=Path)
    asked.add_argument("--check", type=int, default=10)
    asked.add_argument("--runs", type=int, default=1)
    asked.add_argument("--problems", nargs="*", default=["classifier", "cnn", "lm", "lora"])
    given = asked.parse_args()
    for name in given.problems:
        if (given.folder / f"{name}-truth.npz").exists():
            row = compare(name, given.folder, given.check, given.runs)
            print(name, " ".join(f"{key} {value:.3f}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()

"""Compare attribution with the ground truths of `problems` in a folder.

The retrainings of the self-check are the first coalitions of the ground truth with its first seed. Influence
is scored on the other coalitions, with the other seeds.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np
import torch

import anml
from anml.attribution.calibration import Retrainings, lds
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


def compare(name: str, folder: Path, check: int) -> dict[str, float]:
    """Attribute a problem's queries, and score influence and shares by the ground truth."""
    problem = problems.load(name, folder)
    arrays, names = problem.arrays, list(problem.arrays["names"])
    train, queries = data_of(problem)
    states = torch.load(folder / f"{name}-full.pt")[0]
    index = anml.attribution.index(
        problem.make(), train, arrays["names"][arrays["contributor"]], loss=problem.loss, checkpoints=states
    )
    order = [names.index(each) for each in index.contributors]
    truth = np.load(folder / f"{name}-truth.npz")
    left = (~truth["members"]).astype(float)
    trainings = Retrainings(left[:check][:, order], truth["losses"][:check, 0]) if check else None
    result = index.trace(queries, top_rows=0, trainings=trainings)
    frame = result.contributors
    place = [frame["contributor"].to_list().index(each) for each in names]
    share, low, high, total = (frame[k].to_numpy()[place] for k in ("share", "low", "high", "influence"))
    others = slice(max(check, 20), None)
    losses, excluded = truth["losses"][others, 1:].mean(axis=1), left[others]
    real = shares_of(banzhaf_values(left, truth["losses"][:, 1:].mean(axis=1)))
    by_seed = [shares_of(banzhaf_values(left, truth["losses"][:, seed])) for seed in (1, 2)]
    back = np.argsort(order)
    single = lds(excluded @ result.influence[:, back].T, losses)
    similar = lds(excluded @ result.about["similarity"][:, back].T, losses)
    made = arrays.get("generated", np.zeros(len(single), dtype=bool))
    return {
        "query": single[~made].mean(), "similarity": similar[~made].mean(),
        "generated": single[made].mean() if made.any() else np.nan,
        "generated_similarity": similar[made].mean() if made.any() else np.nan,
        "behaviour": float(lds((excluded @ total)[:, None], losses.mean(axis=1)[:, None])[0]),
        "off": 0.5 * np.abs(share - real).sum(), "equal_off": 0.5 * np.abs(1 / len(real) - real).sum(),
        "seeds_off": 0.5 * np.abs(by_seed[0] - by_seed[1]).sum(),
        "bad": share[arrays["bad"]].sum(), "bad_true": real[arrays["bad"]].sum(),
        "covered": ((low <= real) & (real <= high)).mean(),
    }  # fmt: skip


def main() -> None:
    """Print a row of a table for each problem that has a ground truth in the folder."""
    asked = argparse.ArgumentParser()
    asked.add_argument("folder", type=Path)
    asked.add_argument("--check", type=int, default=10)
    asked.add_argument("--problems", nargs="*", default=["classifier", "cnn", "lm", "lora"])
    given = asked.parse_args()
    for name in given.problems:
        if (given.folder / f"{name}-truth.npz").exists():
            row = compare(name, given.folder, given.check)
            print(name, " ".join(f"{key} {value:.3f}" for key, value in row.items()), flush=True)


if __name__ == "__main__":
    main()

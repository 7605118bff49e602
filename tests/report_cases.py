"""Results of audits, made up: what reports and cards are tested on."""

import numpy as np
import polars as pl

from anml.annotators.result import ContributorEstimates
from anml.annotators.words import CONTRADICTS, INCONCLUSIVE, RELIABLE
from anml.assessment.assess import SamplePolicy
from anml.assessment.contributors import estimate_columns
from anml.core.contributors import contributor_summary
from anml.core.profile import profile_of
from anml.core.stats import Estimate, beta_interval
from anml.core.types import Signals
from anml.io.columns import Columns
from anml.pipeline.evaluate import Comparison, WeightingResult
from anml.pipeline.result import AuditResult, versions
from anml.signals.freshness import Decay
from anml.signals.reputation import ColdStart
from anml.weighting.weigh import compute_sample_weights, recipe_of


def comparison(uniform=0.3, only_q=0.2, chosen=0.1, metric="error rate", on="test data"):
    def estimate(mean):
        return Estimate(mean, mean - 0.02, mean + 0.02)

    ways = [
        WeightingResult("uniform", estimate(uniform), {}),
        WeightingResult("q only", estimate(only_q), {"uniform": estimate(only_q - uniform)}),
        WeightingResult(
            "chosen",
            estimate(chosen),
            {"uniform": estimate(chosen - uniform), "q only": estimate(chosen - only_q)},
        ),
    ]
    return Comparison(ways, on, 500, 200, metric)


def audited(
    n=600, people=5, *, task="classification", classes=3, given="vrt", recipe="guarded", names=None,
    compared="default", seed=0,
) -> AuditResult:  # fmt: skip
    """Everything an audit finds, made up: the last contributors are the worst."""
    rng = np.random.default_rng(seed)
    names = names or [f"member-{i}" for i in range(people)]
    codes = np.concatenate([np.arange(people), rng.integers(0, max(people, 1), n - people)])
    bad = codes / max(people - 1, 1) * 0.8
    wrong = rng.uniform(size=n) < bad
    q = np.clip(rng.normal(np.where(wrong, 0.5, 0.9), 0.08), 0, 1)
    v = np.clip(rng.normal(1 - bad, 0.1), 0, 1) if "v" in given else None
    r = np.clip(rng.normal(0.9 - bad, 0.1), 0, 1) if "r" in given else None
    age = rng.uniform(0, 6, n)
    decay = Decay.half_life("7y")
    signals = Signals.of(q, v, r, decay(age) if "t" in given else None, label_error_rate=float(wrong.mean()))
    chosen = recipe_of(recipe)
    weighting = compute_sample_weights(signals, chosen)
    p_correct = np.clip(rng.normal(np.where(wrong, 0.05, 0.95), 0.03), 0, 1)
    contributor = np.array(names, dtype=object)[codes] if people else np.array(["(all)"] * n, dtype=object)
    frame = {"row": np.arange(n), "contributor": contributor.tolist()}
    kinds = [f"kind {i}" for i in range(classes)] if task == "classification" else []
    if kinds:
        truth = rng.integers(0, classes, n)
        labels = np.where(wrong, (truth + 1) % classes, truth)
        frame |= {"label": [kinds[i] for i in labels], "predicted_label": [kinds[i] for i in truth]}
    else:
        truth = rng.normal(100, 20, n)
        frame |= {"label": truth + np.where(wrong, 60, 1), "predicted_label": truth}
    frame |= {"q": q, "v": signals.v, "r": signals.r, "t": signals.t}
    if "t" in given:
        frame["age_years"] = age
    frame |= {
        "weight": weighting.w,
        "kept": weighting.kept,
        "p_correct": p_correct,
        "uncorroborated": [False] * n,
    }
    if kinds:
        frame |= {
            "suggested_label": frame["predicted_label"],
            "p_suggested_label": np.maximum(p_correct, 1 - p_correct),
        }
    samples = pl.DataFrame(frame)
    text = {
        "label": pl.col("label").cast(pl.String),
        "predicted_label": pl.col("predicted_label").cast(pl.String),
    }
    confusion = samples.group_by("contributor", **text).agg(rows=pl.len())
    return AuditResult(
        samples=samples,
        contributors=_contributors(samples, signals, weighting, codes, names, p_correct, people),
        confusion=confusion.sort("contributor", "label", "predicted_label") if kinds else confusion.clear(),
        gate=weighting.gate,
        evaluation=comparison() if compared == "default" else compared,
        label_error_rate=Estimate(float(wrong.mean()), 0.11, 0.55),
        task=task,
        classes=kinds,
        recipe_name=recipe,
        policy=SamplePolicy(chosen, profile_of("default"), decay, ColdStart(), 7),
        columns=Columns("label", "who", features=tuple(f"f{i}" for i in range(40))),
        data={"name": "table.csv", "sha256": "ab" * 32, "rows": n + 2},
        signals_given=sorted({"q", *given}),
        scoring_epochs=31,
        notes=["a note about the columns"],
        warnings=["a warning about the dates"],
        versions=versions(),
    )


def _contributors(samples, signals, weighting, codes, names, p_correct, people):
    if not people:
        return pl.DataFrame(schema={"contributor": pl.String, "rows": pl.Int64, "kept": pl.Int64})
    good, rows = np.bincount(codes, p_correct, people), np.bincount(codes, minlength=people)
    quality, (low, high) = (good + 9) / (rows + 10), beta_interval(good + 9, rows - good + 1)
    verdict = np.where(quality > 0.8, RELIABLE, np.where(quality > 0.5, INCONCLUSIVE, CONTRADICTS)).tolist()
    # Of two labels guessing gets a half.
    kappa = [2 * share - 1 for share in (quality, low, high)]
    settled_by = 5 * np.array([word == INCONCLUSIVE for word in verdict])
    estimates = ContributorEstimates(
        verdict, quality, low, high, *kappa, np.full(people, 0.9), good, rows - good, settled_by, 0.002
    )
    result = contributor_summary(signals, weighting, codes, names, estimates)
    agreement = samples.group_by("contributor").agg(
        model_agreement=(pl.col("label") == pl.col("predicted_label")).mean()
    )
    frame = pl.DataFrame(result).with_columns(**estimate_columns(estimates))
    return frame.join(agreement, on="contributor").sort("accuracy", "contributor")

"""Scores of a batch of work, by source: gold answers, reviews, agreement with others, held-out quality.

Each is a share of right labels by contributor. None of them sees w, v, r or T.
"""

import polars as pl

from anml.core.errors import InputError
from anml.intake.contributions import Contributions

SCHEMA = {"contributor": pl.String, "source": pl.String, "quality": pl.Float64, "rows": pl.Int64}
# Labels by others that an item needs before agreement with them says anything.
OTHERS = 2


def score_batch(found: Contributions) -> pl.DataFrame:
    """Quality by contributor and source, from what an export holds."""
    parts = [_gold(found.rows), _reviews(found.evidence), _consensus(found.rows)]
    return pl.concat(parts).sort("contributor", "source")


def score_run(samples: pl.DataFrame, learned: pl.DataFrame | None = None) -> pl.DataFrame:
    """Held-out quality by contributor, from a run.

    The share of labels `learned` to be right (contributor, good, bad), where the run says it; else the
    probability that its model gave labels it had not seen, which is low also where the model is unsure.
    p_correct and weights are not used: they know v and r, and r would feed itself.
    """
    if learned is not None:
        # Evidence worth less than one label says nothing of a contributor.
        worth = pl.col("good") + pl.col("bad")
        return learned.filter(worth >= 1).select(
            "contributor",
            pl.lit("held-out").alias("source"),
            (pl.col("good") / worth).alias("quality"),
            worth.floor().cast(pl.Int64).alias("rows"),
        )
    if "confidence" not in samples.columns or samples["confidence"].null_count() == samples.height:
        raise InputError("the run has no held-out confidence; reputation takes nothing else from a run")
    known = samples.filter(pl.col("confidence").is_not_null())
    return _mean(known, pl.col("confidence").cast(pl.Float64), "held-out")


def agreement(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose label at least two others gave too, with nobody disagreeing: item and contributor."""
    votes = _with_votes(rows)
    agreed = votes.filter((pl.col("same") >= OTHERS) & (pl.col("same") == pl.col("others")))
    return agreed.select("item", "contributor").unique(maintain_order=True)


def _gold(rows: pl.DataFrame) -> pl.DataFrame:
    known = rows.filter(pl.col("truth").is_not_null())
    return _mean(known, (pl.col("label") == pl.col("truth")).cast(pl.Float64), "gold")


def _reviews(evidence: pl.DataFrame) -> pl.DataFrame:
    """The last review of each item counts; what a reviewer had to fix was not right."""
    kinds = ("review-accepted", "review-rejected", "fixed")
    others = evidence.filter(pl.col("kind").is_in(kinds) & (pl.col("issuer") != pl.col("contributor")))
    last = others.sort("at", nulls_last=False, maintain_order=True).unique(
        ["item", "contributor"], keep="last", maintain_order=True
    )
    return _mean(last, (pl.col("kind") == "review-accepted").cast(pl.Float64), "review")


def _consensus(rows: pl.DataFrame) -> pl.DataFrame:
    """Share of items where the majority of the others says the same; ties among the others say nothing."""
    votes = _with_votes(rows).filter(pl.col("others") >= OTHERS)
    decided = votes.filter((pl.col("same") * 2 > pl.col("others")) | (pl.col("rival") * 2 > pl.col("others")))
    return _mean(decided, (pl.col("same") * 2 > pl.col("others")).cast(pl.Float64), "consensus")


def _with_votes(rows: pl.DataFrame) -> pl.DataFrame:
    """For each label: how many others there are, how many agree, and the largest other camp."""
    one = rows.unique(["item", "contributor"], keep="last", maintain_order=True)
    camps = one.group_by("item", "label").agg(pl.len().cast(pl.Int64).alias("camp"))
    joined = one.join(camps, on=["item", "label"], maintain_order="left")
    rivals = one.select("item", "contributor", "label").join(camps, on="item", suffix="_other")
    largest = (
        rivals.filter(pl.col("label") != pl.col("label_other"))
        .group_by("item", "contributor")
        .agg(pl.col("camp").max().alias("rival"))
    )
    return joined.join(largest, on=["item", "contributor"], how="left", maintain_order="left").with_columns(
        (pl.len().over("item").cast(pl.Int64) - 1).alias("others"),
        (pl.col("camp") - 1).alias("same"),
        pl.col("rival").fill_null(0),
    )


def _mean(rows: pl.DataFrame, right: pl.Expr, source: str) -> pl.DataFrame:
    found = rows.group_by("contributor").agg(right.mean().alias("quality"), pl.len().alias("rows"))
    return found.select("contributor", pl.lit(source).alias("source"), "quality", "rows").cast(SCHEMA)  # type: ignore[arg-type]

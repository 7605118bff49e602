"""Judgements of single works, blind to w, v, r and T, and the scores of contributors that are new in them."""

from collections.abc import Collection, Mapping
from pathlib import Path

import polars as pl

from anml.core.errors import InputError
from anml.io.contributions import Contributions, last_reviews
from anml.ledger.evidence import sign_records
from anml.ledger.pay.manifest import row_keys
from anml.ledger.pay.settle import resolve_names
from anml.ledger.standing import Score, add_scores, item_hash
from anml.ledger.store import Ledger
from anml.ledger.writer import Actor, Writer
from anml.pipeline.read import read_learned, read_run, verify_run_hash
from anml.settlement.allocate import UNIT

SCHEMA = {"contributor": pl.String, "source": pl.String, "item": pl.String, "right": pl.Float64}
# Labels by others that an item needs before agreement with them says anything.
MIN_PEERS = 2
Texts = Mapping[str, str]


def judge_batch(found: Contributions, reviewers: Collection[str], peers: Collection[str]) -> pl.DataFrame:
    """Judgements in an export: by `reviewers` whose reviews count, and against labels of `peers`."""
    last = last_reviews(found.evidence, pl.col("issuer").is_in(sorted(reviewers)))
    # What a reviewer had to fix was not right.
    reviewed = _mean_judgements(last, (pl.col("kind") == "review-accepted").cast(pl.Float64), "review")
    judged = pl.concat([gold_judgements(found.rows), reviewed, _consensus(found.rows, peers)])
    return judged.sort("contributor", "source", "item")


def judge_run(samples: pl.DataFrame, names: pl.Series, learned: pl.DataFrame | None = None) -> pl.DataFrame:
    """Held-out judgements of a run: labels `learned` to be right, else what its model said; never v and r."""
    frame = samples.select(pl.col("contributor").cast(pl.String)).with_columns(names.alias("item"))
    if learned is not None:
        # Evidence worth less than one label says nothing of a contributor.
        worth = pl.col("good") + pl.col("bad")
        share = learned.filter(worth >= 1).select("contributor", (pl.col("good") / worth).alias("right"))
        frame = frame.join(share, on="contributor", how="inner")
    else:
        if (
            "self_confidence" not in samples.columns
            or samples["self_confidence"].null_count() == samples.height
        ):
            raise InputError("the run has no held-out predictions (self_confidence), which reputation needs")
        right = samples["self_confidence"].cast(pl.Float64).alias("right")
        frame = frame.with_columns(right).filter(pl.col("right").is_not_null())
    return _mean_judgements(frame, pl.col("right"), "held-out")


def gold_quality(judged: pl.DataFrame) -> dict[str, float]:
    """Share of right gold answers by contributor."""
    known = judged.filter(pl.col("source") == "gold").group_by("contributor").agg(pl.col("right").mean())
    return dict(known.iter_rows())


def agreement(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows whose label at least two others gave too, with nobody disagreeing: item and contributor."""
    agreed = _with_votes(rows).filter((pl.col("same") >= MIN_PEERS) & (pl.col("same") == pl.col("others")))
    return agreed.select("item", "contributor").unique(maintain_order=True)


def gold_judgements(rows: pl.DataFrame) -> pl.DataFrame:
    """Judgements by gold answers alone."""
    known = rows.filter(pl.col("truth").is_not_null())
    return _mean_judgements(known, (pl.col("label") == pl.col("truth")).cast(pl.Float64), "gold")


def _consensus(rows: pl.DataFrame, peers: Collection[str]) -> pl.DataFrame:
    """Score rows by agreement with the majority of peers; rows with a tie are dropped."""
    votes = _with_votes(rows, peers).filter(pl.col("others") >= MIN_PEERS)
    decided = votes.filter((pl.col("same") * 2 > pl.col("others")) | (pl.col("rival") * 2 > pl.col("others")))
    return _mean_judgements(decided, (pl.col("same") * 2 > pl.col("others")).cast(pl.Float64), "consensus")


def _with_votes(rows: pl.DataFrame, peers: Collection[str] | None = None) -> pl.DataFrame:
    """For each label: how many others (peers) there are, how many agree, the most votes for another one."""
    one = rows.unique(["item", "contributor"], keep="last", maintain_order=True)
    is_peer = pl.lit(True) if peers is None else pl.col("contributor").is_in(sorted(peers))
    one = one.with_columns(voice=is_peer.cast(pl.Int64))
    votes = one.drop_nulls("label").group_by("item", "label").agg(votes=pl.col("voice").sum())
    most = pl.col("votes").sort(descending=True)
    top = votes.group_by("item").agg(first=most.first(), second=most.slice(1, 1).first().fill_null(0))
    joined = one.join(votes, on=["item", "label"], maintain_order="left")
    own, first = pl.col("votes"), pl.col("first")
    return joined.join(top, on="item", maintain_order="left").with_columns(
        others=pl.col("voice").sum().over("item") - pl.col("voice"),
        same=own - pl.col("voice"),
        rival=pl.when(own == first).then("second").when(own < first).then("first").otherwise(0),
    )


def _mean_judgements(rows: pl.DataFrame, right: pl.Expr, source: str) -> pl.DataFrame:
    """One judgement for each contributor and item: the mean where a file has several."""
    found = rows.group_by("contributor", "item").agg(right=right.mean()).with_columns(source=pl.lit(source))
    return found.select(*SCHEMA).cast(SCHEMA)  # type: ignore[arg-type]


def new_scores(
    tx: Writer, judged: pl.DataFrame, pids: Texts, batch: str, place: str, domain: str, when: Texts
) -> list[Score]:
    """Scores of judgements that nobody counted yet; `place` is where items have their names."""
    groups: dict[tuple[str, str], dict[str, float]] = {}
    times: dict[str, str] = {}
    for who, source, item, right in judged.iter_rows():
        pid = pids[who]
        groups.setdefault((pid, source), {})[item_hash(place, item)] = right
        times[pid] = max(times.get(pid, ""), when[who])
    made = []
    for (pid, source), items in sorted(groups.items()):
        counted = tx.state.judged_before(pid)
        new = {item: right for item, right in items.items() if (source, item) not in counted}
        if new:
            quality = round(sum(new.values()) / len(new) * UNIT)
            made.append(Score(pid, domain, source, batch, times[pid], quality, tuple(new), len(items)))
    return made


def record_run_scores(
    ledger: Ledger, folder: Path, source: str | None = None, domain: str = "default", by: Actor = None
) -> int:
    """Record the held-out quality of a run; the same rows count once, whatever run they are in."""
    run = read_run(folder)
    verify_run_hash(folder, run)
    samples = run.samples.with_columns(pl.col("contributor").cast(pl.String))
    judged = judge_run(samples, row_keys(run), read_learned(folder, run._replace(samples=samples)))

    def work(tx: Writer) -> int:
        names = judged["contributor"].unique().sort().to_list()
        pids = resolve_names(tx, source, names)
        when = dict.fromkeys(names, tx.now)
        made = add_scores(tx, new_scores(tx, judged, pids, run.sha256[:16], "run", domain, when))
        sign_records(tx, "run", run.sha256, by)
        return made

    return ledger.write(work)

"""Attribution of a model's behaviour on queries to contributors: influence, shares, intervals, self-check."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from scipy.cluster.vq import kmeans2

from anml.attribution.calibration import (
    EffectFit,
    Retrainings,
    beyond,
    bootstrap_mean,
    ceiling,
    fisher_interval,
    lds,
    topic_means,
)
from anml.attribution.indexing import DAMPINGS, UNCHECKED_DAMPING, Index
from anml.attribution.samples import RowBatches
from anml.attribution.similarity import similarity
from anml.core.checks import Floats, Ints, as_codes, as_vector
from anml.core.errors import InputError

# Contributors whose rows are shown, and rows of each.
SHOWN_CONTRIBUTORS, SHOWN_ROWS = 5, 3
DRAWS = 2_000
# Groups of queries with a slope each, and the queries that each needs.
MAX_TOPICS, QUERIES_PER_TOPIC = 16, 3
# Probability of a positive influence from which a contributor is certain.
CERTAIN = 0.975
# Terms of the model that correct influence; a longer list is used where held-out retrainings confirm it.
CORRECTIONS = {
    "slope": ("slope",),
    "slope and rows": ("slope", "rows"),
    "residuals": ("slope", "slope by topic", "rows", "contributor", "contributor by topic"),
}
# A smaller gain over similarity, with the query's own source held fixed, is stated on the page.
SMALL_GAIN = 0.05


class Candidate(NamedTuple):
    """Scores (queries, contributors) by subset checkpoints and a damping."""

    checkpoints: str
    damping: float
    scores: Floats


def candidates(scores: Floats) -> list[Candidate]:
    """Mean over runs of the sum over all, the first or the last checkpoint, for each damping."""
    ways = {"all": scores.sum(axis=1)}
    if scores.shape[1] > 1:
        ways |= {"first": scores[:, 0], "last": scores[:, -1]}
    return [
        Candidate(name, damping, way[:, at].mean(axis=0))
        for name, way in ways.items()
        for at, damping in enumerate(DAMPINGS)
    ]


def shares_of(credit: Floats) -> Floats:
    """Shares of a pool by signed credit (..., contributors), which is summed before and clipped once."""
    positive = np.clip(credit, 0.0, None)
    return np.asarray(positive / np.maximum(positive.sum(axis=-1, keepdims=True), 1e-300))


@dataclass
class Trace:
    """Attribution of a behaviour.

    `contributors` has contributor, share, low, high, certain, influence, similarity and rows, largest share
    first; `queries` the influence of each contributor on each query; `rows` the rows with most influence
    behind the first five contributors; `check` what the self-check result.
    """

    contributors: pl.DataFrame
    queries: pl.DataFrame
    rows: pl.DataFrame
    check: dict[str, Any]
    influence: Floats
    draws: Floats = field(repr=False)
    names: list[str] = field(repr=False)
    about: dict[str, Any] = field(repr=False)

    def report(
        self, path: str | Path, *, texts: Sequence[str] | None = None, asked: Sequence[str] | None = None
    ) -> None:
        """Write the page of this attribution; `texts` shows the training rows and `asked` the queries."""
        from anml.attribution.page import write_page

        write_page(self, Path(path), texts=texts, asked=asked)

    def usage(self, path: str | Path, **settings: Any) -> dict[str, Any]:
        """Write the usage file of a period for settlement; see `anml.attribution.usage.usage_record`."""
        from anml.attribution.usage import write_usage

        return write_usage(self, Path(path), **settings)


def trace(
    index: Index, queries: Any, *, topic: Any = None, count: Any = None, p_correct: Any = None,
    top_rows: int = SHOWN_ROWS, trainings: Retrainings | None = None,
) -> Trace:  # fmt: skip
    """Attribute the behaviour of an indexed model on queries to contributors.

    Parameters
    ----------
    queries
        Samples with the targets whose loss is attributed, as `train` in `index`; of generated text the
        tokens of the prompt have the label -100.
    topic
        Column of the queries, or one value per query: groups with a slope each in the self-check. None: the
        class, or clusters of queries with similar scores.
    count
        Column of the queries, or one number per query: how often it was asked, or its price.
    p_correct
        Probability that each training row is correct: credit is multiplied by its mean over a contributor's
        rows. Leave it out where training was weighted by it.
    top_rows
        Rows that are shown behind each of the first five contributors.
    trainings
        Losses of the queries by models retrained elsewhere, instead of those of the index.
    """
    columns = [name for name in (topic, count) if isinstance(name, str)]
    asked = RowBatches(queries, columns, index.settings.loss)
    usage = _usage(asked, count)
    scores = candidates(index.scores(asked))
    base = similarity(index.train, asked, index.codes, len(index.contributors), index.batch_size)
    groups = _topics(index, asked, topic, scores[0].scores)
    trainings = index.retrainings(asked) if trainings is None else trainings
    rng = np.random.default_rng(index.seed)
    if trainings is None:
        result = _unchecked(index, scores, usage, rng)
    else:
        result = _Check(index, scores, groups, usage, trainings).estimate(base, rng)
    reliability = np.ones(len(index.contributors))
    if p_correct is not None:
        each = as_vector("p_correct", p_correct, len(index.train)) * index.weight
        reliability = np.bincount(index.codes, each, len(reliability)) / np.maximum(index.rows, 1e-300)
    return _result(index, asked, result, usage, reliability, base, top_rows)


def _usage(asked: RowBatches, count: Any) -> Floats:
    if count is None:
        return np.ones(len(asked))
    usage = as_vector("count", asked.column(count) if isinstance(count, str) else count, len(asked))
    if (usage < 0).any() or usage.sum() <= 0:
        raise InputError("count must not be negative, and at least one must be positive")
    return usage


def _topics(index: Index, asked: RowBatches, topic: Any, scores: Floats) -> Ints:
    if topic is not None:
        return as_codes("topic", asked.column(topic) if isinstance(topic, str) else topic, len(asked))[0]
    target = [b.target for b in asked.batches(range(len(asked)), index.batch_size, index.device)]
    if target[0].dim() == 1 and not target[0].is_floating_point():
        codes = np.unique(np.concatenate([each.cpu().numpy() for each in target]), return_inverse=True)[1]
        if codes.max() < 2 * MAX_TOPICS:
            return np.asarray(codes)
    groups = min(MAX_TOPICS, len(asked) // QUERIES_PER_TOPIC)
    if groups < 2:
        return np.zeros(len(asked), dtype=np.int64)
    length = np.linalg.norm(scores, axis=1, keepdims=True)
    unit = scores / np.maximum(length, 1e-300)
    label = kmeans2(unit, groups, minit="++", missing="warn", rng=np.random.default_rng(index.seed))[1]
    return np.asarray(np.unique(label, return_inverse=True)[1])


class _Estimate(NamedTuple):
    """Influence on queries and on the behaviour, with draws of the latter."""

    queries: Floats
    error: Floats
    total: Floats
    draws: Floats
    candidate: Candidate
    check: dict[str, Any]


def _unchecked(index: Index, scores: list[Candidate], usage: Floats, rng: np.random.Generator) -> _Estimate:
    """Influence without a self-check; intervals by a bootstrap over the queries."""
    chosen = next(c for c in scores if c.checkpoints == "all" and c.damping == UNCHECKED_DAMPING)
    share = usage / usage.sum()
    drawn = rng.multinomial(len(share), share, size=DRAWS) / len(share)
    spread = np.tile(chosen.scores.std(axis=0), (len(share), 1))
    check = {
        "status": "not checked", "retrainings": 0, "damping": chosen.damping,
        "checkpoints": chosen.checkpoints,
    }  # fmt: skip
    return _Estimate(chosen.scores, spread, share @ chosen.scores, drawn @ chosen.scores, chosen, check)


class _Choice(NamedTuple):
    """A candidate, its fit to the retrainings, and the correction that predicts held-out ones best."""

    candidate: Candidate
    fit: EffectFit
    correction: str
    # Predictions of each retraining from the others: of the behaviour, or of each query.
    held_out: Floats


class _Check:
    """Choice of method, correction and scores by the retrainings."""

    def __init__(
        self, index: Index, scores: list[Candidate], topic: Ints, usage: Floats, trainings: Retrainings
    ) -> None:
        self.trainings, self.topic, self.rows = trainings, topic, index.rows
        self.mean, self.share = topic_means(topic, usage)
        self.grouped, self.usage = trainings.averaged(self.mean), usage / usage.sum()
        fits = [EffectFit(self.grouped, self.mean @ each.scores, self.rows) for each in scores]
        evidence = [fit.log_evidence for fit in fits]
        single = [float(lds(trainings.left @ each.scores.T, trainings.losses).mean()) for each in scores]
        one, two = int(np.argmax(evidence)), int(np.argmax(single))
        self.behaviour = self._corrected(scores[one], fits[one], whole=True)
        self.queries = self._corrected(scores[two], fits[two], whole=False)

    def _corrected(self, candidate: Candidate, fit: EffectFit, whole: bool) -> _Choice:
        """Choose the correction whose predictions of held-out retrainings have the least squared error."""
        losses = self.trainings.losses
        actual = losses @ self.usage if whole else losses
        # A retraining is compared with the mean of the others, and so is its prediction.
        count = len(actual)
        centred = (actual - actual.mean(axis=0)) * count / (count - 1)
        unit = np.square(centred).mean(axis=0) + 1e-300
        tried: list[tuple[float, str, Floats]] = []
        for name, terms in CORRECTIONS.items():
            log_sd, predicted = fit.only(terms), []
            for at, left in enumerate(self.trainings.left):
                rest = self.grouped.without(at)
                again = EffectFit(rest, self.mean @ candidate.scores, self.rows, log_sd)
                gone = left - rest.left.mean(axis=0)
                if whole:
                    predicted.append(gone @ again.effects(self.share).mean)
                else:
                    predicted.append(self.query_effects(again, candidate.scores) @ gone)
            held_out = np.array(predicted)
            error = float((np.square(held_out - centred).mean(axis=0) / unit).mean())
            tried.append((error, name, held_out))
        _, name, held_out = min(tried, key=lambda each: each[0])
        kept = EffectFit(self.grouped, self.mean @ candidate.scores, self.rows, fit.only(CORRECTIONS[name]))
        return _Choice(candidate, kept, name, held_out)

    def query_effects(self, fit: EffectFit, scores: Floats) -> Floats:
        """Effects on single queries: the topic's, and its slope times the deviation of the scores from it."""
        by_topic = np.array([fit.effects(each).mean for each in np.eye(len(self.mean))])
        scale = float(np.sqrt(np.square(fit.left @ (self.mean @ scores).T).mean()))
        slope = fit.slopes() / max(scale, 1e-300)
        away = scores - (self.mean @ scores)[self.topic]
        return np.asarray(by_topic[self.topic] + slope[self.topic][:, None] * away)

    def estimate(self, base: Floats, rng: np.random.Generator) -> _Estimate:
        """Influence on the behaviour and on each query, with draws of the posterior."""
        behaviour, single, trainings = self.behaviour, self.queries, self.trainings
        effects = behaviour.fit.effects(self.share)
        # The uncertainty is that of all terms, whichever of them correct the mean.
        whole = EffectFit(self.grouped, self.mean @ behaviour.candidate.scores, self.rows).effects(self.share)
        draws = rng.multivariate_normal(effects.mean, whole.covariance, size=DRAWS, method="eigh")
        # A retraining excludes about half of the contributors: the unexplained rest is theirs together.
        held_out = single.held_out - single.held_out.mean(axis=0)
        away = trainings.losses - trainings.losses.mean(axis=0) - held_out
        error = np.sqrt(np.square(away).mean(axis=0) / trainings.left.sum(axis=1).mean())[:, None]
        queries = self.query_effects(single.fit, single.candidate.scores)
        check = {
            "status": "checked", "retrainings": len(trainings.left),
            "damping": behaviour.candidate.damping, "checkpoints": behaviour.candidate.checkpoints,
            "correction": behaviour.correction, "query_damping": single.candidate.damping,
            "query_checkpoints": single.candidate.checkpoints, "query_correction": single.correction,
            **_scores_of_check(
                trainings, self.usage, behaviour.held_out, single.held_out, base, self.rows, rng
            ),
        }  # fmt: skip
        error = np.broadcast_to(error, queries.shape)
        return _Estimate(queries, error, effects.mean, draws, behaviour.candidate, check)


def _scores_of_check(
    trainings: Retrainings, usage: Floats, predicted: Floats, held_out: Floats, base: Floats, rows: Floats,
    rng: np.random.Generator,
) -> dict[str, Any]:  # fmt: skip
    """Linear datamodeling scores of attribution and of similarity, with intervals and the ceiling."""
    actual = (trainings.losses @ usage)[:, None]
    count = len(trainings.left) - len(trainings.repeats)
    whole = float(lds(predicted[:, None], actual)[0])
    low, high = fisher_interval(whole, count)
    single, similar = lds(held_out, trainings.losses), lds(trainings.left @ base.T, trainings.losses)
    single_low, single_high = bootstrap_mean(single, rng)
    own = trainings.left[:, base.argmax(axis=1)].T[:, :, None]
    fixed = [
        lds(beyond(each, own), beyond(trainings.losses, own)) for each in (held_out, trainings.left @ base.T)
    ]
    gone = (trainings.left @ rows)[:, None]
    without_rows = lds(beyond(held_out, gone), beyond(trainings.losses, gone))
    top, all_top = ceiling(trainings), ceiling(trainings.averaged(usage[None]))
    return {
        "lds": whole, "low": low, "high": high, "ceiling": None if all_top is None else float(all_top[0]),
        "similarity": float(lds((trainings.left @ (usage @ base))[:, None], actual)[0]),
        "query_lds": float(single.mean()), "query_low": single_low, "query_high": single_high,
        "query_ceiling": None if top is None else float(top.mean()),
        "query_similarity": float(similar.mean()), "query_lds_beyond_rows": float(without_rows.mean()),
        "gain_own_source_fixed": float((fixed[0] - fixed[1]).mean()),
    }  # fmt: skip


def _result(
    index: Index, asked: RowBatches, result: _Estimate, usage: Floats, reliability: Floats, base: Floats,
    top_rows: int,
) -> Trace:  # fmt: skip
    names, total = index.contributors, result.total
    drawn = result.draws * reliability
    share = shares_of(total * reliability)
    low, high = np.quantile(shares_of(drawn), [0.025, 0.975], axis=0)
    certain = (result.draws > 0).mean(axis=0) >= CERTAIN
    similar = shares_of((usage / usage.sum()) @ base)
    bounds = np.quantile(result.draws, [0.025, 0.975], axis=0)
    contributors = pl.DataFrame({
        "contributor": names, "share": share, "low": np.minimum(low, share), "high": np.maximum(high, share),
        "certain": certain, "influence": total, "influence_low": bounds[0], "influence_high": bounds[1],
        "similarity": similar, "rows": np.bincount(index.codes, minlength=len(names)),
        "p_correct": reliability,
    }).sort("share", "influence", "contributor", descending=[True, True, False])  # fmt: skip
    shape = result.queries.shape
    queries = pl.DataFrame({
        "query": np.repeat(np.arange(shape[0]), shape[1]), "contributor": names * shape[0],
        "influence": result.queries.ravel(), "low": (result.queries - 1.96 * result.error).ravel(),
        "high": (result.queries + 1.96 * result.error).ravel(), "similarity": base.ravel(),
    })  # fmt: skip
    rows = _top_rows(index, asked, usage, contributors, result.candidate, top_rows)
    about = {
        "model": type(index.module).__name__, "model_sha256": index.model_sha256, "queries": len(asked),
        "amount": float(usage.sum()), "similarity": base,
    }  # fmt: skip
    return Trace(contributors, queries, rows, result.check, result.queries, drawn, names, about)


def _top_rows(
    index: Index, asked: RowBatches, usage: Floats, contributors: pl.DataFrame, chosen: Candidate, count: int
) -> pl.DataFrame:
    """Rows with the largest influence of the first contributors, and the lowest of the most negative ones."""
    first = contributors.filter(pl.col("share") > 0)["contributor"].to_list()[:SHOWN_CONTRIBUTORS]
    harmful = contributors.filter(pl.col("influence_high") < 0).sort("influence")["contributor"].to_list()
    shown = [(name, 1) for name in first] + [(n, -1) for n in harmful[:SHOWN_CONTRIBUTORS] if n not in first]
    codes = {index.contributors.index(name): sign for name, sign in shown}
    rows = np.flatnonzero(np.isin(index.codes, list(codes)))
    if not count or not len(rows):
        return pl.DataFrame(schema={"contributor": pl.String, "row": pl.Int64, "influence": pl.Float64})
    last = len(index.runs[0]) - 1
    at = {"all": range(last + 1), "first": [0], "last": [last]}[chosen.checkpoints]
    scores = index.row_scores(asked, usage, rows, list(at), chosen.damping)
    picked: list[tuple[str, int, float]] = []
    for code, sign in codes.items():
        mine = np.flatnonzero(index.codes[rows] == code)
        best = mine[np.argsort(-sign * scores[mine], kind="stable")[:count]]
        picked += [(index.contributors[code], int(rows[each]), float(scores[each])) for each in best]
    return pl.DataFrame(picked, schema=["contributor", "row", "influence"], orient="row")

"""Audit of preferences: the ranking of the candidates, and the reliability of each contributor."""

from dataclasses import replace

import numpy as np
import polars as pl
from scipy import special

from anml.annotators.preferences.davidson import TIE, choice_probabilities
from anml.annotators.result import LabelEstimates
from anml.assessment.preferences import PreferenceEstimates, estimate_preferences
from anml.core.calibration import auroc, calibration_curve
from anml.core.checks import Ints, as_codes
from anml.core.progress import Progress
from anml.core.text import pluralise
from anml.io.prepare import Prepared
from anml.io.tables import Table
from anml.io.tasks import preferences as intake
from anml.io.tasks.types import StructuredTask
from anml.pipeline.audit import audit_table
from anml.pipeline.request import Request
from anml.pipeline.result import AuditResult, GoldEvaluation, StructuredResult, with_columns_of

# Probability from which a comparison is decided, and the quantile of its interval.
DECIDED_PROBABILITY, Z_95 = 0.95, 1.96
# Probability, and share of the comparisons between equals, from which a note is made.
NOTE_PROBABILITY, NOTE_MIN_SHARE = 0.9, 0.65
RANKING_COLUMNS = (
    "group", "component", "rank", "candidate", "score", "score_low", "score_high", "n_comparisons",
    "p_ahead_of_next",
)  # fmt: skip
CODES = {intake.FIRST: 0, intake.SECOND: 1, intake.TIE: TIE}


def audit_preferences(
    table: Table, shape: StructuredTask, request: Request, progress: Progress | None
) -> AuditResult:
    """Audit comparisons in a table from `anml.io.tasks.preferences`."""
    frame = table.frame
    candidates = pl.concat([frame.select("group", candidate=name) for name in ("first", "second")])
    has_choice = pl.concat([frame["label"], frame["label"]]).is_not_null()
    names = candidates.filter(has_choice).unique().sort("group", "candidate")
    numbered = names.with_row_index("code").cast({"code": pl.Int64})
    codes = candidates.join(numbered, on=["group", "candidate"], how="left", maintain_order="left")
    code = codes["code"].fill_null(-1).to_numpy()
    first, second = code[: frame.height], code[frame.height :]
    features, side_data, notes = None, {}, list[str]()
    if request.embeddings is not None:
        features, side_data["candidates"], notes = intake.read_candidate_features(request.embeddings, names)
        request = replace(request, embeddings=None)
    estimates: list[PreferenceEstimates] = []

    def believe(prepared: Prepared) -> LabelEstimates:
        judges, _ = as_codes("contributor", prepared.contributor, len(prepared.y))
        y, used = prepared.y.astype(np.int64), prepared.rows
        codes = [CODES[name] for name in prepared.classes]
        truth = None if prepared.known is None else prepared.known.truth.astype(np.int64)
        signals = [each for each in (prepared.verification, prepared.reputation) if each is not None]
        standing = np.prod(signals, axis=0) if signals else None
        belief, compared = estimate_preferences(
            first[used], second[used], y, codes, judges, truth, standing, features
        )
        estimates.append(compared)
        return belief

    result, prepared, assessed = audit_table(table, request, progress=progress, believe=believe)
    first, second = first[prepared.rows], second[prepared.rows]
    ranked = rank_candidates(names, estimates[0], first, second)
    people = with_columns_of(result, _people(result, estimates[0]))
    lines = _summary_sentences(ranked, estimates[0], first, second, features is not None)
    shaped = StructuredResult(shape.kind, shape.unit, {"ranking": ranked}, lines, {})
    return replace(
        result, contributors=people, structured=shaped, data={**result.data, **side_data},
        notes=[*result.notes, *notes], gold=_check_gold(result.gold, prepared, assessed.belief),
    )  # fmt: skip


def _check_gold(
    gold: GoldEvaluation | None, prepared: Prepared, belief: LabelEstimates
) -> GoldEvaluation | None:
    """Evaluate the probability that the better candidate was chosen, instead of p_correct, on test labels."""
    if gold is None or prepared.gold is None:
        return None
    has_gold = np.flatnonzero(prepared.gold.known)
    p, right = belief.truth[has_gold, prepared.y[has_gold].astype(np.int64)], prepared.gold.right[has_gold]
    ranking, name = auroc(p, right), "the probability that the better candidate was chosen"
    order = None if np.isnan(ranking) else ranking
    return replace(gold, reliability=calibration_curve(p, right), ranking=order, noun="comparison", p=name)


def rank_candidates(
    names: pl.DataFrame, estimates: PreferenceEstimates, first: Ints, second: Ints
) -> pl.DataFrame:
    """Candidates by score within their group, with intervals and the probability to be ahead of the next."""
    fit = estimates.fit
    spread = Z_95 * np.sqrt(fit.net.variance(fit.scores))
    count = len(names)
    frame = names.with_columns(
        code=pl.Series(np.arange(count)),
        score=pl.Series(fit.scores.mean),
        score_low=pl.Series(fit.scores.mean - spread),
        score_high=pl.Series(fit.scores.mean + spread),
        n_comparisons=pl.Series(np.bincount(np.r_[first, second], minlength=count)),
        component=pl.Series(fit.net.part),
    ).sort("group", "component", "score", "candidate", descending=[False, False, True, False])
    code = frame["code"].to_numpy()
    ahead = pl.Series(np.append(p_better(estimates, code[:-1], code[1:]), np.nan))
    rank = pl.int_range(1, pl.len() + 1).over("group", "component")
    last = rank == pl.len().over("group", "component")
    return frame.with_columns(rank=rank, p_ahead_of_next=pl.when(~last).then(ahead)).select(RANKING_COLUMNS)


def p_better(estimates: PreferenceEstimates, one: Ints, other: Ints) -> np.ndarray:
    """Probability that the score of one is above that of the other."""
    fit = estimates.fit
    gap = fit.scores.mean[one] - fit.scores.mean[other]
    return np.asarray(special.ndtr(gap / np.sqrt(np.maximum(fit.net.gap(fit.scores, one, other), 1e-12))))


def _people(result: AuditResult, estimates: PreferenceEstimates) -> pl.DataFrame:
    people = estimates.people
    between_equals = choice_probabilities(people.side, people.tie)
    lean = between_equals[0] / (1 - between_equals[TIE])
    return pl.DataFrame(
        {
            "contributor": sorted(result.contributors["contributor"].to_list()),
            "kappa": people.kappa,
            "kappa_low": people.low,
            "kappa_high": people.high,
            "discrimination": people.slope,
            "position_bias": lean,
            "tie_rate": 1 - people.decided / people.rows,
            "p_own_preference": people.taste,
            "notes": [*map(_note, people.taste, lean)],
        }
    )


def _note(taste: float, lean: float) -> str:
    notes = ["has a consistent preference of their own"] if taste >= NOTE_PROBABILITY else []
    if max(lean, 1 - lean) > NOTE_MIN_SHARE:
        side, share = ("first", lean) if lean > 0.5 else ("second", 1 - lean)
        notes.append(f"prefers the {side} of two equal candidates in {share:.0%} of cases")
    return "; ".join(notes)


def _summary_sentences(
    ranking: pl.DataFrame, estimates: PreferenceEstimates, first: Ints, second: Ints, has_features: bool
) -> list[str]:
    pairs = np.unique(np.column_stack([np.minimum(first, second), np.maximum(first, second)]), axis=0)
    p = p_better(estimates, pairs[:, 0], pairs[:, 1])
    n_decided = int((np.maximum(p, 1 - p) >= DECIDED_PROBABILITY).sum())
    lines = [
        f"{pluralise(ranking.height, 'candidate is', 'candidates are')} ranked. {n_decided:,} of "
        f"{pluralise(len(pairs), 'compared pair')} are decided (probability at least "
        f"{DECIDED_PROBABILITY:.0%} that one candidate is better)."
    ]
    if has_features and not len(estimates.fit.scores.line):
        lines.append("The embeddings of all compared candidates are equal.")
    elif has_features:
        params = estimates.fit.params
        share = params.told / (params.told + params.spread)
        lines.append(f"The embeddings of the candidates explain {share:.0%} of the variance of their scores.")
    parts = ranking.group_by("group", "component", maintain_order=True).first()
    if parts.height == 1:
        top = ranking.row(0, named=True)
        led = ranking["p_ahead_of_next"][0]
        if led is not None and led >= DECIDED_PROBABILITY:
            name = str(top["candidate"])[:60]
            lines.append(f"{name!r} is first, with probability {led:.0%} to be better than the second.")
        else:
            lines.append("The first rank is not decided.")
    else:
        decided = int((parts["p_ahead_of_next"] >= DECIDED_PROBABILITY).sum())
        lines.append(f"The first rank is decided in {decided:,} of {parts.height:,} separate rankings.")
    return lines

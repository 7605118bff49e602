"""An audit of preferences: how candidates rank, what of it is decided, and who chooses how."""

from dataclasses import replace

import numpy as np
import polars as pl
from scipy import special

from anml.app.audit.audit import audit_table
from anml.app.audit.request import Request
from anml.app.audit.result import Audited, GoldCheck, Shaped, with_columns_of
from anml.assess.pairs import Compared, believe_pairs
from anml.core.calibration import ranking, reliability
from anml.core.checks import Ints, as_codes
from anml.core.people.belief import Belief
from anml.core.people.davidson import TIE, choices
from anml.core.progress import Progress
from anml.core.words import counted
from anml.intake.prepare import Prepared
from anml.intake.shapes import preference as intake
from anml.intake.shapes.shape import Shape
from anml.intake.tables import Table

# A difference is decided at this probability; its interval holds as much.
DECIDED, WIDE = 0.95, 1.96
# A habit is told at this probability, and from this share of the comparisons between equals on.
TOLD, LEANS = 0.9, 0.65
CODES = {intake.FIRST: 0, intake.SECOND: 1, intake.TIE: TIE}


def audit_preferences(table: Table, shape: Shape, request: Request, progress: Progress | None) -> Audited:
    """Audit comparisons; `table` is what `anml.intake.shapes.preference` makes of them."""
    frame = table.frame
    both = pl.concat([frame.select("group", candidate=name) for name in ("first", "second")])
    chosen = pl.concat([frame["label"], frame["label"]]).is_not_null()
    names = both.filter(chosen).unique().sort("group", "candidate")
    numbered = names.with_row_index("code").cast({"code": pl.Int64})
    codes = both.join(numbered, on=["group", "candidate"], how="left", maintain_order="left")
    code = codes["code"].fill_null(-1).to_numpy()
    first, second = code[: frame.height], code[frame.height :]
    features, about, notes = None, {}, list[str]()
    if request.embeddings is not None:
        features, about["candidates"], notes = intake.read_candidates(request.embeddings, names)
        request = replace(request, embeddings=None)
    found: list[Compared] = []

    def believe(prepared: Prepared) -> Belief:
        who, _ = as_codes("contributor", prepared.contributor, len(prepared.y))
        y, used = prepared.y.astype(np.int64), prepared.rows
        codes = [CODES[name] for name in prepared.classes]
        truth = None if prepared.known is None else prepared.known.truth.astype(np.int64)
        signals = [each for each in (prepared.verification, prepared.reputation) if each is not None]
        standing = np.prod(signals, axis=0) if signals else None
        belief, compared = believe_pairs(first[used], second[used], y, codes, who, truth, standing, features)
        found.append(compared)
        return belief

    result, prepared, assessed = audit_table(table, request, progress=progress, believe=believe)
    first, second = first[prepared.rows], second[prepared.rows]
    ranked = rank(names, found[0], first, second)
    people = with_columns_of(result, _people(result, found[0]))
    said = _said(ranked, found[0], first, second, features is not None)
    shaped = Shaped(shape.kind, shape.unit, {"ranking": ranked}, said, {})
    return replace(
        result, contributors=people, shape=shaped, data={**result.data, **about},
        notes=[*result.notes, *notes], gold=_checked(result.gold, prepared, assessed.belief),
    )  # fmt: skip


def _checked(gold: GoldCheck | None, prepared: Prepared, belief: Belief) -> GoldCheck | None:
    """Known answers check who is held for better: a choice made by looking may be wrong all the same."""
    if gold is None or prepared.gold is None:
        return None
    known = np.flatnonzero(prepared.gold.known)
    p, right = belief.truth[known, prepared.y[known].astype(np.int64)], prepared.gold.right[known]
    found, said = ranking(p, right), "the probability that the better one was chosen"
    order = None if np.isnan(found) else found
    return replace(gold, reliability=reliability(p, right), ranking=order, of="comparison", p=said)


def rank(names: pl.DataFrame, found: Compared, first: Ints, second: Ints) -> pl.DataFrame:
    """Candidates by score within their group, with intervals and the probability to be ahead of the next."""
    fit = found.fit
    spread = WIDE * np.sqrt(fit.net.variance(fit.scores))
    count = len(names)
    frame = names.with_columns(
        code=pl.Series(np.arange(count)),
        score=pl.Series(fit.scores.mean),
        low=pl.Series(fit.scores.mean - spread),
        high=pl.Series(fit.scores.mean + spread),
        comparisons=pl.Series(np.bincount(np.r_[first, second], minlength=count)),
        part=pl.Series(fit.net.part),
    ).sort("group", "part", "score", "candidate", descending=[False, False, True, False])
    code = frame["code"].to_numpy()
    ahead = pl.Series(np.append(better(found, code[:-1], code[1:]), np.nan))
    place = pl.int_range(1, pl.len() + 1).over("group", "part")
    last = place == pl.len().over("group", "part")
    return frame.with_columns(place=place, ahead=pl.when(~last).then(ahead)).select(
        "group", "part", "place", "candidate", "score", "low", "high", "comparisons", "ahead"
    )


def better(found: Compared, one: Ints, other: Ints) -> np.ndarray:
    """Probability that the score of one is above that of the other."""
    fit = found.fit
    gap = fit.scores.mean[one] - fit.scores.mean[other]
    return np.asarray(special.ndtr(gap / np.sqrt(np.maximum(fit.net.gap(fit.scores, one, other), 1e-12))))


def _people(result: Audited, found: Compared) -> pl.DataFrame:
    people = found.people
    between_equals = choices(people.side, people.tie)
    lean = between_equals[0] / (1 - between_equals[TIE])
    return pl.DataFrame(
        {
            "contributor": sorted(result.contributors["contributor"].to_list()),
            "reliability": people.kappa,
            "reliability_low": people.low,
            "reliability_high": people.high,
            "discrimination": people.slope,
            "first_between_equals": lean,
            "ties": 1 - people.decided / people.rows,
            "own_taste": people.taste,
            "habits": [*map(_habit, people.taste, lean)],
        }
    )


def _habit(taste: float, lean: float) -> str:
    said = ["chooses by a taste of its own"] if taste >= TOLD else []
    if max(lean, 1 - lean) > LEANS:
        side, share = ("first", lean) if lean > 0.5 else ("second", 1 - lean)
        said.append(f"between equals takes the {side} in {share:.0%}")
    return "; ".join(said)


def _said(ranking: pl.DataFrame, found: Compared, first: Ints, second: Ints, given: bool) -> list[str]:
    pairs = np.unique(np.column_stack([np.minimum(first, second), np.maximum(first, second)]), axis=0)
    p = better(found, pairs[:, 0], pairs[:, 1])
    sure = int((np.maximum(p, 1 - p) >= DECIDED).sum())
    said = [
        f"{counted(ranking.height, 'candidate')} are ranked; of {counted(len(pairs), 'pair')} that were "
        f"compared {sure:,} are decided (one is better at {DECIDED:.0%})."
    ]
    if given and not len(found.fit.scores.line):
        said.append("What was given of the candidates is the same for all that were compared.")
    elif given:
        params = found.fit.params
        share = params.told / (params.told + params.spread)
        said.append(f"What was given of the candidates explains {share:.0%} of how far their scores differ.")
    parts = ranking.group_by("group", "part", maintain_order=True).first()
    if parts.height == 1:
        top = ranking.row(0, named=True)
        led = ranking["ahead"][0]
        if led is not None and led >= DECIDED:
            said.append(f"{str(top['candidate'])[:60]!r} is first, at {led:.0%} ahead of the next.")
        else:
            said.append("Who is first is not decided.")
    else:
        decided = int((parts["ahead"] >= DECIDED).sum())
        said.append(f"Of {parts.height:,} separate rankings {decided:,} have a first that is decided.")
    return said

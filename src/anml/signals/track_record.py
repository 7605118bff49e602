"""r from what happened: a Beta posterior over scored events, with a cap, forgetting and a way back.

Events never come from w, v, r or T: a reputation that is fed by its own effect feeds itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anml.core.checks import as_vector, in_range, one_of
from anml.core.errors import InputError
from anml.core.stats import beta_interval
from anml.signals.reputation import ColdStart

DAY = 86400.0

# How much one batch of evidence counts, by where it comes from; the best source first.
SOURCES: dict[str, float] = {"gold": 1.0, "review": 1.0, "consensus": 0.5, "held-out": 0.25}


class ReputationEvent(NamedTuple):
    """One scored batch of a contributor's work: `at` in seconds, `quality` in [0, 1]."""

    at: float
    quality: float
    source: str
    batch: str
    weight: float = 1.0


@dataclass(frozen=True)
class ReputationRule:
    """The constants of the rule; judgement rather than measurement, so every report shows them.

    All contributors start at `r0`, with a prior of `kappa` events. At most `cap` evidence is kept, and it
    halves in `half_life_days`, so r of an idle contributor returns to `r0`. Bad work counts `penalty` times
    while the mean of the last `window` events lies `drop` below r: a real drop counts double, a single error
    does not. r stays inside the paper's range; the floor is for accounts of `floor_age_days`.
    """

    r0: float = 0.4
    kappa: float = 4.0
    cap: float = 30.0
    half_life_days: float = 365.0
    drop: float = 0.25
    window: int = 5
    penalty: float = 2.0
    low: float = 0.10
    high: float = 0.95
    floor: ColdStart = field(default_factory=ColdStart)
    floor_age_days: float = 4.0


class ReputationState(NamedTuple):
    """The state after some events: evidence for and against, and what r follows from it.

    `endorsed` is what the trust of others was counted for, in good events.
    """

    r: float
    low: float
    high: float
    good: float
    bad: float
    events: int
    endorsed: float = 0.0


class _State(NamedTuple):
    good: float = 0.0
    bad: float = 0.0
    at: float | None = None
    recent: tuple[float, ...] = ()


def replay(
    events: Iterable[ReputationEvent], at: float, rule: ReputationRule | None = None, endorsed: float = 0.0
) -> ReputationState:
    """Recompute r at time `at` from all events up to then; equal events give the same value, bit for bit.

    `endorsed` good events are added for the trust of others, but never more than the contributor's own
    record weighs: trust can double a record, and does not change an empty one.
    """
    rule = rule or ReputationRule()
    # Ties are broken by content, so the value does not depend on the order in which a database answers.
    known = sorted((event for event in events if event.at <= at), key=sort_key)
    state = _State()
    used: dict[str, float] = {}
    for event in known:
        _check(event)
        # However many rows or sources score one batch, together they count once.
        room = 1.0 - used.get(event.batch, 0.0)
        weight = min(SOURCES[event.source] * event.weight, room)
        if weight <= 0:
            continue
        used[event.batch] = used.get(event.batch, 0.0) + weight
        state = _add(state, event, weight, rule)
    state = _decay(state, at, rule)
    added = min(max(endorsed, 0.0), state.good + state.bad)
    with_endorsements = state._replace(good=state.good + added)
    good, bad = (
        with_endorsements.good + rule.kappa * rule.r0,
        with_endorsements.bad + rule.kappa * (1 - rule.r0),
    )
    low, high = beta_interval(good, bad, 0.9)  # type: ignore[arg-type]
    r = _estimate(with_endorsements, rule)
    return ReputationState(r, float(low), float(high), state.good, state.bad, len(known), added)


def track_record(
    at: Any, quality: Any, *, source: Any = "review", batch: Any = None, weight: Any = 1.0,
    now: float | None = None, rule: ReputationRule | None = None,
) -> ReputationState:  # fmt: skip
    """Return the reputation of one contributor from arrays of scored events.

    Parameters
    ----------
    at, quality
        Time of each event in seconds, and its quality in [0, 1].
    source, weight
        Name in `SOURCES` and weight in (0, 1] of each event, or one for all.
    batch
        Name of the scored work; each event is a separate batch by default.
    now
        The moment of the reputation, the last event by default.

    Examples
    --------
    >>> record = track_record([0, 1, 2], [1.0, 1.0, 0.0])
    >>> round(record.r, 3), round(record.good, 3), record.events
    (0.514, 2.0, 3)
    """
    times, values = as_vector("at", at), as_vector("quality", quality)
    n = len(times)
    if len(values) != n:
        raise InputError(f"quality has {len(values)} values for {n} events")
    names = [source] * n if isinstance(source, str) else list(source)
    batches = [f"event {k}" for k in range(n)] if batch is None else [str(name) for name in batch]
    for what, each in (("source", names), ("batch", batches)):
        if len(each) != n:
            raise InputError(f"{what} has {len(each)} values for {n} events")
    columns = times.tolist(), values.tolist(), names, batches, as_vector("weight", weight, n).tolist()
    events = [ReputationEvent(*event) for event in zip(*columns, strict=True)]
    return replay(events, float(times.max()) if now is None else now, rule)


def apply_newcomer_floor(
    r: float, prior: int, age_days: float, *, flagged: bool = False, rule: ReputationRule | None = None
) -> float:
    """Raise r to the newcomer's floor: few contributions, an account not made today, no flag."""
    rule = rule or ReputationRule()
    if age_days < rule.floor_age_days or flagged:
        return r
    return float(rule.floor.apply([r], [prior])[0])


def _add(state: _State, event: ReputationEvent, weight: float, rule: ReputationRule) -> _State:
    state = _decay(state, event.at, rule)
    recent = (*state.recent, event.quality)[-rule.window :]
    falling = len(recent) == rule.window and sum(recent) / rule.window < _estimate(state, rule) - rule.drop
    good = weight * event.quality
    bad = weight * (1 - event.quality) * (rule.penalty if falling else 1.0)
    old, new = state.good + state.bad, good + bad
    keep = 1.0 if old + new <= rule.cap or old == 0 else max(rule.cap - new, 0.0) / old
    return _State(state.good * keep + good, state.bad * keep + bad, event.at, recent)


def _decay(state: _State, at: float, rule: ReputationRule) -> _State:
    if state.at is None or at <= state.at:
        return state
    fade = 2.0 ** (-(at - state.at) / (rule.half_life_days * DAY))
    return state._replace(good=state.good * fade, bad=state.bad * fade, at=at)


def _estimate(state: _State, rule: ReputationRule) -> float:
    mean = (state.good + rule.kappa * rule.r0) / (state.good + state.bad + rule.kappa)
    return min(max(mean, rule.low), rule.high)


def sort_key(event: ReputationEvent) -> tuple[float, str, int, float, float]:
    """Sort key of events: by time, and within a batch the best source first, which takes the room."""
    rank = list(SOURCES).index(event.source) if event.source in SOURCES else len(SOURCES)
    return event.at, event.batch, rank, event.quality, event.weight


def _check(event: ReputationEvent) -> None:
    one_of("reputation source", event.source, SOURCES)
    in_range("quality", event.quality, 0, 1)
    if not 0 < event.weight <= 1:
        raise InputError(f"the weight of a reputation event must lie in (0, 1], got {event.weight}")

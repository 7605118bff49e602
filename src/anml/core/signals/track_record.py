"""r from what happened: a Beta posterior over scored events, with a cap, forgetting and a way back.

Events never come from w, v, r or T: a reputation that is fed by its own effect feeds itself.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from anml.core.checks import in_range, one_of
from anml.core.errors import InputError
from anml.core.signals.reputation import ColdStart
from anml.core.stats import beta_interval

DAY = 86400.0

# How much one batch of evidence counts, by where it comes from; the best source first.
SOURCES: dict[str, float] = {"gold": 1.0, "review": 1.0, "consensus": 0.5, "held-out": 0.25}


class Scored(NamedTuple):
    """One scored batch of a contributor's work: `at` in seconds, `quality` in [0, 1]."""

    at: float
    quality: float
    source: str
    batch: str
    weight: float = 1.0


@dataclass(frozen=True)
class TrackRule:
    """The constants of the rule; judgement rather than measurement, so every report shows them.

    Everybody starts at `r0`, which counts for `kappa` events of doubt. At most `cap` evidence is remembered:
    no endless credit; it fades by half in `half_life_days`, so an idle contributor drifts back. Bad work
    counts `penalty` times while the mean of the last `window` events lies `drop` below r: a real drop counts
    double, one slip does not. r stays inside the paper's range; the floor is for accounts of
    `floor_age_days`.
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


class Track(NamedTuple):
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
    events: Iterable[Scored], at: float, rule: TrackRule | None = None, endorsed: float = 0.0
) -> Track:
    """Recompute r at time `at` from all events up to then; equal events give the same value, bit for bit.

    `endorsed` good events are added for the trust of others, but never more than the contributor's own
    record weighs: trust can double a record, and does nothing for somebody without one.
    """
    rule = rule or TrackRule()
    # Ties are broken by content, so the value does not depend on the order in which a database answers.
    known = sorted((event for event in events if event.at <= at), key=in_order)
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
    state = _forget(state, at, rule)
    added = min(max(endorsed, 0.0), state.good + state.bad)
    believed = state._replace(good=state.good + added)
    good, bad = believed.good + rule.kappa * rule.r0, believed.bad + rule.kappa * (1 - rule.r0)
    low, high = beta_interval(good, bad, 0.9)  # type: ignore[arg-type]
    r = _estimate(believed, rule)
    return Track(r, float(low), float(high), state.good, state.bad, len(known), added)


def with_floor(
    r: float, prior: int, age_days: float, *, flagged: bool = False, rule: TrackRule | None = None
) -> float:
    """Raise r to the newcomer's floor: few contributions, an account not made today, no flag."""
    rule = rule or TrackRule()
    if age_days < rule.floor_age_days or flagged:
        return r
    return float(rule.floor.apply([r], [prior])[0])


def _add(state: _State, event: Scored, weight: float, rule: TrackRule) -> _State:
    state = _forget(state, event.at, rule)
    recent = (*state.recent, event.quality)[-rule.window :]
    falling = len(recent) == rule.window and sum(recent) / rule.window < _estimate(state, rule) - rule.drop
    good = weight * event.quality
    bad = weight * (1 - event.quality) * (rule.penalty if falling else 1.0)
    old, new = state.good + state.bad, good + bad
    keep = 1.0 if old + new <= rule.cap or old == 0 else max(rule.cap - new, 0.0) / old
    return _State(state.good * keep + good, state.bad * keep + bad, event.at, recent)


def _forget(state: _State, at: float, rule: TrackRule) -> _State:
    if state.at is None or at <= state.at:
        return state
    fade = 2.0 ** (-(at - state.at) / (rule.half_life_days * DAY))
    return state._replace(good=state.good * fade, bad=state.bad * fade, at=at)


def _estimate(state: _State, rule: TrackRule) -> float:
    mean = (state.good + rule.kappa * rule.r0) / (state.good + state.bad + rule.kappa)
    return min(max(mean, rule.low), rule.high)


def in_order(event: Scored) -> tuple[float, str, int, float, float]:
    """Sort key of events: by time, and within a batch the best source first, which takes the room."""
    rank = list(SOURCES).index(event.source) if event.source in SOURCES else len(SOURCES)
    return event.at, event.batch, rank, event.quality, event.weight


def _check(event: Scored) -> None:
    one_of("reputation source", event.source, SOURCES)
    in_range("quality", event.quality, 0, 1)
    if not 0 < event.weight <= 1:
        raise InputError(f"the weight of a reputation event must lie in (0, 1], got {event.weight}")

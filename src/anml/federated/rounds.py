"""A federation round by round: the update of each client, its weight with the reason, and its reputation.

It depends on no framework. The same rounds give the same weights and the same reputation.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NamedTuple

import numpy as np
from scipy import special

from anml.core.checks import Array, Floats, as_unit_interval, in_range
from anml.core.errors import InputError, UnsupportedError
from anml.core.types import Gate, Recipe
from anml.federated.honesty import HONEST_PRIOR, carry_over_evidence, p_honest
from anml.federated.updates import non_finite_clients
from anml.federated.weighted import Judge, WeightedUpdate, weighted
from anml.signals.track_record import DAY, ReputationEvent, ReputationRule, replay
from anml.weighting.weigh import recipe_of

# An update is held-out evidence about its client, whose data are not seen.
SOURCE = "held-out"
# Largest change of a parameter; distances between longer updates overflow.
MAX_ABS_VALUE = 1e9
OnRound = Callable[[list[tuple[str, ReputationEvent]]], None]


class Reply(NamedTuple):
    """Reply of a client to a model `stale` rounds old; `why` is the reason if there is no update."""

    client: str
    update: Array | None
    rows: int = 1
    stale: int = 0
    why: str = ""


class ClientRecord(NamedTuple):
    """One client in one round."""

    client: str
    weight: float
    kept: bool
    q: float
    v: float
    r: float
    t: float
    honest: float
    why: str


class Round(NamedTuple):
    """One round: all clients that were asked, and the branch of the recipe that was applied."""

    number: int
    gate: Gate
    lines: tuple[ClientRecord, ...]

    def weights(self) -> dict[str, float]:
        """Weight of each client."""
        return {line.client: line.weight for line in self.lines}


@dataclass
class Federation:
    """Weight the updates of clients by q, v, r and T through a recipe, and keep the record.

    Parameters
    ----------
    recipe
        A name in `anml.weighting.weigh.RECIPES`, or a recipe. The default, `evidence`, weighs by P(honest).
    verification
        v of clients by name; those not named are not verified. Without any name, v is 1.
    reputation
        r of clients by name; for others it is learned by the Beta rule.
    stale_half_life
        Number of rounds of delay after which T of an update is 0.5; T is 1 without delay.
    on_round
        Function that is called after every round with its reputation events, to keep them in a ledger.
    random_state
        Seed of the projection in which updates are compared; attackers must not know it.
    judge
        Function from agreement, credentials and earlier rounds to P(honest); see `weighted`.
    adaptive_step
        With `evidence`, updates are lengthened while rounds have the same direction, up to `reach`.
    """

    recipe: str | Recipe | dict[str, Any] = "evidence"
    _: KW_ONLY
    verification: Mapping[str, float] | None = None
    reputation: Mapping[str, float] | None = None
    stale_half_life: float = 2.0
    rule: ReputationRule = field(default_factory=ReputationRule)
    on_round: OnRound | None = None
    random_state: int = 0
    judge: Judge = p_honest
    adaptive_step: bool = True
    step: float = 1.0
    history: list[Round] = field(default_factory=list)
    events: list[tuple[str, ReputationEvent]] = field(default_factory=list)
    _memory: dict[str, float] = field(default_factory=dict, repr=False)
    _last: Floats | None = field(default=None, repr=False)
    _longest: float = field(default=np.inf, repr=False)

    def __post_init__(self) -> None:
        self.recipe = recipe_of(self.recipe)
        in_range("stale_half_life", self.stale_half_life, 0, np.inf, open_low=True, open_high=True)
        for name, given in (("verification", self.verification), ("reputation", self.reputation)):
            if given:
                as_unit_interval(name, list(given.values()))

    @property
    def name(self) -> str:
        """Name of the rule that combines signals."""
        return recipe_of(self.recipe).combine

    def reputation_of(self, client: str, number: int | None = None) -> float:
        """Return r of a client before a round: given, or replayed from the events of earlier rounds."""
        if self.reputation is not None and client in self.reputation:
            return float(self.reputation[client])
        at = np.inf if number is None else (number - 0.5) * DAY
        known = [event for name, event in self.events if name == client and event.at <= at]
        last = max((event.at for event in known), default=0.0)
        return replay(known, last, self.rule).r

    def honest(self, client: str) -> float:
        """Return P(honest) by all rounds; by the prior, one round does not flag a client."""
        return float(special.expit(special.logit(HONEST_PRIOR) + self._memory.get(client, 0.0)))

    def aggregate(self, number: int, replies: Sequence[Reply]) -> Array | None:
        """Return the update to apply after a round, or None if fewer than two updates are usable."""
        names = [reply.client for reply in replies]
        if len(set(names)) != len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise InputError(f"client {twice!r} answered twice in round {number}")
        sound, why = split_usable(replies)
        if len(sound) < 2:
            gate = Gate("skipped", f"{len(sound)} usable updates; two are needed to compare them")
            self._note(number, gate, replies, why, {})
            return None
        v, r, t = self._signals(number, sound)
        result = self._weighed(number, sound, v, r, t)
        lines = {}
        for place, reply in enumerate(sound):
            kept, likely = bool(result.weights[place] > 0), float(result.by_updates[place])
            reason = f"q {result.q[place]:.2f}, honest by its update with probability {likely:.2f}"
            figures = (float(each[place]) for each in (result.q, v, r, t))
            why[reply.client] = "" if kept else f"excluded by {self.name}: {reason}"
            lines[reply.client] = (float(result.weights[place]), kept, *figures, likely)
        self._note(number, result.gate, replies, why, lines)
        self._learn(number, sound, result)
        return self._lengthened(result)

    def _signals(self, number: int, sound: Sequence[Reply]) -> tuple[Floats, Floats, Floats]:
        known = self.verification or {}
        v = np.array([known.get(reply.client, 0.4 if known else 1.0) for reply in sound])
        r = np.array([self.reputation_of(reply.client, number) for reply in sound])
        t = np.array([2.0 ** (-reply.stale / self.stale_half_life) for reply in sound])
        return v, r, t

    def _weighed(
        self, number: int, sound: Sequence[Reply], v: Floats, r: Floats, t: Floats
    ) -> WeightedUpdate:
        updates = np.stack([np.asarray(reply.update) for reply in sound])
        rows = np.array([reply.rows for reply in sound], dtype=np.float64)
        before = np.array([self._memory.get(reply.client, 0.0) for reply in sound])
        rng, late = np.random.default_rng([self.random_state, number]), t if (t < 1).any() else None
        verified = v if self.verification else None
        result = weighted(updates, verified, r, late, self.recipe, before, rng, rows, self.judge)
        after = carry_over_evidence(before, result.nats)
        self._memory.update({reply.client: float(x) for reply, x in zip(sound, after, strict=True)})
        return result

    def _lengthened(self, result: WeightedUpdate) -> Array:
        """Double the step if two rounds have the same direction, halve it if they are orthogonal.

        After it has become shorter it does not grow again, since the optimum is near.
        """
        if self.name != "evidence" or not self.adaptive_step:
            return result.update
        now, before = result.update.astype(np.float64), self._last
        if before is not None and before.shape == now.shape:
            lengths = float(np.linalg.norm(now) * np.linalg.norm(before))
            cosine = float(now @ before) / lengths if lengths > 0 else 0.0
            limit = max(1.0, min(self._longest, result.reach))
            self.step = float(np.clip(self.step * 2 ** (2 * cosine - 1), 1.0, limit))
            self._longest = self.step if cosine < 0.5 else self._longest
        self._last = now
        return np.asarray(self.step * result.update)

    def _note(
        self, number: int, gate: Gate, replies: Sequence[Reply], why: dict[str, str], lines: dict[str, Any]
    ) -> None:
        """Record a round: all clients that were asked, without figures where their update was not usable."""
        unknown, every = float("nan"), []
        for name in (reply.client for reply in replies):
            none = (0.0, False, unknown, unknown, self.reputation_of(name, number), unknown, unknown)
            every.append(ClientRecord._make((name, *lines.get(name, none), why.get(name, ""))))
        self.history.append(Round(number, gate, tuple(every)))

    def _learn(self, number: int, sound: Sequence[Reply], result: WeightedUpdate) -> None:
        """Learn reputation from updates, never from w, v, r or T, which depend on reputation."""
        events = [
            (
                reply.client,
                ReputationEvent(number * DAY, float(result.by_updates[place]), SOURCE, f"round {number}"),
            )
            for place, reply in enumerate(sound)
        ]
        self.events += events
        if self.on_round is not None:
            self.on_round(events)


def split_usable(replies: Sequence[Reply]) -> tuple[list[Reply], dict[str, str]]:
    """Return the usable replies, and the reason for each other one: an invalid reply never stops a round.

    The expected size of an update is the most frequent one.
    """
    why = {reply.client: reply.why or "no update was sent" for reply in replies if reply.update is None}
    sent = [reply for reply in replies if reply.update is not None]
    if sent and all(np.asarray(reply.update).dtype.kind in "iu" for reply in sent):
        raise UnsupportedError(
            "updates are whole numbers, as secure aggregation sends them: single updates are hidden, so "
            "clients cannot be compared; switch it off, or weigh clients by v, r and T before they are asked"
        )
    sizes = [np.asarray(reply.update).size for reply in sent]
    common_size = max(set(sizes), key=sizes.count, default=0)
    sound = []
    for reply, size in zip(sent, sizes, strict=True):
        flat = np.asarray(reply.update).reshape(-1)
        if size != common_size:
            why[reply.client] = f"its update has {size} values, those of most {common_size}"
        elif flat.dtype.kind != "f" or non_finite_clients(flat[None]):
            why[reply.client] = "its update has missing or infinite values, or whole numbers"
        elif np.abs(flat).max(initial=0.0) > MAX_ABS_VALUE:
            why[reply.client] = f"its update has values above {MAX_ABS_VALUE:.0e}"
        elif not 0 < reply.rows < np.inf:
            why[reply.client] = f"it says that it has {reply.rows} rows"
        elif reply.stale < 0:
            why[reply.client] = "its update is from a round that has not been"
        else:
            sound.append(reply._replace(update=flat))
    return sound, why

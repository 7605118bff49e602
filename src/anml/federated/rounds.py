"""A federation round by round: what each client sent, how far it was trusted and why, and its reputation.

Nothing here knows a framework. The same rounds give the same weights and the same reputation.
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

# What a client's update says of it is held-out evidence: nobody looked at its data.
SOURCE = "held-out"
# No training moves a parameter further; distances between longer updates overflow.
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
    """One round: all clients that were asked, and which branch of the recipe decided."""

    number: int
    gate: Gate
    lines: tuple[ClientRecord, ...]

    def weights(self) -> dict[str, float]:
        """Weight of each client."""
        return {line.client: line.weight for line in self.lines}


@dataclass
class Federation:
    """Weighs clients' updates by q, v, r and T through a recipe, and keeps the record.

    Parameters
    ----------
    recipe
        A name in `anml.weighting.weigh.RECIPES`, or a recipe. The default, `evidence`, weighs by P(honest).
    verification
        v of clients by name; those not named are not verified, 1 where nobody is.
    reputation
        r of clients by name where it is known from elsewhere; else it is learned, by the Beta rule.
    stale_half_life
        After so many rounds an update that comes late counts half; T is 1 where it is in time.
    on_round
        Is called after every round with the reputation events of that round, to keep them in a ledger.
    random_state
        Seed of the projection that updates are compared by; attackers must not know it.
    judge
        Who is honest, by how updates agree, credentials and earlier rounds; see `weighted`.
    adaptive_step
        With `evidence`, updates are lengthened while rounds go the same way, up to their `reach`.
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
        """R of a client before a round: given, or replayed from the events of the rounds before."""
        if self.reputation is not None and client in self.reputation:
            return float(self.reputation[client])
        at = np.inf if number is None else (number - 0.5) * DAY
        known = [event for name, event in self.events if name == client and event.at <= at]
        last = max((event.at for event in known), default=0.0)
        return replay(known, last, self.rule).r

    def honest(self, client: str) -> float:
        """P(honest) by all rounds: most are beforehand, so that one round against a client accuses nobody."""
        return float(special.expit(special.logit(HONEST_PRIOR) + self._memory.get(client, 0.0)))

    def aggregate(self, number: int, replies: Sequence[Reply]) -> Array | None:
        """The update to apply after a round; None where fewer than two clients sent something usable."""
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
        found = self._weighed(number, sound, v, r, t)
        lines = {}
        for place, reply in enumerate(sound):
            kept, likely = bool(found.weights[place] > 0), float(found.by_updates[place])
            said = f"q {found.q[place]:.2f}, honest by its update with probability {likely:.2f}"
            figures = (float(each[place]) for each in (found.q, v, r, t))
            why[reply.client] = "" if kept else f"left out by {self.name}: {said}"
            lines[reply.client] = (float(found.weights[place]), kept, *figures, likely)
        self._note(number, found.gate, replies, why, lines)
        self._learn(number, sound, found)
        return self._lengthened(found)

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
        found = weighted(updates, verified, r, late, self.recipe, before, rng, rows, self.judge)
        after = carry_over_evidence(before, found.nats)
        self._memory.update({reply.client: float(x) for reply, x in zip(sound, after, strict=True)})
        return found

    def _lengthened(self, found: WeightedUpdate) -> Array:
        """Twice the step where two rounds go the same way, half where they have nothing in common.

        Once it has become shorter it does not grow again: whoever is near the goal does not leap.
        """
        if self.name != "evidence" or not self.adaptive_step:
            return found.update
        now, before = found.update.astype(np.float64), self._last
        if before is not None and before.shape == now.shape:
            lengths = float(np.linalg.norm(now) * np.linalg.norm(before))
            alike = float(now @ before) / lengths if lengths > 0 else 0.0
            most = max(1.0, min(self._longest, found.reach))
            self.step = float(np.clip(self.step * 2 ** (2 * alike - 1), 1.0, most))
            self._longest = self.step if alike < 0.5 else self._longest
        self._last = now
        return np.asarray(self.step * found.update)

    def _note(
        self, number: int, gate: Gate, replies: Sequence[Reply], why: dict[str, str], lines: dict[str, Any]
    ) -> None:
        """Write a round down: everybody who was asked, those who sent nothing usable with nothing."""
        nobody, every = float("nan"), []
        for name in (reply.client for reply in replies):
            none = (0.0, False, nobody, nobody, self.reputation_of(name, number), nobody, nobody)
            every.append(ClientRecord._make((name, *lines.get(name, none), why.get(name, ""))))
        self.history.append(Round(number, gate, tuple(every)))

    def _learn(self, number: int, sound: Sequence[Reply], found: WeightedUpdate) -> None:
        """Reputation from updates alone: never from w, v, r or T, or it would feed itself."""
        events = [
            (
                reply.client,
                ReputationEvent(number * DAY, float(found.by_updates[place]), SOURCE, f"round {number}"),
            )
            for place, reply in enumerate(sound)
        ]
        self.events += events
        if self.on_round is not None:
            self.on_round(events)


def split_usable(replies: Sequence[Reply]) -> tuple[list[Reply], dict[str, str]]:
    """Replies that can be compared, and why the others cannot: one bad reply never stops a round.

    The shape of an update is that of most clients.
    """
    why = {reply.client: reply.why or "no update came back" for reply in replies if reply.update is None}
    sent = [reply for reply in replies if reply.update is not None]
    if sent and all(np.asarray(reply.update).dtype.kind in "iu" for reply in sent):
        raise UnsupportedError(
            "updates are whole numbers, as secure aggregation sends them: single updates are hidden, so "
            "clients cannot be compared; switch it off, or weigh clients by v, r and T before they are asked"
        )
    sizes = [np.asarray(reply.update).size for reply in sent]
    usual = max(set(sizes), key=sizes.count, default=0)
    sound = []
    for reply, size in zip(sent, sizes, strict=True):
        flat = np.asarray(reply.update).reshape(-1)
        if size != usual:
            why[reply.client] = f"its update has {size} values, those of most {usual}"
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

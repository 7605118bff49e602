"""v from evidence: who vouched for a contribution, how, when, and whether that still stands.

v is the best standing evidence, and any open flag wins over all of it. Nobody vouches for themselves:
what the contributor, or a key of theirs, says is self-attested whatever it claims.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anml.core.checks import in_range, one_of
from anml.core.errors import InputError
from anml.core.signals.levels import Level
from anml.core.signals.track_record import Track
from anml.core.signals.verification import VERIFICATION

# The paper has no row for work that a second person looked at and accepted; the band is ours.
LEVELS: dict[str, Level] = {
    **VERIFICATION,
    "reviewed": Level(0.70, 0.80, 0.70, "accepted by a second person"),
}


class EvidenceKind(NamedTuple):
    """What evidence of a kind can show, and how that is `said`; `flagged` is a flag, None says nothing of v.

    In the graph of trust it is a `vote` for, or against, whose work it is about. By `default` a key may
    attest it, and `unnamed` it counts on a platform's word, without a name behind it, as praise never does.
    """

    level: str | None
    said: str
    vote: float = 0.0
    default: bool = False
    unnamed: bool = False


EVIDENCE: dict[str, EvidenceKind] = {
    "self": EvidenceKind("self-attested", "attested by yourself", default=True),
    "affiliation": EvidenceKind("institution", "vouched for by an organisation", 1.0, default=True),
    "review-accepted": EvidenceKind("reviewed", "accepted in review", 1.0, default=True),
    "publication": EvidenceKind("peer-reviewed", "published after review by peers", 1.0, default=True),
    "reproduced": EvidenceKind("reproduced", "reproduced by somebody else", 1.0, default=True),
    "agreement": EvidenceKind("reproduced", "confirmed by two others"),
    "review-rejected": EvidenceKind("flagged", "rejected in review", -1.0, unnamed=True),
    "retracted": EvidenceKind("flagged", "retracted", unnamed=True),
    "signature-invalid": EvidenceKind("flagged", "signature-invalid", unnamed=True),
    "admin-flag": EvidenceKind("flagged", "flagged"),
    "concern": EvidenceKind(None, "under an expression of concern", unnamed=True),
    "correction": EvidenceKind(None, "corrected", default=True, unnamed=True),
    "reinstated": EvidenceKind(None, "reinstated", unnamed=True),
    "flag-lifted": EvidenceKind(None, "cleared of a flag"),
}
KINDS = {name: kind.level for name, kind in EVIDENCE.items()}

# Later evidence of the first kind closes earlier flags of the others.
LIFTS: dict[str, frozenset[str]] = {
    "review-accepted": frozenset({"review-rejected"}),
    "reinstated": frozenset({"retracted", "concern"}),
    "flag-lifted": frozenset({"admin-flag", "signature-invalid", "review-rejected", "retracted", "concern"}),
}

VOUCHED = ("signature", "platform", "nobody")


class Evidence(NamedTuple):
    """One record: `at` and `until` in seconds; `vouched` says what stands behind it besides the words.

    `scope` names what it is about: the contributor, a batch or an item. A lift closes flags of its own
    scope only.
    """

    id: int
    kind: str
    subject: str
    issuer: str
    at: float
    until: float | None = None
    vouched: str = "signature"
    scope: str = ""


class Verdict(NamedTuple):
    """v with its level, the evidence it rests on, and a sentence."""

    v: float
    level: str
    evidence: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class TrustRule:
    """How far r follows who verified whom; not at all without `roots`, people or keys trusted beforehand.

    The endorsement of somebody trusted as far as a root counts for so many good `events`, and never for more
    than their own record. In every round the part `restart` of trust flows from the roots.
    """

    roots: tuple[str, ...] = ()
    events: float = 3.0
    restart: float = 0.15

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "TrustRule":
        """Change the defaults by a table with `roots`, `events` and `restart`."""
        for name in values:
            one_of("trust setting", name, ("roots", "events", "restart"))
        roots = values.get("roots", [])
        if not isinstance(roots, list) or not all(isinstance(name, str) and name for name in roots):
            raise InputError(f"roots is a list of contributors or verifiers, got {roots!r}")
        return cls(
            roots=tuple(sorted(set(roots))),
            # At most as much as the doubt that everybody starts with.
            events=in_range("events", values.get("events", cls.events), 0, 4),
            restart=in_range("restart", values.get("restart", cls.restart), 0, 1, open_low=True),
        )


@dataclass(frozen=True)
class Policy:
    """Levels by kind of evidence and v by level; defaults lie inside the paper's ranges."""

    levels: Mapping[str, float] = field(
        default_factory=lambda: {name: level.default for name, level in LEVELS.items()}
    )
    kinds: Mapping[str, str | None] = field(default_factory=lambda: dict(KINDS))
    concern_cap: float = 0.20
    trust: TrustRule = field(default_factory=TrustRule)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Policy":
        """Change the defaults by a table with `levels`, `kinds`, `concern_cap` and `trust`."""
        for name in values:
            one_of("policy setting", name, ("levels", "kinds", "concern_cap", "trust"))
            if name != "concern_cap" and not isinstance(values[name], Mapping):
                raise InputError(f"{name} is a table in the policy, got {values[name]!r}")
        base = cls()
        for name, value in values.get("levels", {}).items():
            band = LEVELS[one_of("verification level", name, LEVELS)]
            in_range(f"v of {name}", value, band.low, band.high)
        for kind, level in values.get("kinds", {}).items():
            one_of("kind of evidence", kind, KINDS)
            one_of("verification level", level, LEVELS)
            if (KINDS[kind] == "flagged") != (level == "flagged"):
                raise InputError(f"evidence of kind {kind!r} cannot show {level!r}: flags stay flags")
        return cls(
            levels={**base.levels, **values.get("levels", {})},
            kinds={**base.kinds, **values.get("kinds", {})},
            concern_cap=in_range("concern_cap", values.get("concern_cap", base.concern_cap), 0, 1),
            trust=TrustRule.from_dict(values.get("trust", {})),
        )

    def judge(self, evidence: Iterable[Evidence], at: float) -> Verdict:
        """Turn the evidence about one contribution into v at time `at`."""
        standing = sorted(
            (e for e in evidence if e.at <= at and (e.until is None or at < e.until)),
            key=lambda e: (e.at, e.id),
        )
        open_flags = [e for e in standing if self._flags(e) and not _lifted(e, standing)]
        if open_flags:
            last = open_flags[-1]
            ids = tuple(e.id for e in open_flags)
            return Verdict(self.levels["flagged"], "flagged", ids, f"{last.kind} by {last.issuer}")
        best = Verdict(self.levels["self-attested"], "self-attested", (), "no evidence by anybody else")
        for e in standing:
            level = self._level(e)
            if level is not None and self.levels[level] >= best.v:
                best = Verdict(self.levels[level], level, (e.id,), f"{e.kind} by {e.issuer}")
        doubts = [e for e in standing if e.kind == "concern" and not _lifted(e, standing)]
        if doubts and best.v > self.concern_cap:
            ids = (*best.evidence, doubts[-1].id)
            return Verdict(self.concern_cap, "concern", ids, f"concern by {doubts[-1].issuer}")
        return best

    def _flags(self, e: Evidence) -> bool:
        # A flag that nobody signed or recorded counts for nothing: accusing must not be free.
        return self.kinds[one_of("kind of evidence", e.kind, KINDS)] == "flagged" and e.vouched != "nobody"

    def _level(self, e: Evidence) -> str | None:
        level = self.kinds[e.kind]
        if level is None or level == "flagged":
            return None
        return "self-attested" if e.vouched == "nobody" or e.issuer == e.subject else level


def _lifted(flag: Evidence, standing: Iterable[Evidence]) -> bool:
    """Somebody other than the contributor closed this flag later."""
    return any(
        flag.kind in LIFTS.get(e.kind, frozenset())
        and (e.at, e.id) > (flag.at, flag.id)
        and e.scope == flag.scope
        and e.vouched != "nobody"
        and e.issuer != e.subject
        for e in standing
    )


class Standing(NamedTuple):
    """A contributor at one moment, in one domain; `flags` are the numbers of the open flags."""

    pid: str
    since: str
    prior: int
    track: Track
    r: float
    verdict: Verdict
    flags: tuple[int, ...]
    verified: bool
    newcomer: bool
    needs: tuple[str, ...]

    @property
    def flagged(self) -> bool:
        """Whether a flag is open on more than single items."""
        return bool(self.flags)


class EvidenceEntry(NamedTuple):
    """A record as a report shows it: with the state of its signature, and the envelope's SHA-256."""

    record: Evidence
    signature: str
    envelope: str

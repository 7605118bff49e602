"""v from attestations about a contribution, by their kind, their issuer and their time.

v is the level of the best standing attestation; an open flag overrides all others. Attestations by the
contributor, or by a key of the contributor, are self-attested whatever their kind.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from anml.core.checks import in_range, one_of
from anml.core.errors import InputError
from anml.signals.levels import Level
from anml.signals.track_record import ReputationState
from anml.signals.verification import VERIFICATION

# The paper has no row for work that a second person looked at and accepted; the band is ours.
LEVELS: dict[str, Level] = {
    **VERIFICATION,
    "reviewed": Level(0.70, 0.80, 0.70, "accepted by a second person"),
}


class AttestationKind(NamedTuple):
    """Kind of attestation: its verification `level` (None: no effect on v) and its description `said`.

    `vote` is its weight in the trust graph, for or against the contributor. With `default` every registered
    key may attest it. With `unnamed` a platform may attest it without a named verifier; praise requires one.
    """

    level: str | None
    said: str
    vote: float = 0.0
    default: bool = False
    unnamed: bool = False


EVIDENCE: dict[str, AttestationKind] = {
    "self": AttestationKind("self-attested", "attested by yourself", default=True),
    "affiliation": AttestationKind("institution", "vouched for by an organisation", 1.0, default=True),
    "review-accepted": AttestationKind("reviewed", "accepted in review", 1.0, default=True),
    "publication": AttestationKind("peer-reviewed", "published after review by peers", 1.0, default=True),
    "reproduced": AttestationKind("reproduced", "reproduced by another party", 1.0, default=True),
    "agreement": AttestationKind("reproduced", "confirmed by two others"),
    "review-rejected": AttestationKind("flagged", "rejected in review", -1.0, unnamed=True),
    "retracted": AttestationKind("flagged", "retracted", unnamed=True),
    "signature-invalid": AttestationKind("flagged", "signature-invalid", unnamed=True),
    "admin-flag": AttestationKind("flagged", "flagged"),
    "concern": AttestationKind(None, "under an expression of concern", unnamed=True),
    "correction": AttestationKind(None, "corrected", default=True, unnamed=True),
    "reinstated": AttestationKind(None, "reinstated", unnamed=True),
    "flag-lifted": AttestationKind(None, "cleared of a flag"),
}
DEFAULT_LEVELS = {name: kind.level for name, kind in EVIDENCE.items()}

# Later evidence of the first kind closes earlier flags of the others.
CLOSES_FLAGS: dict[str, frozenset[str]] = {
    "review-accepted": frozenset({"review-rejected"}),
    "reinstated": frozenset({"retracted", "concern"}),
    "flag-lifted": frozenset({"admin-flag", "signature-invalid", "review-rejected", "retracted", "concern"}),
}

ASSURANCE_SOURCES = ("signature", "platform", "nobody")


class AttestationRecord(NamedTuple):
    """One record: `at` and `until` in seconds; `vouched` is the source of assurance.

    `scope` names what it is about: the contributor, a batch or an item. A lift closes flags of the same
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


class VerificationResult(NamedTuple):
    """v with its level, the attestations that determine it, and the reason."""

    v: float
    level: str
    evidence: tuple[int, ...]
    reason: str


@dataclass(frozen=True)
class TrustRule:
    """Effect of the verification graph on r; none without `roots`, the pre-trusted contributors or keys.

    The endorsement of a contributor trusted like a root counts as `events` positive events, and at most as
    much as that contributor's record. In every iteration the share `restart` of trust flows from the roots.
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
            # At most the pseudo-counts of the prior.
            events=in_range("events", values.get("events", cls.events), 0, 4),
            restart=in_range("restart", values.get("restart", cls.restart), 0, 1, open_low=True),
        )


@dataclass(frozen=True)
class Policy:
    """Levels by kind of evidence and v by level; defaults lie inside the paper's ranges."""

    levels: Mapping[str, float] = field(
        default_factory=lambda: {name: level.default for name, level in LEVELS.items()}
    )
    kinds: Mapping[str, str | None] = field(default_factory=lambda: dict(DEFAULT_LEVELS))
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
            one_of("kind of evidence", kind, DEFAULT_LEVELS)
            one_of("verification level", level, LEVELS)
            if (DEFAULT_LEVELS[kind] == "flagged") != (level == "flagged"):
                raise InputError(f"evidence of kind {kind!r} cannot show {level!r}: flags stay flags")
        return cls(
            levels={**base.levels, **values.get("levels", {})},
            kinds={**base.kinds, **values.get("kinds", {})},
            concern_cap=in_range("concern_cap", values.get("concern_cap", base.concern_cap), 0, 1),
            trust=TrustRule.from_dict(values.get("trust", {})),
        )

    def judge(self, evidence: Iterable[AttestationRecord], at: float) -> VerificationResult:
        """Turn the evidence about one contribution into v at time `at`."""
        standing = sorted(
            (e for e in evidence if e.at <= at and (e.until is None or at < e.until)),
            key=lambda e: (e.at, e.id),
        )
        open_flags = [e for e in standing if self._flags(e) and not _is_closed(e, standing)]
        if open_flags:
            last = open_flags[-1]
            ids = tuple(e.id for e in open_flags)
            return VerificationResult(self.levels["flagged"], "flagged", ids, f"{last.kind} by {last.issuer}")
        best = VerificationResult(
            self.levels["self-attested"], "self-attested", (), "no attestation by others"
        )
        for e in standing:
            level = self._level(e)
            if level is not None and self.levels[level] >= best.v:
                best = VerificationResult(self.levels[level], level, (e.id,), f"{e.kind} by {e.issuer}")
        doubts = [e for e in standing if e.kind == "concern" and not _is_closed(e, standing)]
        if doubts and best.v > self.concern_cap:
            ids = (*best.evidence, doubts[-1].id)
            return VerificationResult(self.concern_cap, "concern", ids, f"concern by {doubts[-1].issuer}")
        return best

    def _flags(self, e: AttestationRecord) -> bool:
        # A flag without a signature or a record has no effect, so that flags are not free.
        return (
            self.kinds[one_of("kind of evidence", e.kind, DEFAULT_LEVELS)] == "flagged"
            and e.vouched != "nobody"
        )

    def _level(self, e: AttestationRecord) -> str | None:
        level = self.kinds[e.kind]
        if level is None or level == "flagged":
            return None
        return "self-attested" if e.vouched == "nobody" or e.issuer == e.subject else level


def _is_closed(flag: AttestationRecord, standing: Iterable[AttestationRecord]) -> bool:
    """Somebody other than the contributor closed this flag later."""
    return any(
        flag.kind in CLOSES_FLAGS.get(e.kind, frozenset())
        and (e.at, e.id) > (flag.at, flag.id)
        and e.scope == flag.scope
        and e.vouched != "nobody"
        and e.issuer != e.subject
        for e in standing
    )


class ContributorStatus(NamedTuple):
    """A contributor at one moment, in one domain; `flags` are the numbers of the open flags."""

    pid: str
    since: str
    prior: int
    track: ReputationState
    r: float
    verdict: VerificationResult
    flags: tuple[int, ...]
    verified: bool
    newcomer: bool
    needs: tuple[str, ...]

    @property
    def flagged(self) -> bool:
        """True if a flag that is not limited to single items is open."""
        return bool(self.flags)


class EvidenceEntry(NamedTuple):
    """A record as a report shows it: with the state of its signature, and the envelope's SHA-256."""

    record: AttestationRecord
    signature: str
    envelope: str

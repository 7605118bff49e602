"""Where a contributor stands at one moment, and the records of evidence that this rests on."""

from typing import NamedTuple

from anml.core.signals.policy import Evidence, Verdict
from anml.core.signals.track_record import Track


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

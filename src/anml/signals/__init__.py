"""Signals v, r and T: named levels, decay by age, track records of contributors, and EigenTrust."""

from anml.signals.eigentrust import eigentrust
from anml.signals.freshness import ContextDecay, Decay, decay_of
from anml.signals.levels import Level, level_values
from anml.signals.reputation import REPUTATION
from anml.signals.track_record import ReputationEvent, ReputationRule, ReputationState, replay, track_record
from anml.signals.verification import VERIFICATION

__all__ = [
    "REPUTATION",
    "VERIFICATION",
    "ContextDecay",
    "Decay",
    "Level",
    "ReputationEvent",
    "ReputationRule",
    "ReputationState",
    "decay_of",
    "eigentrust",
    "level_values",
    "replay",
    "track_record",
]

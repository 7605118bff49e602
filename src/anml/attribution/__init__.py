"""Attribution of a model's behaviour to contributors, and data valuation by semivalues of coalitions.

`index` and its `trace` attribute behaviour, predictions and texts by influence, checked by retraining. For
semivalues a utility takes coalitions as booleans (coalitions, contributors) and returns one number for each.
"""

from typing import TYPE_CHECKING

from anml.core.lazy import lazy_names

if TYPE_CHECKING:
    from anml.attribution.indexing import Index, index
    from anml.attribution.recording import CheckpointRecorder, trainer_callback
    from anml.attribution.semivalues import banzhaf, beta_shapley, shapley
    from anml.attribution.shares import contributor_shares
    from anml.attribution.tracing import Trace

__all__ = [
    "CheckpointRecorder",
    "Index",
    "Trace",
    "banzhaf",
    "beta_shapley",
    "contributor_shares",
    "index",
    "shapley",
    "trainer_callback",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "CheckpointRecorder": "anml.attribution.recording",
        "Index": "anml.attribution.indexing",
        "Trace": "anml.attribution.tracing",
        "banzhaf": "anml.attribution.semivalues",
        "beta_shapley": "anml.attribution.semivalues",
        "contributor_shares": "anml.attribution.shares",
        "index": "anml.attribution.indexing",
        "shapley": "anml.attribution.semivalues",
        "trainer_callback": "anml.attribution.recording",
    },
    extras=dict.fromkeys(("CheckpointRecorder", "Index", "Trace", "index", "trainer_callback"), "torch"),
)

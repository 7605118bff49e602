"""Attribution of a model's behaviour to contributors, and data valuation by semivalues of coalitions.

`index` and its `trace` attribute behaviour, predictions and texts by influence, checked by retraining. For
semivalues a utility takes coalitions as booleans (coalitions, contributors) and returns one number for each.
"""

from typing import TYPE_CHECKING

from anml.core.lazy import lazy_names

if TYPE_CHECKING:
    from anml.attribution.indexing import Index, index
    from anml.attribution.semivalues import banzhaf, beta_shapley, shapley
    from anml.attribution.shares import contributor_shares
    from anml.attribution.tracing import Trace

__all__ = ["Index", "Trace", "banzhaf", "beta_shapley", "contributor_shares", "index", "shapley"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Index": "anml.attribution.indexing",
        "Trace": "anml.attribution.tracing",
        "banzhaf": "anml.attribution.semivalues",
        "beta_shapley": "anml.attribution.semivalues",
        "contributor_shares": "anml.attribution.shares",
        "index": "anml.attribution.indexing",
        "shapley": "anml.attribution.semivalues",
    },
    extras={"Index": "torch", "Trace": "torch", "index": "torch"},
)

"""Data valuation: semivalues of contributors by a utility of coalitions, and shares of the training weight.

A utility takes coalitions as booleans (coalitions, contributors) and returns one number for each.
"""

from typing import TYPE_CHECKING

from anml.core.lazy import lazy_names

if TYPE_CHECKING:
    from anml.attribution.semivalues import banzhaf, beta_shapley, shapley
    from anml.attribution.shares import contributor_shares

__all__ = ["banzhaf", "beta_shapley", "contributor_shares", "shapley"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "banzhaf": "anml.attribution.semivalues",
        "beta_shapley": "anml.attribution.semivalues",
        "contributor_shares": "anml.attribution.shares",
        "shapley": "anml.attribution.semivalues",
    },
)

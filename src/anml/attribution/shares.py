"""Shares of contributors in the training weight."""

from typing import Any

import numpy as np

from anml.core.checks import as_codes
from anml.core.types import Weighting


def contributor_shares(weighting: Weighting, contributor: Any) -> dict[Any, float]:
    """Return the share of each contributor in the weight of the kept samples; the shares sum to 1.

    All shares are equal where no kept sample has a weight. Contributors keep their type.

    Examples
    --------
    >>> from anml.core.types import Gate
    >>> weighting = Weighting(np.array([0.5, 0.3, 0.2]), np.array([True, True, False]), Gate("krum", ""))
    >>> {name: round(share, 3) for name, share in contributor_shares(weighting, [7, 9, 9]).items()}
    {7: 0.625, 9: 0.375}
    """
    given = np.asarray(contributor)
    codes, _ = as_codes("contributor", given, len(weighting.w))
    names = given[np.unique(codes, return_index=True)[1]].tolist()
    weight = np.bincount(codes, np.where(weighting.kept, weighting.w, 0.0))
    share = weight / weight.sum() if weight.sum() > 0 else np.full(len(names), 1 / len(names))
    return dict(zip(names, share.tolist(), strict=True))

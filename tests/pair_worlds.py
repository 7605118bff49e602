"""Made-up judges who compare made-up candidates."""

import numpy as np

from anml.annotators.preferences.davidson import choice_probabilities


def world(kinds, rows=60, candidates=20, ties=-1.0, spread=1.5, seed=0, groups=1):
    """Comparisons by one judge of each of `kinds`: first, second, choice, who, and the scores."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(0, spread, candidates)
    contributor = np.repeat(np.arange(len(kinds)), rows)
    each = candidates // groups
    group = rng.integers(groups, size=len(contributor)) * each
    first = rng.integers(each, size=len(contributor))
    second = (first + rng.integers(1, each, len(contributor))) % each + group
    first = first + group
    d = scores[first] - scores[second]
    own = rng.normal(0, spread, (len(kinds), candidates))
    pulls = {
        "careful": d,
        "coin": 0 * d,
        "first": 6 + 0 * d,
        "reversed": -d,
        "taste": 1.5 * (own[contributor, first] - own[contributor, second]),
    }
    pull = np.choose([[*pulls].index(kinds[w]) for w in contributor], [*pulls.values()])
    p = choice_probabilities(pull, ties)
    draw = rng.random(len(contributor))
    choice = (draw > p[0]).astype(int) + (draw > p[0] + p[1])
    return first, second, choice, contributor, scores

"""What the evidence recipe believes of a simulated case: the probability that each label is right."""

import hashlib
from functools import lru_cache

import numpy as np

from anml.assess.assess import Known, Policy, assess
from anml.core.people.belief import Belief
from anml.core.profile import PROFILES
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.weigh import RECIPES
from anml.lab.cases import Case
from anml.lab.spec import Setting


class _Seen:
    """A case that is found again by what a method sees of it, so that no case is believed twice."""

    def __init__(self, setting: Setting, case: Case) -> None:
        self.setting, self.case = setting, case
        digest = hashlib.sha256(repr((case.seed, case.credentials, setting.decay)).encode())
        for part in (case.x, case.y, case.v, case.r, case.t, case.contributor, case.item):
            digest.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
        self.name = digest.hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Seen) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def believed(setting: Setting, case: Case) -> Belief:
    """What is believed of the labels; the same case is assessed once."""
    return _believed(_Seen(setting, case))


@lru_cache(maxsize=256)
def _believed(seen: _Seen) -> Belief:
    case, setting = seen.case, seen.setting
    known = Known(
        contributor=case.contributor,
        item=case.item,
        verification=case.v if case.credentials else None,
        reputation=case.r if case.credentials else None,
        age=-np.log(case.t) / setting.decay if np.ptp(case.t) > 0 else None,
    )
    policy = Policy(
        RECIPES["evidence"], PROFILES["default"], Decay(setting.decay), ColdStart(contributions=0), case.seed
    )
    return assess(case.x, case.y, case.task, case.classes, known, policy).belief

"""Every cited system on one trial, ours beside them: each says what it makes of rows and contributors.

Systems that rank but do not decide keep all contributors but as many as there are attackers, which they are
told, as Krum is told f; systems that rank samples keep that share of them.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from anml.lab.cited import rules, training, values
from anml.lab.cited.outcome import Outcome
from anml.lab.cited.trials import Seen, Truth


class System(NamedTuple):
    """A system: what it does, what it needs beside updates or rows, and where it comes from."""

    run: Callable[[Seen], Outcome]
    kind: str
    needs: str
    reference: str


def _oracle(seen: Seen, truth: Truth) -> Outcome:
    return Outcome(kept=~truth.wrong & ~truth.bad[seen.contributor], scores=(~truth.bad).astype(np.float64))


SYSTEMS: dict[str, System] = {
    "FedAvg": System(rules.fedavg, "aggregation", "nothing", "McMahan et al. 2017"),
    "Krum": System(rules.krum, "aggregation", "f", "Blanchard et al. 2017"),
    "Multi-Krum": System(rules.multi_krum, "aggregation", "f", "Blanchard et al. 2017"),
    "median": System(rules.median, "aggregation", "nothing", "Yin et al. 2018"),
    "trimmed mean": System(rules.trimmed_mean, "aggregation", "f", "Yin et al. 2018"),
    "Bulyan": System(rules.bulyan, "aggregation", "f, at most (n - 3) / 4", "El Mhamdi et al. 2018"),
    "FLTrust": System(rules.fltrust, "aggregation", "a clean server set", "Cao et al. 2021"),
    "FLTrust, own set": System(rules.fltrust_own, "aggregation", "nothing", "FLTrust without a clean set"),
    "RECESS": System(rules.recess, "aggregation", "clients that answer probes", "Yan et al. 2023"),
    "ours, q v r T": System(rules.weighted, "aggregation", "credentials where there are any", "ours"),
    "ours, believed": System(rules.believed, "aggregation", "nothing", "ours"),
    "Data Shapley": System(values.shapley, "value", "ids, a clean server set, f", "Ghorbani and Zou 2019"),
    "Beta Shapley": System(values.beta_shapley, "value", "ids, a clean server set, f", "Kwon and Zou 2022"),
    "Data Banzhaf": System(values.banzhaf, "value", "ids, a clean server set, f", "Wang and Jia 2023"),
    "influence": System(values.influence, "value", "a clean server set, f", "Koh and Liang 2017"),
    "TRAK": System(values.trak, "value", "a clean server set, f", "Park et al. 2023"),
    "GTG-Shapley": System(values.gtg_shapley, "value", "ids, a clean server set, f", "Liu et al. 2022"),
    "EigenTrust": System(
        values.eigentrust, "value", "ids, votes, trusted contributors, f", "Kamvar et al. 2003"
    ),
    "EigenTrust, no roots": System(
        values.eigentrust_alone, "value", "ids, votes, f", "EigenTrust, all trusted"
    ),
    "Kang": System(values.kang, "value", "ids, a clean server set, f", "Kang et al. 2019"),
    "Agarwal": System(values.agarwal, "value", "ids, a clean server set, f", "Agarwal et al. 2019"),
    "L2RW": System(training.l2rw, "training", "a clean server set", "Ren et al. 2018"),
    "DivideMix": System(training.dividemix, "training", "nothing", "Li et al. 2020"),
    "GLISTER": System(training.glister, "training", "a clean server set, f", "Killamsetty et al. 2021"),
}
# Bounds that are told who is bad.
BOUNDS: dict[str, Callable[[Seen, Truth], Outcome]] = {
    "oracle": _oracle,
    "federated oracle": rules.oracle,
}
PEERS = (*SYSTEMS, *BOUNDS)


def decided(name: str, seen: Seen, truth: Truth) -> Outcome:
    """What a system makes of a trial."""
    return SYSTEMS[name].run(seen) if name in SYSTEMS else BOUNDS[name](seen, truth)


def needs(name: str) -> str:
    """What a method must be given."""
    if name in SYSTEMS:
        return SYSTEMS[name].needs
    return "the truth" if name in BOUNDS else "ids and credentials where there are any"

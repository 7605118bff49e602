"""A federation in this process, and its report: contributors are clients, rows are their updates."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import torch

from anml.app.audit.audit import confusion_of
from anml.app.audit.compare import side_by_side
from anml.app.audit.result import Audited, versions
from anml.assess.assess import SamplePolicy
from anml.core import attacks
from anml.core.attribute import attribute
from anml.core.checks import Array, Bools, Floats, Ints, as_codes, whole
from anml.core.domain import Signals, Weighting
from anml.core.errors import InputError
from anml.core.people.words import CONTRADICTS, RELIABLE, UNSURE
from anml.core.profile import PROFILES
from anml.core.progress import Progress, ticker
from anml.core.signals.reputation import ColdStart
from anml.core.signals.temporal import Decay
from anml.core.stats import Estimate
from anml.core.weigh import recipe_of
from anml.federated.clients import Clients, predicted
from anml.federated.rounds import Federation, Reply
from anml.gradients.mlp import Widths, initialise
from anml.gradients.threads import threads
from anml.intake.columns import Columns

CLIENTS, MALICIOUS, ROUNDS, HIDDEN = 10, 4, 10, (64, 32)
# Which client misses which rounds, and how probable it must be that one is honest, or not, before it is said.
AWAY, ACCUSED = {2: (3, 6, 9)}, 0.05


class Clinics(NamedTuple):
    """Rows of clients and of the test part, and who of the clients lies."""

    x: Floats
    y: Ints
    who: Ints
    x_test: Floats
    y_test: Ints
    names: list[str]
    malicious: Bools


@dataclass(frozen=True)
class Federated:
    """A finished federation: its record, its model's mistakes on the test part, and those of the others."""

    case: Clinics
    federation: Federation
    wrong: dict[str, Array]
    report: Audited


def demo_case(seed: int = 0, clients: int = CLIENTS, malicious: int = MALICIOUS) -> Clinics:
    """Digits at ten clients of equal size, four of whom tell the same lie: every digit is the next one."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    if not 0 <= whole("malicious", malicious) < clients:
        raise InputError(f"malicious clients must be fewer than the {clients} clients, got {malicious}")
    x, y = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(x / 16, y, test_size=0.3, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    who = rng.permutation(len(y)) % clients
    bad = np.arange(clients) >= clients - malicious
    y = attacks.collude_labels(y, bad[who], 10)
    honest = [f"clinic-{place + 1}" for place in range(clients - malicious)]
    return Clinics(x, y, who, x_test, y_test, [*honest, *(f"farm-{i + 1}" for i in range(malicious))], bad)


def run_demo(
    seed: int = 0, rounds: int = ROUNDS, recipe: Any = "evidence", progress: Progress | None = None
) -> Federated:
    """Train with a recipe, without any defence, and by q alone; all on the same clients and seeds."""
    whole("rounds", rounds, 1)
    whole("seed", seed, 0)
    case = demo_case(seed)
    ways = {"uniform": "uniform", "q only": "krum", "chosen": recipe}
    wrong, last = {}, Federation(recipe)
    tick = ticker(progress, "federated training", len(ways))
    with threads(1):
        for done, (name, chosen) in enumerate(ways.items(), 1):
            last = Federation(chosen, seed=seed)
            model, shape = train_rounds(case, last, rounds, seed)
            wrong[name] = (predicted(shape, model, case.x_test) != case.y_test).astype(np.float64)
            tick(done)
    report = as_report(last, case.names, wrong, f"federation of {len(case.names)} clients on Digits", seed)
    return Federated(case, last, wrong, report)


def train_rounds(
    case: Clinics, federation: Federation, rounds: int, seed: int
) -> tuple[torch.Tensor, Widths]:
    """Federated training; a client that is away sends nothing."""
    shape = Widths(case.x.shape[1], HIDDEN, int(case.y_test.max()) + 1)
    clients = Clients.of(case.x, case.y, case.who, shape)
    model = initialise(shape, [seed]).flat[0]
    for number in range(1, rounds + 1):
        updates = clients.updates(model, seeds_of(number, clients.count))
        replies = [
            Reply(name, None, why="it did not answer in time")
            if number in AWAY.get(place, ())
            else Reply(name, updates[place], int(clients.counts()[place]))
            for place, name in enumerate(case.names)
        ]
        update = federation.aggregate(number, replies)
        if update is not None:
            model = model + torch.as_tensor(np.asarray(update, dtype=np.float32))
    return model, shape


def seeds_of(number: int, clients: int) -> list[int]:
    """Seeds of the clients' training in a round."""
    return [1_000 * number + client for client in range(clients)]


def as_report(
    federation: Federation, names: list[str], wrong: dict[str, Array], title: str, seed: int
) -> Audited:
    """The record of a federation in the shape of an audit: one row for each update that came in."""
    lines = [(found.number, line) for found in federation.history for line in found.lines if line.q == line.q]
    if not lines:
        raise InputError("no round had two usable updates; there is nothing to report")
    rows = len(lines)
    fields = (*"qvrt", "kept", "weight", "honest")
    q, v, r, t, kept, weight, honest = (np.array([getattr(line, f) for _, line in lines]) for f in fields)
    signals = Signals.of(q, v, r, t)
    gate, recipe = federation.history[-1].gate, recipe_of(federation.recipe)
    weighting = Weighting(weight / weight.sum(), kept, gate, recipe)
    codes, known = as_codes("client", [line.client for _, line in lines], rows)
    samples = pl.DataFrame(
        {
            "row": np.arange(rows), "contributor": [line.client for _, line in lines],
            "item": [f"round {number}" for number, _ in lines], "label": ["update"] * rows,
            "predicted": ["update"] * rows, "confidence": honest,
            "q": signals.q, "score": 1 - signals.q, "v": signals.v, "r": signals.r, "t": signals.t,
            "weight": weighting.w, "kept": kept, "p_correct": honest, "alone": np.zeros(rows, dtype=bool),
            "suggested": ["update"] * rows, "p_suggested": honest, "from_model": np.zeros(rows),
            "from_credentials": np.zeros(rows), "from_contributor": np.zeros(rows),
        }
    )  # fmt: skip
    people = pl.DataFrame(attribute(signals, weighting, codes, known))
    people = people.with_columns(**_believed(federation, known, honest, codes)).sort("quality", "contributor")
    accused = people.filter(pl.col("verdict") == CONTRADICTS)["reliability"]
    false = Estimate(1 - float(honest.mean()), float((honest < 0.05).mean()), float((honest < 0.95).mean()))
    return Audited(
        samples=samples, contributors=people, confusion=confusion_of(samples, "classification"), gate=gate,
        comparison=side_by_side(wrong, "classification", "test data", 0), wrong=false,
        task="classification", classes=["update"], recipe_name=federation.name,
        policy=SamplePolicy(recipe, PROFILES["default"], Decay(0.0), ColdStart(0.4, 0), seed),
        columns=Columns(label="update", contributor="client", item="round", features=("update",)),
        data={"name": title, "sha256": "", "rows": rows, "clients": names}, signals_given=["q", "r"],
        scoring_epochs=0, notes=_notes(federation), warnings=[], versions=versions(),
        false_accusations=float((accused + 1).sum() / 2),
    )  # fmt: skip


def _believed(federation: Federation, known: list[str], honest: Array, codes: Ints) -> dict[str, Any]:
    """Verdicts by all rounds together, and the reputation that the Beta rule made of them."""
    p = np.array([federation.honest(name) for name in known])
    good = np.bincount(codes, honest, len(known))
    bad = np.bincount(codes, 1 - honest, len(known))
    verdict = np.where(p < ACCUSED, CONTRADICTS, np.where(p > 1 - ACCUSED, RELIABLE, UNSURE))
    r = np.array([federation.reputation_of(name) for name in known])
    return {
        "verdict": pl.Series(verdict.tolist(), dtype=pl.String),
        # A client whose update is as likely another's as honest is worth nothing, as a guess is.
        **dict.fromkeys(("reliability", "reliability_low", "reliability_high"), 2 * p - 1),
        "others": np.full(len(p), float(np.median(p))),
        "habits": pl.Series([""] * len(p), dtype=pl.String),
        "settled_by": np.zeros(len(p), dtype=np.int64),
        "r_learned": r, "r_learned_low": r, "r_learned_high": r,
        "r_learned_good": good, "r_learned_bad": bad,
        "agreement": good / np.maximum(good + bad, 1e-9),
    }  # fmt: skip


def _notes(federation: Federation) -> list[str]:
    """Who was left out of which rounds, and why, where it was not the recipe."""
    said = [
        "rows are updates: one for each client and round; labels are not seen, and p_correct is the "
        "probability that the client was honest in that round, by its update alone"
    ]
    return said + [
        f"round {found.number}: {line.client} is not in it: {line.why}"
        for found in federation.history
        for line in found.lines
        if line.why and line.q != line.q
    ]

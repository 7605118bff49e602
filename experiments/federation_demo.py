"""A federation in this process, and its report: contributors are clients, rows are their updates."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import torch

from anml.annotators.words import CONTRADICTS, INCONCLUSIVE, RELIABLE
from anml.assessment.assess import SamplePolicy
from anml.core.checks import Array, Bools, Floats, Ints, as_codes, as_integer
from anml.core.contributors import contributor_summary
from anml.core.errors import InputError
from anml.core.profile import PROFILES
from anml.core.progress import Progress, ticker
from anml.core.stats import Estimate
from anml.core.types import Signals, Weighting
from anml.federated.rounds import Federation, Reply
from anml.gradients.mlp import initialise
from anml.gradients.threads import limit_threads
from anml.io.columns import Columns
from anml.networks.mlp import LayerWidths
from anml.pipeline.audit import confusion_counts
from anml.pipeline.evaluate import compare_errors
from anml.pipeline.result import AuditResult, versions
from anml.signals.freshness import Decay
from anml.signals.reputation import ColdStart
from anml.weighting.weigh import recipe_of
from experiments import attacks
from experiments.federated_clients import Clients, predicted

CLIENTS, MALICIOUS, ROUNDS, HIDDEN = 10, 4, 10, (64, 32)
# Which client misses which rounds, and how probable it must be that one is honest, or not, before it is said.
ABSENT_ROUNDS, FLAG_PROBABILITY = {2: (3, 6, 9)}, 0.05


class DemoFederation(NamedTuple):
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

    case: DemoFederation
    federation: Federation
    wrong: dict[str, Array]
    report: AuditResult


def demo_case(seed: int = 0, clients: int = CLIENTS, malicious: int = MALICIOUS) -> DemoFederation:
    """Digits at ten clients of equal size, four of whom tell the same lie: every digit is the next one."""
    from sklearn.datasets import load_digits
    from sklearn.model_selection import train_test_split

    if not 0 <= as_integer("malicious", malicious) < clients:
        raise InputError(f"malicious clients must be fewer than the {clients} clients, got {malicious}")
    x, y = load_digits(return_X_y=True)
    x, x_test, y, y_test = train_test_split(x / 16, y, test_size=0.3, stratify=y, random_state=seed)
    rng = np.random.default_rng(seed)
    contributor = rng.permutation(len(y)) % clients
    bad = np.arange(clients) >= clients - malicious
    y = attacks.shift_to_next_class(y, bad[contributor], 10)
    honest = [f"clinic-{place + 1}" for place in range(clients - malicious)]
    return DemoFederation(
        x, y, contributor, x_test, y_test, [*honest, *(f"farm-{i + 1}" for i in range(malicious))], bad
    )


def run_demo(
    seed: int = 0, rounds: int = ROUNDS, recipe: Any = "evidence", progress: Progress | None = None
) -> Federated:
    """Train with a recipe, without any defence, and by q alone; all on the same clients and seeds."""
    as_integer("rounds", rounds, 1)
    as_integer("seed", seed, 0)
    case = demo_case(seed)
    ways = {"uniform": "uniform", "q only": "krum", "chosen": recipe}
    wrong, last = {}, Federation(recipe)
    tick = ticker(progress, "federated training", len(ways))
    with limit_threads(1):
        for done, (name, chosen) in enumerate(ways.items(), 1):
            last = Federation(chosen, random_state=seed)
            model, shape = train_rounds(case, last, rounds, seed)
            wrong[name] = (predicted(shape, model, case.x_test) != case.y_test).astype(np.float64)
            tick(done)
    report = to_audit_result(
        last, case.names, wrong, f"federation of {len(case.names)} clients on Digits", seed
    )
    return Federated(case, last, wrong, report)


def train_rounds(
    case: DemoFederation, federation: Federation, rounds: int, seed: int
) -> tuple[torch.Tensor, LayerWidths]:
    """Federated training; a client that is away sends nothing."""
    shape = LayerWidths(case.x.shape[1], HIDDEN, int(case.y_test.max()) + 1)
    clients = Clients.of(case.x, case.y, case.who, shape)
    model = initialise(shape, [seed]).flat[0]
    for number in range(1, rounds + 1):
        updates = clients.updates(model, client_seeds(number, clients.count))
        replies = [
            Reply(name, None, why="it did not answer in time")
            if number in ABSENT_ROUNDS.get(place, ())
            else Reply(name, updates[place], int(clients.counts()[place]))
            for place, name in enumerate(case.names)
        ]
        update = federation.aggregate(number, replies)
        if update is not None:
            model = model + torch.as_tensor(np.asarray(update, dtype=np.float32))
    return model, shape


def client_seeds(number: int, clients: int) -> list[int]:
    """Seeds of the clients' training in a round."""
    return [1_000 * number + client for client in range(clients)]


def to_audit_result(
    federation: Federation, names: list[str], wrong: dict[str, Array], title: str, seed: int
) -> AuditResult:
    """The record of a federation in the shape of an audit: one row for each update that came in."""
    lines = [(each.number, line) for each in federation.history for line in each.lines if line.q == line.q]
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
            "predicted_label": ["update"] * rows, "self_confidence": honest,
            "q": signals.q, "q_raw": 1 - signals.q, "v": signals.v, "r": signals.r, "t": signals.t,
            "weight": weighting.w, "kept": kept, "p_correct": honest,
            "sample_weight": weighting.sample_weight(), "uncorroborated": np.zeros(rows, dtype=bool),
            "suggested_label": ["update"] * rows, "p_suggested_label": honest,
            **{f"logodds_{part}": np.zeros(rows) for part in ("model", "credentials", "contributor")},
        }
    )  # fmt: skip
    people = pl.DataFrame(contributor_summary(signals, weighting, codes, known))
    people = people.with_columns(**_client_verdicts(federation, known, honest, codes)).sort(
        "accuracy", "contributor"
    )
    flagged = people.filter(pl.col("verdict") == CONTRADICTS)["kappa"]
    false = Estimate(1 - float(honest.mean()), float((honest < 0.05).mean()), float((honest < 0.95).mean()))
    return AuditResult(
        samples=samples,
        contributors=people,
        confusion=confusion_counts(samples, "classification"),
        gate=gate,
        evaluation=compare_errors(wrong, "classification", "test data", 0),
        label_error_rate=false,
        task="classification",
        classes=["update"],
        recipe_name=federation.name,
        policy=SamplePolicy(recipe, PROFILES["default"], Decay(0.0), ColdStart(0.4, 0), seed),
        columns=Columns(label="update", contributor="client", item="round", features=("update",)),
        data={"name": title, "sha256": "", "rows": rows, "clients": names},
        signals_given=["q", "r"],
        scoring_epochs=0,
        notes=_notes(federation),
        warnings=[],
        versions=versions(),
        expected_false_flags=float((flagged + 1).sum() / 2),
    )


def _client_verdicts(federation: Federation, known: list[str], honest: Array, codes: Ints) -> dict[str, Any]:
    """Verdicts by all rounds together, and the reputation that the Beta rule made of them."""
    p = np.array([federation.honest(name) for name in known])
    good = np.bincount(codes, honest, len(known))
    bad = np.bincount(codes, 1 - honest, len(known))
    verdict = np.where(
        p < FLAG_PROBABILITY, CONTRADICTS, np.where(p > 1 - FLAG_PROBABILITY, RELIABLE, INCONCLUSIVE)
    )
    r = np.array([federation.reputation_of(name) for name in known])
    return {
        "verdict": pl.Series(verdict.tolist(), dtype=pl.String),
        # A client whose update is as likely another's as honest is worth nothing, as a guess is.
        **dict.fromkeys(("kappa", "kappa_low", "kappa_high"), 2 * p - 1),
        "peer_accuracy": np.full(len(p), float(np.median(p))),
        "notes": pl.Series([""] * len(p), dtype=pl.String),
        "true_labels_needed": np.zeros(len(p), dtype=np.int64),
        "learned_reputation": r, "learned_reputation_low": r, "learned_reputation_high": r,
        "learned_reputation_n_correct": good, "learned_reputation_n_wrong": bad,
        "model_agreement": good / np.maximum(good + bad, 1e-9),
    }  # fmt: skip


def _notes(federation: Federation) -> list[str]:
    """List the clients excluded from rounds for other reasons than the recipe."""
    messages = [
        "rows are updates: one for each client and round; labels are not seen, and p_correct is the "
        "probability that the client was honest in that round, by its update alone"
    ]
    return messages + [
        f"round {each.number}: {line.client} is not in it: {line.why}"
        for each in federation.history
        for line in each.lines
        if line.why and line.q != line.q
    ]

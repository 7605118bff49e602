"""The Flower strategy: the same as the federation alone, in process, with dropouts and broken clients."""

import logging
from dataclasses import replace

import numpy as np
import pytest
import torch

from other_packages import installed

flwr = installed("flwr")

from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord, RecordDict  # noqa: E402
from flwr.clientapp import ClientApp  # noqa: E402
from flwr.serverapp.strategy import FedAvg, MultiKrum  # noqa: E402

from anml.core.errors import InputError, UnsupportedError  # noqa: E402
from anml.federated.flower import AnmlStrategy, flat_difference  # noqa: E402
from anml.federated.rounds import Federation  # noqa: E402
from anml.gradients.mlp import initialise  # noqa: E402
from anml.networks.mlp import LayerWidths  # noqa: E402
from experiments.federated_clients import Clients, predicted  # noqa: E402
from experiments.federation_demo import ABSENT_ROUNDS, client_seeds, demo_case, train_rounds  # noqa: E402
from flower_grid import InProcessGrid  # noqa: E402

pytestmark = pytest.mark.slow

SHAPE = LayerWidths(64, (64, 32), 10)
ROUNDS = 6


@pytest.fixture(autouse=True)
def quiet():
    logging.getLogger("flwr").setLevel(logging.ERROR)


@pytest.fixture(scope="module")
def case():
    return demo_case(0)


def client_app(case, breaks=None):
    """A client app that trains its own rows, and says who it is."""
    clients, app = Clients.of(case.x, case.y, case.who, SHAPE), ClientApp()

    @app.train()
    def train(message, context):
        me = context.node_config["partition-id"]
        number = message.content["config"]["server-round"]
        if breaks is not None and breaks(me, number):
            raise RuntimeError("out of memory")
        start = torch.as_tensor(message.content["arrays"]["flat"].numpy())
        own = {name: getattr(clients.data, name)[[me]] for name in ("source", "rows", "weight")}
        alone = Clients(replace(clients.data, **own), SHAPE)
        [update] = alone.updates(start, [client_seeds(number, clients.count)[me]])
        content = RecordDict(
            {
                "arrays": ArrayRecord({"flat": Array(start.numpy() + update)}),
                "metrics": MetricRecord({"num-examples": int(clients.counts()[me])}),
                "who": ConfigRecord({"client-id": case.names[me]}),
            }
        )
        return Message(content, reply_to=message)

    return app


def start(strategy, grid, rounds=ROUNDS):
    begin = ArrayRecord({"flat": Array(initialise(SHAPE, [0]).flat[0].numpy())})
    return strategy.start(grid, begin, num_rounds=rounds).arrays["flat"].numpy()


def error(case, flat):
    return 100 * float((predicted(SHAPE, torch.as_tensor(flat), case.x_test) != case.y_test).mean())


def test_the_strategy_is_the_federation(case):
    """Under Flower and without it: the same weights in every round, and the same model."""
    strategy = AnmlStrategy(Federation(), fraction_evaluate=0.0)
    away = InProcessGrid(
        client_app(case), 10, absent=lambda node, number: number in ABSENT_ROUNDS.get(node - 1, ())
    )
    under_flower = start(strategy, away)
    alone = Federation()
    model, _ = train_rounds(case, alone, ROUNDS, 0)
    for theirs, ours in zip(strategy.federation.history, alone.history, strict=True):
        message = {line.client: line.weight for line in theirs.lines if line.q == line.q}
        assert message == pytest.approx({k: w for k, w in ours.weights().items() if k in message}, abs=1e-4)
    assert under_flower == pytest.approx(model.numpy(), abs=1e-3)


def test_forty_percent_liars_cost_nothing_and_averaging_five_points(case):
    honest = np.flatnonzero(~case.malicious[case.who])
    without = case._replace(x=case.x[honest], y=case.y[honest], who=case.who[honest], names=case.names[:6])
    bound = error(case, start(FedAvg(fraction_evaluate=0.0), InProcessGrid(client_app(without), 6), 10))
    ours = error(case, start(AnmlStrategy(fraction_evaluate=0.0), InProcessGrid(client_app(case), 10), 10))
    averaged = error(case, start(FedAvg(fraction_evaluate=0.0), InProcessGrid(client_app(case), 10), 10))
    assert ours <= bound + 1
    assert averaged >= bound + 5


def test_built_in_strategies_run_beside_it(case):
    krum = MultiKrum(fraction_evaluate=0.0, num_malicious_nodes=4, num_nodes_to_select=6)
    assert error(case, start(krum, InProcessGrid(client_app(case), 10))) < 50


def test_failures_and_silence_are_on_record(case):
    strategy = AnmlStrategy(fraction_evaluate=0.0)
    app = client_app(case, breaks=lambda me, number: me == 1)
    start(strategy, InProcessGrid(app, 10, absent=lambda node, number: node == 1), 2)
    why = {line.client: line.why for line in strategy.federation.history[-1].lines}
    assert why["1"] == "it did not answer in time"
    assert why["2"].startswith("it failed: RuntimeError: out of memory")


def test_a_client_that_sends_another_model_is_left_out(case):
    good = client_app(case)
    app = ClientApp()

    @app.train()
    def train(message, context):
        reply = good(message, context)
        if context.node_config["partition-id"] == 0:
            reply.content["arrays"] = ArrayRecord({"other": Array(np.zeros(3, dtype=np.float32))})
        return reply

    strategy = AnmlStrategy(fraction_evaluate=0.0)
    start(strategy, InProcessGrid(app, 10), 1)
    why = {line.client: line.why for line in strategy.federation.history[0].lines}
    assert why["clinic-1"] == "its arrays have other names than those that it was sent"


def test_secure_aggregation_is_said(case):
    good, app = client_app(case), ClientApp()

    @app.train()
    def train(message, context):
        reply = good(message, context)
        masked = np.arange(SHAPE.parameters, dtype=np.int64)
        reply.content["arrays"] = ArrayRecord({"flat": Array(masked)})
        return reply

    with pytest.raises(UnsupportedError, match="single updates are hidden"):
        start(AnmlStrategy(fraction_evaluate=0.0), InProcessGrid(app, 10), 1)


def metrics(**given):
    return {
        "metrics": MetricRecord({"num-examples": 10, **{k.replace("_", "-"): v for k, v in given.items()}})
    }


def broken(data):
    array = Array(np.zeros(SHAPE.parameters, dtype=np.float32))
    array.data = data
    return {"arrays": ArrayRecord({"flat": array})}


@pytest.mark.parametrize(
    ("sends", "why"),
    [
        (metrics(num_examples=float("nan")), "its reply cannot be read: cannot convert float NaN"),
        (metrics(num_examples=float("inf")), "its reply cannot be read: cannot convert float inf"),
        (metrics(num_examples=[1, 2]), "its reply cannot be read: int"),
        (metrics(num_examples=0), "it says that it has 0 rows"),
        (metrics(server_round=float("nan")), "its reply cannot be read: cannot convert float NaN"),
        (broken(b"rubbish"), "its reply cannot be read: "),
        (
            {"arrays": ArrayRecord({"flat": Array(np.full(SHAPE.parameters, "a"))})},
            "its array 'flat' holds <U1, not floating point numbers",
        ),
        (
            {"arrays": ArrayRecord({"flat": Array(np.full(SHAPE.parameters, 1e300))})},
            "its update has values above 1e+09",
        ),
    ],
)
def test_nothing_that_a_client_sends_stops_a_round(case, sends, why):
    good, app = client_app(case), ClientApp()

    @app.train()
    def train(message, context):
        reply = good(message, context)
        if context.node_config["partition-id"] == 0:
            reply.content.update(sends)
        return reply

    strategy = AnmlStrategy(fraction_evaluate=0.0)
    start(strategy, InProcessGrid(app, 10), 1)
    lines = {line.client: line for line in strategy.federation.history[0].lines}
    assert len(lines) == 10
    assert lines["clinic-1"].why.startswith(why)
    assert lines["clinic-1"].weight == 0


def test_a_name_that_two_clients_claim_is_nobodys(case):
    good, app = client_app(case), ClientApp()

    @app.train()
    def train(message, context):
        reply = good(message, context)
        if context.node_config["partition-id"] == 0:
            reply.content["who"] = ConfigRecord({"client-id": case.names[1]})
        return reply

    strategy = AnmlStrategy(fraction_evaluate=0.0)
    start(strategy, InProcessGrid(app, 10), 1)
    assert {line.client for line in strategy.federation.history[0].lines} == {"1", "2", *case.names[2:]}


def test_counters_of_batch_norm_stay_and_are_not_compared():
    app, begin = ClientApp(), {"w": np.zeros(40, dtype=np.float32), "seen": np.array(3)}

    @app.train()
    def train(message, context):
        me = context.node_config["partition-id"]
        after = {
            "w": (0.1 + np.random.default_rng(me).normal(0, 0.01, 40)).astype(np.float32),
            "seen": np.asarray(begin["seen"] + 1000 * me),
        }
        arrays = ArrayRecord({name: Array(each) for name, each in after.items()})
        # What is counted may stand in any of the records.
        more = {"loss": MetricRecord({"loss": 1.0}), "metrics": MetricRecord({"num-examples": 7})}
        return Message(RecordDict({"arrays": arrays, **more}), reply_to=message)

    strategy = AnmlStrategy(fraction_evaluate=0.0)
    arrays = ArrayRecord({name: Array(each) for name, each in begin.items()})
    result = strategy.start(InProcessGrid(app, 5), arrays, num_rounds=1).arrays
    assert int(result["seen"].numpy()) == 3
    assert result["w"].numpy() == pytest.approx(np.full(40, 0.1), abs=0.02)
    assert set(strategy.federation.history[0].weights().values()) == {0.2}


def test_an_update_is_the_difference():
    before = ArrayRecord({"a": Array(np.ones(2, dtype=np.float32)), "b": Array(np.zeros((1, 2)))})
    after = ArrayRecord({"a": Array(np.full(2, 3.0, dtype=np.float32)), "b": Array(np.ones((1, 2)))})
    assert flat_difference(after, before).tolist() == [2, 2, 1, 1]
    with pytest.raises(InputError, match=r"has shape \(3,\), that sent has \(2,\)"):
        flat_difference(ArrayRecord({"a": Array(np.ones(3)), "b": Array(np.zeros((1, 2)))}), before)


def test_a_grid_needs_nodes():
    with pytest.raises(InputError, match="at least one node, got 0"):
        InProcessGrid(ClientApp(), 0)


def test_flowers_own_simulation_gives_the_same(tmp_path):
    """In other processes under Ray, as Flower simulates: equal weights and an equal model."""
    installed("ray")
    installed("fastapi")
    import subprocess
    import sys
    from pathlib import Path

    script = Path(__file__).with_name("flower_simulation.py")
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "equal"

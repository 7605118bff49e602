"""Strategies of Flower as rules of `federations.py`: each round its own objects aggregate the same arrays.

Needs the extra `flower`. Those that ask how many clients attack, or what to trim, are told.
"""

import logging

import numpy as np
from flwr.app import Array, ArrayRecord, Message, MetricRecord, RecordDict
from flwr.serverapp import strategy
from flwr.supercore.task_identity import TaskIdentity

STRATEGIES = {
    "Flower FedAvg": lambda f, n: strategy.FedAvg(),
    "Flower FedAvgM": lambda f, n: strategy.FedAvgM(server_learning_rate=1.0, server_momentum=0.9),
    "Flower FedAdam": lambda f, n: strategy.FedAdam(eta=0.01, tau=1e-3),
    "Flower FedMedian": lambda f, n: strategy.FedMedian(),
    "Flower FedTrimmedAvg": lambda f, n: strategy.FedTrimmedAvg(beta=f / n),
    "Flower Krum": lambda f, n: strategy.Krum(num_malicious_nodes=f),
    "Flower MultiKrum": lambda f, n: strategy.MultiKrum(num_malicious_nodes=f, num_nodes_to_select=n - f),
}


def flower_rule(name, f, counts, model):
    """From a round's updates to one update; the strategy sees whole models, as clients send them."""
    logging.getLogger("flwr").setLevel(logging.ERROR)
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
    chosen, held = STRATEGIES[name](f, len(counts)), {"model": np.asarray(model, dtype=np.float32)}

    def reply(node, update):
        content = RecordDict({
            "arrays": ArrayRecord({"flat": Array(held["model"] + update)}),
            "metrics": MetricRecord({"num-examples": int(counts[node])}),
        })  # fmt: skip
        asked = Message(content=RecordDict(), dst_node_id=node + 1, message_type="train")
        return Message(content, reply_to=asked)

    def rule(number, updates, _):
        # What `configure_train` keeps of the model that was sent.
        record = isinstance(chosen, strategy.FedAvgM)
        chosen.current_arrays = (
            ArrayRecord({"flat": Array(held["model"])}) if record else {"flat": held["model"]}
        )
        arrays, _ = chosen.aggregate_train(number, [reply(*each) for each in enumerate(updates)])
        before, held["model"] = held["model"], arrays["flat"].numpy().astype(np.float32)
        return held["model"] - before

    return rule

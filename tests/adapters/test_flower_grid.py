"""Flower in this process: nodes answer in order, each in a context of its own, and failures are messages."""

import pytest

from other_packages import installed

installed("flwr")

from flwr.app import ConfigRecord, Message, RecordDict  # noqa: E402
from flwr.clientapp import ClientApp  # noqa: E402

from anml.adapters.flower_grid import FAILED, InProcessGrid  # noqa: E402
from anml.core.errors import InputError  # noqa: E402


def counting(fails=()):
    """An app that says its partition and how often it was asked."""
    app = ClientApp()

    @app.train()
    def train(message, context):
        me = context.node_config["partition-id"]
        if me in fails:
            raise RuntimeError("out of memory")
        before = context.state.config_records.get("seen")
        count = 1 if before is None else int(before["count"]) + 1
        context.state["seen"] = ConfigRecord({"count": count})
        return Message(RecordDict({"said": ConfigRecord({"me": me, "count": count})}), reply_to=message)

    return app


def asked(grid, nodes=None):
    messages = [
        grid.create_message(RecordDict(), "train", node, "1") for node in (nodes or grid.get_node_ids())
    ]
    return list(grid.send_and_receive(messages))


def test_nodes_answer_in_order_with_their_partition():
    grid = InProcessGrid(counting(), 4, node_config={"colour": "blue"})
    replies = asked(grid)
    assert list(grid.get_node_ids()) == [1, 2, 3, 4]
    assert [reply.content["said"]["me"] for reply in replies] == [0, 1, 2, 3]
    assert [reply.metadata.src_node_id for reply in replies] == [1, 2, 3, 4]
    assert grid.contexts[2].node_config == {"colour": "blue", "partition-id": 1, "num-partitions": 4}


def test_a_node_remembers_what_it_was_asked_and_nobody_else():
    grid = InProcessGrid(counting(), 2)
    asked(grid, [1, 1, 2])
    counts = {reply.metadata.src_node_id: reply.content["said"]["count"] for reply in asked(grid)}
    assert counts == {1: 3, 2: 2}


def test_a_failure_is_an_answer_that_says_why():
    replies = asked(InProcessGrid(counting(fails={1}), 3))
    assert [reply.has_error() for reply in replies] == [False, True, False]
    assert replies[1].error.code == FAILED
    assert "out of memory" in replies[1].error.reason
    assert replies[1].metadata.src_node_id == 2


def test_who_is_absent_does_not_answer_and_does_when_it_is_back():
    grid = InProcessGrid(counting(), 2, absent=lambda node, number: node == 1 and number == 1)
    assert [reply.metadata.src_node_id for reply in asked(grid)] == [2]
    assert [reply.metadata.src_node_id for reply in asked(grid)] == [1, 2]


def test_an_answer_is_pulled_once():
    grid = InProcessGrid(counting(), 1)
    names = list(grid.push_messages([grid.create_message(RecordDict(), "train", 1, "1")]))
    assert len(list(grid.pull_messages(names))) == 1
    assert list(grid.pull_messages(names)) == []


@pytest.mark.parametrize("nodes", [0, -2])
def test_a_grid_has_nodes(nodes):
    with pytest.raises(InputError, match=f"a grid has at least one node, got {nodes}"):
        InProcessGrid(ClientApp(), nodes)

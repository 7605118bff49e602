"""Flower in this process: a grid that calls a client app directly, without Ray and without a network.

For tests, demos and small simulations. The order of nodes is fixed, so a run can be repeated.
"""

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from flwr.app import Context, Error, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.run import Run
from flwr.supercore.task_identity import TaskIdentity

from anml.core.errors import InputError

# Of messages that no client answered, as a failure in a client is called there.
FAILED = 1


class InProcessGrid(Grid):  # type: ignore[misc, unused-ignore]
    """Nodes 1 .. n, each a client app with a context of its own; `absent(node, number)` drops replies.

    Parameters
    ----------
    app
        The client app, as it would be deployed.
    nodes
        How many nodes there are; node i has the partition i - 1.
    absent
        Whether a node does not answer its n-th message.
    node_config
        What every node's configuration holds beside its partition.
    """

    def __init__(
        self,
        app: ClientApp,
        nodes: int,
        absent: Callable[[int, int], bool] | None = None,
        node_config: Mapping[str, Any] | None = None,
    ) -> None:
        if nodes < 1:
            raise InputError(f"a grid has at least one node, got {nodes}")
        self.app, self.absent = app, absent or (lambda node, number: False)
        self._run = Run.create_empty(run_id=1)
        shared = dict(node_config or {})
        self.contexts = {
            node: Context(
                run_id=1, node_id=node, state=RecordDict(), run_config={},
                node_config={**shared, "partition-id": node - 1, "num-partitions": nodes},
            )
            for node in range(1, nodes + 1)
        }  # fmt: skip
        self._counts = dict.fromkeys(self.contexts, 0)
        self._replies: dict[str, Message] = {}
        # A message knows its run and sender from these.
        TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1

    def set_run(self, run: Run) -> None:
        """Set the run."""
        self._run = run

    @property
    def run(self) -> Run:
        """The run."""
        return self._run

    def create_message(
        self,
        content: RecordDict,
        message_type: str,
        dst_node_id: int,
        group_id: str,
        ttl: float | None = None,
    ) -> Message:
        """A message to a node."""
        return Message(
            content=content, dst_node_id=dst_node_id, message_type=message_type, group_id=group_id, ttl=ttl
        )

    def get_node_ids(self) -> Iterable[int]:
        """Nodes, in order."""
        return list(self.contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Let each node answer at once."""
        names = []
        for message in messages:
            name = uuid.uuid4().hex
            names.append(name)
            node = message.metadata.dst_node_id
            self._counts[node] += 1
            if not self.absent(node, self._counts[node]):
                self._replies[name] = self._answer(message, node)
        return names

    def _answer(self, message: Message, node: int) -> Message:
        message.metadata.__dict__["_message_id"] = uuid.uuid4().hex
        try:
            TaskIdentity.node_id = node
            reply = self.app(message, self.contexts[node])
        except Exception as error:
            reply = Message(Error(code=FAILED, reason=f"{type(error).__name__}: {error}"), reply_to=message)
        finally:
            TaskIdentity.node_id = 1
        reply.metadata.__dict__["_src_node_id"] = node
        return reply

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        """Answers to messages that were sent."""
        return [self._replies.pop(name) for name in message_ids if name in self._replies]

    def send_and_receive(
        self, messages: Iterable[Message], *, timeout: float | None = None
    ) -> Iterable[Message]:
        """Send, and return what came back."""
        return self.pull_messages(self.push_messages(messages))

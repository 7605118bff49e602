"""Flower: a strategy that weighs clients by q, v, r and T. Needs the extra `flower`.

All arithmetic is `anml.federated.rounds`, which knows nothing of Flower.
"""

from collections.abc import Callable, Iterable
from typing import Any

from anml.core.extras import require_extra

require_extra("flwr", "flower", "anml.federated.flower")

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, Message, MetricRecord
from flwr.serverapp import Grid
from flwr.serverapp.strategy import FedAvg

from anml.core.errors import InputError
from anml.federated.rounds import Federation, Reply

# Where a reply may say who sent it, and which round's model it started from.
IDENTITY, ROUND = "client-id", "server-round"


def node_of(message: Message) -> str:
    """Return the client name of a reply: its self-reported `client-id`, or else the node number of this run.

    Reputation across runs requires an authenticated name: pass a function as `identify`.
    """
    for record in message.content.config_records.values():
        if IDENTITY in record:
            return str(record[IDENTITY])
    return str(message.metadata.src_node_id)


class AnmlStrategy(FedAvg):  # type: ignore[misc, unused-ignore]
    """Weighs clients' updates by a `Federation`, which has each round's weights, reasons and reputation.

    Takes what `FedAvg` takes. A client that fails, sends something else than a model or numbers that are not
    finite is left out with a reason, and never stops a round.

    Parameters
    ----------
    federation
        Recipe, credentials and record.
    identify
        From a reply to the name of its client.
    """

    def __init__(
        self,
        federation: Federation | None = None,
        *,
        identify: Callable[[Message], str] = node_of,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        self.federation = federation or Federation()
        self.identify = identify
        self._sent: dict[int, ArrayRecord] = {}
        self._asked: dict[int, list[int]] = {}

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Remember what is sent: an update is the difference to it."""
        self._sent[server_round] = arrays
        messages = list(super().configure_train(server_round, arrays, config, grid))
        self._asked[server_round] = [message.metadata.dst_node_id for message in messages]
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The model after a round; the one before it where too few clients sent anything usable."""
        before = self._sent[server_round]
        answered = list(replies)
        nodes = [message.metadata.src_node_id for message in answered]
        silent = sorted(set(self._asked[server_round]) - set(nodes))
        given = [self._reply(message, server_round) for message in answered]
        given += [Reply(str(node), None, why="it did not answer in time") for node in silent]
        update = self.federation.aggregate(server_round, _resolve_duplicate_names(given, nodes + silent))
        if update is None:
            return before, None
        found = self.federation.history[-1]
        kept = sum(line.kept for line in found.lines)
        metrics = MetricRecord({"anml-kept": kept, "anml-left-out": len(found.lines) - kept})
        return _apply_update(before, update), metrics

    def _reply(self, message: Message, server_round: int) -> Reply:
        """Read the reply of a client; an invalid reply never stops a round."""
        name = str(message.metadata.src_node_id)
        if message.has_error():
            return Reply(name, None, why=f"it failed: {message.error.reason}")
        try:
            name = self.identify(message)
            return self._read(name, message, server_round)
        except InputError as error:
            return Reply(name, None, why=str(error))
        except Exception as error:
            return Reply(name, None, why=f"its reply cannot be read: {error}")

    def _read(self, name: str, message: Message, server_round: int) -> Reply:
        record = message.content.array_records.get(self.arrayrecord_key)
        if record is None:
            raise InputError(f"it sent no arrays under {self.arrayrecord_key!r}")
        metrics: Any = {key: each[key] for each in message.content.metric_records.values() for key in each}
        began = int(metrics.get(ROUND, server_round))
        if began not in self._sent:
            raise InputError(f"it started from round {began}, which has not been")
        rows = int(metrics.get(self.weighted_by_key, 1))
        return Reply(name, flat_difference(record, self._sent[began]), rows, server_round - began)


def _resolve_duplicate_names(replies: list[Reply], nodes: list[int]) -> list[Reply]:
    """Replies whose client nobody else calls itself; those of a name that several claim go by their nodes."""
    for _ in nodes:
        names = [reply.client for reply in replies]
        replies = [
            reply._replace(client=str(node)) if names.count(reply.client) > 1 else reply
            for reply, node in zip(replies, nodes, strict=True)
        ]
    return replies


def flat_difference(after: ArrayRecord, before: ArrayRecord) -> Any:
    """Return the update of a client as a vector; counters, such as those of BatchNorm, are dropped."""
    if list(after) != list(before):
        raise InputError("its arrays have other names than those that it was sent")
    parts = []
    for name in before:
        new, old = after[name].numpy(), before[name].numpy()
        if new.shape != old.shape:
            raise InputError(f"its array {name!r} has shape {new.shape}, that sent has {old.shape}")
        if new.dtype.kind not in "fiub":
            raise InputError(f"its array {name!r} holds {new.dtype}, which is no number of a model")
        if old.dtype.kind != "f":
            continue
        if new.dtype.kind in "iu":
            # Masked by secure aggregation: passed on as it is, so that it is said.
            parts.append(new.reshape(-1))
        else:
            parts.append((new.astype(np.float64) - old.astype(np.float64)).reshape(-1))
    return np.concatenate(parts)


def _apply_update(before: ArrayRecord, update: Any) -> ArrayRecord:
    """A model moved by an update, every array in the precision that it had; counters stay as they are."""
    moved, start = {}, 0
    for name in before:
        old = before[name].numpy()
        if old.dtype.kind == "f":
            step = np.asarray(update[start : start + old.size]).reshape(old.shape)
            start += old.size
            old = np.asarray(old.astype(np.float64) + step, dtype=old.dtype)
        moved[name] = Array(old)
    return ArrayRecord(moved)

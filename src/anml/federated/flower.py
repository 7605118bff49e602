"""Flower: a strategy that weights clients by q, v, r and T. Needs the extra `flower`.

All arithmetic is in `anml.federated.rounds`, which does not import Flower.
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

# Keys of a reply with the name of its client, and with the round of the model it started from.
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
    """Weight the updates of clients by a `Federation`, which records every round.

    Takes what `FedAvg` takes. A client that fails, or sends something other than a model of finite numbers,
    is excluded with a reason, and never stops a round.

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
        """Store the model that is sent: an update is the difference from it."""
        self._sent[server_round] = arrays
        messages = list(super().configure_train(server_round, arrays, config, grid))
        self._asked[server_round] = [message.metadata.dst_node_id for message in messages]
        return messages

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """Return the model after a round, or the one before it if too few updates are usable."""
        before = self._sent[server_round]
        answered = list(replies)
        nodes = [message.metadata.src_node_id for message in answered]
        silent = sorted(set(self._asked[server_round]) - set(nodes))
        given = [self._reply(message, server_round) for message in answered]
        given += [Reply(str(node), None, why="it did not answer in time") for node in silent]
        update = self.federation.aggregate(server_round, _resolve_duplicate_names(given, nodes + silent))
        if update is None:
            return before, None
        round_record = self.federation.history[-1]
        kept = sum(line.kept for line in round_record.lines)
        metrics = MetricRecord({"anml-kept": kept, "anml-left-out": len(round_record.lines) - kept})
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
    """Name replies by their nodes where several claim the same client name."""
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
            raise InputError(f"its array {name!r} holds {new.dtype}, not floating point numbers")
        if old.dtype.kind != "f":
            continue
        if new.dtype.kind in "iu":
            # Masked by secure aggregation: passed on unchanged, so that the federation reports it.
            parts.append(new.reshape(-1))
        else:
            parts.append((new.astype(np.float64) - old.astype(np.float64)).reshape(-1))
    return np.concatenate(parts)


def _apply_update(before: ArrayRecord, update: Any) -> ArrayRecord:
    """Add an update to a model; each array keeps its precision, and counters are unchanged."""
    moved, start = {}, 0
    for name in before:
        old = before[name].numpy()
        if old.dtype.kind == "f":
            step = np.asarray(update[start : start + old.size]).reshape(old.shape)
            start += old.size
            old = np.asarray(old.astype(np.float64) + step, dtype=old.dtype)
        moved[name] = Array(old)
    return ArrayRecord(moved)

"""Which of the servers of a service leads: the member of a consumer group that is given the one
partition of the command topic. Kafka gives it to another when its owner is silent for some seconds.
"""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, MemberDescription

from streamsql.kafka.records import failure

if TYPE_CHECKING:
    from streamsql.kafka.client import KafkaClient

_log = logging.getLogger("streamsql.service")
SESSION_SECONDS = 6.0
"""The least that brokers allow by default: after so long a silence another server leads."""
_HEARTBEAT_SECONDS = 1.5
_POLL_SECONDS = 0.2
_CONFIRM_SECONDS = 0.5
"""How often the leader has Kafka confirm its leadership."""
_CERTAIN_SECONDS = SESSION_SECONDS - _HEARTBEAT_SECONDS
"""How long no other server can lead, counted from a request that Kafka has then confirmed."""
REJOIN_SECONDS = 1.0
"""How long a server stays out of the group after a failed membership."""
_CLIENT_ID = "streamsql-signing"
"""Servers of versions that know no signatures have another."""


class Leadership:
    """This server's membership; results can be read from any thread."""

    def __init__(
        self,
        client: KafkaClient,
        topic: str,
        group: str,
        position: Callable[[], int] = lambda: 0,
    ) -> None:
        """`position`: how far this server has read the topic."""
        self._topic = topic
        self._position = position
        self._client = client
        self._group = group
        self._settings = {
            **client.settings,
            "group.id": group,
            "client.id": _CLIENT_ID,
            # The owner keeps it when others come and go.
            "partition.assignment.strategy": "cooperative-sticky",
            "session.timeout.ms": int(SESSION_SECONDS * 1000),
            "heartbeat.interval.ms": int(_HEARTBEAT_SECONDS * 1000),
            "enable.auto.commit": False,
            "auto.offset.reset": "latest",
            "on_commit": self._committed,
        }
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leadership", daemon=True)
        self.owner = False
        """Whether this server is the one to lead."""
        self._asked: float | None = None
        """When the confirmation was requested that is outstanding."""
        self._confirmed = -math.inf
        """When the last confirmation was requested."""
        self.decided = threading.Event()
        """Set once Kafka has reported a leader."""

    def certain_seconds(self) -> float:
        """For how long from now on no other server can lead; 0 where one may already."""
        return max(0.0, self._confirmed + _CERTAIN_SECONDS - time.monotonic())

    def members(self) -> int:
        """Number of group members, including failed ones whose session has not expired.
        ExternalError if Kafka does not respond."""
        return len(self._members())

    def all_sign(self) -> bool:
        """Whether all servers in the group know a log that is sealed; errors as `members`."""
        return all(member.client_id == _CLIENT_ID for member in self._members())

    def _members(self) -> list[MemberDescription]:
        admin = AdminClient(dict(self._client.settings))
        asked = admin.describe_consumer_groups([self._group], request_timeout=self._client.timeout)
        try:
            return list(asked[self._group].result().members)
        except KafkaException as error:
            if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
                return []
            action = f"look for members of {self._group}"
            raise failure(self._client.bootstrap, action, error) from error

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Leave at once: another server may lead from now on."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(SESSION_SECONDS)

    def _run(self) -> None:
        while not self._stopped.is_set():
            try:
                self._take_part()
            except Exception as error:
                # Without this thread the server never leads again.
                _log.exception("this server left the service and joins it again: %s", error)
                self._stopped.wait(REJOIN_SECONDS)

    def _take_part(self) -> None:
        """Be a member until the server stops; raises what ends the membership before."""
        consumer = Consumer(self._settings)
        try:
            consumer.subscribe(
                [self._topic],
                on_assign=self._assigned,
                on_revoke=self._revoked,
                on_lost=self._revoked,
            )
            while not self._stopped.is_set():
                # Records are read elsewhere, by servers that lead and those that do not.
                self._ask(consumer)
                record = consumer.poll(_POLL_SECONDS)
                error = None if record is None else record.error()
                if error is not None and error.fatal():
                    raise KafkaException(error)
        finally:
            self._lost()
            consumer.close()

    def _ask(self, consumer: Consumer) -> None:
        """Request a confirmation where one is due: Kafka takes offsets from members alone."""
        now = time.monotonic()
        if self.owner and self._asked is None and now > self._confirmed + _CONFIRM_SECONDS:
            self._asked = now
            reached = TopicPartition(self._topic, 0, self._position())
            consumer.commit(offsets=[reached], asynchronous=True)

    def _committed(self, error: KafkaError | None, offsets: list[TopicPartition]) -> None:
        asked, self._asked = self._asked, None
        refused = error or any(offset.error for offset in offsets)
        if self.owner and asked is not None and not refused:
            self._confirmed = asked

    def _lost(self) -> None:
        self.owner, self._asked, self._confirmed = False, None, -math.inf

    def _assigned(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            consumer.incremental_assign(partitions)
            try:
                consumer.pause(partitions)
            except KafkaException:
                # Then its records come, and are dropped.
                pass
            self.owner = True
        self.decided.set()

    def _revoked(self, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if partitions:
            self._lost()

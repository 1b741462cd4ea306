"""Which of the servers of a service leads: the member of a consumer group that is given the one
partition of the command topic. Kafka gives it to another when its owner is silent for some seconds.
"""

from __future__ import annotations

import logging
import threading
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
REJOIN_SECONDS = 1.0
"""How long a server stays out of the group after its membership failed."""
_CLIENT_ID = "streamsql-signing"
"""Servers of versions that know no signatures have another."""


class Leadership:
    """This server's membership; what it says may be read from any thread."""

    def __init__(self, client: KafkaClient, topic: str, group: str) -> None:
        self._topic = topic
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
        }
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leadership", daemon=True)
        self.owner = False
        """Whether this server is the one to lead."""
        self.decided = threading.Event()
        """Set once Kafka has told who is, for the first time."""

    def members(self) -> int:
        """How many servers are in the group, those included that have died and are still held to
        be. ExternalError if Kafka does not tell."""
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
        """Join the group; who leads is told from then on."""
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
                record = consumer.poll(_POLL_SECONDS)
                error = None if record is None else record.error()
                if error is not None and error.fatal():
                    raise KafkaException(error)
        finally:
            self.owner = False
            consumer.close()

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
            self.owner = False

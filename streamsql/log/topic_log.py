"""The statement log of servers: a topic of one partition that is kept forever.

The server that leads appends, each entry a transaction: the next leader's first act ends what the
last one has begun and keeps it from writing any more, so no two of them ever write. All servers
read it. Who leads is leadership.py's business, what an entry does the replay's.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from streamsql.config import COMMAND_TOPIC_PREFIX
from streamsql.errors import ExternalError, InternalError
from streamsql.kafka.records import Headers, failure
from streamsql.log.command_records import LEADER, STATEMENT, CommandRecords, Leader
from streamsql.log.entries import Entry, encode
from streamsql.log.signatures import SEAL, new_seal
from streamsql.waiting import Backoff, retried

if TYPE_CHECKING:
    from streamsql.kafka.client import KafkaClient

_TRANSACTION_SECONDS = 10.0
_BACKOFF = Backoff(0.05, 1.0)
_OUTCOME_SECONDS = 20.0
"""How long an append may take until its outcome is held to be unknown."""
_SETTINGS = {"cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1"}


class CommandLog:
    """The log of one service. Append and take_over are for its leader; `poll` is for one thread.
    Every method raises ExternalError if Kafka fails, and `poll` ConfigError for an unreadable
    record."""

    def __init__(self, client: KafkaClient, service_id: str) -> None:
        """Makes the topic if it is not there; reads nothing yet."""
        self.topic = COMMAND_TOPIC_PREFIX + service_id
        self.service_id = service_id
        self._client = client
        client.create_topic(self.topic, 1, -1, _SETTINGS, exists_ok=True)
        self._consumer = Consumer(
            {
                "fetch.queue.backoff.ms": 5,
                **client.settings,
                # In no group: only assign is used.
                "group.id": f"streamsql-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "isolation.level": "read_committed",
                "auto.offset.reset": "error",
            }
        )
        begin = client.begin_offsets(self.topic)[0]
        if begin > 0:
            raise ExternalError(
                f"the command topic {self.topic} has lost its first {begin} records",
                hint="Its retention must be unlimited. Restore the catalog from an export.",
            )
        self._consumer.assign([TopicPartition(self.topic, 0, 0)])
        self._producer: Producer | None = None
        self._records = CommandRecords(self.topic)
        self.position = 0
        """The offset of the record that `poll` gives next."""
        self.entries: list[Entry] = []
        """Entries that took effect on this server."""

    # -- reading ---------------------------------------------------------------------------------

    def poll(self, seconds: float) -> Entry | Leader | None:
        """Waits for the next record; None on timeout or for an empty record. `is_new` identifies
        the server's own entries, which have already taken effect."""
        message = self._consumer.poll(seconds)
        if message is None:
            return None
        error = message.error()
        if error is not None:
            self._no_record(message, error)
            return None
        offset = cast(int, message.offset())
        self.position = offset + 1
        headers = cast(Headers, message.headers() or ())
        return self._records.read(message.key(), message.value(), headers, offset)

    def is_new(self, entry: Entry) -> bool:
        """Whether an entry that was read is not in effect here yet."""
        return entry.sequence >= self.next_sequence

    def took_effect(self, entry: Entry) -> None:
        """Note that an entry that was read is in effect here."""
        self.entries.append(entry)

    @property
    def next_sequence(self) -> int:
        """The number that the next entry gets."""
        return self.entries[-1].sequence + 1 if self.entries else 1

    def _no_record(self, message: Message, error: KafkaError) -> None:
        if error.code() == KafkaError._PARTITION_EOF:
            # Reached also where the last offsets hold no records, but commit markers.
            self.position = max(self.position, cast(int, message.offset()))
        elif error.code() == KafkaError._AUTO_OFFSET_RESET:
            raise InternalError(f"the command topic {self.topic} has lost records")
        elif not error.retriable() and error.code() != KafkaError._ALL_BROKERS_DOWN:
            raise failure(self._client.bootstrap, f"read {self.topic}", KafkaException(error))

    def end(self) -> int:
        """Where the topic ends now, with all that is acknowledged, though its transaction may be a
        moment from being over."""
        return self._client.end_offsets(self.topic)[0]

    def committed_end(self) -> int:
        """End of completed transactions: a partial write of a crash must not be awaited."""
        partition = TopicPartition(self.topic, 0)
        timeout = self._client.timeout

        def ask() -> int:
            return self._consumer.get_watermark_offsets(partition, timeout)[1]

        try:
            # A broker that has just come up knows in a moment.
            return retried(ask, _retriable, timeout, backoff=_BACKOFF)
        except KafkaException as error:
            action = f"read the offsets of {self.topic}"
            raise failure(self._client.bootstrap, action, error) from error

    # -- writing ---------------------------------------------------------------------------------

    @property
    def writable(self) -> bool:
        """Whether `take_over` was called, and nothing has gone wrong since."""
        return self._producer is not None

    def take_over(self) -> None:
        """Becomes the writer and fences the previous one, whose records are readable on return."""
        self.give_up()
        producer = Producer(
            {
                "linger.ms": 0,
                **self._client.settings,
                "transactional.id": f"streamsql-{self.service_id}",
                "transaction.timeout.ms": int(_TRANSACTION_SECONDS * 1000),
            }
        )
        try:
            producer.init_transactions(_OUTCOME_SECONDS)
        except KafkaException as error:
            raise failure(self._client.bootstrap, f"lead {self.topic}", error) from error
        self._producer = producer

    def give_up(self) -> None:
        """Stops writing; uncommitted records are discarded."""
        self._producer = None

    def append(self, entry: Entry) -> None:
        """Add an entry; acknowledged by Kafka when this returns."""
        self._write((STATEMENT, encode(entry)))
        self.entries.append(entry)

    def adopt(self, entries: Sequence[Entry]) -> None:
        """Begin a log that is empty with these; they are there to be read, all or none."""
        if entries:
            self._write(*((STATEMENT, encode(entry)) for entry in entries))

    @property
    def sealed(self) -> bool:
        """Whether records are signed, as far as the log has been read."""
        return self._records.signatures.sealed

    def seal(self) -> None:
        """Signs all later records, once the seal has been read."""
        self._write((SEAL, new_seal()))

    def announce(self, leader: Leader) -> None:
        content = {"url": leader.url, "version": leader.version}
        self._write((LEADER, json.dumps(content).encode()))

    def _write(self, *records: tuple[bytes, bytes]) -> None:
        producer = self._producer
        if producer is None:
            raise ExternalError("this server is not the leader", retryable=True)
        try:
            producer.begin_transaction()
            for key, value in records:
                headers = self._records.signatures.headers(key, value)
                producer.produce(self.topic, value, key, partition=0, headers=headers)
            _commit(producer)
        except KafkaException as error:
            cause = error.args[0]
            aborted = cause.txn_requires_abort() and _abort(producer)
            if not aborted:
                # Whether it is there will be seen when the topic is read, before the next one.
                self.give_up()
            raise self._not_written(error, aborted) from error

    def _not_written(self, error: KafkaException, aborted: bool) -> ExternalError:
        if error.args[0].code() in (KafkaError._FENCED, KafkaError.PRODUCER_FENCED):
            return ExternalError("this server is no longer the leader", retryable=True)
        found = failure(self._client.bootstrap, f"write to {self.topic}", error)
        if not aborted:
            found.hint = (
                "It is unknown whether the statement was written: check before you repeat it."
            )
        return found

    def close(self) -> None:
        self.give_up()
        self._consumer.close()


def _commit(producer: Producer) -> None:
    retried(
        lambda: producer.commit_transaction(_TRANSACTION_SECONDS),
        _retriable,
        _OUTCOME_SECONDS,
        backoff=_BACKOFF,
    )


def _retriable(error: Exception) -> bool:
    return isinstance(error, KafkaException) and bool(error.args[0].retriable())


def _abort(producer: Producer) -> bool:
    with suppress(KafkaException):
        producer.abort_transaction(_TRANSACTION_SECONDS)
        return True
    return False


def entries_of(client: KafkaClient, service_id: str) -> list[Entry]:
    """Current content of a service's log; ExternalError without one, ConfigError if a later version
    has written it."""
    topic = COMMAND_TOPIC_PREFIX + service_id
    if client.partitions(topic) is None:
        raise ExternalError(f"the command topic {topic} does not exist")
    records = CommandRecords(topic)
    found = (
        records.read(record.key, record.value, record.headers, record.offset)
        for record in client.consume(topic, until=client.end_offsets(topic))
    )
    return [entry for entry in found if isinstance(entry, Entry)]

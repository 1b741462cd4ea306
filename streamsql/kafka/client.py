"""Everything the engine itself asks of Kafka: topics, offsets, producing and reading raw records.

Works on bytes; what they mean is the formats' business. The data path of queries is Spark's.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

from streamsql.errors import CatalogError, ConfigError, ExternalError
from streamsql.kafka.atomic import AtomicWriter
from streamsql.kafka.groups import Readers, group_offsets, readers
from streamsql.kafka.records import (
    NewRecord,
    Reader,
    Record,
    Writer,
    error_text,
    failure,
)
from streamsql.kafka.security import BOOTSTRAP_SERVERS, to_librdkafka
from streamsql.kafka.topics import TopicInfo, topic_ids
from streamsql.waiting import await_condition, retried, steady

__all__ = ["KafkaClient", "NewRecord", "Reader", "Record", "TopicInfo", "Writer"]

_RETRY_SECONDS = 0.02

_LEADERLESS = {
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.FENCED_LEADER_EPOCH,
    KafkaError.UNKNOWN_LEADER_EPOCH,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}

_REFUSED = {
    KafkaError._AUTHENTICATION,
    KafkaError.SASL_AUTHENTICATION_FAILED,
    KafkaError._SSL,
}

_REJECTED = {
    KafkaError.TOPIC_EXCEPTION,
    KafkaError.INVALID_PARTITIONS,
    KafkaError.INVALID_REPLICATION_FACTOR,
    KafkaError.INVALID_CONFIG,
    KafkaError.INVALID_REQUEST,
    KafkaError.POLICY_VIOLATION,
}


class KafkaClient:
    """One cluster, reached by `bootstrap` and further librdkafka `settings`. Thread-safe.

    `security` says how to log in, in the words of Kafka's Java client (security.py); who
    connects to the same cluster takes `settings`, or in the JVM `java_settings`, from here.

    Every method raises ExternalError where the cluster fails; its `retryable` says whether the
    broker is only lost for now.
    """

    def __init__(
        self,
        bootstrap: str,
        settings: Mapping[str, str] | None = None,
        timeout: float = 15.0,
        security: Mapping[str, str] | None = None,
    ) -> None:
        """`timeout` in seconds holds for each request. ConfigError for an unknown setting."""
        self.bootstrap = bootstrap
        self.security: Mapping[str, str] = dict(security or {})
        self.trouble: str | None = None
        """Why brokers cannot be used though they are there: they refuse the login, for one."""
        self.timeout = timeout
        self._settings: dict[str, str | int | float | bool] = {
            # librdkafka writes its own log lines to the terminal: errors come by calls instead.
            "log_level": 0,
            "log.connection.close": False,
            "reconnect.backoff.ms": 50,
            "reconnect.backoff.max.ms": 1000,
            **to_librdkafka(self.security),
            **(settings or {}),
            "bootstrap.servers": bootstrap,
        }
        self._lock = threading.Lock()
        self._cluster_id: str | None = None
        self._writers: dict[str, Writer] = {}
        self._atomic: AtomicWriter | None = None
        self._writers_lock = threading.Lock()
        try:
            admin: dict[str, Any] = {**self._settings, "error_cb": self._on_error}
            self._admin = AdminClient(admin)
        except KafkaException as error:
            raise ConfigError(f"Kafka settings: {error_text(error)}") from error

    @property
    def settings(self) -> Mapping[str, str | int | float | bool]:
        """The connection in librdkafka's words, with bootstrap.servers."""
        return self._settings

    @property
    def java_settings(self) -> dict[str, str]:
        """The connection in the words of Kafka's Java client, with bootstrap.servers."""
        return {**self.security, BOOTSTRAP_SERVERS: self.bootstrap}

    def _on_error(self, error: KafkaError) -> None:
        if error.code() in _REFUSED:
            self.trouble = error.str()

    def reachable(self, timeout: float = 5.0) -> bool:
        """Whether a broker answers within `timeout` seconds."""
        try:
            found = bool(self._admin.list_topics(timeout=max(timeout, 0.01)).brokers)
        except KafkaException:
            self._admin.poll(0)
            return False
        self.trouble = None
        return found

    def cluster_id(self) -> str | None:
        """None while no broker answers."""
        if self._cluster_id is None:
            try:
                self._cluster_id = self._admin.list_topics(timeout=2.0).cluster_id
            except KafkaException:
                return None
        return self._cluster_id

    def topics(self) -> list[str]:
        """All names but those of Kafka's own topics, sorted."""
        try:
            found = self._admin.list_topics(timeout=self.timeout).topics
        except KafkaException as error:
            raise self._failure("list the topics", error) from error
        return sorted(name for name in found if not name.startswith("__"))

    def partitions(self, topic: str) -> int | None:
        """Number of partitions of a topic; None if it does not exist."""
        found = self._layout(topic)
        return found[0] if found else None

    def topic_ids(self, names: Collection[str]) -> dict[str, str]:
        """Topic ids, which distinguish recreated topics; missing topics are absent."""
        try:
            return topic_ids(self._admin, names, self.timeout)
        except KafkaException as error:
            raise self._failure("ask for the ids of topics", error) from error

    def describe(self, topic: str) -> TopicInfo | None:
        """Layout and own settings of a topic; None if it does not exist."""
        layout = self._layout(topic)
        if layout is None:
            return None
        resource = ConfigResource(ResourceType.TOPIC, topic)
        futures = self._admin.describe_configs([resource], request_timeout=self.timeout)
        try:
            entries: Iterable[ConfigEntry] = futures[resource].result().values()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                return None
            raise self._failure(f"describe the topic {topic}", error) from error
        own = ConfigSource.DYNAMIC_TOPIC_CONFIG.value
        config = {
            entry.name: entry.value
            for entry in entries
            if entry.value is not None and entry.source in (own, ConfigSource.DYNAMIC_TOPIC_CONFIG)
        }
        return TopicInfo(topic, *layout, config=dict(sorted(config.items())))

    def _layout(self, topic: str) -> tuple[int, int] | None:
        try:
            found = self._admin.list_topics(topic=topic, timeout=self.timeout).topics[topic]
        except KafkaException as error:
            raise self._failure(f"look up the topic {topic}", error) from error
        if found.error is not None:
            if found.error.code() in (
                KafkaError.UNKNOWN_TOPIC_OR_PART,
                KafkaError._UNKNOWN_TOPIC,
                KafkaError.TOPIC_EXCEPTION,
            ):
                return None
            raise self._failure(f"look up the topic {topic}", KafkaException(found.error))
        if not found.partitions:
            return None
        return len(found.partitions), len(found.partitions[0].replicas)

    def create_topic(
        self,
        name: str,
        partitions: int = 1,
        replicas: int = 1,
        config: Mapping[str, str] | None = None,
        *,
        exists_ok: bool = False,
    ) -> bool:
        """Make a topic, whether it was made: False if it was there already and `exists_ok`.

        Returns when the topic can be used. Raises CatalogError if it exists, ConfigError where
        the broker rejects the name or a setting.
        """
        new = NewTopic(name, partitions, replicas, config=dict(config or {}))
        try:
            self._admin.create_topics([new], request_timeout=self.timeout)[name].result()
        except KafkaException as error:
            code = error.args[0].code()
            if code == KafkaError.TOPIC_ALREADY_EXISTS:
                if exists_ok:
                    return False
                raise CatalogError(f"the topic {name} exists already") from error
            if code in _REJECTED:
                raise ConfigError(f"cannot create the topic {name}: {error_text(error)}") from error
            raise self._failure(f"create the topic {name}", error) from error
        self._await_topic(name)
        # Known is not yet served: the broker becomes its leader a moment later. Nor is what one
        # broker knows known to the next: none is asked again whether there is the topic.
        places = [TopicPartition(name, partition) for partition in range(partitions)]
        self._partition_offsets(places, OffsetSpec.earliest())
        return True

    def create_topics(self, names: Sequence[str]) -> None:
        """Make topics of one partition that keep their records forever, in one request."""
        config = {"retention.ms": "-1"}
        topics = [NewTopic(name, 1, 1, config=config) for name in names]
        try:
            for future in self._admin.create_topics(topics, request_timeout=self.timeout).values():
                future.result()
        except KafkaException as error:
            raise self._failure(f"create the topics {', '.join(names)}", error) from error
        for name in names:
            self._await_topic(name)
        self._partition_offsets([TopicPartition(name, 0) for name in names], OffsetSpec.earliest())

    def _await_topic(self, name: str) -> None:
        self._await(lambda: self._layout(name) is not None, f"the topic {name} to appear")

    def delete_topics(self, names: Sequence[str]) -> None:
        """Requests deletion of topics without waiting; missing topics are ignored."""
        if names:
            self._admin.delete_topics(list(names), request_timeout=self.timeout)

    def delete_topic(self, name: str, *, missing_ok: bool = False) -> bool:
        """Delete a topic, whether there was one; returns when its name is free again."""
        try:
            self._admin.delete_topics([name], request_timeout=self.timeout)[name].result()
        except KafkaException as error:
            if error.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART:
                if missing_ok:
                    return False
                raise CatalogError(f"the topic {name} does not exist") from error
            raise self._failure(f"delete the topic {name}", error) from error
        self._await(lambda: self._layout(name) is None, f"the topic {name} to disappear")
        return True

    def _await(self, done: Callable[[], bool], what: str) -> None:
        if not await_condition(done, self.timeout, every=_RETRY_SECONDS):
            raise ExternalError(f"timed out waiting for {what}", retryable=True)

    def begin_offsets(self, topic: str) -> dict[int, int]:
        return self._offsets(topic, OffsetSpec.earliest())

    def end_offsets(self, topic: str) -> dict[int, int]:
        """The offset that each partition's next record will get."""
        return self._offsets(topic, OffsetSpec.latest())

    def all_end_offsets(self, topics: Iterable[str]) -> dict[str, dict[int, int]]:
        """End offsets of many topics in two requests; inaccessible topics have none."""
        found: dict[str, dict[int, int]] = {}
        try:
            known = self._admin.list_topics(timeout=self.timeout).topics
            wanted = {
                TopicPartition(name, p): OffsetSpec.latest()
                for name in set(topics) & known.keys()
                for p in known[name].partitions
            }
            ends = self._admin.list_offsets(wanted, request_timeout=self.timeout) if wanted else {}
        except KafkaException as error:
            raise self._failure("read where topics end", error) from error
        unknown = set()
        for place, end in ends.items():
            try:
                found.setdefault(place.topic, {})[place.partition] = end.result().offset
            except KafkaException:
                unknown.add(place.topic)
        return {topic: partitions for topic, partitions in found.items() if topic not in unknown}

    def offsets_at(self, topic: str, timestamp: int) -> dict[int, int]:
        """First offset with a timestamp of at least `timestamp` (ms), otherwise the end."""
        found = self._offsets(topic, OffsetSpec.for_timestamp(timestamp))
        end = self.end_offsets(topic)
        return {p: offset if offset >= 0 else end[p] for p, offset in found.items()}

    def _offsets(self, topic: str, spec: OffsetSpec) -> dict[int, int]:
        count = self.partitions(topic)
        if count is None:
            raise CatalogError(f"the topic {topic} does not exist")
        found = self._partition_offsets([TopicPartition(topic, p) for p in range(count)], spec)
        return {tp.partition: offset for tp, offset in found.items()}

    def _partition_offsets(
        self, partitions: Sequence[TopicPartition], spec: OffsetSpec
    ) -> dict[TopicPartition, int]:
        wanted = dict.fromkeys(partitions, spec)

        def ask() -> dict[TopicPartition, int]:
            futures = self._admin.list_offsets(wanted, request_timeout=self.timeout)
            return {tp: future.result().offset for tp, future in futures.items()}

        try:
            # A leader that changes or has just been made answers in a moment.
            return retried(ask, _leaderless, self.timeout, backoff=steady(_RETRY_SECONDS))
        except KafkaException as error:
            names = ", ".join(dict.fromkeys(tp.topic for tp in partitions))
            raise self._failure(f"read the offsets of {names}", error) from error

    def readers(self) -> dict[str, Readers]:
        """Readers of each topic that are members of consumer groups."""
        try:
            return readers(self._admin, self.timeout)
        except KafkaException as error:
            raise self._failure("list the consumer groups", error) from error

    def group_lag(self, group: str) -> int | None:
        """How many records a consumer group has not read, of the partitions in which it has
        committed an offset; None if it has committed none."""
        try:
            committed = group_offsets(self._admin, group, self.timeout)
        except KafkaException as error:
            raise self._failure(f"read the offsets of the group {group}", error) from error
        if not committed:
            return None
        ends = self.all_end_offsets(committed)
        return sum(
            max(0, ends[topic].get(partition, 0) - offset)
            for topic, partitions in committed.items()
            if topic in ends
            for partition, offset in partitions.items()
        )

    def produce(self, topic: str, records: Iterable[NewRecord]) -> int:
        """Write records and wait until all are acknowledged; how many there were."""
        return self._writer("produce").write(topic, records).count

    def insert(self, topic: str, records: Iterable[NewRecord]) -> dict[int, int]:
        """Write records and wait until they are acknowledged; the offset after the last of each
        partition. Many records of `produce` do not hold these up."""
        return self._writer("insert").write(topic, records).offsets

    def write_together(
        self, records: Mapping[str, Sequence[NewRecord]]
    ) -> dict[str, dict[int, int]]:
        """Write records of several topics in one transaction; the offset after the last of each
        partition, by topic."""
        with self._writers_lock:
            if self._atomic is None:
                self._atomic = AtomicWriter(self.bootstrap, self._settings, self.timeout)
        return self._atomic.write(records)

    def _writer(self, purpose: str) -> Writer:
        with self._writers_lock:
            if purpose not in self._writers:
                self._writers[purpose] = Writer(self.bootstrap, self._settings, self.timeout)
            return self._writers[purpose]

    def consume(
        self,
        topic: str,
        *,
        start: Mapping[int, int] | None = None,
        until: Mapping[int, int] | None = None,
        from_beginning: bool = True,
        limit: int | None = None,
        stop: Callable[[], bool] = lambda: False,
    ) -> Iterator[Record]:
        """Records of the topic as they arrive, partitions interleaved. Starts at the offsets
        `start` (per partition), otherwise at the topic's beginning or, not `from_beginning`, at its
        current end. Ends within 0.2 s after `stop` returns true, after `limit` records, or when
        each partition has reached its offset in `until`."""
        begin = self.begin_offsets(topic) if from_beginning else self.end_offsets(topic)
        positions = {**begin, **(start or {})}
        reader = Reader(self.bootstrap, self._settings, topic, positions, until, limit, stop)
        return reader.records()

    def close(self) -> None:
        with self._writers_lock:
            for writer in self._writers.values():
                writer.close()
            self._writers.clear()
            self._atomic = None

    def _failure(self, action: str, error: KafkaException) -> ExternalError:
        return failure(self.bootstrap, action, error)


def _leaderless(error: Exception) -> bool:
    return isinstance(error, KafkaException) and error.args[0].code() in _LEADERLESS

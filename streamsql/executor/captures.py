"""Captured tables in their database, and the connectors that capture them: Debezium's, in the
embedded Connect worker. A connector has a replication slot and a publication of its own, and that
of a source a schema for its signals, which have its name."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from streamsql.catalog import Capture, Catalog
from streamsql.config import CONNECT_TOPIC_PREFIX
from streamsql.connectors.client import ConnectClient
from streamsql.errors import ConfigError, ExternalError
from streamsql.executor.services.services import Services
from streamsql.waiting import await_condition

if TYPE_CHECKING:
    from streamsql.kafka.client import KafkaClient

SLOT_SECONDS = 30.0
"""How long a slot may be in use after its connector has stopped."""
CAPTURE_SECONDS = 60.0
"""How long a connector may take to start with another table."""
SIGNALS = "signals"
_NOTES, _HEARTBEATS = "snapshots", "heartbeats"
_SUCCEEDED = ("SUCCEEDED", "EMPTY")
_JSON = "org.apache.kafka.connect.json.JsonConverter"

_COLUMNS = """
SELECT a.attname,
  CASE t.typtype WHEN 'e' THEN 'text' WHEN 'd' THEN format_type(t.typbasetype, t.typtypmod)
    ELSE format_type(a.atttypid, a.atttypmod) END,
  array_position(i.indkey::int2[], a.attnum)
FROM pg_attribute a
JOIN pg_class c ON c.oid = a.attrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_type t ON t.oid = a.atttypid
LEFT JOIN pg_index i ON i.indrelid = a.attrelid AND i.indisprimary
WHERE n.nspname = ? AND c.relname = ? AND c.relkind IN ('r', 'p')
  AND a.attnum > 0 AND NOT a.attisdropped
ORDER BY a.attnum
"""
_LEVEL = "SELECT setting FROM pg_settings WHERE name = 'wal_level'"
_FREE = """
SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots
WHERE slot_name = ? AND NOT active
"""
_LAG = """
SELECT (pg_current_wal_lsn() - confirmed_flush_lsn)::bigint FROM pg_replication_slots
WHERE slot_name = ?
"""
_CAPTURED = """
SELECT 1 FROM pg_replication_slots s JOIN pg_publication_tables t ON t.pubname = ?
WHERE s.slot_name = ? AND s.active AND t.schemaname = ? AND t.tablename = ?
"""
_SLOT = "SELECT 1 FROM pg_replication_slots WHERE slot_name = ?"


def described(capture: Capture, services: Services) -> str:
    """The table's columns, as planner/ddl/captures.py reads them: JSON of name, type, and place in
    the primary key. ConfigError where the database does not write its log for captures."""
    if (level := _rows(services, capture, _LEVEL)) != [["logical"]]:
        raise ConfigError(
            f"{capture.host}:{capture.port} has wal_level={level[0][0]}: changes need 'logical'",
            hint="ALTER SYSTEM SET wal_level = 'logical'; and restart the database.",
        )
    return json.dumps(_rows(services, capture, _COLUMNS, capture.schema, capture.table))


def prefix(instance: str) -> str:
    """Of the names of all connectors of an engine that capture tables."""
    return f"streamsql_{instance}_"


def connector_name(capture: Capture, topic: str, instance: str) -> str:
    text = f"source {capture.origin}" if capture.origin else f"{capture.place} {topic}"
    return prefix(instance) + hashlib.sha256(text.encode()).hexdigest()[:16]


@dataclass(frozen=True)
class CaptureConnector:
    """A connector, and the tables that it captures, each with its topic: those of a source, or
    one."""

    name: str
    tables: tuple[tuple[Capture, str], ...]

    @property
    def login(self) -> Capture:
        return self.tables[0][0]

    @property
    def is_shared(self) -> bool:
        """Whether it is of a source: it adds tables while it runs."""
        return bool(self.login.origin)

    @property
    def notes(self) -> str:
        """The topic of signals and of Debezium's notifications about snapshots."""
        return _own_topic(self.name, _NOTES)

    @property
    def heartbeats(self) -> str:
        """The topic of heartbeats, by which the position in the database's log advances while the
        tables do not change."""
        return _own_topic(self.name, _HEARTBEATS)

    def routes(self) -> Iterator[tuple[str, str]]:
        """Patterns of the topics to which Debezium would write, and the topics that it writes."""
        yield rf"__debezium-heartbeat[.]{self.name}", self.heartbeats
        if not self.is_shared:
            yield rf"{self.name}[.].*", self.tables[0][1]
            return
        yield _topic(self.name, self.name, SIGNALS), self.notes
        for capture, topic in self.tables:
            yield _topic(self.name, capture.schema, capture.table), topic

    @property
    def config(self) -> dict[str, str]:
        """Its properties."""
        login = self.login
        config = {
            "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
            "tasks.max": "1",
            "database.hostname": login.host,
            "database.port": str(login.port),
            "database.dbname": login.database,
            "database.user": login.user,
            "database.password": login.password,
            "plugin.name": "pgoutput",
            "slot.name": self.name,
            "publication.name": self.name,
            "publication.autocreate.mode": "filtered",
            "table.include.list": ",".join(_pattern(c.schema, c.table) for c, _ in self.tables),
            "topic.prefix": self.name,
            "decimal.handling.mode": "string",
            "time.precision.mode": "connect",
            "interval.handling.mode": "string",
            "tombstones.on.delete": "true",
            "skipped.operations": "none",
            "poll.interval.ms": "50",
            "exactly.once.support": "required",
            "heartbeat.interval.ms": "5000",
            "heartbeat.action.query": "SELECT pg_logical_emit_message(false, 'streamsql', '')",
            "message.prefix.exclude.list": "streamsql",
            "key.converter": _JSON,
            "key.converter.schemas.enable": "false",
            "value.converter": _JSON,
            "value.converter.schemas.enable": "false",
        }
        config |= _routes(list(self.routes())) | (self._added_tables if self.is_shared else {})
        return config | ({"database.sslmode": login.sslmode} if login.sslmode else {})

    @property
    def _added_tables(self) -> dict[str, str]:
        """No snapshot is taken when the connector starts: each table is read when a signal says so,
        in pieces, between the changes of the log."""
        return {
            "snapshot.mode": "no_data",
            "signal.data.collection": f"{self.name}.{SIGNALS}",
            "incremental.snapshot.chunk.size": "10000",
            "incremental.snapshot.watermarking.strategy": "insert_delete",
            "notification.enabled.channels": "sink",
            "notification.sink.topic.name": self.notes,
            "post.processors": "reselect",
            "reselect.type": "io.debezium.processors.reselect.ReselectColumnsPostProcessor",
            "reselect.reselect.null.values": "false",
        }


def connectors_of(catalog: Catalog, instance: str) -> dict[str, CaptureConnector]:
    """The connectors that a catalog needs, by name."""
    found: dict[str, list[tuple[Capture, str]]] = {}
    for source in catalog.sources.values():
        if (capture := source.capture) is not None:
            name = connector_name(capture, source.topic.name, instance)
            found.setdefault(name, []).append((capture, source.topic.name))
    return {name: CaptureConnector(name, tuple(tables)) for name, tables in found.items()}


def _own_topic(connector: str, kind: str) -> str:
    return f"{CONNECT_TOPIC_PREFIX}{connector.removeprefix('streamsql_')}_{kind}"


def _pattern(schema: str, table: str) -> str:
    return f"{re.escape(schema)}[.]{re.escape(table)}"


def _topic(prefix: str, schema: str, table: str) -> str:
    """A pattern of the topic to which Debezium would write."""
    names = (re.sub(r"[^\w.\-]", "_", name, flags=re.ASCII) for name in (prefix, schema, table))
    return "[.]".join(map(re.escape, names))


def _routes(topics: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Transformations that write to other topics, by patterns of Debezium's."""
    config = {"transforms": ",".join(f"topic{n}" for n in range(len(topics)))}
    for number, (pattern, topic) in enumerate(topics):
        of = f"transforms.topic{number}"
        config[f"{of}.type"] = "org.apache.kafka.connect.transforms.RegexRouter"
        config |= {f"{of}.regex": pattern, f"{of}.replacement": topic}
    return config


def lag_bytes(capture: Capture, name: str, services: Services) -> int | None:
    """How much of the database's log a connector has not confirmed; None if there is no slot, or
    Spark's JVM, which has the driver, does not run. ExternalError if the database does not say."""
    if services.current_spark() is None:
        return None
    found = _rows(services, capture, _LAG, name)
    return int(found[0][0]) if found and found[0][0] is not None else None


def remove(client: ConnectClient, name: str, services: Services) -> None:
    """Ends a connector, and what it has made in the database: last the connector itself, so that
    this is repeated after a failure."""
    config = client.config(name)
    capture = Capture(
        config["database.hostname"],
        int(config["database.port"]),
        config["database.dbname"],
        "",
        "",
        config["database.user"],
        config["database.password"],
        config.get("database.sslmode", ""),
    )
    client.end(name)

    def is_free() -> bool:
        _rows(services, capture, _FREE, name)
        return not _rows(services, capture, _SLOT, name)

    if not await_condition(is_free, SLOT_SECONDS, every=0.2):
        raise ExternalError(f"the replication slot {name} is in use", retryable=True)
    _rows(services, capture, f'DROP PUBLICATION IF EXISTS "{name}"')
    _rows(services, capture, f'DROP SCHEMA IF EXISTS "{name}" CASCADE')
    for kind in (_NOTES, _HEARTBEATS):
        services.kafka.get().delete_topic(_own_topic(name, kind), missing_ok=True)
    client.delete(name)


# -- snapshots of the tables of a source ---------------------------------------------------------


class SnapshotState(Enum):
    """How far the rows of a captured table are in its topic."""

    PENDING = "PENDING"
    RUNNING = "RUNNING"
    COMPLETE = "COMPLETE"


class Snapshots:
    """The snapshots of a source's tables. A table is read once, by a signal: a row in a table of
    the connector's own, which the connector sees in the database's log. The signals are sent one
    after the other, so that each notification belongs to one."""

    def __init__(self, services: Services, connector: CaptureConnector) -> None:
        self._services, self.connector = services, connector
        self._read: dict[int, int] = {}
        self._ended: dict[str, str] = {}
        self.states: dict[str, SnapshotState] = {}
        """By the topic of a table."""

    def prepare(self) -> None:
        """Creates what the connector needs: the topic of heartbeats, and for a source the table of
        signals and the topic of notifications."""
        name, kafka = self.connector.name, self._services.kafka.get()
        hour = {"retention.ms": "3600000"}
        kafka.create_topic(self.connector.heartbeats, 1, -1, hour, exists_ok=True)
        if not self.connector.is_shared:
            return
        kafka.create_topic(self.connector.notes, 1, -1, {"retention.ms": "-1"}, exists_ok=True)
        self._rows(f'CREATE SCHEMA IF NOT EXISTS "{name}"')
        self._rows(
            f'CREATE TABLE IF NOT EXISTS "{name}".{SIGNALS} (id VARCHAR(64) PRIMARY KEY, '
            "type VARCHAR(32) NOT NULL, data VARCHAR(2048))"
        )

    def proceed(self) -> bool:
        """Sends the next signal if none is under way; whether all snapshots are complete.
        ExternalError while the connector does not run."""
        kafka, tables = self._services.kafka.get(), self.connector.tables
        ids = kafka.topic_ids([topic for _, topic in tables])
        self._read_notes(kafka)
        self.states = {topic: SnapshotState.PENDING for _, topic in tables}
        for capture, topic in tables:
            if topic not in ids:
                raise ExternalError(f"the topic {topic} does not exist", retryable=True)
            name = f"{capture.schema}.{capture.table}"
            signal = hashlib.sha256(f"{name} {topic} {ids[topic]}".encode()).hexdigest()[:32]
            attempt = 0
            while self._ended.get(f"{signal}-{attempt}", "SUCCEEDED") not in _SUCCEEDED:
                attempt += 1
            id = f"{signal}-{attempt}"
            if id not in self._ended:
                self.states[topic] = SnapshotState.RUNNING
                if self._send(id, capture) and attempt:
                    why = self._ended[f"{signal}-{attempt - 1}"]
                    raise ExternalError(f"the snapshot of {name} ended with {why}", retryable=True)
                return False
            self.states[topic] = SnapshotState.COMPLETE
        return True

    def _read_notes(self, kafka: KafkaClient) -> None:
        """How snapshots have ended, by the ids of their signals."""
        topic = self.connector.notes
        if kafka.partitions(topic) is None:
            return
        end = kafka.end_offsets(topic)
        for record in kafka.consume(topic, start=self._read, until=end):
            note = json.loads(record.value or b"{}")
            if note.get("type") == "TABLE_SCAN_COMPLETED":
                self._ended[note["id"]] = note["additional_data"]["status"]
        self._read = end

    def _send(self, id: str, capture: Capture) -> bool:
        """Whether it has not been sent before."""
        name = self.connector.name
        if self._rows(f'SELECT 1 FROM "{name}".{SIGNALS} WHERE id = ?', id):
            return False
        # The connector would not know the table, or the signal would precede its slot.
        if not await_condition(lambda: self._captures(capture), CAPTURE_SECONDS, every=0.2):
            raise ExternalError(f"the connector {name} does not run", retryable=True)
        table = json.dumps(f'"{capture.schema}"."{capture.table}"')
        data = f'{{"type": "INCREMENTAL", "data-collections": [{table}]}}'
        insert = f"INSERT INTO \"{name}\".{SIGNALS} VALUES (?, 'execute-snapshot', ?)"
        self._rows(insert, id, data)
        return True

    def _captures(self, capture: Capture) -> bool:
        name = self.connector.name
        return bool(self._rows(_CAPTURED, name, name, capture.schema, capture.table))

    def _rows(self, sql: str, *parameters: str) -> list[list[str | None]]:
        return _rows(self._services, self.connector.login, sql, *parameters)


def _rows(
    services: Services, capture: Capture, sql: str, *parameters: str
) -> list[list[str | None]]:
    from py4j.protocol import Py4JJavaError

    from streamsql.executor.spark.bridge import Bridge
    from streamsql.executor.spark.drivers import database_driver
    from streamsql.executor.spark.failures import JVM_FAILURES

    session = services.spark.get().start()
    login = capture.url, capture.user, capture.password
    try:
        return Bridge.of(session).database_rows(*login, database_driver(session), sql, parameters)
    except JVM_FAILURES as error:
        java = error.java_exception if isinstance(error, Py4JJavaError) else None
        raise ExternalError(
            f"the database {capture.database} at {capture.host}:{capture.port} cannot be used",
            retryable=True,
            detail=str(java.getMessage() if java else error),
        ) from error

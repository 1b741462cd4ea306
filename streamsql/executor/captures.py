"""Captured tables in their database, and the connectors that capture them: Debezium's, in the
embedded Connect worker. A connector has a replication slot and a publication of its own, which have
its name."""

from __future__ import annotations

import hashlib
import json
import re

from streamsql.catalog import Capture
from streamsql.connectors.client import ConnectClient
from streamsql.errors import ConfigError, ExternalError
from streamsql.executor.services.services import Services
from streamsql.waiting import await_condition

SLOT_SECONDS = 30.0
"""How long a slot may be in use after its connector has stopped."""
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
    text = f"{capture.place} {topic}"
    return prefix(instance) + hashlib.sha256(text.encode()).hexdigest()[:16]


def connector_config(capture: Capture, topic: str, name: str) -> dict[str, str]:
    """The properties of a connector that writes the changes of a table to a topic."""
    config = {
        "connector.class": "io.debezium.connector.postgresql.PostgresConnector",
        "tasks.max": "1",
        "database.hostname": capture.host,
        "database.port": str(capture.port),
        "database.dbname": capture.database,
        "database.user": capture.user,
        "database.password": capture.password,
        "plugin.name": "pgoutput",
        "slot.name": name,
        "publication.name": name,
        "publication.autocreate.mode": "filtered",
        "table.include.list": f"{re.escape(capture.schema)}[.]{re.escape(capture.table)}",
        "topic.prefix": name,
        "transforms": "topic",
        "transforms.topic.type": "org.apache.kafka.connect.transforms.RegexRouter",
        "transforms.topic.regex": ".*",
        "transforms.topic.replacement": topic,
        "decimal.handling.mode": "string",
        "time.precision.mode": "connect",
        "interval.handling.mode": "string",
        "tombstones.on.delete": "true",
        "skipped.operations": "none",
        "poll.interval.ms": "50",
        "exactly.once.support": "required",
        "key.converter": _JSON,
        "key.converter.schemas.enable": "false",
        "value.converter": _JSON,
        "value.converter.schemas.enable": "false",
    }
    return config | ({"database.sslmode": capture.sslmode} if capture.sslmode else {})


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
    client.delete(name)


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

"""Words that the grammar does not know: names and values of WITH."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.formats import FORMATS

WITH_PROPERTIES: dict[str, str] = {
    "KAFKA_TOPIC": "the topic's name",
    "VALUE_FORMAT": "how values are written",
    "KEY_FORMAT": "how keys are written",
    "FORMAT": "of keys and values alike",
    "PARTITIONS": "of a new topic",
    "REPLICAS": "of a new topic",
    "RETENTION_MS": "how long the topic keeps records",
    "TIMESTAMP": "the column with the event time",
    "TIMESTAMP_FORMAT": "the pattern of a TIMESTAMP column of text",
    "KEY_DELIMITER": "between the columns of a DELIMITED key",
    "VALUE_DELIMITER": "between the columns of a DELIMITED value",
    "WRAP_SINGLE_VALUE": "whether a lone value column is written in a record",
    "WINDOW_TYPE": "the topic's keys are windowed",
    "WINDOW_SIZE": "the size of the keys' window",
    "TIMESTAMP_PRECISION": "of changes of a database: what numbers of TIMESTAMPs count",
    "STATE_TTL": "how long joins of streams keep rows: '1 HOUR', FOREVER",
    "TIME_PRECISION": "of changes of a database: what numbers of TIMEs count",
    "DECIMAL_HANDLING_MODE": "of changes of a database: how DECIMALs are written",
    "UNAVAILABLE_VALUES": "of changes of a database: KEEP large values that have not changed",
    "VALUE_SCHEMA_ID": "the registered schema of the values",
    "KEY_SCHEMA_ID": "the registered schema of the keys",
    "VALUE_SCHEMA_FULL_NAME": "the name of the values' record or message",
    "KEY_SCHEMA_FULL_NAME": "the name of the keys' record or message",
    "CONNECTION": "of a sink: FILE; of a look-up table: FILE, JDBC",
    "PATH": "of a sink: the folder of its files; of a look-up table: its file or folder",
    "PARTITION_BY": "of a sink: the columns whose values are folders",
    "COMMIT_INTERVAL": "of a sink: how long rows are gathered for files: '60 SECONDS'",
    "URL": "of a look-up table: the database, 'jdbc:postgresql://host/db'",
    "DBTABLE": "of a look-up table: its name in the database",
    "USER": "of a look-up table: who asks the database",
    "PASSWORD": "of a look-up table: where the password is, '${env:NAME}'",
    "CACHE_TTL": "of a look-up table: how old what is known may be: '1 MINUTE'",
    "CACHE_ROWS": "of a look-up table: how many of a database's rows are known at most",
    "MAX_LOOKUPS_PER_SECOND": "of a look-up table: how often its database is asked at most",
    "VALUE_AVRO_SCHEMA_FULL_NAME": "an older VALUE_SCHEMA_FULL_NAME",
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "how values tell null from zero",
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION": "how keys tell null from zero",
}
"""Names of WITH (..), the usual first, and what they say."""

_CONNECTIONS = {"FILE": "", "JDBC": ""}
_WINDOW_TYPES = {"TUMBLING": "", "HOPPING": "", "CUMULATING": "", "SESSION": ""}
_NULLABLE = {"OPTIONAL": "", "WRAPPER": ""}
_DELIMITERS = {"TAB": "", "SPACE": "", "|": ""}

TABLE_FUNCTION_HINT = "(one row each)"


def with_values(name: str) -> Mapping[str, str]:
    """The values that a property of WITH can have, where they are few."""
    if name.endswith("NULLABLE_REPRESENTATION"):
        return _NULLABLE
    if name.endswith("DELIMITER"):
        return _DELIMITERS
    if name == "CONNECTION":
        return _CONNECTIONS
    if name == "WINDOW_TYPE":
        return _WINDOW_TYPES
    if name.endswith("FORMAT") and name != "TIMESTAMP_FORMAT":
        return {format.name: "" for format in FORMATS.values()}
    return {}

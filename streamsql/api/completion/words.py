"""Words outside of the grammar: names and values of WITH."""

from __future__ import annotations

from collections.abc import Mapping

from streamsql.formats import FORMATS

WITH_PROPERTIES: dict[str, str] = {
    "KAFKA_TOPIC": "name of the topic",
    "VALUE_FORMAT": "format of values",
    "KEY_FORMAT": "format of keys",
    "FORMAT": "format of keys and values",
    "PARTITIONS": "partitions of a new topic",
    "REPLICAS": "replicas of a new topic",
    "RETENTION_MS": "retention of the topic",
    "TIMESTAMP": "column with the event time",
    "TIMESTAMP_FORMAT": "pattern of a TIMESTAMP column of text",
    "KEY_DELIMITER": "delimiter of a DELIMITED key",
    "VALUE_DELIMITER": "delimiter of DELIMITED values",
    "WRAP_SINGLE_VALUE": "whether records wrap a single value column",
    "WINDOW_TYPE": "window type of the topic's keys",
    "WINDOW_SIZE": "window size of the topic's keys",
    "TIMESTAMP_PRECISION": "CDC: unit of numeric TIMESTAMPs",
    "STATE_TTL": "how long stream-stream joins keep rows: '1 HOUR', FOREVER",
    "TIME_PRECISION": "CDC: unit of numeric TIMEs",
    "DECIMAL_HANDLING_MODE": "CDC: encoding of DECIMALs",
    "UNAVAILABLE_VALUES": "CDC: KEEP large values that a change omits",
    "VALUE_SCHEMA_ID": "id of the value schema",
    "KEY_SCHEMA_ID": "id of the key schema",
    "VALUE_SCHEMA_FULL_NAME": "name of the value's record or message",
    "KEY_SCHEMA_FULL_NAME": "name of the key's record or message",
    "CONNECTION": "of a sink: FILE, JDBC, ICEBERG; of a lookup table: FILE, JDBC; POSTGRES",
    "PATH": "of a sink: folder; of a lookup table: file or folder",
    "PARTITION_BY": "of a sink: columns; in Iceberg transforms too: days(ts)",
    "COMMIT_INTERVAL": "of a sink: rows of this time are written together: '60 SECONDS'",
    "URL": "of a sink or a lookup table: database, 'jdbc:postgresql://host/db'",
    "DBTABLE": "of a lookup table: its name in the database",
    "TABLE": "of a sink: its name in the database, in Iceberg with its namespace",
    "MODE": "of a sink in a table: UPSERT, APPEND",
    "USER": "of a sink or a lookup table: database user",
    "PASSWORD": "of a sink or a lookup table: reference to the password, '${env:NAME}'",
    "BATCH_ROWS": "of a sink in a database: maximum number of rows in a transaction",
    "CATALOG": "of a sink in Iceberg: HADOOP, JDBC, REST",
    "WAREHOUSE": "of a sink in Iceberg: folder of its tables",
    "SNAPSHOT_RETENTION": "of a sink in Iceberg: how long snapshots are kept: '6 HOURS'",
    "COLUMNS": "of a sink in Iceberg: columns and their names there: '*, name AS customer'",
    "DROP_COLUMNS": "of a sink in Iceberg: columns that it has written, and that are dropped",
    "KEEP_COLUMNS": "of a sink in Iceberg: columns that no added column continues",
    "PART_OF": "of a sink that a sink FROM ALL TABLES has created: name of the latter",
    "CACHE_TTL": "of a lookup table: maximum age of cached rows: '1 MINUTE'",
    "CACHE_ROWS": "of a lookup table: maximum number of cached rows",
    "MAX_LOOKUPS_PER_SECOND": "of a lookup table: maximum database queries per second",
    "VALUE_AVRO_SCHEMA_FULL_NAME": "an older VALUE_SCHEMA_FULL_NAME",
    "VALUE_PROTOBUF_NULLABLE_REPRESENTATION": "encoding of nulls in values",
    "KEY_PROTOBUF_NULLABLE_REPRESENTATION": "encoding of nulls in keys",
}
"""Property names of WITH (..) and their descriptions, the most common first."""

_CONNECTIONS = {"FILE": "", "JDBC": "", "ICEBERG": "sinks only", "POSTGRES": "sources only"}
_WINDOW_TYPES = {"TUMBLING": "", "HOPPING": "", "CUMULATING": "", "SESSION": ""}
_NULLABLE = {"OPTIONAL": "", "WRAPPER": ""}
_DELIMITERS = {"TAB": "", "SPACE": "", "|": ""}

TABLE_FUNCTION_HINT = "(one row each)"


def with_values(name: str) -> Mapping[str, str]:
    """Values of a WITH property with few alternatives."""
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

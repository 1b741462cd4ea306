"""ksqlDB's messages where streamsql's differ.

Tools written for ksqlDB search messages for its sentences. A rejection with another message has a
code, and under it ksqlDB's sentence with the same parameters in braces. Three are set when the
message is built: `{line}` and `{column}`, both counted from 1, and `{statement}`, the text of the
statement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

_PULL_HELP = (
    " See https://cnfl.io/queries for more info.\n"
    "Add EMIT CHANGES if you intended to issue a push query."
)
_SYNTAX = "line {{line}}:{{column}}: Syntax Error\n{}\nStatement: {{statement}}"

SENTENCES: Mapping[str, str] = {
    # Text and names
    "unknown-statement": _SYNTAX.format("Unknown statement '{token}'"),
    "misspelt-statement": _SYNTAX.format("Unknown statement '{token}'\nDid you mean '{meant}'?"),
    "statement-incomplete": _SYNTAX.format(
        "Syntax error at or near \";\"\n'}}', ']', or ')' is missing"
    ),
    "unexpected-token": _SYNTAX.format("Syntax error at or near '{token}' at line {line}:{column}"),
    "expected-token": _SYNTAX.format("Expecting {expected}"),
    "reserved-word": _SYNTAX.format(
        '"{token}" is a reserved keyword and it can\'t be used as an identifier. '
        "You can use it as an identifier by escaping it as '{token}' "
    ),
    "cannot-prepare": "Failed to prepare statement: {reason}",
    "source-name": (
        "Illegal argument at Line: {line}, Col: {column}. "
        "Source names may only contain alphanumeric values, '_' or '-'. Got: '{name}'"
    ),
    "decimal-scale": "DECIMAL precision must be >= scale: DECIMAL({precision},{scale})",
    "unknown-source": "Exception while preparing statement: {name} does not exist.",
    "ambiguous-column": (
        "Exception while preparing statement: Line: {line}, Col: {column}: "
        "Column '{name}' is ambiguous. "
        "Could be {candidates}."
    ),
    "condition": "Error in {clause} expression: {reason}\nStatement: {condition}",
    "compared-with-null": (
        "Comparison with NULL not supported: {left} {operator} {right}\n"
        "Use 'IS NULL' or 'IS NOT NULL' instead."
    ),
    "case-default": (
        "Invalid Case expression. Type for the default clause should be the same as for 'THEN' "
        "clauses.\nTHEN type: {then}.\nDEFAULT type: {default}."
    ),
    "subscript": "Subscript expression ({expression}) do not apply to {type}.",
    "predicate": (
        "{prefix}operator does not exist: {target} = {given} ({expression})\n"
        "Hint: You might need to add explicit type casts."
    ),
    # Streams, tables and their formats
    "map-key": (
        "Map keys, including types that contain maps, are not supported as they may lead to "
        "unexpected behavior due to inconsistent serialization. Key column name: {key}. "
        "Column type: {type}. See https://github.com/confluentinc/ksql/issues/6621 for more."
    ),
    "format": (
        "{side} format does not support schema.\nformat: {format}\n"
        "schema: Persistence{{columns={columns}, features=[]}}\nreason: {reason}"
    ),
    "timestamp-column": (
        "Timestamp column, {name}, should be LONG(INT64), TIMESTAMP, or a String with a "
        "timestamp_format specified"
    ),
    "topic-differs": (
        "A Kafka topic with the name '{name}' already exists, with different partition/replica "
        "configuration than required. KSQL expects {partitions} partitions (topic has "
        "{found_partitions}), and {replicas} replication factor (topic has {found_replicas})."
    ),
    "replaced-schema": (
        "Cannot upgrade data source: DataSource '{name}' has schema = {old} which is not "
        "upgradeable to {new}. ({reason})"
    ),
    # Queries
    "key-not-selected": (
        "Key missing from projection (ie, SELECT). See https://cnfl.io/2LV7ouS.\n"
        "The query used to build {sink} must include the {keys} in its projection "
        "(eg, SELECT {example}...).{note}"
    ),
    "key-selected-twice": (
        "The projection contains a key column ({key}) more than once, aliased as: {aliases}.\n"
        "Each key column must only be in the projection once. If you intended to copy the key "
        "into the value, then consider using the AS_VALUE function to indicate which key "
        "reference should be copied."
    ),
    "select-not-grouped": (
        "Non-aggregate SELECT expression(s) not part of GROUP BY: {expressions}\n"
        "Either add the column(s) to the GROUP BY or remove them from the SELECT."
    ),
    "having-not-grouped": (
        "Non-aggregate HAVING expression not part of GROUP BY: {expression}\n"
        "Consider switching the HAVING clause to a WHERE clause before the GROUP BY."
    ),
    "window-bounds": (
        "Window bounds column {bound} can only be used in the SELECT clause of windowed "
        "aggregations and can not be passed to aggregate functions.\n"
        "See https://github.com/confluentinc/ksql/issues/4397"
    ),
    "windowed-repartition": (
        "Implicit repartitioning of windowed sources is not supported. "
        "See https://github.com/confluentinc/ksql/issues/4385."
    ),
    "emit-final-disabled": (
        "Suppression is currently disabled. You can enable it by setting ksql.suppress.enabled to "
        "true"
    ),
    # Joins
    "self-join": "Can not join '{source}' to '{source}': self joins are not yet supported.",
    "source-joined-twice": (
        "N-way joins do not support multiple occurrences of the same source. Source: '{source}'."
    ),
    "joined-source": (
        "A join criteria is expected to reference the source ({joined}) in the FROM clause, "
        "instead the right source references {right} and the left source references {left}"
    ),
    "several-conditions": (
        "Invalid join condition: joins on multiple conditions are not yet supported. "
        "Got {condition}."
    ),
    "join-condition": "Unsupported join expression: {condition}",
    "join-windows": "Incompatible windowed sources.\nLeft source: {left}\nRight source: {right}",
    # Pull queries
    "pull-clause": "Pull queries don't support {clause} clauses." + _PULL_HELP,
    "pull-columns": (
        "Pull queries don't support the following columns in {clause} clauses: {columns}\n"
        + _PULL_HELP
    ),
    "pull-limit": "Pull queries don't support negative integers in the LIMIT clause." + _PULL_HELP,
    "pull-limit-disabled": (
        "LIMIT clause in pull queries is currently disabled. "
        "You can enable them by setting ksql.query.pull.limit.clause.enabled=true." + _PULL_HELP
    ),
    "pull-disabled": (
        "Pull queries are disabled." + _PULL_HELP + "\n"
        "Please set ksql.pull.queries.enable=true to enable this feature."
    ),
    "pull-of-stream": (
        "Pull queries on streams are disabled. To create a push query on the stream, add EMIT "
        "CHANGES to the end. To enable pull queries on streams, set the "
        "ksql.query.pull.stream.enabled config to 'true'."
    ),
    "pull-of-table": (
        "The {table} table isn't queryable. To derive a queryable table, you can do "
        "'CREATE TABLE QUERYABLE_{name} AS SELECT * FROM {name}'." + _PULL_HELP
    ),
    "pull-where": "{reason}. " + _PULL_HELP,
    # INSERT INTO .. VALUES
    "cannot-insert": "Failed to insert values into '{source}'. {reason}",
    "insert-target": (
        "Cannot insert values into an unknown stream/table: {name}\n"
        "Did you mean {other}? Hint: {advice}"
    ),
    "inserts-disabled": (
        "The server has disabled INSERT INTO ... VALUES functionality. To enable it, restart your "
        "ksqlDB server with 'ksql.insert.into.values.enabled'=true"
    ),
    "insert-into-windowed": "Cannot insert values into windowed stream/table!",
    "insert-column": "Unsupported column reference in insert value: {value}",
    "insert-type": "Expected type {type} for field {field} but got {given}({value}){advice}",
    "inserts-target": "Cannot insert values into an unknown stream: {name}",
    "inserts-value": "Can't coerce a field of type class {given} ({value}) into type {type}",
    "unknown-property": (
        "Not recognizable as ksql, streams, consumer, or producer property: '{name}'"
    ),
    "property-value": "Invalid value {value} for configuration {name}",
    "described-source": "Could not find STREAM/TABLE '{name}' in the Metastore",
    "explained-query": (
        "Query with id:{id} does not exist, use SHOW QUERIES to view the full set of queries."
    ),
    "explained-statement": "The provided statement does not run a ksql query",
    "printed-topic": (
        "Could not find topic '{topic}', or the KSQL user does not have permissions to list the "
        "topic. Topic names are case-sensitive."
    ),
    "connector-invalid": "Validation error: {reasons}",
    "no-argument": "No {name} in arguments",
    "malformed-json": "Malformed JSON in request",
    "malformed-row": "Invalid JSON in inserts stream",
    "push-queries": "Maximum number of push queries exceeded",
    "query-endpoint": "SELECT and PRINT queries must use the /query endpoint",
    "statement-type": "Statement type `{type}' not supported for this resource",
    "delete-pattern": "Invalid pattern: {pattern}",
}


@dataclass(frozen=True)
class Sentence:
    """ksqlDB's sentence for a rejection, by its code."""

    code: str
    parameters: Mapping[str, object] = field(default_factory=dict)

    def text(self, line: int = 1, column: int = 1, statement: str = "") -> str:
        told = {**self.parameters, "line": line, "column": column, "statement": statement}
        return SENTENCES[self.code].format_map(told)


def says(code: str, **parameters: object) -> Sentence:
    """ksqlDB's sentence for a rejection; `code` is a key of SENTENCES."""
    return Sentence(code, parameters)

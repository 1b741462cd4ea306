"""Schema inference: columns from a registered schema, and schemas of results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from streamsql.errors import PlanError, UnsupportedError
from streamsql.formats import Format, format_named
from streamsql.formats.options import SCHEMA_ID
from streamsql.formats.registered import SchemaText
from streamsql.nodes import ColumnRole, CreateSource
from streamsql.planner.plans.statements import SchemaLookup
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.properties import DEFAULT_KEY_FORMAT, DEFAULT_VALUE_FORMAT, get_text
from streamsql.schema import Column, FormatSpec, Namespace, Schema

KEY_COLUMN = "ROWKEY"
"""Name of an inferred unwrapped key."""
VALUE_COLUMN = "ROWVAL"
"""The same for a value with WRAP_SINGLE_VALUE=false."""

_KEYS = (ColumnRole.KEY, ColumnRole.PRIMARY_KEY)
_HEADERS = (ColumnRole.HEADERS, ColumnRole.HEADER)


def inferred_columns(
    statement: CreateSource,
    properties: WithProperties,
    session: Mapping[str, str],
    schemas: SchemaLookup | None,
) -> list[Column]:
    """The columns of the sides for which the statement lists none, if their formats have registered
    schemas. PlanError if there is no schema."""
    listed = {
        Namespace.KEY: any(c.role in _KEYS for c in statement.columns),
        Namespace.VALUE: any(c.role not in (*_KEYS, *_HEADERS) for c in statement.columns),
    }
    defaults = {
        Namespace.KEY: get_text(session, DEFAULT_KEY_FORMAT) or "KAFKA",
        Namespace.VALUE: get_text(session, DEFAULT_VALUE_FORMAT),
    }
    found: list[Column] = []
    for namespace, is_listed in listed.items():
        side = namespace.value
        name = properties.format_name(side) or defaults[namespace]
        if name is None:
            continue
        side_format = format_named(name)
        _check_id(properties, side, is_listed)
        if not is_listed and side_format.schema_type is not None:
            found += _columns(properties, namespace, side_format, schemas)
    return found


def _check_id(properties: WithProperties, side: str, is_listed: bool) -> None:
    if is_listed and properties.schema_id(side) is not None:
        raise PlanError(
            f"Table elements and {side}_SCHEMA_ID cannot both exist for create statement.",
            hint="Leave the columns out: they are those of the schema.",
            span=properties.span(f"{side}_SCHEMA_ID"),
        )


def _columns(
    properties: WithProperties,
    namespace: Namespace,
    side_format: Format,
    schemas: SchemaLookup | None,
) -> list[Column]:
    side, topic = namespace.value, properties.kafka_topic
    if schemas is None:
        raise UnsupportedError(
            f"the {side.lower()}'s columns are not known without the schema registry",
            hint="List the columns, or run the statement instead of checking it.",
        )
    id = properties.schema_id(side)
    schema = schemas.schema(f"{topic}-{side.lower()}" if id is None else id)
    if schema is None:
        raise _missing(properties, side, id)
    check_type(schema, side_format)
    if namespace is Namespace.KEY:
        lone = KEY_COLUMN if side_format.whole_keys else None
    else:
        lone = VALUE_COLUMN if properties.wrap is False and side_format.whole_keys else None
    options = properties.schema_options(side)
    columns = side_format.columns_of(schema, options, lone, upper=id is None)
    return [Column(name, kind, namespace) for name, kind in columns]


def check_type(schema: SchemaText, side_format: Format) -> None:
    """PlanError for a schema of another format."""
    if schema.type != side_format.schema_type:
        raise PlanError(
            f"the registered schema is of type {schema.type}, but the format is {side_format.name}"
        )


def _missing(properties: WithProperties, side: str, id: int | None) -> PlanError:
    topic = properties.kafka_topic
    what = f"message {side.lower()}s on topic '{topic}'"
    if id is not None:
        return PlanError(
            f"Schema for {what} with the id {id} does not exist in the Schema Registry.",
            span=properties.span(f"{side}_SCHEMA_ID"),
        )
    hint = f"Register a schema under the subject {topic}-{side.lower()}, or list the columns."
    if side == "KEY":
        hint += " For a stream without a key add KEY_FORMAT='NONE'."
    return PlanError(
        f"Schema for {what} does not exist in the Schema Registry.",
        detail=f"Subject: {topic}-{side.lower()}",
        hint=hint,
        span=properties.span("KAFKA_TOPIC"),
    )


def check_written_by(
    schema: Schema, key: FormatSpec, value: FormatSpec, schemas: SchemaLookup | None
) -> None:
    """PlanError if KEY_SCHEMA_ID or VALUE_SCHEMA_ID name a schema that does not start with the
    query's columns. Without a registry nothing is checked."""
    for spec, columns, side in ((key, schema.key, "key"), (value, schema.value, "value")):
        id = spec.properties.get(SCHEMA_ID)
        if id is None or schemas is None:
            continue
        found = schemas.schema(int(id))
        if found is None:
            raise PlanError(f"Schema with the id {id} does not exist in the Schema Registry.")
        side_format = format_named(spec.name)
        check_type(found, side_format)
        lone = _lone(side, columns, spec, side_format)
        registered = side_format.columns_of(found, spec.properties, lone, upper=False)
        _check_agree(columns, [Column(*pair) for pair in registered], side)


def _lone(
    side: str, columns: Sequence[Column], spec: FormatSpec, side_format: Format
) -> str | None:
    """The name of the only column of an unwrapped schema."""
    if len(columns) != 1 or not side_format.whole_keys:
        return None
    whole = side == "key" or spec.properties.get("wrap") == "false"
    return columns[0].name if whole else None


def _check_agree(columns: Sequence[Column], registered: Sequence[Column], side: str) -> None:
    given = [Column(c.name, c.type) for c in columns]
    wrong = [c for i, c in enumerate(given) if registered[i : i + 1] != [c]]
    if wrong:
        raise PlanError(
            f"The following {side} columns are changed, missing or reordered: "
            f"[{_shown(wrong)}]. Schema from schema registry is [{_shown(registered)}]",
            hint="Name the columns as the schema does, in its order, and CAST them to its types.",
        )


def _shown(columns: Sequence[Column]) -> str:
    return ", ".join(map(str, columns))

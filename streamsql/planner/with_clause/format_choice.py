"""Which format a source's key and value have: from WITH, a source it derives from, or a default."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from streamsql.errors import ConfigError, PlanError, StreamSQLError
from streamsql.formats import Format, Side, format_named
from streamsql.formats.avro_schema import NAMESPACE
from streamsql.formats.changes import ChangeFormat
from streamsql.formats.options import FULL_NAME, REPORTED_NAMES, SCHEMA_ID
from streamsql.ksqldb import says
from streamsql.planner.with_clause.changes import change_options, change_specs
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.properties import (
    DEFAULT_KEY_FORMAT,
    DEFAULT_VALUE_FORMAT,
    WRAP_SINGLE_VALUES,
    get_bool,
    get_text,
)
from streamsql.schema import Column, FormatSpec, Schema
from streamsql.types import contains_map, quote, to_sql


def check_formats(properties: WithProperties) -> None:
    """The formats and delimiters of WITH must exist, whether they are used or not."""
    for side in ("KEY", "VALUE"):
        name = properties.format_name(side)
        if name is not None:
            _options(properties, side, _named(properties, side, name), inherited=None)


def formats_of_source(
    properties: WithProperties, session: Mapping[str, str], schema: Schema
) -> tuple[FormatSpec, FormatSpec]:
    """The key's and the value's format of CREATE STREAM | TABLE."""
    key = properties.format_name("KEY") or get_text(session, DEFAULT_KEY_FORMAT) or "KAFKA"
    value = properties.format_name("VALUE") or get_text(session, DEFAULT_VALUE_FORMAT)
    if value is None:
        raise ConfigError(
            "Statement is missing the 'VALUE_FORMAT' property from the WITH clause. "
            f"Either provide one or set a default via the '{DEFAULT_VALUE_FORMAT}' config.",
            hint="Add VALUE_FORMAT='JSON' to the WITH clause.",
        )
    value_format = _named(properties, "VALUE", value)
    if isinstance(value_format, ChangeFormat):
        return _of_changes(properties, session, value_format, schema)
    change_options(properties, None)
    _refuse_changes(properties, "KEY", key)
    return (
        _key_spec(properties, key, schema, inherited=None),
        _value_spec(properties, session, value, schema, inherited=None),
    )


def _of_changes(
    properties: WithProperties,
    session: Mapping[str, str],
    change_format: ChangeFormat,
    schema: Schema,
) -> tuple[FormatSpec, FormatSpec]:
    spec = change_specs(properties, change_format)
    check_key_types(schema.key)
    value = _value_spec(properties, session, spec.name, schema, inherited=None)
    return spec, replace(value, properties={**value.properties, **spec.properties})


def _refuse_changes(properties: WithProperties, side: str, name: str) -> None:
    """Raises ConfigError for a CDC format of written records or of keys."""
    if _named(properties, side, name).written_as is not None:
        raise ConfigError(
            f"{name.upper()} is read alone, as the VALUE_FORMAT of CREATE STREAM | TABLE over a "
            "topic.",
            hint=f"Choose another {side}_FORMAT, such as JSON.",
            span=properties.span(f"{side}_FORMAT") or properties.span("FORMAT"),
        )


def _inherited(spec: FormatSpec) -> FormatSpec:
    """Format of a result over a source with that format."""
    other = format_named(spec.name).written_as
    return spec if other is None else FormatSpec(other)


def formats_of_sink(
    properties: WithProperties,
    session: Mapping[str, str],
    schema: Schema,
    source_key: FormatSpec,
    source_value: FormatSpec,
) -> tuple[FormatSpec, FormatSpec]:
    """The formats of a query's result: given, or those of its left-most source."""
    source_key, source_value = _inherited(source_key), _inherited(source_value)
    key = properties.format_name("KEY") or source_key.name
    if not schema.key:
        explicit = properties.text("KEY_FORMAT")
        if explicit is not None and explicit.upper() != "NONE":
            raise PlanError(
                "Key format specified for stream without key columns.",
                hint="Leave KEY_FORMAT out.",
                span=properties.span("KEY_FORMAT"),
            )
        key = "NONE"
    elif key.upper() == "NONE" and properties.format_name("KEY") is None:
        key = get_text(session, DEFAULT_KEY_FORMAT) or "KAFKA"
    value = properties.format_name("VALUE") or source_value.name
    change_options(properties, None)
    _refuse_changes(properties, "KEY", key)
    _refuse_changes(properties, "VALUE", value)
    return (
        _key_spec(properties, key, schema, inherited=source_key),
        _value_spec(properties, session, value, schema, inherited=source_value),
    )


def _key_spec(
    properties: WithProperties, name: str, schema: Schema, inherited: FormatSpec | None
) -> FormatSpec:
    spec_format = _named(properties, "KEY", name)
    options = _options(properties, "KEY", spec_format, inherited)
    check_key_types(schema.key)
    spec_format.check(schema.key, Side.KEY)
    return FormatSpec(spec_format.name, options)


def _value_spec(
    properties: WithProperties,
    session: Mapping[str, str],
    name: str,
    schema: Schema,
    inherited: FormatSpec | None,
) -> FormatSpec:
    spec_format = _named(properties, "VALUE", name)
    options = _options(properties, "VALUE", spec_format, inherited)
    spec_format.check(schema.value, Side.VALUE)
    wrap = _wrap(properties, session, spec_format, schema.value)
    if wrap is not None:
        options["wrap"] = str(wrap).lower()
    return FormatSpec(spec_format.name, options)


def _named(properties: WithProperties, side: str, name: str) -> Format:
    try:
        return format_named(name)
    except StreamSQLError as error:
        error.span = properties.span(f"{side}_FORMAT") or properties.span("FORMAT")
        raise


def _options(
    properties: WithProperties, side: str, spec_format: Format, inherited: FormatSpec | None
) -> dict[str, str]:
    """Options of one side's format; ConfigError for unsupported ones."""
    options = _delimiter(properties, side, spec_format, inherited)
    given = properties.schema_options(side)
    refused = [option for option in given if option not in spec_format.takes]
    if refused:
        raise _refused(properties, side, spec_format, refused)
    if given.get(FULL_NAME) == "":
        raise ConfigError(
            "fullSchemaName cannot be empty. Format configuration: {fullSchemaName=}",
            span=properties.span(properties.schema_property(side, FULL_NAME)),
        )
    return {**options, **given}


def _refused(
    properties: WithProperties, side: str, spec_format: Format, options: Sequence[str]
) -> ConfigError:
    name = properties.schema_property(side, options[0])
    span, hint = properties.span(name), f"Leave {name} out."
    if options[0] == SCHEMA_ID:
        return ConfigError(
            f"{side}_FORMAT should support schema inference when {name} is provided. "
            f"Current format is {spec_format.name}.",
            hint=hint,
            span=span,
        )
    shown = ", ".join(REPORTED_NAMES[option] for option in options)
    return ConfigError(
        f"{spec_format.name} does not support the following configs: [{shown}]",
        hint=hint,
        span=span,
    )


def key_record_name(source: str) -> str:
    """The full name of the Avro record that a key of several columns is, by ksqlDB's rule."""
    camel = "".join(word.capitalize() for word in re.split(r"[^A-Za-z0-9]+", source))
    return f"{NAMESPACE}.{camel if camel[:1].isalpha() else 'Ksql' + camel}Key"


def _delimiter(
    properties: WithProperties, side: str, spec_format: Format, inherited: FormatSpec | None
) -> dict[str, str]:
    """Options with the delimiter given, or that of a source of the same format."""
    delimiter = properties.delimiter(side)
    if delimiter is not None and not spec_format.has_delimiter:
        raise ConfigError(
            f"{spec_format.name} does not support the following configs: [delimiter]",
            hint=f"Leave {side}_DELIMITER out, or use the format DELIMITED.",
            span=properties.span(f"{side}_DELIMITER"),
        )
    if delimiter is None and inherited is not None and inherited.name == spec_format.name:
        delimiter = inherited.properties.get("delimiter")
    return {} if delimiter is None else {"delimiter": delimiter}


def _wrap(
    properties: WithProperties,
    session: Mapping[str, str],
    spec_format: Format,
    columns: Sequence[Column],
) -> bool | None:
    """Whether a lone value column is wrapped; None: the format's default."""
    wrap = properties.wrap
    if wrap is None:
        default = get_bool(session, WRAP_SINGLE_VALUES)
        lone = len(columns) == 1 and default in spec_format.wrap_options
        return default if lone else None
    span = properties.span("WRAP_SINGLE_VALUE")
    try:
        spec_format.check_wrap(wrap)
    except PlanError as error:
        error.span = span
        raise
    if len(columns) != 1:
        raise PlanError(
            "'WRAP_SINGLE_VALUE' is only valid for single-field value schemas",
            hint="Leave WRAP_SINGLE_VALUE out.",
            span=span,
        )
    return wrap


def check_key_types(key: Sequence[Column]) -> None:
    """PlanError where a key column is, or contains, a MAP."""
    for column in key:
        if contains_map(column.type):
            raise PlanError(
                "Map keys, including types that contain maps, are not supported as they may lead "
                "to unexpected behavior due to inconsistent serialization. "
                f"Key column name: {quote(column.name)}. Column type: {to_sql(column.type)}.",
                hint="Use a text form of the map, or the values that identify the row.",
                ksqldb=says("map-key", key=quote(column.name), type=to_sql(column.type)),
            )

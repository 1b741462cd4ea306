"""Formats of change data capture: how a source over them is declared."""

from __future__ import annotations

from streamsql.errors import ConfigError, PlanError, UnsupportedError
from streamsql.formats import FORMATS
from streamsql.formats.changes import OPTIONS, STREAM_COLUMNS, ChangeFormat
from streamsql.nodes import CreateSource
from streamsql.planner.with_clause.properties import WithProperties
from streamsql.schema import Column, FormatSpec, Kind, Schema


def tells_changes(name: str) -> bool:
    """Whether records of that format are changes of rows."""
    return FORMATS[name].written_as is not None


def change_specs(properties: WithProperties, change_format: ChangeFormat) -> FormatSpec:
    """The format of both sides: keys are read from the changes. ConfigError for other key
    formats."""
    key = properties.text("KEY_FORMAT")
    if key is not None and key.upper() != change_format.name:
        raise ConfigError(
            f"KEY_FORMAT does not go with VALUE_FORMAT='{change_format.name}': the key's columns "
            "are read out of the changes themselves.",
            hint="Leave KEY_FORMAT out.",
            span=properties.span("KEY_FORMAT"),
        )
    return FormatSpec(change_format.name, change_options(properties, change_format))


def change_options(
    properties: WithProperties, change_format: ChangeFormat | None
) -> dict[str, str]:
    """The encoding of values without a schema; ConfigError for other formats."""
    options = {}
    for name, (option, values) in OPTIONS.items():
        given = properties.text(name)
        if given is None:
            continue
        if change_format is None or name not in change_format.options:
            raise ConfigError(
                f"{name} is an option of {_formats_with(name)} alone.",
                hint=f"Leave {name} out.",
                span=properties.span(name),
            )
        if given.upper() not in values:
            raise properties.invalid(name, f"'{given}' is not one of {', '.join(values)}")
        options[option] = given.upper()
    return options


def _formats_with(option: str) -> str:
    """`the format A`, `the formats A and B`."""
    found = [n for n, f in FORMATS.items() if isinstance(f, ChangeFormat) and option in f.options]
    return f"the format{'s' if len(found) > 1 else ''} {' and '.join(found)}"


def check_change_source(
    statement: CreateSource, properties: WithProperties, schema: Schema, name: str
) -> None:
    """PlanError or UnsupportedError for unsupported sources of changes."""
    if statement.is_source:
        raise UnsupportedError(
            f"a SOURCE {statement.kind.value} over {name} cannot be served from its topic",
            hint=f"CREATE {statement.kind.value} without SOURCE, and CREATE TABLE .. AS SELECT * "
            "FROM it for key lookups.",
            span=statement.span,
        )
    if statement.kind is Kind.STREAM and properties.text("UNAVAILABLE_VALUES") is not None:
        raise ConfigError(
            "A stream has the changes as recorded, without previous rows.",
            hint="Leave UNAVAILABLE_VALUES out, or CREATE TABLE.",
            span=properties.span("UNAVAILABLE_VALUES"),
        )
    if properties.window is not None:
        raise ConfigError(
            f"{name} has no windowed keys.",
            hint="Leave WINDOW_TYPE out.",
            span=properties.span("WINDOW_TYPE"),
        )
    check_change_columns(statement.kind, schema.value, name)


def check_change_columns(kind: Kind, columns: tuple[Column, ...], name: str) -> None:
    """PlanError for value columns that a stream of changes lacks."""
    found = FORMATS[name]
    if kind is Kind.TABLE or not isinstance(found, ChangeFormat):
        return
    problem = found.stream_problem(columns)
    if problem is not None:
        raise PlanError(
            f"a stream of {name} has a row a change: {problem}",
            hint=f"Its columns are {', '.join(STREAM_COLUMNS)}: OP STRING, BEFORE and AFTER STRUCT "
            "of the row's columns, SOURCE STRUCT, TS_MS BIGINT. A table has those of the row.",
        )


def check_writable(name: str, target: str) -> None:
    """Raises UnsupportedError if the format cannot be written."""
    if tells_changes(name):
        raise UnsupportedError(
            f"Cannot insert into {target}: its topic holds the changes of a database, {name}.",
            hint="CREATE STREAM | TABLE .. AS SELECT makes one of its own.",
        )

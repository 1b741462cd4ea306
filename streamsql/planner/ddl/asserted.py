"""ASSERT VALUES, ASSERT NULL VALUES, ASSERT STREAM | TABLE: the expectations, for the test runner,
which checks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from streamsql.catalog import Catalog, Source
from streamsql.errors import CatalogError, PlanError, Span, UnsupportedError, did_you_mean
from streamsql.nodes import (
    AssertNullValues,
    AssertSource,
    AssertValues,
    ColumnRole,
    Expression,
    InsertValues,
    Property,
)
from streamsql.planner.ddl.inserts import constants
from streamsql.planner.plans.statements import InsertValuesPlan
from streamsql.planner.scopes.custom_types import resolve_type
from streamsql.schema import ROWTIME, WINDOW_BOUNDS, Kind, Namespace
from streamsql.types import SQLType, quote, to_sql


@dataclass(frozen=True)
class AssertedRecord:
    """The expected next record: as one that would be inserted, with the window of its key. A
    tombstone if `deleted`; time and bounds are compared if they are given."""

    record: InsertValuesPlan
    bounds: Mapping[str, Expression]
    deleted: bool = False


def plan_assert_values(
    statement: AssertValues | AssertNullValues, catalog: Catalog
) -> AssertedRecord:
    """The typed record. Raises a StreamSQLError if its values do not fit the source."""
    source = _source(statement.source, catalog, statement.span)
    deleted = isinstance(statement, AssertNullValues)
    values = statement.key if isinstance(statement, AssertNullValues) else statement.values
    columns = statement.columns
    if deleted and not columns:
        columns = tuple(c.name for c in source.schema.key)
    insert = InsertValues(source.name, values, columns, span=statement.span)
    besides = (ROWTIME, *source.bounds)
    given = constants(insert, source, catalog, besides)
    if deleted:
        _check_only_keys(source, given, statement.span)
    rowtime = given.pop(ROWTIME.name, None)
    bounds = {c.name: given.pop(c.name) for c in WINDOW_BOUNDS if c.name in given}
    record = InsertValuesPlan(source, tuple(given), tuple(given.values()), rowtime)
    return AssertedRecord(record, bounds, deleted)


def _source(name: str, catalog: Catalog, span: Span | None) -> Source:
    source = catalog.sources.get(name)
    if source is None:
        raise CatalogError(
            f"{name} does not exist", hint=did_you_mean(name, catalog.sources), span=span
        )
    return source


def _check_only_keys(source: Source, given: Mapping[str, Expression], span: Span | None) -> None:
    for column in source.schema:
        if column.name in given and column.namespace is not Namespace.KEY:
            raise PlanError(
                f"{column.name} is not a key column",
                detail="A record without a value has only a key.",
                span=span,
            )


# -- ASSERT STREAM | TABLE -----------------------------------------------------------------------


def assert_source(statement: AssertSource, catalog: Catalog) -> list[str]:
    """A line for each difference from the expectation."""
    source = _source(statement.name, catalog, statement.span)
    lines = []
    if source.kind is not statement.kind:
        lines.append(
            f"expected a {statement.kind.value.lower()}, found a {source.kind.value.lower()}"
        )
    lines += _column_differences(statement, source, catalog)
    return lines + [line for p in statement.properties for line in _property_differences(p, source)]


def _column_differences(statement: AssertSource, source: Source, catalog: Catalog) -> list[str]:
    if not statement.columns:
        return []
    wanted = [
        _column(c.name, resolve_type(c.type, catalog.types, c.span), c.role, c.header)
        for c in statement.columns
    ]
    key = ColumnRole.PRIMARY_KEY if source.kind is Kind.TABLE else ColumnRole.KEY
    roles = {Namespace.KEY: key, Namespace.HEADERS: ColumnRole.HEADERS}
    found = [
        _column(c.name, c.type, roles.get(c.namespace, ColumnRole.VALUE), c.header)
        for c in (*source.schema.key, *source.schema.value, *source.schema.headers)
    ]
    if wanted == found:
        return []
    return [f"expected columns {', '.join(wanted)}", f"   found columns {', '.join(found)}"]


def _column(name: str, kind: SQLType, role: ColumnRole, header: str | None) -> str:
    suffix = f"HEADER('{header}')" if header is not None else role.value
    return f"{quote(name)} {to_sql(kind)} {suffix}".rstrip()


_PROPERTIES: Mapping[str, Callable[[Source], object]] = {
    "KAFKA_TOPIC": lambda source: source.topic.name,
    "KEY_FORMAT": lambda source: source.topic.key_format.name,
    "VALUE_FORMAT": lambda source: source.topic.value_format.name,
    "FORMAT": lambda source: source.topic.value_format.name,
    "PARTITIONS": lambda source: source.topic.partitions,
    "REPLICAS": lambda source: source.topic.replicas,
    "TIMESTAMP": lambda source: source.timestamp and source.timestamp.name,
    "TIMESTAMP_FORMAT": lambda source: source.timestamp and source.timestamp.format,
    "WINDOW_TYPE": lambda source: source.topic.window and source.topic.window.type.value,
}
_CASELESS = ("KEY_FORMAT", "VALUE_FORMAT", "FORMAT", "WINDOW_TYPE", "TIMESTAMP")


def _property_differences(given: Property, source: Source) -> list[str]:
    name = given.name.upper()
    getter = _PROPERTIES.get(name)
    if getter is None:
        raise UnsupportedError(
            f"ASSERT {source.kind.value} does not compare {name}",
            hint=f"It compares {', '.join(_PROPERTIES)}.",
            span=given.span,
        )
    wanted, found = str(given.value), getter(source)
    shown = "none" if found is None else str(found)
    same = wanted.upper() == shown.upper() if name in _CASELESS else wanted == shown
    return [] if same else [f"expected {name} {wanted}, found {shown}"]

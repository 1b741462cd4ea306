"""CREATE SINK .. FROM ALL TABLES: a sink for each stream, table and materialized view."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from streamsql.catalog import Catalog, ExternalSink, Source, Thing
from streamsql.config import PROCESSING_LOG_TOPIC
from streamsql.errors import UnsupportedError
from streamsql.nodes import CreateSink, CreateSinkOfAll, Property
from streamsql.parser import parse_one, to_sql
from streamsql.planner.create_sink import check_name, commit_interval, connection_of
from streamsql.planner.iceberg_sinks import retention_of
from streamsql.planner.operators import name_in_table
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.statements import CatalogChange, NothingToDo, Touches
from streamsql.planner.with_clause.databases import check_taken, database_password, needed
from streamsql.planner.with_clause.lakes import catalog_of, warehouse_of
from streamsql.planner.with_clause.properties import Place, names_taken, read_properties

_PROPERTIES = (
    "CONNECTION",
    "CATALOG",
    "WAREHOUSE",
    "URL",
    "USER",
    "PASSWORD",
    "TABLE",
    "SNAPSHOT_RETENTION",
    "COMMIT_INTERVAL",
)
_TABLES = re.compile(r"([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\.\*", re.ASCII)


@dataclass(frozen=True)
class SinkOfAllPlan(CatalogChange):
    """CREATE SINK .. FROM ALL TABLES: the engine then creates the sinks."""

    sink: ExternalSink

    @property
    def touches(self) -> Touches:
        return Touches(beyond=True)

    @property
    def makes(self) -> tuple[Thing, ...]:
        return (("sink", self.sink.name),)

    @property
    def done(self) -> tuple[str, ...]:
        return (f"Sink {self.sink.name} writes all streams and tables.",)


def plan_sink_of_all(statement: CreateSinkOfAll, planning: Planning) -> SinkOfAllPlan | NothingToDo:
    existing = check_name(statement, planning)
    if existing is not None and statement.if_not_exists:
        return NothingToDo(f"Cannot add sink {statement.name}: it already exists.")
    if existing is not None and not existing.of_all:
        raise UnsupportedError(
            f"the sink {existing.name} of {existing.reads} cannot become one of all tables",
            hint=f"DROP SINK {existing.name}, or choose another name.",
            span=statement.span,
        )
    given = read_properties(statement.properties, Place.SINK)
    connection = connection_of(given, statement)
    if connection != "ICEBERG":
        raise UnsupportedError(
            f"CREATE SINK .. FROM ALL TABLES with CONNECTION='{connection}'",
            hint="CONNECTION='ICEBERG' writes all tables; otherwise create a sink for each.",
            span=given.span("CONNECTION"),
        )
    others = tuple(name for name in names_taken(Place.SINK) if name not in _PROPERTIES)
    check_taken(given, others, "sink of all tables", connection)
    hint = "It is the namespace of the tables: TABLE='shop.*'."
    tables = _TABLES.fullmatch(needed("TABLE", hint, given, statement.span))
    if tables is None:
        raise given.invalid("TABLE", "it is not a namespace followed by .*", "shop.*")
    catalog_of(given)
    retention_of(given)
    commit_interval(given, connection)
    plain = replace(statement, or_replace=False, if_not_exists=False)
    return SinkOfAllPlan(
        ExternalSink(
            statement.name,
            "",
            "",
            connection,
            warehouse_of(given, statement.span),
            "",
            to_sql(plain),
            tables[0],
            given.text("USER") or "",
            database_password(given),
        )
    )


def parts_of(sink: ExternalSink, catalog: Catalog) -> Iterator[CreateSink]:
    """The sinks that belong to a sink of all tables, but for those that users have created under
    the same names."""
    whole = parse_one(sink.statement)
    assert isinstance(whole, CreateSinkOfAll)
    for source in catalog.sources.values():
        part = _part(sink, whole, source)
        there = catalog.sinks.get(part.name)
        followed = source.lookup is None and source.topic.name != PROCESSING_LOG_TOPIC
        if followed and (there is None or there.part_of == sink.name):
            yield part


def _part(sink: ExternalSink, whole: CreateSinkOfAll, source: Source) -> CreateSink:
    table = f"{sink.table.removesuffix('*')}{name_in_table(source.name)}"
    properties = (
        *(given for given in whole.properties if given.name != "TABLE"),
        Property("TABLE", table),
        Property("PART_OF", sink.name),
    )
    name = f"{sink.name}_{source.name}"
    return CreateSink(name, source.name, properties, if_not_exists=True)

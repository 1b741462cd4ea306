"""The running pipeline that files are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from streamsql.catalog import Catalog
from streamsql.errors import StreamSQLError
from streamsql.nodes import CreateAsSelect, CreateMaterializedView, CreateSink
from streamsql.parser import parse_one
from streamsql.planner.plans.query_plan import QueryPlan
from streamsql.planner.plans.statements import Planned, QueryStatementPlan, SchemaLookup
from streamsql.planner.statements import plan
from streamsql.properties import GUARANTEE
from streamsql.status import QueryInfo


@dataclass(frozen=True)
class RunningQuery:
    """A running query: its text, and its plan or None if it can no longer be planned."""

    sql: str
    plan: QueryPlan | None


@dataclass(frozen=True)
class Done:
    """A statement of the log and its effects."""

    planned: Planned
    properties: Mapping[str, str]


@dataclass
class Running:
    """The running pipeline."""

    catalog: Catalog = field(default_factory=Catalog)
    queries: dict[str, RunningQuery] = field(default_factory=dict)
    """By their ids."""
    properties: Mapping[str, str] = field(default_factory=dict)
    schemas: SchemaLookup | None = None
    """Registry lookups of the statements."""
    done: dict[str, Done] = field(default_factory=dict)
    """The last executed statements, by text."""
    mode_known: bool = True
    """Whether the plans have the settings of the running queries."""


def running_of_server(catalog: Catalog, infos: Iterable[QueryInfo]) -> Running:
    """From a server's catalog: its queries are planned again from their texts."""
    queries = {
        info.id: RunningQuery(info.sql, _planned(info, catalog))
        for info in infos
        if info.kind == "PERSISTENT"
    }
    return Running(catalog, queries, mode_known=False)


def _planned(info: QueryInfo, catalog: Catalog) -> QueryPlan | None:
    properties = {GUARANTEE: info.guarantee} if info.guarantee else {}
    try:
        statement = parse_one(info.sql)
        if isinstance(statement, CreateAsSelect | CreateMaterializedView | CreateSink):
            catalog = catalog.copy()
            catalog.things(statement.creates or "").pop(statement.name, None)
        planned = plan(statement, catalog, properties, query_id=info.id, logged=True)
    except StreamSQLError:
        return None
    return planned.query if isinstance(planned, QueryStatementPlan) else None

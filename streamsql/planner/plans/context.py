"""The inputs for planning a statement with a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from streamsql.catalog import Catalog
from streamsql.planner.plans.statements import SchemaLookup, TopicLookup


@dataclass(frozen=True)
class Planning:
    """The catalog, the session's properties and the planner's views of Kafka and the registry."""

    catalog: Catalog
    session: Mapping[str, str]
    topics: TopicLookup | None = None
    query_id: str | None = None
    """Forces the id of a persistent query (replay of the statement log)."""
    schemas: SchemaLookup | None = None
    rebuilds: bool = False
    """Whether a query that replaces another one is rebuilt: then it need not be compatible with the
    existing state."""
    replaces: bool = False
    """Whether an INSERT INTO .. SELECT replaces the query of its id."""
    logged: bool = False
    """Whether the statement log holds the statement."""

"""How one column depends on another, in the terms of OpenLineage's facet of column lineage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum


class Transformation(Enum):
    """How a column is used. The first three contribute its value (DIRECT), of which the last in
    this order dominates; the others decide which values or rows there are (INDIRECT)."""

    IDENTITY = "IDENTITY"
    """The unchanged value."""
    TRANSFORMATION = "TRANSFORMATION"
    """An expression of it."""
    AGGREGATION = "AGGREGATION"
    """An aggregate of it over several rows."""
    CONDITIONAL = "CONDITIONAL"
    """It decides about a value, in CASE or FILTER (WHERE ..)."""
    FILTER = "FILTER"
    """It decides about rows, in WHERE or HAVING."""
    JOIN = "JOIN"
    """It decides which rows are joined."""
    GROUP_BY = "GROUP_BY"
    """It decides which rows form a group."""
    SORT = "SORT"
    """It decides about the order of rows."""
    WINDOW = "WINDOW"
    """It is the time that assigns rows to windows, or that bounds a join."""

    @property
    def direct(self) -> bool:
        return self in _DIRECT


_DIRECT = (Transformation.IDENTITY, Transformation.TRANSFORMATION, Transformation.AGGREGATION)


def chained(outer: Transformation, inner: Transformation) -> Transformation:
    """The use of a column over which `outer` uses a column with `inner`."""
    if not outer.direct:
        return outer
    if not inner.direct:
        return inner
    return max(outer, inner, key=_DIRECT.index)


@dataclass(frozen=True)
class Edge:
    """A column of a stream or table, and how it is used."""

    source: str
    column: str
    by: Transformation


Edges = frozenset[Edge]
Columns = Mapping[str, Edges]
"""The edges of each column."""


def over(outer: Transformation, edges: Iterable[Edge]) -> Edges:
    """These edges, used by `outer`."""
    return frozenset(Edge(e.source, e.column, chained(outer, e.by)) for e in edges)

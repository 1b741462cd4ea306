"""How one column comes from another, in the words of OpenLineage's facet of column lineage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum


class Transformation(Enum):
    """What is made of a column on the way. Of the first three its value goes into the other column
    (DIRECT), the last in this order says it all; the others decide which values or rows there are
    (INDIRECT)."""

    IDENTITY = "IDENTITY"
    """The value as it is."""
    TRANSFORMATION = "TRANSFORMATION"
    """An expression of it."""
    AGGREGATION = "AGGREGATION"
    """An aggregate of it over several rows."""
    CONDITIONAL = "CONDITIONAL"
    """It decides, in CASE or FILTER (WHERE ..), about the value of a column."""
    FILTER = "FILTER"
    """It decides, in WHERE or HAVING, which rows there are."""
    JOIN = "JOIN"
    """It decides which rows meet."""
    GROUP_BY = "GROUP_BY"
    """It decides which rows are one."""
    SORT = "SORT"
    """It decides which rows are the first of their group."""
    WINDOW = "WINDOW"
    """It is the time by which rows are in a window, or meet within one."""

    @property
    def direct(self) -> bool:
        return self in _DIRECT


_DIRECT = (Transformation.IDENTITY, Transformation.TRANSFORMATION, Transformation.AGGREGATION)


def chained(outer: Transformation, inner: Transformation) -> Transformation:
    """What `outer` over a column is to that which the column is `inner` of."""
    if not outer.direct:
        return outer
    if not inner.direct:
        return inner
    return max(outer, inner, key=_DIRECT.index)


@dataclass(frozen=True)
class Edge:
    """A column of a stream or table, and what was made of it."""

    source: str
    column: str
    by: Transformation


Edges = frozenset[Edge]
Columns = Mapping[str, Edges]
"""Where each column comes from."""


def over(outer: Transformation, edges: Iterable[Edge]) -> Edges:
    """The edges of something that is `outer` of what the edges are of."""
    return frozenset(Edge(e.source, e.column, chained(outer, e.by)) for e in edges)

"""The lineage of a stream, table or view, column by column, in display order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from streamsql.catalog import Catalog, Source
from streamsql.errors import BindError, CatalogError, Span, did_you_mean
from streamsql.planner.ddl.views import source_of
from streamsql.planner.lineage.graph import Graph, Place, Related
from streamsql.planner.operators.edges import Transformation
from streamsql.schema import ROWTIME
from streamsql.types import quote


@dataclass(frozen=True)
class Line:
    """A column, and one of its origins or dependents, with the queries between them. A column that
    is None means the rows of its source. `related` None: the column has no origin."""

    column: str | None
    related: Place | None
    by: Transformation | None
    queries: tuple[str, ...]
    topic: str | None = None
    """The topic of the related place; None for a view."""


def origins(graph: Graph, name: str, column: str | None, span: Span | None = None) -> list[Line]:
    """The origins of each column of `name`, or of one, followed by those of its rows. CatalogError
    or BindError at the span for an unknown name."""
    lines: list[Line] = []
    for each in _columns(name, column, graph.catalog, span):
        found = graph.upstream(Place(name, each))
        lines += _lines(each, found, graph.catalog)
        if not found:
            lines.append(Line(each, None, None, tuple(graph.catalog.writers(name))))
    return [*lines, *_lines(None, graph.upstream(Place(name, None)), graph.catalog)]


def dependents(graph: Graph, name: str, column: str | None, span: Span | None = None) -> list[Line]:
    """The dependents of each column, and the streams, tables and views whose rows depend on it."""
    catalog = graph.catalog
    names = (*catalog.sources, *catalog.views)
    shown = {n: {None, *_shown(_find(n, catalog))} for n in names}
    lines: list[Line] = []
    for each in _columns(name, column, catalog, span):
        found = graph.downstream(Place(name, each))
        wanted = (r for r in found if r.place.column in shown[r.place.source])
        lines += _lines(each, wanted, catalog)
    return lines


def _columns(name: str, column: str | None, catalog: Catalog, span: Span | None) -> tuple[str, ...]:
    try:
        columns = _shown(_find(name, catalog))
    except CatalogError as error:
        error.span = error.span or span
        raise
    if column is None:
        return columns
    if column not in (*columns, ROWTIME.name):
        raise BindError(
            f"{quote(name)} has no column {quote(column)}.",
            hint=did_you_mean(column, columns) or f"DESCRIBE {quote(name)} lists its columns.",
            span=span,
        )
    return (column,)


def _find(name: str, catalog: Catalog) -> Source:
    view = catalog.views.get(name)
    return source_of(view, catalog) if view is not None else catalog.get(name)


def _shown(source: Source) -> tuple[str, ...]:
    return tuple(column.name for column in (*source.schema, *source.bounds))


def _lines(column: str | None, found: Iterable[Related], catalog: Catalog) -> Iterator[Line]:
    for each in sorted(found, key=_order):
        source = catalog.sources.get(each.place.source)
        topic = None if source is None or source.lookup else source.topic.name
        yield Line(column, each.place, each.by, each.queries, topic)


def _order(related: Related) -> tuple[bool, str, str, int]:
    """Values first, then by name: a deterministic order."""
    place, by = related.place, related.by
    return (not by.direct, place.source, place.column or "", list(Transformation).index(by))

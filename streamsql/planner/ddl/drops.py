"""DROP of streams, tables and views: checks, and the objects that CASCADE drops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from streamsql.catalog import Catalog, Source, Thing
from streamsql.errors import CatalogError, Span, did_you_mean
from streamsql.nodes import DropSource
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.statements import NothingToDo, Planned, Touches
from streamsql.types import quote


@dataclass(frozen=True)
class DropPlan(Planned):
    """DROP STREAM | TABLE: `terminate` are the queries and `sinks` the sinks that end with it,
    `others` and `views` the further objects that CASCADE drops."""

    source: Source
    delete_topic: bool
    terminate: tuple[str, ...] = ()
    others: tuple[Source, ...] = ()
    views: tuple[str, ...] = ()
    sinks: tuple[str, ...] = ()

    @property
    def touches(self) -> Touches:
        return Touches(writes=frozenset({self.source.topic.name} if self.delete_topic else ()))

    @property
    def ends(self) -> tuple[Thing, ...]:
        return (
            *(("sink", sink) for sink in self.sinks),
            *(("query", query) for query in self.terminate),
            *(("view", view) for view in self.views),
            *(("source", source.name) for source in (self.source, *self.others)),
        )


def plan_drop(statement: DropSource, catalog: Catalog) -> DropPlan | NothingToDo:
    source = catalog.sources.get(statement.name)
    kind = statement.kind.value
    if source is None:
        message = f"{kind.capitalize()} {statement.name} does not exist."
        if statement.if_exists:
            return NothingToDo(message)
        raise CatalogError(
            message, hint=did_you_mean(statement.name, catalog.sources), span=statement.span
        )
    if source.kind is not statement.kind:
        raise CatalogError(
            f"Incompatible data source type is {source.kind.value}, but statement was DROP {kind}",
            hint=f"Write DROP {source.kind.value} {source.name}.",
            span=statement.span,
        )
    if source.is_source and statement.delete_topic:
        raise CatalogError(
            f"Cannot delete topic for read-only source: {source.name}",
            hint="Leave DELETE TOPIC out.",
            span=statement.span,
        )
    if statement.cascade:
        return _cascade(source, statement, catalog)
    _check_unused(source, statement, catalog)
    parts = catalog.parts_of_all(source.name)
    ended = (*_own_query(source, catalog), *(part.query_id for part in parts))
    sinks = tuple(part.name for part in parts)
    topic_too = statement.delete_topic or source.is_plain
    return DropPlan(source, topic_too, ended, sinks=sinks)


def _own_query(source: Source, catalog: Catalog) -> tuple[str, ...]:
    own = source.created_by_query
    return (own,) if own is not None and own in catalog.queries else ()


def _check_unused(source: Source, statement: DropSource, catalog: Catalog) -> None:
    own = source.created_by_query
    ends = {own, *(part.query_id for part in catalog.parts_of_all(source.name))}
    readers = [q for q in catalog.readers(source.name) if q not in ends]
    writers = [q for q in catalog.writers(source.name) if q != own]
    if readers or writers:
        raise CatalogError(
            f"Cannot drop {source.name}. "
            f"The following queries read from this source: [{', '.join(readers)}]. "
            f"The following queries write into this source: [{', '.join(writers)}]. "
            f"You need to terminate them before dropping {source.name}.",
            hint=" ".join(_ending(q, catalog) for q in dict.fromkeys((*readers, *writers))),
            span=statement.span,
        )
    check_not_viewed(source.name, catalog, statement.span)


def _ending(query_id: str, catalog: Catalog) -> str:
    sink = catalog.sink_of(query_id)
    return f"TERMINATE {query_id};" if sink is None else f"DROP SINK {quote(sink)};"


def check_not_a_sink(name: str, catalog: Catalog, span: Span | None) -> None:
    """CatalogError, at the span, for a stream, table or view with the name of a sink."""
    if name in catalog.sinks:
        raise CatalogError(
            f"Cannot add '{name}': A sink with the same name already exists",
            hint=f"Use another name, or DROP SINK {quote(name)} first.",
            span=span,
        )


def check_not_viewed(name: str, catalog: Catalog, span: Span | None) -> None:
    """CatalogError, at the span, if a view reads the source or view."""
    views = catalog.viewers(name)
    if views:
        raise CatalogError(
            f"Cannot drop {name}. The following views read from it: [{', '.join(views)}].",
            hint=f"DROP .. {name} CASCADE drops them, too.",
            span=span,
        )


def _cascade(source: Source, statement: DropSource, catalog: Catalog) -> DropPlan:
    """All readers and writers of the source, and everything derived from them."""
    sources: dict[str, Source] = {source.name: source}
    queries: dict[str, None] = {}
    pending = [source]
    while pending:
        name = pending.pop(0).name
        for query_id in (*catalog.writers(name), *catalog.readers(name)):
            queries[query_id] = None
            sink = catalog.sources.get(catalog.queries[query_id].writes)
            made = sink is not None and sink.created_by_query == query_id
            if sink is not None and made and sink.name not in sources:
                sources[sink.name] = sink
                pending.append(sink)
    _, *others = sources.values()
    views = views_over(sources, catalog)
    ended = tuple(found for q in queries if (found := catalog.sink_of(q)))
    own = statement.delete_topic or source.is_plain
    return DropPlan(source, own, tuple(queries), tuple(others), views, ended)


def views_over(names: Iterable[str], catalog: Catalog) -> tuple[str, ...]:
    """The views that read any of the names, and the views that read those."""
    found: dict[str, None] = {}
    pending = list(names)
    while pending:
        for view in catalog.viewers(pending.pop(0)):
            if view not in found:
                found[view] = None
                pending.append(view)
    return tuple(found)


@plan_statement.register
def _(statement: DropSource, planning: Planning) -> DropPlan | NothingToDo:
    return plan_drop(statement, planning.catalog)


@apply.register
def _(planned: DropPlan, catalog: Catalog) -> None:
    for query_id in planned.terminate:
        catalog.queries.pop(query_id, None)
    for source in (planned.source, *planned.others):
        catalog.remove(source.name)
    for view in planned.views:
        del catalog.views[view]
    for sink in planned.sinks:
        del catalog.sinks[sink]

"""The lineage of columns across queries: from a stream, table or view up to the declared sources,
and down to the dependents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property

from streamsql.catalog import Catalog
from streamsql.functions.user import using
from streamsql.planner.ddl.user_functions import functions_of
from streamsql.planner.operators import Operator
from streamsql.planner.operators.edges import Transformation, chained
from streamsql.planner.operators.lineage import Lineage
from streamsql.planner.select.build import build_inner


@dataclass(frozen=True)
class Place:
    """A column of a stream, table or view; None: its rows, which are the columns that filter
    them."""

    source: str
    column: str | None


@dataclass(frozen=True)
class Related:
    """An upstream or downstream place, and the queries on the way to it."""

    place: Place
    by: Transformation
    queries: tuple[str, ...]


@dataclass(frozen=True)
class _Step:
    """A step from a place to one of its origins, by a query or, in a view, without one. `by` None
    is a step from rows to rows: the origin's filters apply to them, too."""

    made: Place
    origin: Place
    by: Transformation | None
    query: str | None


_State = tuple[Place, Transformation | None]
_Next = Callable[[_State], Iterable[tuple[_State, str | None]]]


class Graph:
    """The lineage of a catalog's objects; plans are built on demand."""

    def __init__(self, catalog: Catalog, plan_of: Callable[[str], Operator]) -> None:
        """`plan_of` returns the plan of a query by id."""
        self.catalog = catalog
        self._plan_of = plan_of
        self._steps = cache(self._steps_of)

    def upstream(self, place: Place) -> list[Related]:
        """All origins of a place, back to declared sources or to a query that computes a value from
        no column."""

        def further(state: _State) -> Iterator[tuple[_State, str | None]]:
            at, by = state
            for step in self._steps(at.source).get(at, ()):
                yield (step.origin, _chained(by, step.by)), step.query

        begin: _State = (place, None if place.column is None else Transformation.IDENTITY)
        return self._found(begin, further, lambda at: self._is_origin(at, place))

    def downstream(self, place: Place) -> list[Related]:

        def further(state: _State) -> Iterator[tuple[_State, str | None]]:
            at, by = state
            for step in self._steps_back.get(at, ()):
                yield (step.made, _chained(step.by, by)), step.query

        begin: _State = (place, Transformation.IDENTITY)
        return self._found(begin, further, lambda at: at != place)

    def _found(
        self, begin: _State, further: _Next, wanted: Callable[[Place], bool]
    ) -> list[Related]:
        """All reachable places, with the queries on the way. Cycles are allowed."""
        queries: dict[_State, frozenset[str]] = {begin: frozenset()}
        waiting = [begin]
        while waiting:
            state = waiting.pop()
            for reached, query in further(state):
                known = queries.get(reached)
                through = queries[state] | ({query} if query is not None else set())
                if known is None or not through <= known:
                    queries[reached] = through | (known or frozenset())
                    waiting.append(reached)
        return [
            Related(place, by, tuple(q for q in self.catalog.queries if q in through))
            for (place, by), through in queries.items()
            if by is not None and wanted(place)
        ]

    def _is_origin(self, place: Place, begin: Place) -> bool:
        if place.column is None:
            return False
        source = self.catalog.sources.get(place.source)
        if source is not None and source.created_by_query not in self.catalog.queries:
            return True
        return place != begin and place not in self._steps(place.source)

    def _steps_of(self, name: str) -> dict[Place, list[_Step]]:
        found: dict[Place, list[_Step]] = {}
        with using(functions_of(self.catalog)):
            for query, made in self._written(name):
                for step in _steps(name, made, query):
                    found.setdefault(step.made, []).append(step)
        return found

    @cached_property
    def _steps_back(self) -> dict[Place, list[_Step]]:
        found: dict[Place, list[_Step]] = {}
        for name in (*self.catalog.sources, *self.catalog.views):
            for step in (s for each in self._steps(name).values() for s in each):
                found.setdefault(step.origin, []).append(step)
        return found

    def _written(self, name: str) -> Iterator[tuple[str | None, Lineage]]:
        view = self.catalog.views.get(name)
        if view is not None:
            yield None, build_inner(view.query, self.catalog, name).lineage()
        for query_id in self.catalog.writers(name):
            yield query_id, self._plan_of(query_id).lineage()


def _steps(name: str, found: Lineage, query: str | None) -> Iterator[_Step]:
    rows = Place(name, None)
    for column, edges in found.columns.items():
        for edge in edges:
            yield _Step(Place(name, column), Place(edge.source, edge.column), edge.by, query)
    for edge in found.influences:
        yield _Step(rows, Place(edge.source, edge.column), edge.by, query)
    for read in found.reads:
        yield _Step(rows, Place(read, None), None, query)


def _chained(outer: Transformation | None, inner: Transformation | None) -> Transformation | None:
    if outer is None or inner is None:
        return inner if outer is None else outer
    return chained(outer, inner)

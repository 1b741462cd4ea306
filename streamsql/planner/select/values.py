"""VALUES in FROM, and SELECT without FROM: rows of the statement itself."""

from __future__ import annotations

from streamsql.catalog import Catalog, Source
from streamsql.errors import PlanError, UnsupportedError
from streamsql.nodes import Expression, ValueRows
from streamsql.planner.operators import Derived, Values
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.types.binding import aggregates_in, bind, table_functions_in
from streamsql.planner.types.common import common_type_of
from streamsql.planner.types.scope import cast_to
from streamsql.schema import Column, FormatSpec, Kind, Namespace, Schema, Topic
from streamsql.types import STRING, is_null

ALIAS = "VALUES"
_WRITTEN = (
    "Its one row never changes, so leave EMIT out. Rows of a stream or table are written by "
    "INSERT INTO name VALUES (..), (..)."
)
_KEPT = (
    "Continuous queries read streams and tables: CREATE TABLE name (id INT PRIMARY KEY, ..) "
    "WITH (..), then INSERT INTO name VALUES (..), (..), and read or join that table."
)
_TOPIC = Topic("", FormatSpec("NONE"), FormatSpec("JSON"))


def values_source(node: ValueRows, catalog: Catalog, *, bounded: bool) -> Derived:
    """The rows as a source. UnsupportedError unless the query ends with them."""
    if not bounded:
        what = "VALUES in FROM" if node.rows[0] else "a SELECT without FROM"
        raise UnsupportedError(
            f"{what} is only supported in pull queries (SELECT without EMIT).",
            hint=_KEPT if node.rows[0] else _WRITTEN,
            span=node.span,
        )
    scope = Scope(node.alias or ALIAS, Schema(()), types=catalog.types)
    rows = [[_bound(value, scope) for value in row] for row in node.rows]
    names = node.columns or tuple(f"COLUMN{n}" for n in range(1, len(rows[0]) + 1))
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise PlanError(f"VALUES has two columns called {twice}", span=node.span)
    columns = []
    for place, name in enumerate(names):
        kind = common_type_of([row[place] for row in rows], "VALUES: ")
        kind = STRING if is_null(kind) else kind
        columns.append(Column(name, kind, Namespace.VALUE))
        for row in rows:
            row[place] = cast_to(row[place], kind)
    schema = Schema(tuple(columns))
    alias = node.alias or ALIAS
    source = Source(alias, Kind.STREAM, schema, _TOPIC)
    return Derived(Values(tuple(map(tuple, rows)), schema), source, alias)


def _bound(value: Expression, scope: Scope) -> Expression:
    for call in (*aggregates_in(value), *table_functions_in(value)):
        raise PlanError(f"{call.name} is not allowed in VALUES", span=span_of(call))
    return bind(value, scope, "VALUES")

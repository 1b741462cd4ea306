"""The users of a stream or table, and those that a change of its columns affects."""

from __future__ import annotations

from streamsql.catalog import Catalog, Source
from streamsql.errors import StreamSQLError
from streamsql.nodes import CreateAsSelect, CreateMaterializedView
from streamsql.parser import parse_one
from streamsql.planner.changes.columns import upgrade
from streamsql.planner.changes.queries import compare_plans
from streamsql.planner.materialized import planned_view
from streamsql.planner.operators import Operator
from streamsql.planner.rules import optimize
from streamsql.planner.select.build import build_query


def users_of(source: Source, catalog: Catalog) -> list[str]:
    """The queries and views that read or write a source, except for the query that created it."""
    queries = dict.fromkeys([*catalog.readers(source.name), *catalog.writers(source.name)])
    queries.pop(source.created_by_query or "", None)
    return [*queries, *catalog.viewers(source.name)]


def users_of_columns(old: Source, new: Source, catalog: Catalog) -> list[str]:
    """The users that prevent a change of a source's value columns: if columns are only dropped,
    queries whose plan stays the same without them do not."""
    users = users_of(old, catalog)
    found = upgrade(old, new)
    if not users or found is None or not found.changes:
        return users
    if any(change.after is not None for change in found.changes):
        return users  # A running query would not read wider values.
    after = catalog.copy()
    after.put(new)
    return [user for user in users if not _is_the_same(user, catalog, after)]


def _is_the_same(query_id: str, before: Catalog, after: Catalog) -> bool:
    filled = (s for s in before.sources.values() if s.created_by_query == query_id)
    made = next(filled, None)
    if made is None:
        return False  # A view, or a query without text in the catalog.
    was, now = (_planned(made, catalog) for catalog in (before, after))
    if was is None or now is None or was.schema != now.schema:
        return False
    return not compare_plans(was, now).differences


def _planned(made: Source, catalog: Catalog) -> Operator | None:
    """The plan of the query that fills a source, without its sink; None if there is none."""
    statement = parse_one(made.statement)
    try:
        if isinstance(statement, CreateMaterializedView):
            return planned_view(statement, catalog)
        if not isinstance(statement, CreateAsSelect):
            return None
        return optimize(build_query(statement.query, catalog, made.name).root).root
    except StreamSQLError:
        return None

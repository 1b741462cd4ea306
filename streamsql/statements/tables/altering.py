"""ALTER of a table: its rows get the defaults of new columns."""

from __future__ import annotations

from collections.abc import Iterable

from streamsql.nodes import AlterSource, ColumnDefinition, Statement, Update
from streamsql.results import Result
from streamsql.runtime.state import Context
from streamsql.statements.dispatch import handle
from streamsql.statements.tables.changes import change_rows

_change_catalog = handle.dispatch(Statement)


@handle.register
def alter_source(statement: AlterSource, context: Context) -> Iterable[Result]:
    """The catalog first: a crash before the rows are written leaves nulls in them."""
    results = list(_change_catalog(statement, context))
    added = (c for c in statement.alterations if isinstance(c, ColumnDefinition))
    defaults = tuple((c.name, c.default) for c in added if c.default is not None)
    if defaults:
        list(change_rows(Update(statement.name, defaults, span=statement.span), context))
    return results

"""The table of handlers, by the class of the statement; each handler enters itself."""

from __future__ import annotations

from collections.abc import Iterable
from functools import singledispatch

from streamsql.errors import InternalError
from streamsql.nodes import Statement
from streamsql.results import Result
from streamsql.runtime.state import Context


@singledispatch
def handle(statement: Statement, context: Context) -> Iterable[Result]:
    """Plan a statement, have it take effect and return its results."""
    raise InternalError(f"no handler for {type(statement).__name__}", span=statement.span)

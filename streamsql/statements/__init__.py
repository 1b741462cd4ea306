"""Executes statements: a handler each, in the modules of FAMILIES, but for those that change the
catalog alone (dispatch.py).

A handler plans its statement, has it take effect and returns its results. Statements that are part
of the dialect but not run stand in planner/not_run with what to do instead.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from streamsql import nodes
from streamsql.planner.not_run import NOT_RUN, not_run
from streamsql.results import Result
from streamsql.runtime import permissions
from streamsql.runtime.state import Context, EngineState
from streamsql.statements import (
    assertions,
    connectors,
    control,
    definitions,
    describe,
    functions,
    lineage,
    persistent,
    repair,
    select,
    session,
    show,
)
from streamsql.statements.dispatch import handle
from streamsql.statements.inserting import values as insert

_log = logging.getLogger("streamsql.statements")
_log.addHandler(logging.NullHandler())
LOGGED_TEXT = 1000
"""Characters of a statement in the log."""
_UNTOLD = (nodes.Effect.READS, nodes.Effect.WRITES)

FAMILIES = (
    assertions,
    connectors,
    control,
    definitions,
    describe,
    functions,
    insert,
    lineage,
    persistent,
    repair,
    select,
    session,
    show,
)
"""The modules whose handlers `handle` knows."""


def needs_leader(statement: nodes.Statement, state: EngineState) -> bool:
    """Whether, of several servers, only the one that leads runs it; push queries are each server's
    own."""
    if isinstance(statement, nodes.ControlQuery) and statement.query_id is not None:
        pushed = {info.id.upper() for info in state.pushes.infos()}
        return statement.query_id.upper() not in pushed
    if isinstance(statement, (nodes.ReplayErrors, nodes.VerifyQuery)):
        return True  # only it knows how far the query has come
    return statement.effect.logged


def execute(statement: nodes.Statement, context: Context) -> Iterator[Result]:
    """Run a statement; its results as they come. UnsupportedError for one that is not run."""
    kind = type(statement)
    if kind in NOT_RUN:
        raise not_run(statement)
    permissions.check(statement, context.session)
    if context.state.failover is not None and needs_leader(statement, context.state):
        context.state.failover.check_leads()
    yield from handle(statement, context)
    if statement.effect not in _UNTOLD and _log.isEnabledFor(logging.INFO):
        _log.info("done: %s", statement.text[:LOGGED_TEXT], extra={"statement": kind.__name__})

"""Executes statements: one handler each, in the modules of FAMILIES, except for statements that
only change the catalog (dispatch.py).

A handler plans its statement, applies it and returns its results. planner/not_run lists unsupported
statements and their alternatives.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator

from streamsql import nodes
from streamsql.planner import permissions
from streamsql.planner.not_run import NOT_RUN, not_run
from streamsql.results import Result
from streamsql.runtime.state import Context, EngineState
from streamsql.statements import (
    assertions,
    captures,
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
from streamsql.statements.tables import altering, changes, flush

_log = logging.getLogger("streamsql.statements")
_log.addHandler(logging.NullHandler())
LOGGED_TEXT = 1000
"""Maximum length of a logged statement."""
_UNTOLD = (nodes.Effect.READS, nodes.Effect.WRITES)

FAMILIES = (
    altering,
    assertions,
    captures,
    changes,
    connectors,
    control,
    definitions,
    describe,
    flush,
    functions,
    insert,
    lineage,
    persistent,
    repair,
    select,
    session,
    show,
)
"""Modules with handlers."""


def needs_leader(statement: nodes.Statement, state: EngineState) -> bool:
    """Whether only the leader of a service runs it; push queries run on each server."""
    if isinstance(statement, nodes.ControlQuery) and statement.query_id is not None:
        pushed = {info.id.upper() for info in state.pushes.infos()}
        return statement.query_id.upper() not in pushed
    if isinstance(statement, (nodes.ReplayErrors, nodes.VerifyQuery)):
        return True  # only it knows how far the query has come
    return statement.effect.logged


def execute(statement: nodes.Statement, context: Context) -> Iterator[Result]:
    """Runs a statement and yields its results; UnsupportedError for an unsupported one."""
    kind = type(statement)
    if kind in NOT_RUN:
        raise not_run(statement)
    permissions.check(statement, context.session)
    if context.state.failover is not None and needs_leader(statement, context.state):
        context.state.failover.check_leads()
    yield from handle(statement, context)
    if statement.effect not in _UNTOLD and _log.isEnabledFor(logging.INFO):
        _log.info("done: %s", statement.text[:LOGGED_TEXT], extra={"statement": kind.__name__})

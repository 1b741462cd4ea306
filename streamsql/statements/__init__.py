"""Executes statements: one handler each, tabled in HANDLERS.

A handler plans its statement, has it take effect and returns its results. Statements that are part
of the dialect but not run stand in planner/not_run with what to do instead.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from streamsql import nodes
from streamsql.errors import InternalError
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
    persistent,
    select,
    session,
    show,
    types,
    views,
)
from streamsql.statements.inserting import values as insert

_log = logging.getLogger("streamsql.statements")
_log.addHandler(logging.NullHandler())
LOGGED_TEXT = 1000
"""Characters of a statement in the log."""

Handler = Callable[[Any, Context], Iterable[Result]]

HANDLERS: dict[type[nodes.Statement], Handler] = {
    nodes.CreateSource: definitions.create,
    nodes.DropSource: definitions.drop,
    nodes.AlterSource: definitions.alter,
    nodes.CreateView: views.create,
    nodes.DropView: views.drop,
    nodes.CreateFunction: functions.create,
    nodes.DropFunction: functions.drop,
    nodes.CreateType: types.create,
    nodes.DropType: types.drop,
    nodes.CreateAsSelect: persistent.create_as_select,
    nodes.InsertInto: persistent.insert_into,
    nodes.InsertValues: insert.insert_values,
    nodes.SelectQuery: select.select,
    nodes.Print: select.print_topic,
    nodes.ControlQuery: control.control,
    nodes.Show: show.show,
    nodes.Describe: describe.describe,
    nodes.DescribeAll: describe.describe_all,
    nodes.DescribeFunction: describe.describe_function,
    nodes.Explain: describe.explain,
    nodes.SetProperty: session.set_property,
    nodes.UnsetProperty: session.set_property,
    nodes.DefineVariable: session.define,
    nodes.UndefineVariable: session.undefine,
    nodes.RunScript: session.run_script,
    nodes.CreateConnector: connectors.create,
    nodes.DropConnector: connectors.drop,
    nodes.DescribeConnector: connectors.describe,
    nodes.AssertTopic: assertions.assert_topic,
    nodes.AssertSchema: assertions.assert_schema,
}


CHANGES: frozenset[type[nodes.Statement]] = frozenset(
    {
        nodes.CreateSource,
        nodes.DropSource,
        nodes.AlterSource,
        nodes.CreateView,
        nodes.DropView,
        nodes.CreateFunction,
        nodes.DropFunction,
        nodes.CreateType,
        nodes.DropType,
        nodes.CreateAsSelect,
        nodes.InsertInto,
        nodes.ControlQuery,
    }
)
"""Statements of the log."""


def needs_leader(statement: nodes.Statement, state: EngineState) -> bool:
    """Whether, of several servers, only the one that leads runs it; push queries are each server's
    own."""
    if isinstance(statement, nodes.ControlQuery) and statement.query_id is not None:
        pushed = {info.id.upper() for info in state.pushes.infos()}
        return statement.query_id.upper() not in pushed
    return type(statement) in CHANGES


def execute(statement: nodes.Statement, context: Context) -> Iterator[Result]:
    """Run a statement; its results as they come. UnsupportedError for one that is not run."""
    kind = type(statement)
    if kind in NOT_RUN:
        raise not_run(statement)
    permissions.check(statement, context.session)
    handler = HANDLERS.get(kind)
    if handler is None:
        raise InternalError(f"no handler for {kind.__name__}", span=statement.span)
    if context.state.failover is not None and needs_leader(statement, context.state):
        context.state.failover.check_leads()
    yield from handler(statement, context)
    if kind in CHANGES | permissions.REACHING and _log.isEnabledFor(logging.INFO):
        _log.info("done: %s", statement.text[:LOGGED_TEXT], extra={"statement": kind.__name__})

"""Waiting for Kafka and Spark before a statement that needs them is begun.

The engine would wait too, but then the statement could no longer be called off: Ctrl-C here means
that it has not run and will not.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from streamsql.cli.terminal.progress import waiting

if TYPE_CHECKING:
    from streamsql.cli.execution.connection import Connection
    from streamsql.nodes import Statement

LOOK_SECONDS = 0.05


def steps_needed(sql: str, variables: Mapping[str, str]) -> set[str]:
    """Names of the start-up's steps that the statements wait for, up to one that is wrong."""
    from streamsql.errors import ParseError
    from streamsql.parser import parse_each

    needed: set[str] = set()
    for statement in parse_each(sql, variables):
        if isinstance(statement, ParseError):
            break
        needed |= _steps(statement)
    return needed


def _steps(statement: Statement) -> set[str]:
    from streamsql import nodes

    if isinstance(
        statement,
        nodes.Show
        | nodes.Describe
        | nodes.DescribeAll
        | nodes.DescribeFunction
        | nodes.Explain
        | nodes.SetProperty
        | nodes.UnsetProperty
        | nodes.DefineVariable
        | nodes.UndefineVariable,
    ):
        return set()
    if isinstance(
        statement, nodes.SelectQuery | nodes.CreateAsSelect | nodes.InsertInto | nodes.RunScript
    ):
        return {"kafka", "spark", "queries"}
    return {"kafka"}


def wait_for_start(engine: Connection, sql: str) -> None:
    """Return when what the statements need is up, or has failed (the engine says how then)."""
    needed = steps_needed(sql, engine.session.variables)
    if _there(engine, needed):
        return
    with waiting(engine.startup):
        while not _there(engine, needed):
            time.sleep(LOOK_SECONDS)


def _there(engine: Connection, needed: set[str]) -> bool:
    status = engine.startup()
    if status.error is not None:
        return True
    return all(step.state.value == "done" for step in status.steps if step.name in needed)

"""Statements of the dialect that are parsed and not supported, each with an alternative."""

from __future__ import annotations

from streamsql import nodes
from streamsql.errors import UnsupportedError

_TEST_SCRIPTS = "It is a statement of test scripts, which `streamsql test` runs."

NOT_RUN: dict[type[nodes.Statement], tuple[str, str]] = {
    nodes.AlterSystem: ("ALTER SYSTEM", "Use SET, which holds for the session."),
    nodes.AssertValues: ("ASSERT VALUES", _TEST_SCRIPTS),
    nodes.AssertNullValues: ("ASSERT NULL VALUES", _TEST_SCRIPTS),
    nodes.AssertSource: ("ASSERT STREAM | TABLE", _TEST_SCRIPTS),
}
"""Statement class to its name and a hint."""


def not_run(statement: nodes.Statement) -> UnsupportedError:
    name, hint = NOT_RUN[type(statement)]
    return UnsupportedError(f"{name} is not supported", hint=hint, span=statement.span)

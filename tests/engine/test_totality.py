"""Every statement of the dialect has a handler, or says by name that it is not run."""

from __future__ import annotations

import inspect

import pytest
from runtime.logged import LOGGED

from streamsql import nodes
from streamsql.errors import UnsupportedError
from streamsql.planner.not_run import NOT_RUN
from streamsql.planner.permissions import ROLES
from streamsql.statements import execute
from streamsql.statements.dispatch import handle

STATEMENTS = {
    kind
    for _, kind in inspect.getmembers(nodes, inspect.isclass)
    if issubclass(kind, nodes.Statement) and kind is not nodes.Statement
}


def test_every_statement_is_handled_or_stands_among_those_that_are_not_run() -> None:
    """What is logged may do without: tests/runtime/test_logged.py."""
    handled = set(handle.registry) - {object, nodes.Statement}
    logged = set(LOGGED)
    missing = [kind.__name__ for kind in STATEMENTS - handled - logged - set(NOT_RUN)]
    assert not missing, "write their handlers in statements/, and name the modules in FAMILIES"
    assert not handled & set(NOT_RUN)


def test_roles_and_the_leaders_share_follow_from_the_effect() -> None:
    assert set(ROLES) == set(nodes.Effect)


@pytest.mark.parametrize("kind", sorted(NOT_RUN, key=lambda k: k.__name__))
def test_what_is_not_run_says_its_name(kind: type[nodes.Statement]) -> None:
    statement = object.__new__(kind)
    name, hint = NOT_RUN[kind]
    with pytest.raises(UnsupportedError) as raised:
        list(execute(statement, None))  # type: ignore[arg-type]
    assert raised.value.message == f"{name} is not supported"
    assert raised.value.hint == hint

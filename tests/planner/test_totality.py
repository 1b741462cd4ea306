"""Nothing is forgotten: every statement is planned or known to need no plan, every operator is
shown by EXPLAIN and known to the invariants."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from planner.plan_script import base_catalog

from streamsql import nodes
from streamsql.planner.explain.plan import operator_line
from streamsql.planner.plans import logical
from streamsql.planner.plans.invariants import expressions_of, problems
from streamsql.planner.scopes.scope import column_node
from streamsql.planner.statements import _plan
from streamsql.schema import Column
from streamsql.types import INT

T = TypeVar("T")

NEEDS_NO_PLAN = {
    nodes.Show,
    nodes.DescribeAll,
    nodes.DescribeFunction,
    nodes.Print,
    nodes.DefineVariable,
    nodes.UndefineVariable,
    nodes.RunScript,
    nodes.AssertTopic,
    nodes.AssertSchema,
    nodes.CreateConnector,
    nodes.DropConnector,
    nodes.DescribeConnector,
}


def test_every_statement_is_planned_or_needs_no_plan() -> None:
    planned = set(_plan.registry) - {object, nodes.Statement}
    assert planned | NEEDS_NO_PLAN == set(_subclasses(nodes.Statement))
    assert not planned & NEEDS_NO_PLAN


def test_every_operator_has_an_explain_line() -> None:
    shown = set(operator_line.registry) - {object}
    assert shown == set(_subclasses(logical.LogicalPlan))


def test_invariants_see_the_expressions_of_every_operator() -> None:
    with_expressions = {
        operator
        for operator in _subclasses(logical.LogicalPlan)
        if any("Named" in t or "Expression" in t for t in operator.__annotations__.values())
    }
    source = expressions_of.__code__.co_names
    assert {operator.__name__ for operator in with_expressions} <= set(source)


def test_a_broken_plan_is_told() -> None:
    source = base_catalog().get("VIEWS")
    bad = logical.Project(
        logical.Scan(source, "VIEWS"), (), (logical.Named("A", column_node(Column("NO", INT))),)
    )
    assert list(problems(bad)) == ["Project: column NO is not in its input"]


def _subclasses(base: type[T]) -> Iterator[type[T]]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)

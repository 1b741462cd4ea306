"""Every statement states what it can change; a logged one has a plan that changes the catalog."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar, get_args, get_type_hints

from planner.plan_script import base_catalog
from runtime.logged import LOGGED

from streamsql import nodes
from streamsql.planner.ddl.row_changes import RowsPlan
from streamsql.planner.operators import Named, Project, Scan
from streamsql.planner.plans.dispatch import apply, plan_statement
from streamsql.planner.plans.invariants import problems
from streamsql.planner.plans.statements import NothingToDo, Planned
from streamsql.planner.scopes.scope import column_node
from streamsql.schema import Column
from streamsql.types import INT

T = TypeVar("T")

CHANGE_NO_CATALOG = {NothingToDo, RowsPlan}
"""Plans of logged statements that leave the catalog as it is."""


def test_every_statement_says_what_it_can_change() -> None:
    silent = [k.__name__ for k in _subclasses(nodes.Statement) if "effect" not in vars(k)]
    assert not silent, "give them an `effect` in nodes/statement.py or nodes/definition.py"


def test_every_logged_statement_has_a_plan_and_the_plan_changes_the_catalog() -> None:
    """What is logged is replayed, forwarded to the leader and exported by its plan."""
    unplanned = [kind for kind in LOGGED if kind not in plan_statement.registry]
    assert not unplanned, "plan them in planner/ddl, by @plan_statement.register"
    for kind in LOGGED:
        planned = set(_given_by(plan_statement.registry[kind])) - CHANGE_NO_CATALOG
        assert planned, f"{plan_statement.registry[kind]} says nothing of what it gives"
        unapplied = [plan for plan in planned if plan not in apply.registry]
        assert not unapplied, "say in planner/ddl what they do to the catalog, by @apply.register"


def test_what_changes_the_catalog_is_logged() -> None:
    for kind, planning in plan_statement.registry.items():
        changes = any(plan in apply.registry for plan in _given_by(planning))
        if changes and kind not in (object, nodes.Statement, nodes.SelectQuery):
            assert kind.effect.logged, f"{kind.__name__} changes the catalog but is not logged"


def _given_by(planning: Callable[..., Planned]) -> tuple[type[Planned], ...]:
    """The classes of plans that a planning function says it gives, but for the base."""
    given = get_type_hints(planning)["return"]
    classes = get_args(given) or (given,)
    return tuple(plan for plan in classes if plan is not Planned)


def test_a_broken_plan_is_reported() -> None:
    source = base_catalog().get("VIEWS")
    bad = Project(Scan(source, "VIEWS"), (), (Named("A", column_node(Column("NO", INT))),))
    assert list(problems(bad)) == ["Project: column NO is not in its input"]


def _subclasses(base: type[T]) -> Iterator[type[T]]:
    for subclass in base.__subclasses__():
        yield subclass
        yield from _subclasses(subclass)

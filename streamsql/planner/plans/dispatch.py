"""How each class of statements is planned, and what each plan does to the catalog.

The modules of planner/ddl and planner/statements.py enter their functions here.
"""

from __future__ import annotations

from functools import singledispatch

from streamsql.catalog import Catalog
from streamsql.nodes import Statement
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.statements import OtherPlan, Planned


@singledispatch
def plan_statement(statement: Statement, planning: Planning) -> Planned:
    """What a statement will do. One without an entry needs no plan."""
    return OtherPlan(statement)


@singledispatch
def apply(planned: Planned, catalog: Catalog) -> None:
    """Bring the catalog in line with a statement that was done. A plan without an entry changes
    nothing in it."""

"""The functions that plan each class of statements, and those that apply each plan to the catalog.

The modules of planner/ddl and planner/statements.py register their functions here.
"""

from __future__ import annotations

from functools import singledispatch

from streamsql.catalog import Catalog
from streamsql.nodes import Statement
from streamsql.planner.plans.context import Planning
from streamsql.planner.plans.statements import OtherPlan, Planned


@singledispatch
def plan_statement(statement: Statement, planning: Planning) -> Planned:
    """Plan a statement. A statement without an entry needs no plan."""
    return OtherPlan(statement)


@singledispatch
def apply(planned: Planned, catalog: Catalog) -> None:
    """Update the catalog after a statement was executed. A plan without an entry changes
    nothing."""

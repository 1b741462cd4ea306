"""CREATE OR REPLACE .. AS SELECT: whether the new query can go on from the old one's state."""

from __future__ import annotations

from collections.abc import Iterator

from streamsql.catalog import Catalog, Source
from streamsql.errors import PlanError, StreamSQLError
from streamsql.nodes import CreateAsSelect
from streamsql.parser import parse_one
from streamsql.planner.joins.text import join_text
from streamsql.planner.plans.logical import (
    Aggregate,
    Distinct,
    Join,
    LogicalPlan,
    Named,
    Repartition,
    Scan,
    TopN,
    Union,
)
from streamsql.planner.plans.modes import operators
from streamsql.planner.plans.windows import text
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select.build import build_query
from streamsql.types import quote


def check_query_upgrade(existing: Source, new: LogicalPlan, catalog: Catalog) -> None:
    """PlanError where more than the projection, the filters and the table functions changed."""
    old = _old_plan(existing, catalog)
    if old is None:
        return
    before, after = list(_fixed_parts(old)), list(_fixed_parts(new))
    if before == after:
        return
    changed = next((b for b in before if b not in after), None)
    added = next((a for a in after if a not in before), None)
    raise PlanError(
        f"Cannot upgrade data source {existing.name}: a replaced query may change its SELECT items "
        "and its WHERE and HAVING clauses only",
        detail=f"Before: {changed or 'nothing'}. Now: {added or 'nothing'}.",
        hint=f"DROP {existing.kind.value} {quote(existing.name)} and create it again.",
    )


def _old_plan(existing: Source, catalog: Catalog) -> LogicalPlan | None:
    """The plan of the query that fills the source; None if its text plans no more."""
    statement = parse_one(existing.statement)
    if not isinstance(statement, CreateAsSelect):
        return None
    try:
        return build_query(statement.query, catalog, existing.name).root
    except StreamSQLError:
        return None


def _fixed_parts(plan: LogicalPlan) -> Iterator[str]:
    """What state and topics depend on, in words."""
    for operator in operators(plan):
        match operator:
            case Scan():
                yield f"reads {operator.source.name}"
            case TopN():
                order = (f"{expression_text(o.expression)} {o.descending}" for o in operator.order)
                yield f"TOP {operator.count} OF {_list(operator.keys)} BY {', '.join(order)}"
            case Union():
                yield "UNION ALL"
            case Distinct(window=window):
                yield "DISTINCT" + (f" in windows of {text(window.size)}" if window else "")
            case Join():
                yield f"{join_text(operator)} JOIN"
            case Repartition():
                yield "PARTITION BY " + _list(operator.keys)
            case Aggregate(window=window):
                yield "GROUP BY " + _list(operator.keys)
                yield "aggregates " + _list(operator.aggregates)
                yield f"EMIT {operator.emit.value}"
                if window is not None:
                    sizes = (window.size, window.advance, window.grace)
                    shown = ", ".join(text(d) for d in sizes if d is not None)
                    yield f"WINDOW {window.type.value} {shown}"


def _list(items: tuple[Named, ...]) -> str:
    return ", ".join(expression_text(item.expression) for item in items)

"""Joins of a stream with a lookup table: restrictions, and the operator."""

from __future__ import annotations

from streamsql.catalog import Source
from streamsql.errors import PlanError, Span, UnsupportedError
from streamsql.nodes import Join, JoinType
from streamsql.planner.joins.conditions import Condition
from streamsql.planner.joins.restrictions import Side, matched_pair
from streamsql.planner.operators import Filter, JoinKind, Leaf, LookupJoin, Operator, Scan
from streamsql.schema import Kind
from streamsql.types import quote

_JOINED = "Join a stream with it: SELECT .. FROM s JOIN {0} ON s.column = {0}.{1}."


def is_looked_up(leaf: Leaf) -> bool:
    """Whether its rows are found by key outside Kafka."""
    return isinstance(leaf, Scan) and leaf.source.lookup is not None


def check_not_read(source: Source, span: Span | None, *, bounded: bool = False) -> None:
    """UnsupportedError, at the span, if a lookup table is read rather than joined. A query that
    ends (`bounded`) can read a table of Iceberg."""
    if source.lookup is None or (bounded and source.is_lake):
        return
    name = quote(source.name)
    if source.is_lake:
        raise UnsupportedError(
            f"{source.name} is a table of Iceberg, which has no changelog",
            hint="SELECT without EMIT reads it.",
            span=span,
        )
    raise UnsupportedError(
        f"{source.name} is a lookup table: it is read by key, and has no changelog",
        hint=_JOINED.format(name, quote(source.schema.key[0].name)),
        span=span,
    )


def joined_lookup(left: Side, right: Side, join: Join, condition: Condition) -> Side:
    """A stream, or the result of the preceding joins, with a lookup for each row."""
    scan = right.scans[0]
    _check(left, right, join, condition)
    keys = {part.right: part for part in condition.equalities}
    on = tuple(matched_pair(JoinKind.STREAM_TABLE, keys[key])[0] for key in right.keys)
    outer = condition.besides if join.type is JoinType.LEFT else None
    plan: Operator = LookupJoin(left.plan, scan.source, scan.alias, join.type, on, outer)
    if join.type is JoinType.INNER and condition.besides is not None:
        plan = Filter(plan, condition.besides, "ON")
    return Side(plan, (*left.scans, scan), left.key, left.equals, left.keys)


def _check(left: Side, right: Side, join: Join, condition: Condition) -> None:
    source = right.scans[0].source
    name = quote(source.name)
    if source.is_lake:
        raise UnsupportedError(
            f"a join of a stream with {name}, which is a table of Iceberg",
            hint="SELECT without EMIT in standard SQL joins it: "
            "SET 'streamsql.sql.semantics' = 'standard'.",
            span=join.span,
        )
    if left.kind is Kind.TABLE:
        raise UnsupportedError(
            f"a table cannot be joined with {name}, which is a lookup table: its rows may "
            "change without changing the result",
            hint="Join a stream with it: each of its rows is looked up when it comes.",
            span=join.span,
        )
    if join.type not in (JoinType.INNER, JoinType.LEFT):
        raise PlanError(
            f"Invalid join type: {name} is a lookup table, whose rows produce no results.",
            hint="Use INNER or LEFT JOIN.",
            span=join.span,
        )
    if join.within is not None and not join.within.implied:
        raise PlanError(
            f"A window definition was provided for a join with {name}. Rows are looked up when "
            "they come.",
            hint="Drop the WITHIN clause.",
            span=join.span,
        )
    keys, compared = right.keys, condition.rights
    if len(keys) != len(compared) or not all(key in compared for key in keys):
        names = " and ".join(column.name for column in source.schema.key)
        raise PlanError(
            "Invalid join condition: lookup tables are joined on their primary key. "
            f"Got {condition.text}.",
            hint=f"The primary key of {source.name} is {names}.",
            span=condition.span,
        )


def looked_up_last(plan: Operator) -> Operator:
    """The join or source below the last lookups in FROM, and their conditions."""
    while isinstance(plan, LookupJoin) or (isinstance(plan, Filter) and plan.clause == "ON"):
        plan = plan.input
    return plan

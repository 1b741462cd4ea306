"""Window functions and table functions of a SELECT list."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from streamsql import types
from streamsql.errors import UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Generate, Relation, WindowFunctions
from streamsql.planner.relational.binder import sessions
from streamsql.planner.relational.binder.grouping import projected
from streamsql.planner.relational.binder.pending import Generated, Pending, WindowCall
from streamsql.planner.relational.binder.subqueries import Subqueries
from streamsql.planner.relational.expressions import Ids, column, number, typed
from streamsql.planner.relational.typing import coerced, is_integer, kind_of
from streamsql.planner.scopes.spans import span_of
from streamsql.types import INT


@dataclass(frozen=True)
class Windows:
    """Computes the window functions of expressions."""

    ids: Ids
    pending: Pending
    subqueries: Subqueries

    def placed(
        self, relation: Relation, windows: dict[str, Expression]
    ) -> tuple[Relation, dict[str, Expression]]:
        """The relation with the functions, and what their placeholders are; windows of one
        partition and order are one operator. `windows` are sqlglot's, by placeholder."""
        names = list(windows)
        relation, calls = self.subqueries.placed(relation, [windows[name] for name in names])
        grouped: dict[tuple[str, str, str], list[tuple[str, exp.Window]]] = {}
        for name, call in zip(names, calls, strict=True):
            assert isinstance(call, exp.Window)
            partition = ", ".join(p.sql() for p in call.args.get("partition_by") or [])
            order = call.args.get("order")
            gap = sessions.gap_of(call)
            key = partition, order.sql() if order is not None else "", gap.sql() if gap else ""
            grouped.setdefault(key, []).append((name, call))
        results: dict[str, Expression] = {}
        for members in grouped.values():
            relation = self._operator(relation, members, results)
        return relation, results

    def _operator(
        self,
        relation: Relation,
        members: Sequence[tuple[str, exp.Window]],
        results: dict[str, Expression],
    ) -> Relation:
        keys = members[0][1].args.get("partition_by") or []
        relation, partition = projected(self.ids, relation, keys)
        if sessions.gap_of(members[0][1]) is not None:
            relation, session = sessions.numbered(self.ids, relation, partition, members[0][1])
            partition = [*partition, session]
        functions = []
        for name, window in members:
            call = sessions.framed(window)
            call.set("partition_by", [column(field) for field in partition])
            field = self.ids.field(_function(call), kind_of(window))
            call.type = field.type
            functions.append((field, call))
            results[name] = column(field)
        distinct = tuple(dict.fromkeys(partition))
        return WindowFunctions(relation, distinct, tuple(functions))


def _function(window: exp.Window) -> str:
    call = window.this
    while isinstance(call, exp.Filter | exp.IgnoreNulls | exp.RespectNulls):
        call = call.this
    return str(call.key).upper()


def generated(
    ids: Ids, pending: Pending, relation: Relation, expressions: Sequence[Expression]
) -> tuple[Relation, list[Expression]]:
    """The relation with the rows of the table functions in the expressions."""
    found = {
        name: part
        for expression in expressions
        for name, part in pending.in_(expression, Generated)
    }
    calls = [part.call for part in found.values() if isinstance(part, Generated)]
    if not calls:
        return relation, list(expressions)
    if len(calls) > 1:
        calls = [_array_of(call) for call in calls]
    fields = tuple(ids.field(call.key.upper(), kind_of(call)) for call in calls)
    call = calls[0]
    if len(calls) > 1:
        # Their rows stand side by side; the shorter ones are padded with nulls.
        arrays = [array for each in calls for array in each.expressions]
        call = exp.Unnest(expressions=arrays)
        call.type = kind_of(calls[0])
    relation = Generate(relation, call, fields)
    results = {name: column(field) for name, field in zip(found, fields, strict=True)}
    return relation, [pending.resolved(expression, results) for expression in expressions]


def _array_of(call: Expression) -> Expression:
    """The table function as UNNEST."""
    if isinstance(call, exp.Unnest):
        return call
    kind = kind_of(call)
    if not is_integer(kind) or call.args.get("is_end_exclusive"):
        raise UnsupportedError(
            "Several table functions in one SELECT list are supported for UNNEST and series of "
            "whole numbers.",
            hint="Write them in FROM.",
            span=span_of(call),
        )
    given = call.args.get("step")
    step = number(1) if given is None else given
    bounds = [coerced(part, kind) for part in (call.args["start"], call.args["end"], step)]
    name = "INTEGER_SERIES" if kind == INT else "BIGINT_SERIES"
    array = typed(exp.Anonymous(this=name, expressions=bounds), types.array(kind))
    return typed(exp.Unnest(expressions=[array]), kind)


def windows_in(pending: Pending, expressions: Sequence[Expression]) -> dict[str, Expression]:
    """The window functions of the expressions by placeholder."""
    found: dict[str, Expression] = {}
    for expression in expressions:
        for name, part in pending.in_(expression, WindowCall):
            assert isinstance(part, WindowCall)
            found[name] = part.window
    return found

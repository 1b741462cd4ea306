"""Aggregates and window functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from streamsql import types
from streamsql.errors import PlanError, UnsupportedError
from streamsql.nodes import Expression
from streamsql.planner.relational import functions, typing
from streamsql.planner.relational.binder import sessions
from streamsql.planner.relational.binder.calls import CallRules
from streamsql.planner.relational.binder.pending import (
    AggregateCall,
    WindowCall,
)
from streamsql.planner.relational.binder.rules import Allowed
from streamsql.planner.relational.expressions import ids_in, null, typed
from streamsql.planner.relational.typing import coerced, kind_of
from streamsql.planner.scopes.spans import span_of
from streamsql.types import DOUBLE, INTERVAL

POSITIONS = (
    *(exp.RowNumber, exp.Rank, exp.DenseRank, exp.PercentRank, exp.CumeDist, exp.Ntile),
    *(exp.Lag, exp.Lead),
)


class AggregateRules(CallRules):
    """Of calls over several rows."""

    def _aggregate(self, call: Expression, node: Expression) -> Expression:
        if not self.allowed.aggregates:
            raise PlanError(
                f"aggregate functions are not allowed in {self.allowed.clause}",
                hint="HAVING filters groups." if self.allowed.clause == "WHERE" else None,
                span=span_of(node),
            )
        return self.pending.placeholder(AggregateCall(call), kind_of(call), call.sql())

    def _filter(self, node: exp.Filter) -> Expression:
        inner = node.this
        if inner.name.upper() in functions.JSON_AGGREGATES:
            return self.bind(functions.json_aggregate(inner, node.expression))
        call = (
            self._within_group(inner) if isinstance(inner, exp.WithinGroup) else self._typed(inner)
        )
        condition = node.expression
        condition = condition.this if isinstance(condition, exp.Where) else condition
        bound = typing.condition(self._within().bind(condition), "FILTER")
        filtered = typed(exp.Filter(this=call, expression=exp.Where(this=bound)), kind_of(call))
        return self._aggregate(filtered, node)

    def _ordered_set(self, node: exp.WithinGroup) -> Expression:
        return self._aggregate(self._within_group(node), node)

    def _within_group(self, node: exp.WithinGroup) -> Expression:
        order = node.expression
        inner = self._within()
        items = [inner.ordered(item) for item in order.expressions]
        kind = kind_of(items[0].this)
        function = node.this.name.upper()
        shares = [inner.bind(share) for share in node.this.expressions]
        if shares and shares[0].find(exp.Null) is not None and not ids_in(shares[0]):
            kind = DOUBLE if function == "PERCENTILE_CONT" else kind
            return typed(exp.Max(this=null(kind)), kind)
        if function == "PERCENTILE_CONT":
            kind = types.array(DOUBLE) if types.is_array(kind_of(shares[0])) else DOUBLE
            items[0].set("this", coerced(items[0].this.copy(), DOUBLE))
            call: Expression = exp.PercentileCont(this=shares[0])
        elif function in ("PERCENTILE_DISC", "APPROX_PERCENTILE"):
            call = exp.PercentileDisc(this=shares[0])
            kind = types.array(kind) if types.is_array(kind_of(shares[0])) else kind
        elif function == "MODE":
            return typed(exp.Mode(this=items[0].this), kind)
        else:
            raise UnsupportedError(
                f"{function}(..) WITHIN GROUP is not supported.",
                hint="PERCENTILE_CONT, PERCENTILE_DISC and MODE are.",
                span=span_of(node),
            )
        return typed(exp.WithinGroup(this=call, expression=exp.Order(expressions=items)), kind)

    def _window(self, node: exp.Window) -> Expression:
        if not self.allowed.windows:
            raise PlanError(
                f"window functions are not allowed in {self.allowed.clause}",
                hint="A subquery in FROM can compute them.",
                span=span_of(node),
            )
        function, condition = node.this, None
        if isinstance(function, exp.Filter):
            function, condition = function.this, function.expression
        if function.name.upper() in functions.JSON_AGGREGATES:
            return self.bind(functions.json_aggregate(function, condition, node))
        inner = replace(self, allowed=Allowed("a window function", aggregates=True))
        call = inner.window_call(node.this)
        partition = inner.bind_all(node.args.get("partition_by") or [])
        order = node.args.get("order")
        items = [inner.ordered(item) for item in order.expressions] if order else []
        spec = node.args.get("spec")
        if spec is not None and spec.args["kind"] == "SESSION" and isinstance(call, POSITIONS):
            spec = None  # what depends on no frame
        window = exp.Window(
            this=call,
            partition_by=partition,
            order=exp.Order(expressions=items) if items else None,
            spec=inner.frame(spec, items) if spec is not None else None,
        )
        kind = kind_of(call)
        typed(window, kind)
        return self.pending.placeholder(WindowCall(window), kind, window.sql())

    def window_call(self, node: Expression) -> Expression:
        """The function of OVER, whose arguments may be aggregates."""
        if isinstance(node, exp.IgnoreNulls | exp.RespectNulls):
            call = self.window_call(node.this)
            return typed(type(node)(this=call), kind_of(call))
        if isinstance(node, exp.Filter):
            call = self.window_call(node.this)
            condition = node.expression
            condition = condition.this if isinstance(condition, exp.Where) else condition
            where = exp.Where(this=typing.condition(self.bind(condition), "FILTER"))
            return typed(exp.Filter(this=call, expression=where), kind_of(call))
        if isinstance(node, exp.Anonymous):
            arguments = []
            for argument in node.expressions:
                if isinstance(argument, exp.Star | exp.Order | exp.Distinct):
                    arguments.append(self._argument(argument))
                else:
                    arguments.append(self.bind(argument))
            call = functions.build(node.name.upper(), arguments)
            return functions.typed_call(call, node.name.upper())
        call = node.copy()
        for name, value in list(call.args.items()):
            if isinstance(value, exp.Star):
                continue
            if isinstance(value, exp.Expr):
                call.set(name, self.bind(node.args[name]))
            elif isinstance(value, list):
                call.set(name, self.bind_all(node.args[name]))
        return functions.typed_call(call, functions.title(node))

    def frame(self, spec: exp.WindowSpec, order: Sequence[exp.Ordered]) -> exp.WindowSpec:
        frame = _without_current_row(spec)
        if spec.text("kind").upper() == "GROUPS" or frame.args.get("exclude"):
            raise UnsupportedError(
                "Frames by GROUPS are not supported, and EXCLUDE only as EXCLUDE CURRENT ROW of "
                "ROWS that begin or end with it.",
                hint="ROWS, RANGE and SESSION are.",
                span=span_of(spec),
            )
        if spec.args["kind"] == "SESSION":
            frame.set("start", sessions.gap(spec, self.bind(spec.args["start"]), order))
            return frame
        for side in ("start", "end"):
            value = spec.args.get(side)
            if isinstance(value, exp.Expr):
                bound = self.bind(value)
                if typing.is_open(kind_of(bound)) and order:
                    kind = kind_of(order[0].this)
                    bound = coerced(bound, kind if types.is_numeric(kind) else INTERVAL)
                frame.set(side, bound)
        return frame


def _without_current_row(spec: exp.WindowSpec) -> exp.WindowSpec:
    """The frame, in which EXCLUDE of a row at its edge moves the edge."""
    frame = spec.copy()
    if spec.args.get("exclude") != "CURRENT ROW" or spec.args["kind"] != "ROWS":
        return frame
    for side, other, way in (("end", "start", "PRECEDING"), ("start", "end", "FOLLOWING")):
        far = spec.args[other]
        goes = spec.args[f"{other}_side"] == way and not (
            isinstance(far, exp.Literal) and far.name == "0"
        )
        if spec.args[side] == "CURRENT ROW" and goes:
            frame.set(side, exp.Literal.number(1))
            frame.set(f"{side}_side", way)
            frame.set("exclude", None)
            return frame
    return frame

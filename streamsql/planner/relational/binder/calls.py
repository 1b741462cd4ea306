"""Calls of functions by name, and table functions."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Self

from sqlglot import exp

from streamsql import types
from streamsql.errors import PlanError, StreamSQLError, TypeMismatchError, UnsupportedError
from streamsql.functions.user import SqlFunction, find_user_function
from streamsql.nodes import Expression
from streamsql.planner.relational import functions, typing
from streamsql.planner.relational.binder import sql_functions
from streamsql.planner.relational.binder.pending import (
    Generated,
    Grouping,
    Pending,
)
from streamsql.planner.relational.binder.rules import Allowed, Rules
from streamsql.planner.relational.binder.scopes import Scope
from streamsql.planner.relational.expressions import number, typed
from streamsql.planner.relational.intervals import constant_number
from streamsql.planner.relational.typing import coerced, kind_of
from streamsql.planner.scopes.spans import span_of
from streamsql.types import INT, INTERVAL, LOCAL_TIMESTAMP, STRING

_OPERATORS: dict[str, type[exp.Expr]] = {"BOOLEQ": exp.EQ, "BOOLNE": exp.NEQ}
"""Functions of operators."""


class CallRules(Rules):
    """Of calls."""

    def _anonymous(self, node: exp.Anonymous) -> Expression:
        function = node.name.upper()
        own = find_user_function(function)
        if isinstance(own, SqlFunction):
            return self._inlined(own, node)
        if function in functions.OF_SESSION:
            raise UnsupportedError(
                f"{function} is only supported in a SELECT without FROM.", span=span_of(node)
            )
        if function.startswith("JSONB_PATH_"):
            raise UnsupportedError(
                f"{function} is not supported: there are no paths of SQL/JSON.",
                hint="The operators ->, #> and @>, and JSONB_ARRAY_ELEMENTS, take JSONB apart.",
                span=span_of(node),
            )
        if function == "GROUPING":
            return self._grouping(node)
        if function in functions.CASTS and len(node.expressions) == 1:
            kind = types.named(function)
            assert kind is not None
            return self.bind(exp.Cast(this=node.expressions[0], to=kind.copy()))
        if function in _OPERATORS and len(node.expressions) == 2:
            left, right = node.expressions
            return self.bind(_OPERATORS[function](this=left, expression=right))
        if function == "PG_TYPEOF" and len(node.expressions) == 1:
            name = typing.postgres_name(kind_of(self.bind(node.expressions[0])))
            return typed(exp.Literal.string(name), STRING)
        if (share := functions.OF_A_SHARE.get(function)) and len(node.expressions) == 2:
            value, given = node.expressions
            order = exp.Order(expressions=[exp.Ordered(this=value)])
            call = exp.Anonymous(this=share, expressions=[given])
            return self._ordered_set(exp.WithinGroup(this=call, expression=order))
        if function in functions.TABLE_FUNCTIONS:
            return self._generated(node)
        if function in functions.JSON_PATHS and len(node.expressions) > 1:
            return self.bind(functions.json_path(node))
        if function in functions.JSON_AGGREGATES:
            return self.bind(functions.json_aggregate(node))
        if function in functions.AGGREGATES:
            return self._aggregate(self._built(node), node)
        if function in functions.WINDOW_ONLY:
            raise PlanError(
                f"window function {function} requires an OVER clause", span=span_of(node)
            )
        return self._built(node)

    def _inlined(self, function: SqlFunction, node: exp.Anonymous) -> Expression:
        def bind(body: Expression, scope: Scope) -> Expression:
            binder = replace(
                self,
                scope=scope,
                pending=Pending(),
                query=sql_functions.no_query,
                allowed=sql_functions.BODY,
            )
            return binder.bind(body)

        arguments = self.bind_all(node.expressions)
        try:
            return sql_functions.inlined(function, arguments, bind)
        except StreamSQLError as error:
            error.span = span_of(node)
            raise

    def _grouping(self, node: exp.Anonymous) -> Expression:
        arguments = tuple(self.bind_all(node.expressions))
        return self.pending.placeholder(Grouping(arguments), INT, node.sql())

    def _generated(self, node: exp.Anonymous) -> Expression:
        if not self.allowed.generated:
            raise PlanError(
                f"set-returning functions are not allowed in {self.allowed.clause}",
                hint="Write it in FROM.",
                span=span_of(node),
            )
        call = self.table_function(node)
        return self.pending.placeholder(Generated(call), kind_of(call), call.sql())

    def table_function(self, node: Expression) -> Expression:
        """A call in FROM or in the SELECT list, typed as one of its rows."""
        if isinstance(node, exp.GenerateSeries | exp.ExplodingGenerateSeries):
            parts = [node.args.get(part) for part in ("start", "end", "step")]
            node = exp.Anonymous(
                this="GENERATE_SERIES", expressions=[p.copy() for p in parts if p is not None]
            )
        arguments = self.bind_all(node.expressions)
        if node.name.upper() == "UNNEST":
            kind = kind_of(arguments[0])
            if not types.is_array(kind):
                raise TypeMismatchError(
                    f"function UNNEST({typing.name(kind)}) does not exist",
                    hint="It takes arrays.",
                    span=span_of(node),
                )
            return typed(exp.Unnest(expressions=arguments), types.innermost(kind))
        arrays = functions.JSON_ROWS | functions.JSON_ENTRIES | functions.SPLITS
        if (array := arrays.get(node.name.upper())) is not None:
            call = self.bound_call(array, arguments)
            rows = exp.Unnest(expressions=[call], explode_array=True)
            return typed(rows, types.element_type(kind_of(call)))
        if node.name.upper() == "GENERATE_SUBSCRIPTS":
            return self._subscripts(arguments, node)
        if node.name.upper() in ("GENERATE_SERIES", "RANGE"):
            bounds, kind = self._series(arguments)
            start, end, *step = bounds
            return typed(
                exp.GenerateSeries(
                    this=None,
                    start=start,
                    end=end,
                    step=step[0] if step else None,
                    is_end_exclusive=node.name.upper() == "RANGE",
                ),
                kind,
            )
        raise UnsupportedError(
            f"{node.name} is not supported as a table function.", span=span_of(node)
        )

    def _subscripts(self, arguments: list[Expression], node: Expression) -> Expression:
        if len(arguments) != 2 or arguments[1].name != "1":
            raise UnsupportedError(
                "GENERATE_SUBSCRIPTS takes an array and its first dimension.", span=span_of(node)
            )
        size = self.bound_call("CARDINALITY", arguments[:1])
        series = exp.GenerateSeries(this=None, start=number(1), end=size, is_end_exclusive=False)
        return typed(series, INT)

    def _series(self, arguments: list[Expression]) -> tuple[list[Expression], types.SQLType]:
        if len(arguments) == 1:
            arguments = [number(0), *arguments]
        ends, kind = typing.alike(arguments[:2], "GENERATE_SERIES")
        if kind in (STRING, types.DATE):
            kind = LOCAL_TIMESTAMP
            ends = [coerced(end, kind) for end in arguments[:2]]
        steps = arguments[2:]
        if typing.is_integer(kind) or types.is_decimal(kind):
            _check_series([*ends, *steps])
            return typing.alike([*ends, *steps], "GENERATE_SERIES")
        return [*ends, *(coerced(step, INTERVAL) for step in steps)], kind

    def _built(self, node: Expression) -> Expression:
        """A call by name, as sqlglot's node with its type."""
        function = node.name.upper()
        binder = self._within() if function in functions.AGGREGATES else self
        arguments = [binder._argument(argument) for argument in node.expressions]
        call = functions.build(function, arguments)
        call.meta.update(node.meta)
        return functions.typed_call(call, function)

    @abstractmethod
    def _aggregate(self, call: Expression, node: Expression) -> Expression:
        """The placeholder of an aggregate."""

    @abstractmethod
    def _ordered_set(self, node: exp.WithinGroup) -> Expression:
        """`f(..) WITHIN GROUP (..)`."""

    def _within(self) -> Self:
        """Binds the arguments of aggregates, which hold neither aggregates nor window functions."""
        return replace(self, allowed=Allowed("the arguments of an aggregate"))

    def _argument(self, node: Expression) -> Expression:
        if isinstance(node, exp.Star | exp.Var | exp.Identifier):
            return node.copy()
        if isinstance(node, exp.Distinct):
            values = [self._argument(value) for value in node.expressions]
            return exp.Distinct(expressions=values)
        if isinstance(node, exp.Order):
            value = node.args.get("this")
            return exp.Order(
                this=None if value is None else self._argument(value),
                expressions=[self.ordered(item) for item in node.expressions],
            )
        return self.bind(node)

    def ordered(self, node: Expression) -> exp.Ordered:
        """An item of ORDER BY with its nulls where PostgreSQL has them."""
        descending = bool(node.args.get("desc"))
        nulls = node.args.get("nulls_first")
        nulls = descending if nulls is None else nulls
        value = node.this if isinstance(node, exp.Ordered) else node
        bound = self.bind(value)
        return exp.Ordered(
            this=coerced(bound, typing.settled(kind_of(bound))), desc=descending, nulls_first=nulls
        )

    def _call(self, node: exp.Func) -> Expression:
        """A node of sqlglot's that is one already."""
        call = self._typed(node)
        return self._aggregate(call, node) if functions.is_aggregate(call) else call

    def _typed(self, node: Expression) -> Expression:
        if isinstance(node, exp.Anonymous):
            return self._built(node)
        call = node.copy()
        binder = self._within() if functions.is_aggregate(call) else self
        for name, value in list(call.args.items()):
            if isinstance(value, exp.Expr):
                call.set(name, binder._argument(node.args[name]))
            elif isinstance(value, list):
                call.set(name, [binder._argument(item) for item in node.args[name]])
        return functions.typed_call(call, functions.title(node))


def _check_series(numbers: list[Expression]) -> None:
    """TypeMismatchError for constants that no series has."""
    constants = [constant_number(value) for value in numbers]
    for what, value, found in zip(("start", "stop", "step"), numbers, constants, strict=False):
        if found is not None and not found.is_finite():
            name = "NaN" if found.is_nan() else "infinity"
            raise TypeMismatchError(f"{what} value cannot be {name}", span=span_of(value))
    if constants[2:] == [0]:
        raise TypeMismatchError("step size cannot equal zero", span=span_of(numbers[2]))

"""Expressions of syntax nodes to typed ones over fields."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from streamsql import types
from streamsql.errors import PlanError, TypeMismatchError, UnsupportedError
from streamsql.nodes import Expression, Query
from streamsql.planner.relational import functions, typing
from streamsql.planner.relational.binder.pending import (
    AggregateCall,
    ArrayQuery,
    ComparedQuery,
    ExistsQuery,
    Generated,
    Grouping,
    Pending,
    ScalarQuery,
    WindowCall,
)
from streamsql.planner.relational.binder.scopes import Bound, Scope, resolve
from streamsql.planner.relational.expressions import (
    boolean,
    compare,
    conjunction,
    disjunction,
    is_null,
    negation,
    operand,
    typed,
)
from streamsql.planner.relational.typing import INTERVAL, UNKNOWN, coerced, kind_of
from streamsql.planner.scopes.spans import span_of
from streamsql.types import BIGINT, BOOLEAN, DOUBLE, INT, NULL, STRING, TIMESTAMP
from streamsql.values.intervals import interval

BindQuery = Callable[[Query, Scope], Bound]


@dataclass(frozen=True)
class Allowed:
    """What may stand in a clause."""

    clause: str
    aggregates: bool = False
    windows: bool = False
    generated: bool = False


@dataclass(frozen=True)
class ExpressionBinder:
    """Binds the expressions of one SELECT."""

    scope: Scope
    pending: Pending
    query: BindQuery
    allowed: Allowed

    def bind(self, node: Expression) -> Expression:
        method = _METHODS.get(type(node))
        if method is None:
            if isinstance(node, exp.Func):
                return self._call(node)
            raise UnsupportedError(
                f"{type(node).__name__} is not supported in a relational query.",
                span=span_of(node),
            )
        bound: Expression = method(self, node)
        if node.meta and not bound.meta:
            bound.meta.update(node.meta)
        return bound

    def bind_all(self, nodes: Sequence[Expression]) -> list[Expression]:
        return [self.bind(node) for node in nodes]

    def condition(self, node: Expression) -> Expression:
        return typing.condition(self.bind(node), self.allowed.clause)

    # -- leaves ----------------------------------------------------------------------------------

    def _column(self, node: exp.Column) -> Expression:
        return resolve(node, self.scope)

    def _literal(self, node: exp.Literal) -> Expression:
        if node.is_string:
            return typed(node.copy(), UNKNOWN)
        text = node.name
        if "e" in text.lower():
            return typed(node.copy(), DOUBLE)
        if "." in text:
            digits = text.replace(".", "").lstrip("-").lstrip("0")
            scale = len(text.split(".")[1])
            return typed(node.copy(), types.decimal(max(len(digits), scale, 1), scale))
        value = abs(int(text))
        if value < 2**31:
            return typed(node.copy(), INT)
        if value < 2**63:
            return typed(node.copy(), BIGINT)
        return typed(node.copy(), types.decimal(38, 0))

    def _boolean(self, node: exp.Boolean) -> Expression:
        return typed(node.copy(), BOOLEAN)

    def _null(self, node: exp.Null) -> Expression:
        return typed(exp.Null(), NULL)

    def _interval(self, node: exp.Interval) -> Expression:
        unit = node.args.get("unit")
        parsed = interval(node.this.name, unit.name if unit is not None else None)
        if parsed is None:
            raise TypeMismatchError(f"'{node.this.name}' is not an INTERVAL", span=span_of(node))
        return length(parsed.months, parsed.millis)

    def _paren(self, node: exp.Paren) -> Expression:
        return self.bind(node.this)

    # -- operators -------------------------------------------------------------------------------

    def _and(self, node: exp.And) -> Expression:
        both = [self._truth(part, "AND") for part in (node.this, node.expression)]
        return conjunction(both) or boolean(True)

    def _or(self, node: exp.Or) -> Expression:
        both = [self._truth(part, "OR") for part in (node.this, node.expression)]
        return disjunction([operand(part) for part in both]) or boolean(False)

    def _truth(self, node: Expression, clause: str) -> Expression:
        return typing.condition(self.bind(node), clause)

    def _not(self, node: exp.Not) -> Expression:
        inner = node.this
        if isinstance(inner, exp.In) and inner.args.get("query") is not None:
            return self._in_query(inner, negated=True)
        return negation(self._truth(inner, "NOT"))

    def _comparison(self, node: exp.Binary) -> Expression:
        right = node.expression
        if isinstance(right, exp.Any | exp.All):
            return self._quantified(node, right)
        if isinstance(node.this, exp.Tuple):
            return self._row_comparison(node)
        a, b = self.bind(node.this), self.bind(right)
        a, b = typing.comparable(a, b, _SYMBOLS[type(node)])
        return compare(type(node), a, b)

    def _row_comparison(self, node: exp.Binary) -> Expression:
        left, right = node.this, node.expression
        if isinstance(right, exp.Subquery):
            query = self.query(right.this, self.scope)
            return self._compared(
                self.bind_all(left.expressions), type(node), query, all_=False, at=node
            )
        if not isinstance(right, exp.Tuple) or len(right.expressions) != len(left.expressions):
            raise TypeMismatchError("rows of unequal size cannot be compared", span=span_of(node))
        pairs = list(zip(left.expressions, right.expressions, strict=True))
        if isinstance(node, exp.EQ | exp.NullSafeEQ):
            parts = [self.bind(type(node)(this=a, expression=b)) for a, b in pairs]
            return conjunction(parts) or boolean(True)
        if isinstance(node, exp.NEQ | exp.NullSafeNEQ):
            parts = [self.bind(type(node)(this=a, expression=b)) for a, b in pairs]
            return disjunction(parts) or boolean(False)
        strict = exp.LT if isinstance(node, exp.LT | exp.LTE) else exp.GT
        whole: Expression | None = None
        for number_, (a, b) in enumerate(reversed(pairs)):
            last = type(node) if number_ == 0 else strict
            first = self.bind(last(this=a, expression=b))
            if whole is None:
                whole = first
                continue
            equal = self.bind(exp.EQ(this=a, expression=b))
            rest = conjunction([equal, operand(whole)])
            assert rest is not None
            whole = disjunction([operand(first), operand(rest)])
        return whole or boolean(True)

    def _is(self, node: exp.Is) -> Expression:
        value = node.expression
        if isinstance(value, exp.Null):
            inner = self.bind(node.this)
            return is_null(coerced(inner, STRING) if kind_of(inner) in (UNKNOWN, NULL) else inner)
        truth = self.bind(value)
        return compare(exp.NullSafeEQ, self._truth(node.this, "IS"), truth)

    def _arithmetic(self, node: exp.Binary) -> Expression:
        a, b = self.bind(node.this), self.bind(node.expression)
        return typing.arithmetic(type(node), _SYMBOLS[type(node)], operand(a), operand(b))

    def _negative(self, node: exp.Neg) -> Expression:
        value = self.bind(node.this)
        if isinstance(value, exp.Literal) and not value.is_string:
            text = value.name
            text = text[1:] if text.startswith("-") else f"-{text}"
            return typed(exp.Literal.number(text), kind_of(value))
        kind = kind_of(value)
        if typing.is_open(kind):
            value, kind = coerced(value, DOUBLE), DOUBLE
        if not types.is_numeric(kind) and kind != INTERVAL:
            raise TypeMismatchError(
                f"operator does not exist: - {typing.name(kind)}", span=span_of(node)
            )
        return typed(exp.Neg(this=operand(value)), kind)

    def _bits(self, node: exp.Binary) -> Expression:
        a, b = self.bind(node.this), self.bind(node.expression)
        (a, b), kind = typing.alike([a, b], type(node).__name__)
        return typed(type(node)(this=operand(a), expression=operand(b)), kind)

    def _bit_not(self, node: exp.BitwiseNot) -> Expression:
        value = self.bind(node.this)
        return typed(exp.BitwiseNot(this=operand(value)), kind_of(value))

    def _power(self, node: exp.Pow) -> Expression:
        a, b = (coerced(self.bind(part), DOUBLE) for part in (node.this, node.expression))
        return typed(exp.Pow(this=a, expression=b), DOUBLE)

    def _concatenation(self, node: exp.DPipe) -> Expression:
        a, b = self.bind(node.this), self.bind(node.expression)
        kinds = kind_of(a), kind_of(b)
        if any(types.is_array(kind) for kind in kinds):
            return self._array_concatenation(a, b)
        if STRING not in kinds and UNKNOWN not in kinds:
            raise typing.mismatch("||", *kinds, a)
        both = [operand(coerced(part, STRING)) for part in (a, b)]
        return typed(exp.DPipe(this=both[0], expression=both[1]), STRING)

    def _array_concatenation(self, a: Expression, b: Expression) -> Expression:
        kind = next(kind_of(part) for part in (a, b) if types.is_array(kind_of(part)))
        parts = [
            part
            if types.is_array(kind_of(part))
            else typed(exp.Array(expressions=[part]), types.array(kind_of(part)))
            for part in (a, b)
        ]
        return typed(exp.ArrayConcat(this=parts[0], expressions=[parts[1]]), kind)

    def _between(self, node: exp.Between) -> Expression:
        low = self.bind(exp.GTE(this=node.this, expression=node.args["low"]))
        high = self.bind(exp.LTE(this=node.this.copy(), expression=node.args["high"]))
        return conjunction([low, high]) or boolean(True)

    def _pattern(self, node: exp.Binary) -> Expression:
        pattern, escape = node.expression, None
        if isinstance(pattern, exp.Any | exp.All):
            return self._quantified(node, pattern)
        if isinstance(pattern, exp.Escape):
            pattern, escape = pattern.this, pattern.expression
        a = coerced(self.bind(node.this), STRING)
        b = coerced(self.bind(pattern), STRING)
        if kind_of(a) != STRING:
            raise typing.mismatch(type(node).__name__.upper(), kind_of(a), kind_of(b), node)
        if escape is not None:
            return typed(
                exp.Escape(this=compare(type(node), a, b), expression=escape.copy()), BOOLEAN
            )
        return compare(type(node), a, b)

    def _escape(self, node: exp.Escape) -> Expression:
        inner = self.bind(node.this)
        return typed(exp.Escape(this=inner, expression=node.expression.copy()), BOOLEAN)

    def _similar(self, node: exp.SimilarTo) -> Expression:
        return self._pattern(node)

    # -- values ----------------------------------------------------------------------------------

    def _case(self, node: exp.Case) -> Expression:
        base = node.args.get("this")
        branches = node.args["ifs"]
        conditions = []
        for branch in branches:
            if base is not None:
                conditions.append(self.bind(exp.EQ(this=base.copy(), expression=branch.this)))
            else:
                conditions.append(self._truth(branch.this, "CASE WHEN"))
        default = node.args.get("default")
        results = self.bind_all([branch.args["true"] for branch in branches])
        results.append(self.bind(default) if default is not None else typed(exp.Null(), NULL))
        results, kind = typing.alike(results, "CASE")
        ifs = [
            exp.If(this=condition, true=result)
            for condition, result in zip(conditions, results, strict=False)
        ]
        last = results[-1] if default is not None else None
        return typed(exp.Case(ifs=ifs, default=last), kind)

    def _if(self, node: exp.If) -> Expression:
        return self._case(exp.Case(ifs=[node], default=node.args.get("false")))

    def _cast(self, node: exp.Cast) -> Expression:
        target = typing.standard(node.args["to"])
        value = self.bind(node.this)
        if isinstance(value, exp.Literal) and value.is_string and target == INTERVAL:
            return self._interval(exp.Interval(this=value))
        if kind_of(value) == target:
            return value
        return typed(exp.Cast(this=value, to=target.copy()), target)

    def _in(self, node: exp.In) -> Expression:
        if node.args.get("query") is not None:
            return self._in_query(node, negated=False)
        if isinstance(node.this, exp.Tuple) or any(
            isinstance(v, exp.Tuple) for v in node.expressions
        ):
            parts = [self.bind(exp.EQ(this=node.this, expression=v)) for v in node.expressions]
            return disjunction([operand(part) for part in parts]) or boolean(False)
        value = self.bind(node.this)
        others = self.bind_all(node.expressions)
        kind = typing.common([kind_of(value), *(kind_of(other) for other in others)])
        if kind is None:
            parts = [self.bind(exp.EQ(this=node.this, expression=v)) for v in node.expressions]
            return disjunction(parts) or boolean(False)
        kind = typing.settled(kind)
        return typed(
            exp.In(
                this=operand(coerced(value, kind)), expressions=[coerced(o, kind) for o in others]
            ),
            BOOLEAN,
        )

    def _array(self, node: exp.Array) -> Expression:
        inner = node.args.get("query")
        if inner is not None:
            query = self.query(inner, self.scope)
            kind = types.array(query.fields[0].type)
            return self.pending.placeholder(ArrayQuery(query), kind)
        return functions.typed_call(exp.Array(expressions=self.bind_all(node.expressions)), "ARRAY")

    def _bracket(self, node: exp.Bracket) -> Expression:
        value = self.bind(node.this)
        index = node.expressions[0]
        kind = kind_of(value)
        if isinstance(index, exp.Slice):
            bounds = [
                self.bind(part) if part is not None else None
                for part in (index.this, index.expression)
            ]
            inner = exp.Slice(this=bounds[0], expression=bounds[1])
            return typed(exp.Bracket(this=value, expressions=[inner]), kind)
        if not (types.is_array(kind) or types.is_map(kind)):
            raise TypeMismatchError(
                f"cannot subscript a value of type {typing.name(kind)}", span=span_of(node)
            )
        return typed(
            exp.Bracket(this=value, expressions=[self.bind(index)], offset=1),
            types.element_type(kind),
        )

    def _field(self, node: exp.Dot) -> Expression:
        value = self.bind(node.this)
        kind = kind_of(value)
        found = dict(types.fields(kind)) if types.is_struct(kind) else {}
        if node.expression.name not in found:
            raise TypeMismatchError(
                f"{typing.name(kind)} has no field {node.expression.name}", span=span_of(node)
            )
        return typed(
            exp.Dot(this=value, expression=node.expression.copy()), found[node.expression.name]
        )

    def _extract(self, node: exp.Extract) -> Expression:
        value = self.bind(node.expression)
        return functions.typed_call(
            exp.Extract(this=exp.Var(this=node.this.name.upper()), expression=value), "EXTRACT"
        )

    def _at_time_zone(self, node: exp.AtTimeZone) -> Expression:
        value = coerced(self.bind(node.this), TIMESTAMP)
        return typed(exp.AtTimeZone(this=value, zone=self.bind(node.args["zone"])), TIMESTAMP)

    # -- calls -----------------------------------------------------------------------------------

    def _anonymous(self, node: exp.Anonymous) -> Expression:
        function = node.name.upper()
        if function == "GROUPING":
            return self._grouping(node)
        if function == "PERCENTILE" and len(node.expressions) == 2:
            value, share = node.expressions
            order = exp.Order(expressions=[exp.Ordered(this=value)])
            call = exp.Anonymous(this="PERCENTILE_CONT", expressions=[share])
            return self._ordered_set(exp.WithinGroup(this=call, expression=order))
        if function in functions.TABLE_FUNCTIONS:
            return self._generated(node)
        if function in functions.AGGREGATES:
            return self._aggregate(self._built(node), node)
        if function in functions.WINDOW_ONLY:
            raise PlanError(
                f"window function {function} requires an OVER clause", span=span_of(node)
            )
        return self._built(node)

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
            return typed(exp.Unnest(expressions=arguments), types.element_type(kind))
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

    def _series(self, arguments: list[Expression]) -> tuple[list[Expression], types.SQLType]:
        ends, kind = typing.alike(arguments[:2], "GENERATE_SERIES")
        if kind == STRING:
            ends, kind = [coerced(end, TIMESTAMP) for end in arguments[:2]], TIMESTAMP
        if kind == types.DATE:
            ends, kind = [coerced(end, TIMESTAMP) for end in ends], TIMESTAMP
        steps = arguments[2:]
        if typing.is_integer(kind) or types.is_decimal(kind):
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

    def _within(self) -> ExpressionBinder:
        """Binds the arguments of aggregates, which hold neither aggregates nor window functions."""
        allowed = Allowed("the arguments of an aggregate")
        return ExpressionBinder(self.scope, self.pending, self.query, allowed)

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
        if function == "PERCENTILE_CONT":
            kind = DOUBLE
            items[0].set("this", coerced(items[0].this.copy(), DOUBLE))
            call: Expression = exp.PercentileCont(this=shares[0])
        elif function in ("PERCENTILE_DISC", "APPROX_PERCENTILE"):
            call = exp.PercentileDisc(this=shares[0])
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
        inner = ExpressionBinder(
            self.scope, self.pending, self.query, Allowed("a window function", aggregates=True)
        )
        call = inner.window_call(node.this)
        partition = inner.bind_all(node.args.get("partition_by") or [])
        order = node.args.get("order")
        items = [inner.ordered(item) for item in order.expressions] if order else []
        spec = node.args.get("spec")
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
        frame = spec.copy()
        for side in ("start", "end"):
            value = spec.args.get(side)
            if isinstance(value, exp.Expr):
                bound = self.bind(value)
                if typing.is_open(kind_of(bound)) and order:
                    kind = kind_of(order[0].this)
                    bound = coerced(bound, kind if types.is_numeric(kind) else INTERVAL)
                frame.set(side, bound)
        return frame

    # -- subqueries ------------------------------------------------------------------------------

    def _scalar(self, node: exp.Subquery) -> Expression:
        query = self.query(node.this, self.scope)
        self._one_column(query, node)
        return self.pending.placeholder(ScalarQuery(query), query.fields[0].type)

    def _exists(self, node: exp.Exists) -> Expression:
        return self.pending.placeholder(ExistsQuery(self.query(node.this, self.scope)), BOOLEAN)

    def _in_query(self, node: exp.In, *, negated: bool) -> Expression:
        query = self.query(node.args["query"], self.scope)
        left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
        operator = exp.NEQ if negated else exp.EQ
        return self._compared(self.bind_all(left), operator, query, all_=negated, at=node)

    def _quantified(self, node: exp.Binary, right: exp.Any | exp.All) -> Expression:
        every = isinstance(right, exp.All)
        inner = right.this
        if isinstance(inner, Query):
            left = node.this.expressions if isinstance(node.this, exp.Tuple) else [node.this]
            query = self.query(inner, self.scope)
            return self._compared(self.bind_all(left), type(node), query, all_=every, at=node)
        values = inner
        if isinstance(values, exp.Paren):
            values = values.this
        if isinstance(values, exp.Array):
            parts = [
                self.bind(type(node)(this=node.this, expression=v)) for v in values.expressions
            ]
            joined = conjunction(parts) if every else disjunction([operand(p) for p in parts])
            return joined or boolean(every)
        array = self.bind(values)
        value = self.bind(node.this)
        if not types.is_array(kind_of(array)):
            raise TypeMismatchError("ANY and ALL take an array or a query", span=span_of(right))
        element = types.element_type(kind_of(array))
        name = exp.to_identifier("element")
        inner_column = typed(exp.Column(this=exp.to_identifier("element")), element)
        body = compare(type(node), coerced(value, element), inner_column)
        if every:
            body = negation(body)
        found = typed(
            exp.ArrayAny(this=array, expression=exp.Lambda(this=body, expressions=[name])), BOOLEAN
        )
        return negation(found) if every else found

    def _compared(
        self,
        values: list[Expression],
        operator: type[exp.Expr],
        query: Bound,
        *,
        all_: bool,
        at: Expression,
    ) -> Expression:
        if len(query.fields) != len(values):
            many = "too many" if len(query.fields) > len(values) else "too few"
            raise TypeMismatchError(f"subquery has {many} columns", span=span_of(at))
        coerced_values = []
        for value, item in zip(values, query.fields, strict=True):
            kind = kind_of(value)
            if typing.is_open(kind):
                value = coerced(value, item.type)
            elif typing.common([kind, item.type]) is None:
                raise typing.mismatch(_SYMBOLS.get(operator, "="), kind, item.type, at)
            coerced_values.append(value)
        part = ComparedQuery(tuple(coerced_values), operator, all_, query)
        return self.pending.placeholder(part, BOOLEAN)

    def _one_column(self, query: Bound, node: Expression) -> None:
        if len(query.fields) != 1:
            raise TypeMismatchError("subquery must return only one column", span=span_of(node))

    def _row(self, node: exp.Tuple) -> Expression:
        if len(node.expressions) == 1:
            return self.bind(node.expressions[0])
        values = self.bind_all(node.expressions)
        kinds = [(f"F{n}", typing.settled(kind_of(v))) for n, v in enumerate(values, 1)]
        parts = [
            exp.PropertyEQ(
                this=exp.to_identifier(name, quoted=True), expression=coerced(value, kind)
            )
            for (name, kind), value in zip(kinds, values, strict=True)
        ]
        return typed(exp.Struct(expressions=parts), types.struct(kinds))


def length(months: int, millis: int) -> Expression:
    """An INTERVAL of months, days and seconds."""
    days, rest = divmod(abs(millis), 86_400_000)
    sign = -1 if millis < 0 else 1
    parts = []
    if months:
        parts.append((months, "MONTH"))
    if days:
        parts.append((sign * days, "DAY"))
    if rest % 1000:
        parts.append((sign * rest, "MILLISECOND"))
    elif rest or not parts:
        parts.append((sign * rest // 1000, "SECOND"))
    whole: Expression | None = None
    for amount, unit in parts:
        one = typed(
            exp.Interval(this=exp.Literal.string(str(amount)), unit=exp.Var(this=unit)), INTERVAL
        )
        whole = one if whole is None else typed(exp.Add(this=whole, expression=one), INTERVAL)
    assert whole is not None
    return whole


_SYMBOLS: dict[type[exp.Expr], str] = {
    exp.EQ: "=",
    exp.NEQ: "<>",
    exp.LT: "<",
    exp.LTE: "<=",
    exp.GT: ">",
    exp.GTE: ">=",
    exp.NullSafeEQ: "IS NOT DISTINCT FROM",
    exp.NullSafeNEQ: "IS DISTINCT FROM",
    exp.Add: "+",
    exp.Sub: "-",
    exp.Mul: "*",
    exp.Div: "/",
    exp.Mod: "%",
    exp.IntDiv: "DIV",
}

_E = ExpressionBinder
_METHODS: dict[type[exp.Expr], Callable[[ExpressionBinder, Any], Expression]] = {
    exp.Column: _E._column,
    exp.Literal: _E._literal,
    exp.Boolean: _E._boolean,
    exp.Null: _E._null,
    exp.Interval: _E._interval,
    exp.Paren: _E._paren,
    exp.And: _E._and,
    exp.Or: _E._or,
    exp.Not: _E._not,
    **dict.fromkeys(
        (exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.NullSafeEQ, exp.NullSafeNEQ),
        _E._comparison,
    ),
    exp.Is: _E._is,
    **dict.fromkeys((exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.IntDiv), _E._arithmetic),
    exp.Neg: _E._negative,
    **dict.fromkeys(
        (
            exp.BitwiseAnd,
            exp.BitwiseOr,
            exp.BitwiseXor,
            exp.BitwiseLeftShift,
            exp.BitwiseRightShift,
        ),
        _E._bits,
    ),
    exp.BitwiseNot: _E._bit_not,
    exp.Pow: _E._power,
    exp.DPipe: _E._concatenation,
    exp.Between: _E._between,
    **dict.fromkeys((exp.Like, exp.ILike, exp.RegexpLike, exp.RegexpILike), _E._pattern),
    exp.SimilarTo: _E._similar,
    exp.Escape: _E._escape,
    exp.Case: _E._case,
    exp.If: _E._if,
    exp.Cast: _E._cast,
    exp.In: _E._in,
    exp.Array: _E._array,
    exp.Bracket: _E._bracket,
    exp.Dot: _E._field,
    exp.Extract: _E._extract,
    exp.AtTimeZone: _E._at_time_zone,
    exp.Anonymous: _E._anonymous,
    exp.Filter: _E._filter,
    exp.WithinGroup: _E._ordered_set,
    exp.Window: _E._window,
    exp.Subquery: _E._scalar,
    exp.Exists: _E._exists,
    exp.Tuple: _E._row,
}

"""References of MATCH_RECOGNIZE's conditions and measures to a match, as columns: `A.x`,
`FIRST(A.x, n)`, `LAST(A.x, n)`, `PREV(A.x, n)` and aggregates."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from sqlglot import exp

from streamsql.errors import BindError, PlanError, UnsupportedError, did_you_mean
from streamsql.functions import REGISTRY
from streamsql.nodes import Expression
from streamsql.planner.operators import MatchColumn, Place
from streamsql.planner.scopes.qualified import mark_qualified
from streamsql.planner.scopes.scope import Scope, folded
from streamsql.planner.scopes.spans import span_of
from streamsql.planner.scopes.text import expression_text
from streamsql.planner.select.aggregation import count_rows
from streamsql.planner.types.binding import (
    bind,
    columns_in,
    is_aggregate,
    is_lambda_parameter,
    table_functions_in,
)
from streamsql.schema import Column, Namespace, Schema
from streamsql.types import quote, type_of

MAX_ROWS = 10_000
"""The maximum distance of FIRST, LAST and PREV."""
_NAVIGATION = frozenset({"FIRST", "LAST", "PREV"})
_NOT_KNOWN = {
    "NEXT": "It needs a later row, which has not arrived. PREV of that row gives the same pair.",
    "CLASSIFIER": "COUNT(A.x) is the number of rows of a variable.",
    "MATCH_NUMBER": "The time of its first row identifies a match: FIRST(ROWTIME).",
    "MATCH_ROWTIME": "The time of the last row of a match is that of its result: ROWTIME.",
    "MATCH_PROCTIME": "The time of the last row of a match is that of its result: ROWTIME.",
}


@dataclass(frozen=True)
class MatchColumns:
    """Columns of a match, created as expressions refer to them; `scope` is that of its input."""

    scope: Scope
    variables: tuple[str, ...]
    taken: frozenset[str] = frozenset()
    """Names of other columns."""
    made: dict[str, MatchColumn] = field(default_factory=dict)

    def bind(self, expression: Expression, clause: str) -> Expression:

        def change(node: Expression) -> Expression:
            if isinstance(node, exp.Anonymous):
                return self._call(node, clause)
            if isinstance(node, exp.Column) and not is_lambda_parameter(node):
                return self._navigation(node, node, Place(), clause)
            return node

        rewritten = expression.transform(change)
        columns = (
            Column(c.name, type_of(c.expression), Namespace.VALUE) for c in self.made.values()
        )
        bound = bind(rewritten, replace(self.scope, schema=Schema(tuple(columns))), clause)
        for call in table_functions_in(bound):
            raise PlanError(
                f"Table functions are not allowed in {clause}: {expression_text(call)}",
                span=span_of(call),
            )
        return bound

    def _call(self, call: exp.Anonymous, clause: str) -> Expression:
        if call.name in _NOT_KNOWN and REGISTRY.find(call.name) is None:
            raise UnsupportedError(
                f"{call.name} is not supported in MATCH_RECOGNIZE",
                hint=_NOT_KNOWN[call.name],
                span=span_of(call),
            )
        if call.name in _NAVIGATION:
            value, place = self._placed(call)
            return self._navigation(call, value, place, clause)
        if REGISTRY.is_aggregate(call.name):
            return self._aggregate(call, clause)
        return call

    # -- rows ------------------------------------------------------------------------------------

    def _placed(self, call: exp.Anonymous) -> tuple[Expression, Place]:
        arguments = call.expressions
        if not 1 <= len(arguments) <= 2:
            raise _misspelt(call)
        value, rows = arguments[0], int(call.name == "PREV")
        if len(arguments) == 2:
            number = arguments[1]
            if not isinstance(number, exp.Literal) or not number.name.isdecimal():
                raise _misspelt(call)
            rows = int(number.name)
        if rows > MAX_ROWS:
            raise PlanError(f"{call.name} goes at most {MAX_ROWS} rows.", span=span_of(call))
        if call.name != "PREV":
            return value, Place(call.name == "FIRST", rows)
        if isinstance(value, exp.Anonymous) and value.name in ("FIRST", "LAST"):
            value, place = self._placed(value)
            return value, replace(place, back=rows)
        return value, Place(back=rows)

    def _navigation(
        self, node: Expression, value: Expression, place: Place, clause: str
    ) -> Expression:
        for call in value.find_all(exp.Anonymous):
            if call.name in _NAVIGATION or REGISTRY.is_aggregate(call.name):
                raise PlanError(
                    f"{call.name} cannot stand inside of {expression_text(node)}.",
                    hint="FIRST, LAST and PREV accept an expression over one row; PREV also "
                    "accepts FIRST "
                    "and LAST.",
                    span=span_of(call),
                )
        variable, bare = self._of_one(value, node)
        bound = bind(bare, self.scope, clause)
        for found in table_functions_in(bound):
            raise PlanError(
                f"{expression_text(found)} cannot stand inside of {expression_text(node)}.",
                span=span_of(found),
            )
        return self._column(_text(bound, variable, place), bound, variable, place, node)

    # -- aggregates ------------------------------------------------------------------------------

    def _aggregate(self, call: exp.Anonymous, clause: str) -> Expression:
        for argument in call.expressions:
            for nested in argument.find_all(exp.Anonymous):
                if nested.name in _NAVIGATION or REGISTRY.is_aggregate(nested.name):
                    raise PlanError(
                        f"{nested.name} cannot be an argument of {call.name}.",
                        hint="An aggregate takes in each row of a variable by itself.",
                        span=span_of(nested),
                    )
        variable, bare = self._of_one(call, call)
        bound = bind(bare, self.scope, clause)
        if not is_aggregate(bound):
            raise UnsupportedError(
                f"{call.name} is a function in Python, which MATCH_RECOGNIZE does not take",
                hint="Collect the values in MEASURES, by COLLECT_LIST, and give them to the "
                "function in the SELECT.",
                span=span_of(call),
            )
        counted = count_rows(bound, self.scope)
        return self._column(expression_text(call), counted, variable, None, call)

    # -- columns ---------------------------------------------------------------------------------

    def _of_one(self, value: Expression, node: Expression) -> tuple[str | None, Expression]:
        """The variable of the value (None: any), and the value over one row."""
        names = {column.table for column in columns_in(value)}
        if len(names) > 1:
            raise PlanError(
                f"{expression_text(node)} refers to rows of several variables.",
                hint="All columns of an aggregate, and of FIRST, LAST or PREV, must belong to "
                "one variable.",
                span=span_of(node),
            )
        written = next(iter(names), "")
        variable = self._variable(written, node) if written else None
        bare = value.copy()
        for column in bare.find_all(exp.Column):
            column.set("table", None)
        return variable, bare

    def _variable(self, written: str, node: Expression) -> str:
        for name in (written, folded(written)):
            if name in self.variables:
                return name
        raise BindError(
            f"{quote(written)} is not a variable of the PATTERN.",
            hint=did_you_mean(written, self.variables)
            or f"Its variables are {', '.join(self.variables)}.",
            span=span_of(node),
        )

    def _column(
        self,
        text: str,
        bound: Expression,
        variable: str | None,
        place: Place | None,
        node: Expression,
    ) -> exp.Column:
        name = text
        while name in self.taken:
            name += " "
        self.made[name] = MatchColumn(name, bound, variable, place)
        column = exp.Column(this=exp.to_identifier(name, quoted=True))
        column.meta.update(node.meta)
        if place == Place() and variable is not None and isinstance(bound, exp.Column):
            mark_qualified(column, variable)
        return column


def _text(bound: Expression, variable: str | None, place: Place) -> str:
    """`A.X`, `LAST(A.X, 1)`, `PREV(FIRST(A.X))`: the name of the column."""
    copy = bound.copy()
    if isinstance(copy, exp.Column) and variable is not None and place == Place():
        return f"{variable}.{copy.name}"
    for column in columns_in(copy):
        if variable is not None:
            column.set("table", exp.to_identifier(variable, quoted=True))
    text = expression_text(copy)
    moved = f", {place.offset}" if place.offset else ""
    text = f"{'FIRST' if place.first else 'LAST'}({text}{moved})"
    if place.back:
        text = f"PREV({text}{f', {place.back}' if place.back > 1 else ''})"
    return text


def _misspelt(call: exp.Anonymous) -> PlanError:
    return PlanError(
        f"{call.name} takes an expression and a number of rows.",
        hint="For example LAST(A.price), LAST(A.price, 1), FIRST(A.price) or PREV(A.price).",
        span=span_of(call),
    )

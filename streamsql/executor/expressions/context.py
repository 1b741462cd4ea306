"""The state of lowering one expression: its columns, lambda parameters, and failures on the way."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, time
from decimal import Decimal
from typing import Any, Protocol

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DataType
from sqlglot import exp

from streamsql import types
from streamsql.errors import InternalError
from streamsql.executor.spark.types import spark_type
from streamsql.nodes import Expression
from streamsql.planner.types.scope import is_comparison, text_of
from streamsql.types import SQLType, type_of
from streamsql.values.nested import scalar

Rule = Callable[[Any, "Lowering"], Column]

_NEVER_NULL = (
    *(exp.Literal, exp.Boolean, exp.Is, exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE),
    *(exp.NullSafeEQ, exp.NullSafeNEQ, exp.Between, exp.In, exp.Array, exp.Map, exp.Struct),
)
_CONDITIONS = (exp.And, exp.Or)


def never_null(node: Expression) -> bool:
    """Whether the value is surely not null, unless its evaluation has failed."""
    if isinstance(node, exp.And | exp.Or | exp.Not | exp.Neg | exp.Like | exp.ILike | exp.Escape):
        return not isinstance(node, exp.Neg) or never_null(node.this)
    return isinstance(node, _NEVER_NULL) or is_comparison(node)


def literal(node: Expression) -> Column:
    """A literal as a Spark literal of exactly its SQL type."""
    if isinstance(node, exp.Boolean):
        return F.lit(bool(node.this))
    if node.is_string:
        return F.lit(node.name)
    return number(node.name, type_of(node))


def number(text: str, kind: SQLType) -> Column:
    """A number as a Spark literal of a numeric type."""
    if types.is_decimal(kind):
        return F.lit(Decimal(text)).cast(spark_type(kind))
    if kind == types.DOUBLE:
        return F.lit(float(text))
    value = F.lit(int(text))
    return value if kind == types.INT else value.cast(spark_type(kind))


def constant(value: object, kind: SQLType) -> Column:
    """A value of a scalar type as a Spark literal."""
    if value is None:
        return F.lit(None).cast(spark_type(kind))
    if kind == types.TIMESTAMP:
        return F.timestamp_millis(F.lit(scalar(kind).packed(value)).cast("bigint"))
    if isinstance(value, time):
        return number(scalar(kind).record(value), kind)
    if isinstance(value, date | str | bytes | bool):
        return F.lit(value)
    return number(str(value), kind)


class ErrorGuard(Protocol):
    """Where failing expressions are noted and reported; the JVM's processing log is behind it."""

    def fail(self, message: Column, data_type: DataType) -> Column:
        """Inside an expression: notes that it has failed and gives a null of the type."""

    def finish(self, value: Column, data_type: DataType, text: str) -> Column:
        """Outermost: the value; if its evaluation noted a failure, null and one log entry."""

    def contain(self, value: Column, data_type: DataType, text: str) -> Column:
        """Around a part: the value; null if its evaluation noted a failure, which is then none of
        the whole expression, but will be in its log entry."""


class Lowering:
    """Lowers one expression, `root`, by a table of rules. Conditions, where null equals false, have
    their own table. `guard` None: failures give null without a report."""

    def __init__(
        self,
        rules: Mapping[type[Expression], Rule],
        conditions: Mapping[type[Expression], Rule],
        columns: Mapping[str, Column],
        guard: ErrorGuard | None,
        root: Expression | None = None,
    ) -> None:
        self.rules = rules
        self.conditions = conditions
        self.columns = columns
        self.guard = guard
        self.root = root
        self.can_fail = False
        """Whether a failure may be noted anywhere in the expression."""
        self.lambda_parameters: dict[str, Column] = {}
        self._uncontained = False
        self._lambda_depth = 0

    def lower(self, node: Expression) -> Column:
        """The Spark column of a typed expression; InternalError for a class of nodes without a
        rule."""
        rule = self.rules.get(type(node))
        if rule is None:
            raise InternalError(f"no lowering for {type(node).__name__}")
        return rule(node, self)

    def reference(self, node: exp.Column) -> Column:
        """The Spark column of a column, or of a lambda's parameter."""
        if node.meta.get("lambda"):
            return self.lambda_parameters[node.name]
        if node.name not in self.columns:
            raise InternalError(f"column {node.name} is not bound")
        return self.columns[node.name]

    # -- conditions ----------------------------------------------------------------------------

    def operand(self, node: Expression) -> Column:
        """An operand of AND, OR, NOT or WHEN: a null one makes the whole expression fail."""
        value = self.lower(node)
        if never_null(node) or not self.reports:
            return value
        return F.coalesce(value, self.fail("a BOOLEAN operand is null", types.BOOLEAN))

    def condition(self, node: Expression) -> Column:
        """As `lower`, where null means the same as false: spares the guards against null."""
        if isinstance(node, _CONDITIONS) and not self.reports_inside(node):
            left, right = self.condition(node.left), self.condition(node.right)
            return left & right if isinstance(node, exp.And) else left | right
        rule = self.conditions.get(type(node))
        return self.lower(node) if rule is None else rule(node, self)

    def reports_inside(self, node: exp.And | exp.Or) -> bool:
        """Whether an operand may be a null BOOLEAN that has to be reported."""
        return self.reports and not (never_null(node.left) and never_null(node.right))

    # -- failures ------------------------------------------------------------------------------

    @property
    def reports(self) -> bool:
        return self.guard is not None

    @property
    def in_lambda(self) -> bool:
        return self._lambda_depth > 0

    def null(self, kind: SQLType) -> Column:
        return F.lit(None).cast(spark_type(kind))

    def fail(self, message: str | Column, kind: SQLType) -> Column:
        """A null of the type; evaluating it makes the whole expression fail."""
        if self.guard is None:
            return self.null(kind)
        self.can_fail = self._uncontained = True
        text = F.lit(message) if isinstance(message, str) else message
        return self.guard.fail(text, spark_type(kind))

    def contained(self, node: Expression, rule: Rule | None = None) -> Column:
        """The value; a null by itself, should it fail, which lets the rest of the expression be.

        The expression as a whole needs none of this: nothing is left of it.
        """
        before, self._uncontained = self._uncontained, False
        value = rule(node, self) if rule else self.lower(node)
        fails = self._uncontained
        if self.guard is None or not fails or node is self.root:
            self._uncontained = before or fails
            return value
        self._uncontained = before
        return self.guard.contain(value, spark_type(type_of(node)), text_of(node))

    def checked(
        self,
        value: Column,
        message: str | Column,
        kind: SQLType,
        *inputs: tuple[Column, Expression],
    ) -> Column:
        """The value; null where no input is null is a failure."""
        if not self.reports:
            return value
        nullable = [column for column, node in inputs if not never_null(node)]
        failed = self.fail(message, kind)
        if not nullable:
            return F.coalesce(value, failed)
        present = nullable[0].isNotNull()
        for column in nullable[1:]:
            present = present & column.isNotNull()
        return F.coalesce(value, F.when(present, failed))

    def checked_condition(self, value: Column, message: str) -> Column:
        """A condition for which null is a failure; FALSE where failures are not noted."""
        return F.coalesce(
            value, self.fail(message, types.BOOLEAN) if self.reports else F.lit(False)
        )

    # -- lambdas -------------------------------------------------------------------------------

    def function(self, names: list[str], body: Callable[[], Column]) -> Callable[..., Column]:
        """A Python callable on Columns, as Spark's higher-order functions take it."""

        def apply(*values: Column) -> Column:
            outer = dict(self.lambda_parameters)
            self.lambda_parameters.update(zip(names, values, strict=True))
            self._lambda_depth += 1
            try:
                return body()
            finally:
                self._lambda_depth -= 1
                self.lambda_parameters = outer

        # Spark looks at how many parameters the callable names.
        by_arity: dict[int, Callable[..., Column]] = {
            1: lambda x: apply(x),
            2: lambda x, y: apply(x, y),
            3: lambda x, y, z: apply(x, y, z),
        }
        return by_arity[len(names)]

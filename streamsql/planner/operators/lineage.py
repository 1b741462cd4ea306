"""The lineage of rows and of expressions: which columns each column comes from, and how."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from sqlglot import exp

from streamsql.nodes import Expression, Window
from streamsql.planner.operators.edges import Columns, Edges, Transformation, over
from streamsql.planner.operators.items import Named
from streamsql.planner.types.binding import aggregate_function, is_aggregate, is_lambda_parameter
from streamsql.schema import RESERVED_COLUMNS, ROWTIME, Schema, TimestampColumn

NOTHING: Edges = frozenset()


@dataclass(frozen=True)
class Lineage:
    """Of the rows of an operator: the columns that each of its columns comes from, the columns that
    decide which rows there are, and the names of the sources it reads."""

    columns: Columns = field(default_factory=dict)
    """Those of the operator's schema, and the reserved ones: time, place and window."""
    influences: Edges = NOTHING
    reads: frozenset[str] = frozenset()

    def column(self, name: str) -> Edges:
        return self.columns.get(name, NOTHING)

    def made(self, items: Iterable[Named]) -> Columns:
        """The columns that the items make of these rows."""
        return {item.name: edges_of(item.expression, self.columns) for item in items}

    def with_columns(self, columns: Columns) -> Lineage:
        """The same rows with other columns; the reserved ones stay."""
        reserved = {n: e for n, e in self.columns.items() if n in RESERVED_COLUMNS}
        return replace(self, columns={**reserved, **columns})

    def adding(self, columns: Columns) -> Lineage:
        """The same rows with more columns."""
        return replace(self, columns={**self.columns, **columns})

    def influenced(self, *edges: Edges) -> Lineage:
        return replace(self, influences=self.influences.union(*edges))

    def influences_of(self, by: Transformation, expressions: Iterable[Expression]) -> Edges:
        return NOTHING.union(*(influence(by, each, self.columns) for each in expressions))

    def grouped(self, items: Iterable[Named]) -> Edges:
        """What decides about rows by way of the keys that group them."""
        return self.influences_of(Transformation.GROUP_BY, (item.expression for item in items))

    def windowed(self, window: Window | None) -> Edges:
        """What decides about rows by way of their window."""
        return NOTHING if window is None else over(Transformation.WINDOW, self.column(ROWTIME.name))

    def all(self, schema: Schema, by: Transformation) -> Edges:
        """What decides about rows that are compared in all columns."""
        return NOTHING.union(*(over(by, self.column(name)) for name in schema.names))

    def __or__(self, other: Lineage) -> Lineage:
        """The rows of both, whose columns have the same names."""
        names = dict.fromkeys((*self.columns, *other.columns))
        columns = {name: self.column(name) | other.column(name) for name in names}
        influences = self.influences | other.influences
        return Lineage(columns, influences, self.reads | other.reads)


def time_of(column: Edges, time: TimestampColumn) -> Edges:
    """The lineage of the time of rows that have it in a column."""
    return over(Transformation.TRANSFORMATION, column) if time.format else column


def part_name(column: str, field: str) -> str:
    """What a field of a column is called whose edges are known apart from those of the others."""
    return f"{column}->{field}"


def edges_of(expression: Expression, columns: Columns) -> Edges:
    """Of a bound expression, over what its input's columns come from."""
    copied = _copied(expression, columns)
    if copied is not None:
        return columns.get(copied, NOTHING)
    aggregated = is_aggregate(expression)
    by = Transformation.AGGREGATION if aggregated else Transformation.TRANSFORMATION
    found = [
        over(Transformation.CONDITIONAL if decides else by, columns.get(name, NOTHING))
        for name, decides in _read(expression, columns, decides=False)
    ]
    return NOTHING.union(*found)


def influence(by: Transformation, expression: Expression, columns: Columns) -> Edges:
    """What decides, by way of an expression, which rows there are."""
    names = {name for name, _ in _read(expression, columns, decides=False)}
    return NOTHING.union(*(over(by, columns.get(name, NOTHING)) for name in names))


def _copied(node: Expression, columns: Columns) -> str | None:
    """The name of the column whose value the expression is."""
    if isinstance(node, exp.Anonymous) and node.name == "AS_VALUE":
        return _copied(node.expressions[0], columns)
    if isinstance(node, exp.Column):
        return node.name
    return _part(node, columns)


def _part(node: Expression, columns: Columns) -> str | None:
    if not isinstance(node, exp.Dot) or not isinstance(node.this, exp.Column):
        return None
    name = part_name(node.this.name, node.expression.name)
    return name if name in columns else None


def _read(node: Expression, columns: Columns, *, decides: bool) -> Iterator[tuple[str, bool]]:
    """The columns that an expression reads, each with whether it only decides about its value."""
    known = _part(node, columns)
    if known is not None:
        yield known, decides
    elif isinstance(node, exp.Column):
        if not is_lambda_parameter(node):
            yield node.name, decides
    else:
        for child, child_decides in _children(node):
            yield from _read(child, columns, decides=decides or child_decides)


def _children(node: Expression) -> Iterator[tuple[Expression, bool]]:
    if isinstance(node, exp.Case):
        if node.this is not None:
            yield node.this, True
        for branch in node.args["ifs"]:
            yield branch.this, True
            yield branch.args["true"], False
        if node.args.get("default") is not None:
            yield node.args["default"], False
    elif is_aggregate(node):
        for argument in node.expressions:
            # COUNT(*) is planned as COUNT(ROWTIME): the value of what is counted is not looked at.
            if not (node.name == "COUNT" and _is_time(argument)):
                yield argument, _is_filter(node, argument)
    else:
        yield from ((child, False) for child in node.iter_expressions())


def _is_time(node: Expression) -> bool:
    return isinstance(node, exp.Column) and node.name == ROWTIME.name


def _is_filter(call: Expression, argument: Expression) -> bool:
    """Whether the argument is the FILTER of an aggregate function that has its own way with it."""
    if not isinstance(argument, exp.NullSafeEQ) or argument is not call.expressions[-1]:
        return False
    return aggregate_function(call).filters

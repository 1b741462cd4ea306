"""The lineage of rows and expressions: the columns that each column depends on, and how."""

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
    """The lineage of an operator's rows: the columns that each column depends on, the columns that
    decide about rows, and the names of the sources."""

    columns: Columns = field(default_factory=dict)
    """Those of the operator's schema, and the reserved ones: time, place and window."""
    influences: Edges = NOTHING
    reads: frozenset[str] = frozenset()

    def column(self, name: str) -> Edges:
        return self.columns.get(name, NOTHING)

    def made(self, items: Iterable[Named]) -> Columns:
        """The items as columns of these rows."""
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
        """The influence of grouping keys on rows."""
        return self.influences_of(Transformation.GROUP_BY, (item.expression for item in items))

    def windowed(self, window: Window | None) -> Edges:
        """The influence of the window on rows."""
        return NOTHING if window is None else over(Transformation.WINDOW, self.column(ROWTIME.name))

    def all(self, schema: Schema, by: Transformation) -> Edges:
        """The influence of a comparison in all columns on rows."""
        return NOTHING.union(*(over(by, self.column(name)) for name in schema.names))

    def __or__(self, other: Lineage) -> Lineage:
        """The rows of both, whose columns have the same names."""
        names = dict.fromkeys((*self.columns, *other.columns))
        columns = {name: self.column(name) | other.column(name) for name in names}
        influences = self.influences | other.influences
        return Lineage(columns, influences, self.reads | other.reads)


def time_of(column: Edges, time: TimestampColumn) -> Edges:
    """The lineage of the event time, which is a column of the rows."""
    return over(Transformation.TRANSFORMATION, column) if time.format else column


def part_name(column: str, field: str) -> str:
    """The name of a column's field whose edges are tracked separately."""
    return f"{column}->{field}"


def edges_of(expression: Expression, columns: Columns) -> Edges:
    """The edges of a bound expression, given those of its input's columns."""
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
    """The columns by which an expression decides about rows."""
    names = {name for name, _ in _read(expression, columns, decides=False)}
    return NOTHING.union(*(over(by, columns.get(name, NOTHING)) for name in names))


def _copied(node: Expression, columns: Columns) -> str | None:
    """The name of the column of which the expression is a plain copy."""
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
    """The columns that an expression reads, each with whether it only decides about the value."""
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
            # COUNT(*) is planned as COUNT(ROWTIME), whose value is not read.
            if not (node.name == "COUNT" and _is_time(argument)):
                yield argument, _is_filter(node, argument)
    else:
        yield from ((child, False) for child in node.iter_expressions())


def _is_time(node: Expression) -> bool:
    return isinstance(node, exp.Column) and node.name == ROWTIME.name


def _is_filter(call: Expression, argument: Expression) -> bool:
    """Whether the argument is the FILTER of an aggregate function with special handling."""
    if not isinstance(argument, exp.NullSafeEQ) or argument is not call.expressions[-1]:
        return False
    return aggregate_function(call).filters

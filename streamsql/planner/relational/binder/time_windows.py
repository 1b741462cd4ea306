"""TUMBLE and HOP in FROM: the rows of a relation in each of their windows of time."""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from streamsql.errors import PlanError, Span
from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import Field, Generate, Project, Relation
from streamsql.planner.relational.expressions import Ids, cast, column, operand, typed
from streamsql.types import DATE, INTERVAL, LOCAL_TIMESTAMP, TIMESTAMP, to_sql, type_of

NAMES = ("TUMBLE", "HOP")


@dataclass(frozen=True)
class TimeWindows:
    """`size` and `advance` are intervals; without `advance` each row is in one window."""

    time: Expression
    size: Expression
    advance: Expression | None = None
    offset: Expression | None = None

    def of(self, relation: Relation, ids: Ids) -> tuple[Relation, tuple[Field, Field]]:
        """The relation with the bounds of each row's windows."""
        kind = type_of(self.time)
        start, end = ids.field("WINDOW_START", kind), ids.field("WINDOW_END", kind)
        if self.advance is None:
            kept = tuple((field, column(field)) for field in relation.fields)
            first = _bin(self.size, self.time, self.offset)
            relation = Project(relation, (*kept, (start, first)))
        else:
            last = _bin(self.advance, self.time, self.offset)
            first = typed(
                exp.Add(
                    this=typed(exp.Sub(this=last.copy(), expression=operand(self.size)), kind),
                    expression=operand(self.advance),
                ),
                kind,
            )
            starts = exp.GenerateSeries(start=first, end=last, step=self.advance)
            relation = Generate(relation, typed(starts, kind), (start,))
        kept = tuple((field, column(field)) for field in relation.fields)
        closing = typed(exp.Add(this=column(start), expression=operand(self.size)), kind)
        return Project(relation, (*kept, (end, closing))), (start, end)


def _bin(width: Expression, time: Expression, offset: Expression | None) -> Expression:
    """The start of the interval of this width, counted from 1970, that holds the time."""
    origin: Expression = cast(exp.Literal.string("1970-01-01 00:00:00"), TIMESTAMP)
    if offset is not None:
        origin = typed(exp.Add(this=origin, expression=operand(offset)), TIMESTAMP)
    # sqlglot has the origin of PostgreSQL's date_bin as its `unit`.
    return typed(exp.DateBin(this=width.copy(), expression=time.copy(), unit=origin), type_of(time))


def time_column(bound: Expression, span: Span | None) -> Expression:
    """The column as a timestamp; PlanError if it is no time."""
    kind = type_of(bound)
    if kind not in (TIMESTAMP, DATE):
        raise PlanError(
            f"windows are of a TIMESTAMP, and this column is {to_sql(kind)}",
            span=span,
            hint="Convert it in a WITH query: TO_TIMESTAMP(ROWTIME / 1000.0) is a record's time.",
        )
    return bound if kind == TIMESTAMP else cast(bound, LOCAL_TIMESTAMP)


def written(call: Expression, bound: list[Expression], span: Span | None) -> TimeWindows:
    """`TUMBLE(relation, time, size)`, `HOP(relation, time, advance, size)`; `bound` are the
    arguments but the first."""
    tumbles = call.name.upper() == "TUMBLE"
    fixed = 2 if tumbles else 3
    if len(bound) not in (fixed, fixed + 1) or any(b.type != INTERVAL for b in bound[1:]):
        raise PlanError(
            f"{call.name.upper()} takes a relation, its time column and "
            + ("the windows' size" if tumbles else "the windows' advance and size"),
            span=span,
        )
    time = time_column(bound[0], span)
    offset = bound[fixed] if len(bound) > fixed else None
    if tumbles:
        return TimeWindows(time, bound[1], offset=offset)
    return TimeWindows(time, bound[2], bound[1], offset)

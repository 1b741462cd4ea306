"""A relation as SQL for DuckDB: what the algebra means, to compare with what a query means."""

from __future__ import annotations

from functools import singledispatch

from sqlglot import exp

from streamsql.nodes import Expression
from streamsql.planner.relational.algebra import (
    Added,
    Aggregate,
    AtMostOne,
    Expand,
    Field,
    Filter,
    Generate,
    Join,
    JoinKind,
    Project,
    Recursion,
    Relation,
    RelationalPlan,
    Scan,
    SetOperation,
    TopRows,
    UnionAll,
    Values,
    WindowFunctions,
)
from streamsql.planner.relational.joins import on


def plan_text(plan: RelationalPlan) -> str:
    shown = ", ".join(_name(field.id) for field in plan.output) or "1"
    order = f" ORDER BY {_list(plan.order)}" if plan.order else ""
    return f"SELECT {shown} FROM ({text(plan.root)}) AS t{order}"


@singledispatch
def text(relation: Relation) -> str:
    raise NotImplementedError(type(relation).__name__)


def _name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sql(expression: Expression) -> str:
    return expression.sql(dialect="duckdb")


def _list(expressions: tuple[Expression, ...]) -> str:
    return ", ".join(sql(expression) for expression in expressions)


def _names(fields: tuple[Field, ...]) -> str:
    return ", ".join(_name(field.id) for field in fields)


@text.register
def _(relation: Scan) -> str:
    columns = ", ".join(
        f"{_name(name)} AS {_name(field.id)}"
        for name, field in relation.columns
        if name not in ("ROWTIME", "ROWPARTITION", "ROWOFFSET")
    )
    return f"SELECT {columns or 1} FROM {_name(relation.source)}"


@text.register
def _(relation: Values) -> str:
    if not relation.columns:
        return (
            " UNION ALL ".join("SELECT 1 AS one" for _ in relation.rows) or "SELECT 1 WHERE FALSE"
        )
    rows = [
        ", ".join(
            f"CAST({sql(value)} AS {field.type.sql('duckdb')}) AS {_name(field.id)}"
            for field, value in zip(relation.columns, row, strict=True)
        )
        for row in relation.rows
    ]
    if not rows:
        nulls = ", ".join(
            f"CAST(NULL AS {field.type.sql('duckdb')}) AS {_name(field.id)}"
            for field in relation.columns
        )
        return f"SELECT {nulls} WHERE FALSE"
    return " UNION ALL ".join(f"SELECT {row}" for row in rows)


@text.register
def _(relation: Filter) -> str:
    return f"SELECT * FROM ({text(relation.input)}) AS t WHERE {sql(relation.condition)}"


@text.register
def _(relation: Project) -> str:
    items = ", ".join(f"{sql(value)} AS {_name(field.id)}" for field, value in relation.items)
    return f"SELECT {items or '1 AS one'} FROM ({text(relation.input)}) AS t"


@text.register
def _(relation: Expand) -> str:
    branches = [
        ", ".join(
            f"{sql(value)} AS {_name(field.id)}"
            for field, value in zip(relation.columns, row, strict=True)
        )
        for row in relation.projections
    ]
    below = text(relation.input)
    return " UNION ALL ".join(f"SELECT {branch} FROM ({below}) AS t" for branch in branches)


@text.register
def _(relation: Generate) -> str:
    call = relation.call
    if isinstance(call, exp.Unnest):
        calls = ", ".join(
            f"UNNEST({sql(value)}) AS {_name(field.id)}"
            for value, field in zip(call.expressions, relation.columns, strict=True)
        )
    else:
        calls = f"UNNEST({sql(call)}) AS {_name(relation.columns[0].id)}"
    inner = f"SELECT {calls}"
    if relation.ordinality is not None:
        inner = f"SELECT *, row_number() OVER () AS {_name(relation.ordinality.id)} FROM ({inner})"
    join = "LEFT JOIN" if relation.outer else "JOIN"
    return f"SELECT * FROM ({text(relation.input)}) AS l {join} LATERAL ({inner}) AS r ON TRUE"


@text.register
def _(relation: Added) -> str:
    columns = zip(_columns(relation.columns), relation.columns, strict=True)
    items = ", ".join(f"{column} AS {_name(field.id)}" for column, field in columns)
    return f"SELECT {items} FROM {_name(relation.recursion)}"


@text.register
def _(relation: Recursion) -> str:
    name, columns = _name(relation.name), _columns(relation.columns)
    union = "UNION" if relation.distinct else "UNION ALL"
    sides = f"{text(relation.base)} {union} SELECT * FROM ({text(relation.step)}) AS t"
    items = zip(columns, relation.columns, strict=True)
    shown = ", ".join(f"{column} AS {_name(field.id)}" for column, field in items)
    return f"WITH RECURSIVE {name} ({', '.join(columns)}) AS ({sides}) SELECT {shown} FROM {name}"


def _columns(fields: tuple[Field, ...]) -> list[str]:
    return [f"c{number}" for number, _ in enumerate(fields)]


@text.register
def _(relation: UnionAll) -> str:
    branches = []
    for branch in relation.relations:
        names = ", ".join(
            f"{_name(have.id)} AS {_name(want.id)}"
            for have, want in zip(branch.fields, relation.columns, strict=True)
        )
        branches.append(f"SELECT {names or 1} FROM ({text(branch)}) AS t")
    return " UNION ALL ".join(branches)


@text.register
def _(relation: Join) -> str:
    condition = " AND ".join(f"({sql(part)})" for part in on(relation)) or "TRUE"
    left, right = text(relation.left), text(relation.right)
    if relation.kind in (JoinKind.SEMI, JoinKind.ANTI):
        some = "EXISTS" if relation.kind is JoinKind.SEMI else "NOT EXISTS"
        return (
            f"SELECT * FROM ({left}) AS l WHERE {some} "
            f"(SELECT 1 FROM ({right}) AS r WHERE {condition})"
        )
    names = _names(relation.fields) or "1 AS one"
    return (
        f"SELECT {names} FROM ({left}) AS l {relation.kind.value} JOIN ({right}) AS r "
        f"ON {condition}"
    )


@text.register
def _(relation: Aggregate) -> str:
    calls = [f"{sql(call)} AS {_name(field.id)}" for field, call in relation.aggregates]
    names = ", ".join([*(_name(key.id) for key in relation.keys), *calls])
    below = text(relation.input)
    if not relation.aggregates:
        return f"SELECT DISTINCT {names} FROM ({below}) AS t"
    keys = f" GROUP BY {_names(relation.keys)}" if relation.keys else ""
    return f"SELECT {names} FROM ({below}) AS t{keys}"


@text.register
def _(relation: WindowFunctions) -> str:
    calls = ", ".join(f"{sql(call)} AS {_name(field.id)}" for field, call in relation.functions)
    return f"SELECT *, {calls} FROM ({text(relation.input)}) AS t"


@text.register
def _(relation: TopRows) -> str:
    order = f"ORDER BY {_list(relation.order)}" if relation.order else ""
    partition = f"PARTITION BY {_names(relation.partition)} " if relation.partition else ""
    function = "rank" if relation.ties else "row_number"
    number = f"{function}() OVER ({partition}{order})"
    bounds = [f"{number} > {relation.offset}"]
    if relation.limit is not None:
        bounds.append(f"{number} <= {relation.offset + relation.limit}")
    return f"SELECT * FROM ({text(relation.input)}) AS t QUALIFY {' AND '.join(bounds)}"


@text.register
def _(relation: AtMostOne) -> str:
    return text(relation.input)


@text.register
def _(relation: SetOperation) -> str:
    sides = []
    for side in (relation.left, relation.right):
        names = ", ".join(
            f"{_name(have.id)} AS {_name(want.id)}"
            for have, want in zip(side.fields, relation.columns, strict=True)
        )
        sides.append(f"SELECT {names} FROM ({text(side)}) AS t")
    every = " ALL" if relation.all else ""
    return f"(({sides[0]}) {relation.kind.value}{every} ({sides[1]}))"

"""UNION ALL and related operators: combines the results of several queries column by column."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from streamsql.errors import PlanError, Span, UnsupportedError
from streamsql.nodes import SetOperator
from streamsql.planner.operators import Named, Operator, Project, SetOperation, Union
from streamsql.planner.scopes.scope import column_node
from streamsql.planner.types.inference import coerce
from streamsql.schema import Column, KeyWindow, Kind
from streamsql.types import SQLType, common_type, contains_map, is_numeric, quote, to_sql, type_of


@dataclass(frozen=True)
class Branch:
    """One of the queries; `columns` in the order of its SELECT."""

    root: Project
    columns: tuple[str, ...]
    window: KeyWindow | None
    span: Span | None


def combine(
    branches: Sequence[Branch], operators: Sequence[SetOperator], *, bounded: bool = False
) -> tuple[Project, KeyWindow | None]:
    """All rows under the names of the first query's columns, and the window of their key. The key
    is that of all queries if it has the same position in each, otherwise the result has no key.
    Tables, and operators other than UNION ALL, give no key; only a `bounded` query supports
    them."""
    first, operator = branches[0], operators[0]
    _check_operators(operators, branches, bounded=bounded)
    for number, branch in enumerate(branches, start=1):
        _check(first, branch, number, operator, bounded=bounded)
    types = [_common(branches, position, operator) for position in range(len(first.columns))]
    places = _key_places(first)
    tables = any(b.root.kind is Kind.TABLE for b in branches)
    plain = all(o is SetOperator.UNION_ALL for o in operators)
    keyed = (
        not tables
        and plain
        and all(_key_places(b) == places and b.window == first.window for b in branches)
    )
    keys = places if keyed else ()
    shaped: list[Operator] = [_shaped(branch, first.columns, types, keys) for branch in branches]
    return over(_folded(shaped, operators)), first.window if keyed else None


def _folded(rows: Sequence[Operator], operators: Sequence[SetOperator]) -> Operator:
    """From left to right, but INTERSECT first."""
    terms, between = [rows[0]], []
    for operator, right in zip(operators, rows[1:], strict=True):
        if operator is SetOperator.INTERSECT:
            terms[-1] = SetOperation(terms[-1], right, operator)
        else:
            terms.append(right)
            between.append(operator)
    made = terms[0]
    for operator, right in zip(between, terms[1:], strict=True):
        all_rows = operator is SetOperator.UNION_ALL
        made = Union(made, right) if all_rows else SetOperation(made, right, operator)
    return made


def _check_operators(
    operators: Sequence[SetOperator], branches: Sequence[Branch], *, bounded: bool
) -> None:
    """Duplicates and differences are only known at the end of a bounded query."""
    for operator, branch in zip(operators, branches[1:], strict=True):
        if operator is SetOperator.UNION_ALL:
            continue
        if not bounded:
            raise UnsupportedError(
                f"{operator.value} is only supported in pull queries (SELECT without EMIT).",
                hint=_INSTEAD[operator],
                span=branch.span,
            )
        for column in branch.root.schema:
            if contains_map(column.type):
                raise PlanError(
                    f"{operator.value} cannot compare column {quote(column.name)} of type "
                    f"{to_sql(column.type)}.",
                    span=branch.span,
                )


_INSTEAD = {
    SetOperator.UNION: "Each row once is SELECT DISTINCT * FROM (SELECT .. UNION ALL SELECT ..).",
    SetOperator.EXCEPT: "Rows without a partner are those WHERE id NOT IN (SELECT id FROM t).",
    SetOperator.INTERSECT: "Rows with a partner are those WHERE id IN (SELECT id FROM t).",
}


def over(plan: Operator) -> Project:
    return Project(plan, _references(plan.schema.key), _references(plan.schema.value))


def _references(columns: Sequence[Column]) -> tuple[Named, ...]:
    return tuple(Named(column.name, column_node(column)) for column in columns)


def _check(
    first: Branch, branch: Branch, number: int, operator: SetOperator, *, bounded: bool
) -> None:
    if branch.root.kind is Kind.TABLE and not bounded:
        raise PlanError(
            f"UNION ALL takes streams, but the result of query {number} is a TABLE.",
            hint="The rows of tables are put together by a FULL OUTER JOIN on their keys.",
            span=branch.span,
        )
    if len(branch.columns) != len(first.columns):
        raise PlanError(
            f"The queries of {operator.value} have different numbers of columns: "
            f"{len(first.columns)} and, query {number}, {len(branch.columns)}.",
            span=branch.span,
        )


def _key_places(branch: Branch) -> tuple[int, ...]:
    return tuple(branch.columns.index(item.name) for item in branch.root.key)


def _item(branch: Branch, position: int) -> Named:
    name = branch.columns[position]
    return next(item for item in (*branch.root.key, *branch.root.value) if item.name == name)


def _common(branches: Sequence[Branch], position: int, operator: SetOperator) -> SQLType:
    """The column's type in all queries, or the type that all widen to."""
    found = type_of(_item(branches[0], position).expression)
    for number, branch in enumerate(branches[1:], start=2):
        item = _item(branch, position)
        other = type_of(item.expression)
        if found == other:
            continue
        wider = common_type(found, other) if is_numeric(found) and is_numeric(other) else None
        if wider is None:
            name = branches[0].columns[position]
            raise PlanError(
                f"Column {quote(name)} of {operator.value} is {to_sql(found)} in query 1, "
                f"but {quote(item.name)} is {to_sql(other)} in query {number}.",
                hint="CAST one of them to the type of the other.",
                span=branch.span,
            )
        found = wider
    return found


def _shaped(
    branch: Branch, names: Sequence[str], types: Sequence[SQLType], keys: Sequence[int]
) -> Project:
    items = [
        Named(name, coerce(_item(branch, position).expression, types[position]))
        for position, name in enumerate(names)
    ]
    value = tuple(item for position, item in enumerate(items) if position not in keys)
    return Project(branch.root.input, tuple(items[position] for position in keys), value)

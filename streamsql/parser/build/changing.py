"""Builds the statements that change rows: UPDATE, DELETE, TRUNCATE, FLUSH."""

from __future__ import annotations

from typing import Any

from sqlglot import exp

from streamsql import nodes as n
from streamsql.errors import ParseError, Span
from streamsql.nodes import Expression, SelectItem

Assignments = tuple[tuple[str, Expression], ...]


class ChangeBuilder:
    """Makes such statements of the grammar's rules."""

    def returning(self, span: Span, items: tuple[SelectItem, ...]) -> tuple[SelectItem, ...]:
        return items

    def update(
        self,
        span: Span,
        target: str,
        alias: str | None,
        *parts: Any,
    ) -> n.Update:
        *assigned, relation, where, returning = parts
        assignments: Assignments = tuple(one for each in assigned for one in each)
        names = [name for name, _ in assignments]
        for name in names:
            if names.count(name) > 1:
                raise ParseError(f"column {name} is set twice", span=span)
        return n.Update(target, assignments, where, alias, returning or (), relation, span=span)

    def assignment(self, span: Span, name: str, value: Expression) -> Assignments:
        return ((name, value),)

    def row_assignment(self, span: Span, *parts: Any) -> Assignments:
        *names, row = parts
        values = row.expressions if isinstance(row, exp.Tuple) else [row]
        if len(values) != len(names):
            raise ParseError(f"{len(values)} values for {len(names)} columns", span=span)
        return tuple(zip(names, values, strict=True))

    def delete(
        self,
        span: Span,
        target: str,
        alias: str | None,
        where: Expression | None,
        returning: tuple[SelectItem, ...] | None,
    ) -> n.Delete:
        return n.Delete(target, where, alias, returning or (), span=span)

    def truncate(self, span: Span, target: str) -> n.Truncate:
        return n.Truncate(target, span=span)

    def flush(self, span: Span) -> n.Flush:
        return n.Flush(span=span)

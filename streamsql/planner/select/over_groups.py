"""OVER with GROUP BY in bounded queries: the groups become a subquery."""

from __future__ import annotations

from dataclasses import replace

from sqlglot import exp

from streamsql.errors import BindError
from streamsql.nodes import Expression, Query, SelectExpression, Subquery
from streamsql.planner.scopes.names import HIDDEN_PREFIX
from streamsql.planner.scopes.scope import Scope
from streamsql.planner.select.shorthand import changed, grouped
from streamsql.planner.types.binding import is_aggregate, resolve_names


def over_groups(query: Query, scope: Scope) -> Query:
    """`SELECT a, SUM(SUM(x)) OVER (ORDER BY a) .. GROUP BY a` over the groups; `scope`: of FROM."""
    query = grouped(query, scope)
    groups = _Groups(query, scope)
    items = tuple(
        replace(item, alias=item.alias or _name(item.expression))
        if isinstance(item, SelectExpression)
        else item
        for item in query.items
    )
    items = changed(items, lambda expression: expression.transform(groups.rewritten))
    inner = replace(query, items=groups.items, order_by=(), limit=None, offset=None)
    relation = Subquery(inner, None, query.span)
    return replace(query, items=items, relation=relation, where=None, group_by=(), having=None)


def _name(expression: Expression) -> str | None:
    """Result name of a column without alias; None: it is numbered."""
    return expression.name if isinstance(expression, exp.Column) else None


class _Groups:
    """The columns of the subquery: group keys, and each aggregate once."""

    def __init__(self, query: Query, scope: Scope) -> None:
        self._scope = scope
        self._query = query
        self._made: list[Expression] = [self._meant(e) for e in query.group_by]
        self._written: list[Expression] = list(query.group_by)

    @property
    def items(self) -> tuple[SelectExpression, ...]:
        return tuple(
            SelectExpression(written.copy(), self._column(number), self._query.span)
            for number, written in enumerate(self._written)
        )

    def rewritten(self, node: Expression) -> Expression:
        if isinstance(node, exp.Window):
            return self._window(node)
        meant = self._meant(node)
        if meant not in self._made:
            if not is_aggregate(node):
                return node
            self._made.append(meant)
            self._written.append(node)
        column = exp.Column(this=exp.to_identifier(self._column(self._made.index(meant)), True))
        column.meta.update(node.meta)
        return column

    def _window(self, window: exp.Window) -> Expression:
        """The function combines several groups; its arguments belong to one group each."""
        new = window.copy()
        parts = [*new.this.expressions, *(new.args.get("partition_by") or [])]
        order = new.args.get("order")
        parts += [ordered.this for ordered in (order.expressions if order is not None else [])]
        for part in parts:
            part.replace(part.transform(self.rewritten))
        return new

    def _meant(self, node: Expression) -> Expression:
        try:
            return resolve_names(node, self._scope, "SELECT")
        except BindError:
            return node

    def _column(self, number: int) -> str:
        return f"{HIDDEN_PREFIX}G{number}"

"""Columns of joined sources: one name, `ALIAS.COLUMN`, in a plan; two where they are displayed."""

from __future__ import annotations

from sqlglot import exp

from streamsql.nodes import Expression

_QUALIFIER = "qualifier"


def qualified_name(alias: str, name: str) -> str:
    """Name of a source's column above its Qualify."""
    return f"{alias}.{name}"


def mark_qualified(column: exp.Column, alias: str) -> exp.Column:
    """The reference to a joined source's column, with the source's part of its name marked."""
    column.meta[_QUALIFIER] = alias
    return column


def qualifier(column: exp.Column) -> str | None:
    """The alias inside a reference's name; None for other columns."""
    alias = column.meta.get(_QUALIFIER)
    if alias is None or not column.name.startswith(f"{alias}."):
        return None
    return str(alias)


def bare_name(column: exp.Column) -> str:
    alias = qualifier(column)
    return column.name if alias is None else column.name.removeprefix(f"{alias}.")


def as_written(expression: Expression) -> Expression:
    """A copy with `alias.column` instead of a plan's single name."""

    def shown(node: Expression) -> Expression:
        alias = qualifier(node) if isinstance(node, exp.Column) else None
        if alias is None or not isinstance(node, exp.Column):
            return node
        return exp.Column(
            this=exp.to_identifier(bare_name(node), quoted=True),
            table=exp.to_identifier(alias, quoted=True),
        )

    return expression.transform(shown)

"""Columns of joined sources: in a plan one name, `ALIAS.COLUMN`; where they are shown, two."""

from __future__ import annotations

from sqlglot import exp

from streamsql.nodes import Expression

_QUALIFIER = "qualifier"


def qualified_name(alias: str, name: str) -> str:
    """Name of a source's column above its Qualify."""
    return f"{alias}.{name}"


def mark_qualified(column: exp.Column, alias: str) -> exp.Column:
    """The reference to a joined source's column, knowing which part of its name is the source's."""
    column.meta[_QUALIFIER] = alias
    return column


def qualifier(column: exp.Column) -> str | None:
    """The alias inside a reference's name, None where it names no joined source's column."""
    alias = column.meta.get(_QUALIFIER)
    if alias is None or not column.name.startswith(f"{alias}."):
        return None
    return str(alias)


def bare_name(column: exp.Column) -> str:
    alias = qualifier(column)
    return column.name if alias is None else column.name.removeprefix(f"{alias}.")


def as_written(expression: Expression) -> Expression:
    """A copy with `alias.column` where a plan has one name."""

    def shown(node: Expression) -> Expression:
        alias = qualifier(node) if isinstance(node, exp.Column) else None
        if alias is None or not isinstance(node, exp.Column):
            return node
        return exp.Column(
            this=exp.to_identifier(bare_name(node), quoted=True),
            table=exp.to_identifier(alias, quoted=True),
        )

    return expression.transform(shown)
